/* Reads orders on one cluster and writes their sums to another: offsets and records move in one
 * transaction, so that each order has exactly one sum, through any crash.
 *
 *     consume_transform_produce gtc.toml eu numbers us sums
 *
 * An order is numbers with spaces between them, such as `3 4`.
 */
#include "sample.h"

#define SUM_SIZE 24

/* The sum of the numbers of an order, as text. */
static gtc_bytes total(const gtc_consumed_record *order, char sum[SUM_SIZE]) {
    char text[256];
    gtc_bytes value = order->value;
    snprintf(text, sizeof text, "%.*s", (int)value.length, value.data ? (const char *)value.data : "");
    long amount = 0;
    char *rest = NULL, *end;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        amount += strtol(word, &end, 10);
        if (*end != '\0') {
            fprintf(stderr, "%s partition %d offset %lld: numbers such as `3 4` are expected, and not %s\n",
                    order->topic, (int)order->partition, (long long)order->offset, word);
            exit(1);
        }
    }
    snprintf(sum, SUM_SIZE, "%ld", amount);
    return bytes(sum);
}

/* One transaction: the sums of a batch, and its offsets. */
static gtc_status book(gtc_transaction *transaction, const gtc_batch *batch, const char *target,
                       const char *topic) {
    for (size_t i = 0; i < batch->records_length; i++) {
        char sum[SUM_SIZE];
        gtc_record record = gtc_record_to(topic);
        record.key = batch->records[i].key;
        record.value = total(&batch->records[i], sum);
        gtc_status status = gtc_transaction_send(transaction, target, &record);
        if (status != GTC_STATUS_OK)
            return status;
    }
    gtc_status status = gtc_transaction_send_offsets(transaction, batch);
    return status == GTC_STATUS_OK ? gtc_transaction_commit(transaction) : status;
}

int main(int argc, char **argv) {
    usage(6, argc, "consume_transform_produce CONFIG SOURCE ORDERS TARGET SUMS");
    const char *source = argv[2], *orders = argv[3], *target = argv[4], *sums = argv[5];

    gtc_coordinator *coordinator;
    check(gtc_coordinator_open(gtc_source_file(argv[1]), &coordinator));
    /* What a crash left open holds the group's offsets back: it is ended first. */
    check(gtc_coordinator_recover(coordinator));

    gtc_consumer_options options = {
        .group = "sums", .topics = &orders, .topics_length = 1, .instance = "sums-1"};
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
        gtc_status status = book(transaction, batch, target, sums);
        if (status == GTC_STATUS_OK)
            count += batch->records_length;
        else if (status == GTC_STATUS_ABORTED && gtc_error_retry() == GTC_RETRY_LATER)
            /* Nothing of it is visible: the consumer hands the records out again. */
            fprintf(stderr, "again: %s\n", gtc_error_text());
        else
            check(status);
        gtc_transaction_free(transaction);
        gtc_batch_free(batch);
    }
    printf("%zu orders summed\n", count);

    gtc_consumer_free(consumer);
    check(gtc_coordinator_close(coordinator));
    gtc_coordinator_free(coordinator);
    return 0;
}
