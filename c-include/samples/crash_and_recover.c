/* Books a transfer exactly once, however often it is killed on the way: start it again until it ends
 * by itself.
 *
 *     crash_and_recover gtc.toml eu us transfers
 *
 * The transaction carries a key, so that after a crash the program asks what became of it instead of
 * booking twice.
 */
#include "sample.h"

#define KEY "transfer-1"

static gtc_status book(gtc_coordinator *coordinator, char **argv) {
    gtc_transaction_options options = {.key = bytes(KEY)};
    gtc_transaction *transaction;
    check(gtc_coordinator_begin(coordinator, &options, &transaction));

    const char *topic = argv[4], *amounts[] = {"-100", "+100"};
    gtc_status status = GTC_STATUS_OK;
    for (int i = 0; i < 2 && status == GTC_STATUS_OK; i++) {
        gtc_record record = gtc_record_to(topic);
        record.key = bytes(KEY);
        record.value = bytes(amounts[i]);
        status = gtc_transaction_send(transaction, argv[2 + i], &record);
    }
    if (status == GTC_STATUS_OK)
        status = gtc_transaction_commit(transaction);
    if (status == GTC_STATUS_OK)
        printf("%s is booked, as %s\n", KEY, gtc_transaction_id(transaction));
    gtc_transaction_free(transaction);
    return status;
}

int main(int argc, char **argv) {
    usage(5, argc, "crash_and_recover CONFIG FIRST SECOND TOPIC");

    gtc_coordinator *coordinator;
    check(gtc_coordinator_open(gtc_source_file(argv[1]), &coordinator));
    /* What an earlier run left open is finished first, so that the answer is final. */
    check(gtc_coordinator_recover(coordinator));

    gtc_keyed_outcome found;
    check(gtc_coordinator_outcome_by_key(coordinator, bytes(KEY), &found));
    if (found.outcome == GTC_OUTCOME_COMMITTED) {
        printf("%s was booked before, as %s\n", KEY, found.id);
    } else {
        gtc_status status;
        /* Aborted: nothing is visible, and it can run again, where that may help. In doubt it must not. */
        while ((status = book(coordinator, argv)) == GTC_STATUS_ABORTED &&
               gtc_error_retry() == GTC_RETRY_LATER)
            fprintf(stderr, "again: %s\n", gtc_error_text());
        check(status);
    }
    check(gtc_coordinator_close(coordinator));
    gtc_coordinator_free(coordinator);
    return 0;
}
