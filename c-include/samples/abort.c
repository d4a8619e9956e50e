/* A transaction that is let go in the middle: nothing of it is visible on either cluster.
 *
 *     abort gtc.toml eu us orders
 */
#include "sample.h"

int main(int argc, char **argv) {
    usage(5, argc, "abort CONFIG FIRST SECOND TOPIC");
    const char *config = argv[1], *participants[] = {argv[2], argv[3]}, *topic = argv[4];

    gtc_coordinator *coordinator;
    check(gtc_coordinator_open(gtc_source_file(config), &coordinator));

    gtc_transaction *transaction;
    check(gtc_coordinator_begin(coordinator, NULL, &transaction));
    for (int i = 0; i < 2; i++) {
        gtc_record record = gtc_record_to(topic);
        record.value = bytes("an order");
        check(gtc_transaction_send(transaction, participants[i], &record));
    }
    check(gtc_transaction_abort(transaction, "out of stock"));

    gtc_outcome outcome;
    const char *id = gtc_transaction_id(transaction);
    check(gtc_coordinator_outcome(coordinator, id, &outcome));
    printf("%s is on neither cluster: %s\n", id, gtc_outcome_name(outcome));

    gtc_transaction_free(transaction);
    check(gtc_coordinator_close(coordinator));
    gtc_coordinator_free(coordinator);
    return 0;
}
