/* Writes one record to each of two clusters: both become visible, or neither.
 *
 *     basic gtc.toml eu us orders
 */
#include "sample.h"

int main(int argc, char **argv) {
    usage(5, argc, "basic CONFIG FIRST SECOND TOPIC");
    const char *config = argv[1], *participants[] = {argv[2], argv[3]}, *topic = argv[4];

    gtc_coordinator *coordinator;
    check(gtc_coordinator_open(gtc_source_file(config), &coordinator));

    gtc_transaction *transaction;
    check(gtc_coordinator_begin(coordinator, NULL, &transaction));
    for (int i = 0; i < 2; i++) {
        gtc_record record = gtc_record_to(topic);
        record.key = bytes("order-1");
        record.value = bytes("an order");
        check(gtc_transaction_send(transaction, participants[i], &record));
    }
    check(gtc_transaction_commit(transaction));
    printf("%s is on both clusters\n", gtc_transaction_id(transaction));

    gtc_transaction_free(transaction);
    check(gtc_coordinator_close(coordinator));
    gtc_coordinator_free(coordinator);
    return 0;
}
