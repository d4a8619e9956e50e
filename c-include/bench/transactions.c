/* C's program of `cargo xtask bench languages`.
 *
 *     transactions CONFIG TOPIC BATCH SECONDS
 *
 * Each line of standard input is a turn.
 */
#include <time.h>

#include "../samples/sample.h"

static const char *const PARTICIPANTS[] = {"eu", "us"};
static char value[100];

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void write_batch(gtc_transaction *transaction, const char *participant, const char *topic,
                        size_t batch) {
    gtc_record *records = calloc(batch, sizeof *records);
    if (!records)
        exit(1);
    for (size_t i = 0; i < batch; i++) {
        records[i] = gtc_record_to(topic);
        records[i].value = (gtc_bytes){value, sizeof value};
    }
    check(gtc_transaction_send_many(transaction, participant, records, batch));
    free(records);
}

/* One transaction after the other, for so long; tells how many. */
static size_t transact(gtc_coordinator *coordinator, const char *topic, size_t batch,
                       double seconds) {
    size_t transactions = 0;
    for (double end = now_s() + seconds; now_s() < end; transactions++) {
        gtc_transaction *transaction;
        check(gtc_coordinator_begin(coordinator, NULL, &transaction));
        for (int i = 0; i < 2; i++)
            write_batch(transaction, PARTICIPANTS[i], topic, batch);
        check(gtc_transaction_commit(transaction));
        gtc_transaction_free(transaction);
    }
    return transactions;
}

int main(int argc, char **argv) {
    usage(5, argc, "transactions CONFIG TOPIC BATCH SECONDS");
    const char *topic = argv[2];
    size_t batch = strtoul(argv[3], NULL, 10);
    double seconds = strtod(argv[4], NULL);
    char turn[16];
    memset(value, 7, sizeof value);

    gtc_coordinator *coordinator;
    check(gtc_coordinator_open(gtc_source_file(argv[1]), &coordinator));
    check(gtc_coordinator_recover(coordinator));
    while (fgets(turn, sizeof turn, stdin)) {
        double begun = now_s();
        size_t transactions = transact(coordinator, topic, batch, seconds);
        printf("{\"transactions\": %zu, \"records\": %zu, \"seconds\": %f}\n", transactions,
               transactions * batch * 2, now_s() - begun);
        fflush(stdout);
    }
    check(gtc_coordinator_close(coordinator));
    gtc_coordinator_free(coordinator);
    return 0;
}
