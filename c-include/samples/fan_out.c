/* Copies a topic to several clusters, to all of them at once by callbacks: a record reaches all, or
 * none.
 *
 *     fan_out gtc.toml eu orders us apac
 */
#include <semaphore.h>

#include "sample.h"

/* What the callbacks of one batch share. */
typedef struct {
    sem_t told;
    gtc_status worst;
} copies;

/* Runs on the thread of all callbacks, one after the other; the semaphore hands its result over. */
static void copied(void *context, gtc_status status) {
    copies *all = context;
    if (status != GTC_STATUS_OK) {
        fprintf(stderr, "%s\n", gtc_error_text());
        all->worst = status;
    }
    sem_post(&all->told);
}

static void copy(gtc_transaction *transaction, const gtc_batch *batch, char **targets) {
    gtc_record *records = calloc(batch->records_length, sizeof *records);
    for (size_t i = 0; i < batch->records_length; i++) {
        const gtc_consumed_record *read = &batch->records[i];
        records[i] = gtc_record_to(read->topic);
        records[i].key = read->key;
        records[i].value = read->value;
        records[i].headers = read->headers;
        records[i].headers_length = read->headers_length;
    }
    copies all = {.worst = GTC_STATUS_OK};
    sem_init(&all.told, 0, 0);
    int begun = 0;
    for (char **target = targets; *target; target++, begun++)
        check(gtc_transaction_send_many_async(transaction, *target, records, batch->records_length,
                                              copied, &all));
    /* They were copied when the calls returned. */
    free(records);
    for (int i = 0; i < begun; i++)
        sem_wait(&all.told);
    sem_destroy(&all.told);
    if (all.worst != GTC_STATUS_OK)
        exit(1);
}

int main(int argc, char **argv) {
    usage(5, argc, "fan_out CONFIG SOURCE TOPIC TARGET...");
    const char *source = argv[2], *topic = argv[3];

    gtc_coordinator *coordinator;
    check(gtc_coordinator_open(gtc_source_file(argv[1]), &coordinator));
    check(gtc_coordinator_recover(coordinator));
    gtc_consumer_options options = {.group = "fan-out", .topics = &topic, .topics_length = 1};
    gtc_consumer *consumer;
    check(gtc_coordinator_consumer(coordinator, source, &options, &consumer));

    size_t count = 0;
    while (!gtc_consumer_is_caught_up(consumer)) {
        gtc_batch *batch;
        check(gtc_consumer_next(consumer, 500, &batch));
        if (!batch)
            continue;
        gtc_transaction *transaction;
        check(gtc_coordinator_begin(coordinator, NULL, &transaction));
        copy(transaction, batch, &argv[4]);
        check(gtc_transaction_send_offsets(transaction, batch));
        check(gtc_transaction_commit(transaction));
        count += batch->records_length;
        gtc_transaction_free(transaction);
        gtc_batch_free(batch);
    }
    printf("%zu records are on all clusters\n", count);

    gtc_consumer_free(consumer);
    check(gtc_coordinator_close(coordinator));
    gtc_coordinator_free(coordinator);
    return 0;
}
