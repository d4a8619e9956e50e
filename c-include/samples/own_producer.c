/* A producer of the application's own, of librdkafka, takes part beside a managed one.
 *
 *     own_producer gtc.toml eu us orders BOOTSTRAP_OF_EU
 */
#include <librdkafka/rdkafka.h>

#include "sample.h"

#define TRANSACTIONAL_ID "orders-writer"
#define TIMEOUT_MS 30000

static void check_kafka(rd_kafka_error_t *error) {
    if (error) {
        fprintf(stderr, "%s\n", rd_kafka_error_string(error));
        exit(1);
    }
}

/* What is told to the branch about each delivery is its vote. */
static void delivered(rd_kafka_t *producer, const rd_kafka_message_t *message, void *opaque) {
    (void)producer, (void)opaque;
    gtc_own_branch *branch = message->_private;
    check(message->err ? gtc_own_branch_failed(branch, rd_kafka_err2str(message->err))
                       : gtc_own_branch_delivered_to(branch, rd_kafka_topic_name(message->rkt),
                                                     message->partition));
}

static void set(rd_kafka_conf_t *settings, const char *name, const char *value) {
    char why[256];
    if (rd_kafka_conf_set(settings, name, value, why, sizeof why) != RD_KAFKA_CONF_OK) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
}

static rd_kafka_t *make_producer(const char *bootstrap) {
    rd_kafka_conf_t *settings = rd_kafka_conf_new();
    set(settings, "bootstrap.servers", bootstrap);
    set(settings, "transactional.id", TRANSACTIONAL_ID);
    rd_kafka_conf_set_dr_msg_cb(settings, delivered);
    char why[256];
    rd_kafka_t *producer = rd_kafka_new(RD_KAFKA_PRODUCER, settings, why, sizeof why);
    if (!producer) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    check_kafka(rd_kafka_init_transactions(producer, TIMEOUT_MS));
    return producer;
}

/* Writes with the own producer, and counts what it writes. */
static void write_own(rd_kafka_t *producer, gtc_own_branch *branch, const char *topic) {
    const char value[] = "an order";
    check(gtc_own_branch_sent(branch));
    rd_kafka_resp_err_t refused =
        rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic),
                          RD_KAFKA_V_VALUE((void *)value, sizeof value - 1),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE(branch),
                          RD_KAFKA_V_END);
    if (refused)
        check(gtc_own_branch_failed(branch, rd_kafka_err2str(refused)));
    rd_kafka_flush(producer, TIMEOUT_MS);
}

int main(int argc, char **argv) {
    usage(6, argc, "own_producer CONFIG OWN MANAGED TOPIC BOOTSTRAP_OF_OWN");
    const char *own = argv[2], *managed = argv[3], *topic = argv[4];

    gtc_coordinator *coordinator;
    check(gtc_coordinator_open(gtc_source_file(argv[1]), &coordinator));
    /* A restart may find a promised branch: initialising the producer now would abort it. */
    check(gtc_coordinator_settle(coordinator, own, TRANSACTIONAL_ID));
    rd_kafka_t *producer = make_producer(argv[5]);

    gtc_transaction *transaction;
    gtc_own_branch *branch;
    check(gtc_coordinator_begin(coordinator, NULL, &transaction));
    check(gtc_transaction_enlist(transaction, own, TRANSACTIONAL_ID, GTC_VERSION_CLASS_V1, &branch));
    check_kafka(rd_kafka_begin_transaction(producer));
    write_own(producer, branch, topic);
    gtc_record record = gtc_record_to(topic);
    record.value = bytes("an order");
    check(gtc_transaction_send(transaction, managed, &record));

    gtc_status status = gtc_transaction_commit(transaction);
    if (status == GTC_STATUS_OK) {
        printf("%s is on both clusters\n", gtc_transaction_id(transaction));
        /* Only now, and a harmless repeat: the producer goes on with its next transaction. */
        check_kafka(rd_kafka_commit_transaction(producer, TIMEOUT_MS));
    } else if (status == GTC_STATUS_ABORTED) {
        fprintf(stderr, "%s\n", gtc_error_text());
        check_kafka(rd_kafka_abort_transaction(producer, TIMEOUT_MS));
    } else {
        check(status);
    }
    gtc_reuse reuse;
    check(gtc_own_branch_finished(branch, &reuse));
    if (reuse == GTC_REUSE_DISCARD)
        printf("this producer has to be closed and made anew\n");

    rd_kafka_destroy(producer);
    gtc_own_branch_free(branch);
    gtc_transaction_free(transaction);
    check(gtc_coordinator_close(coordinator));
    gtc_coordinator_free(coordinator);
    return 0;
}
