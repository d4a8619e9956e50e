/* Transactions, batches and own producers' branches, on two clusters. */
#include <pthread.h>

#include "world.h"

#define TEXT(text) ((gtc_bytes){text, sizeof(text) - 1})

static gtc_transaction *begin(gtc_coordinator *coordinator) {
    gtc_transaction *transaction;
    OK(gtc_coordinator_begin(coordinator, NULL, &transaction));
    return transaction;
}

static void put(gtc_transaction *transaction, const char *participant, const char *topic,
                 const char *value) {
    gtc_record record = world_record(topic, value);
    OK(gtc_transaction_send(transaction, participant, &record));
}

static void see_eu(void *context, const rd_kafka_message_t *message) {
    ++*(int *)context;
    CHECK(message->key_len == 3 && memcmp(message->key, "key", 3) == 0);
    CHECK(message->len == 5 && memcmp(message->payload, "value", 5) == 0);
    CHECK(rd_kafka_message_timestamp(message, NULL) == 1234);
    rd_kafka_headers_t *headers;
    CHECK(!rd_kafka_message_headers(message, &headers));
    const char *name;
    const void *value;
    size_t length;
    CHECK(!rd_kafka_header_get_all(headers, 0, &name, &value, &length));
    CHECK(strcmp(name, "h") == 0 && length == 1 && *(const char *)value == '1');
    CHECK(!rd_kafka_header_get_all(headers, 1, &name, &value, &length));
    CHECK(strcmp(name, "h") == 0 && !value);
}

static void see_us(void *context, const rd_kafka_message_t *message) {
    int number = (*(int *)context)++;
    /* A tombstone with an empty key, and an empty value without a key. */
    CHECK(number == 0 ? message->key && !message->key_len && !message->payload
                      : !message->key && message->payload && !message->len);
}

static void write_all_kinds(gtc_transaction *transaction, const char *topic) {
    gtc_header headers[] = {{"h and more", 1, TEXT("1")}, {"h", 1, {NULL, 0}}};
    gtc_record record = world_record(topic, "value");
    record.key = TEXT("key");
    record.partition = 0;
    record.timestamp_ms = 1234;
    record.headers = headers;
    record.headers_length = 2;
    OK(gtc_transaction_send(transaction, "eu", &record));
    gtc_record others[] = {gtc_record_to(topic), gtc_record_to(topic)};
    others[0].key = TEXT("");
    others[1].value = TEXT("");
    OK(gtc_transaction_send_many(transaction, "us", others, 2));
}

static void what_is_committed_is_what_was_sent(void) {
    char *topic = world_topic("");
    gtc_coordinator *coordinator = world_open();
    CHECK_TEXT(gtc_coordinator_id(coordinator), world_name());
    gtc_transaction_options options = {.key = TEXT("order-1"), .timeout_ms = PATIENCE_MS};
    gtc_transaction *transaction;
    OK(gtc_coordinator_begin(coordinator, &options, &transaction));
    write_all_kinds(transaction, topic);
    OK(gtc_transaction_commit(transaction));

    gtc_keyed_outcome keyed;
    OK(gtc_coordinator_outcome_by_key(coordinator, TEXT("order-1"), &keyed));
    CHECK(keyed.found && keyed.outcome == GTC_OUTCOME_COMMITTED);
    CHECK_TEXT(keyed.id, gtc_transaction_id(transaction));
    OK(gtc_coordinator_outcome_by_key(coordinator, TEXT("order-2"), &keyed));
    CHECK(!keyed.found && keyed.outcome == GTC_OUTCOME_UNKNOWN && !*keyed.id);
    gtc_transactions *listed;
    OK(gtc_coordinator_in_doubt(coordinator, &listed));
    CHECK(listed->length == 0);
    gtc_transactions_free(listed);
    OK(gtc_coordinator_describe(coordinator, gtc_transaction_id(transaction), &listed));
    CHECK(listed->length == 1 && listed->items->key.length == 7);
    CHECK(memcmp(listed->items->key.data, "order-1", 7) == 0);
    gtc_transactions_free(listed);

    gtc_transaction_free(transaction);
    gtc_coordinator_free(coordinator);
    int count = 0;
    world_read("eu", topic, see_eu, &count);
    CHECK(count == 1);
    count = 0;
    world_read("us", topic, see_us, &count);
    CHECK(count == 2);
    free(topic);
}

static void an_abort_leaves_nothing(void) {
    char *topic = world_topic("");
    gtc_coordinator *coordinator = world_open();
    gtc_transaction *transaction = begin(coordinator);
    put(transaction, "eu", topic, "value");
    put(transaction, "us", topic, "value");
    OK(gtc_transaction_abort(transaction, NULL));
    gtc_outcome outcome;
    OK(gtc_coordinator_outcome(coordinator, gtc_transaction_id(transaction), &outcome));
    CHECK(outcome == GTC_OUTCOME_ABORTED);
    gtc_record late = world_record(topic, "late");
    CHECK(gtc_transaction_send(transaction, "eu", &late) == GTC_STATUS_INVALID_STATE);
    CHECK_TEXT(gtc_error_transaction(), gtc_transaction_id(transaction));
    OK(gtc_transaction_close(transaction));
    gtc_transaction_free(transaction);

    /* Freed undecided, it asks for its abort. */
    transaction = begin(coordinator);
    put(transaction, "eu", topic, "freed");
    gtc_transaction_free(transaction);
    transaction = begin(coordinator);
    put(transaction, "eu", topic, "yes");
    OK(gtc_transaction_commit_with(transaction, GTC_COMMIT_RETURN_DECIDED));
    gtc_transaction_free(transaction);
    gtc_coordinator_free(coordinator);
    COMMITTED("eu", topic, "yes ");
    COMMITTED("us", topic, "");
    free(topic);
}

/* It is refused, and so is the commit of what it was to be part of. */
static void check_refused(gtc_coordinator *coordinator, const char *topic, gtc_record flawed) {
    gtc_transaction *transaction = begin(coordinator);
    put(transaction, "us", topic, "value");
    CHECK(gtc_transaction_send(transaction, "eu", &flawed) == GTC_STATUS_CONFIG);
    CHECK(gtc_transaction_commit(transaction) == GTC_STATUS_ABORTED);
    CHECK(gtc_error_retry() == GTC_RETRY_NEVER);
    gtc_transaction_free(transaction);
}

static void what_no_cluster_can_take_is_refused_at_once(void) {
    char *topic = world_topic("");
    gtc_coordinator *coordinator = world_open();
    check_refused(coordinator, topic, world_record("", "value"));
    gtc_record record = world_record(topic, "value");
    record.partition = -9;
    check_refused(coordinator, topic, record);
    record = world_record(topic, "value");
    record.timestamp_ms = -5;
    check_refused(coordinator, topic, record);

    gtc_transaction *transaction = begin(coordinator);
    gtc_own_branch *branch;
    CHECK(gtc_transaction_enlist(transaction, "eu", "", GTC_VERSION_CLASS_V1, &branch) ==
          GTC_STATUS_CONFIG);
    CONTAINS(gtc_error_problem(), "transactional.id");
    CHECK(gtc_transaction_enlist_newest(transaction, "eu", "", &branch) == GTC_STATUS_CONFIG);
    gtc_transaction_free(transaction);
    CHECK(gtc_coordinator_settle(coordinator, "eu", "") == GTC_STATUS_CONFIG);
    static const char key[1025] = {0};
    gtc_transaction_options options = {.key = {key, sizeof key}};
    CHECK(gtc_coordinator_begin(coordinator, &options, &transaction) == GTC_STATUS_CONFIG);
    gtc_coordinator_free(coordinator);
    COMMITTED("us", topic, "");
    free(topic);
}

static void a_place_that_the_cluster_does_not_have_is_not_to_be_tried_again(void) {
    char *topic = world_topic("");
    gtc_coordinator *coordinator = world_open();
    gtc_record records[2] = {world_record(topic, "value"), world_record("no-such", "value")};
    records[0].partition = 99;
    const char *remedies[2] = {"partition", "create"};
    for (int i = 0; i < 2; i++) {
        gtc_transaction *transaction = begin(coordinator);
        put(transaction, "us", topic, "value");
        if (gtc_transaction_send(transaction, "eu", &records[i]) == GTC_STATUS_OK)
            CHECK(gtc_transaction_commit(transaction) == GTC_STATUS_ABORTED);
        CHECK(gtc_error_retry() == GTC_RETRY_NEVER);
        CONTAINS(gtc_error_problem(), records[i].topic);
        CONTAINS(gtc_error_problem(), "`eu`");
        CONTAINS(gtc_error_remedy(), remedies[i]);
        gtc_transaction_free(transaction);
    }
    gtc_coordinator_free(coordinator);
    COMMITTED("us", topic, "");
    free(topic);
}

static gtc_consumer *make_consumer(gtc_coordinator *coordinator, const char *topic) {
    gtc_consumer_options options = {
        .group = topic, .topics = &topic, .topics_length = 1, .records_max = 2};
    gtc_consumer *consumer;
    OK(gtc_coordinator_consumer(coordinator, "eu", &options, &consumer));
    CHECK_TEXT(gtc_consumer_participant(consumer), "eu");
    return consumer;
}

static void copy(gtc_coordinator *coordinator, const gtc_batch *batch) {
    gtc_transaction *transaction = begin(coordinator);
    for (size_t i = 0; i < batch->records_length; i++) {
        gtc_record record = gtc_record_to(batch->records[i].topic);
        record.value = batch->records[i].value;
        OK(gtc_transaction_send(transaction, "us", &record));
    }
    OK(gtc_transaction_send_offsets(transaction, batch));
    CHECK(gtc_transaction_send_offsets(transaction, batch) == GTC_STATUS_INVALID_STATE);
    gtc_transaction_free(transaction);
}

/* The offsets of the batch that was handed out last. */
static void copy_and_commit(gtc_coordinator *coordinator, gtc_consumer *consumer,
                            const gtc_batch *batch) {
    gtc_transaction *transaction = begin(coordinator);
    for (size_t i = 0; i < batch->records_length; i++) {
        const gtc_consumed_record *read = &batch->records[i];
        CHECK(read->partition == 0 && read->timestamp_ms > 0 && !read->key.data);
        gtc_record record = gtc_record_to(read->topic);
        record.value = read->value;
        OK(gtc_transaction_send(transaction, "us", &record));
    }
    OK(gtc_transaction_send_offsets_of(transaction, consumer));
    OK(gtc_transaction_commit(transaction));
    gtc_transaction_free(transaction);
}

static void check_notices(gtc_consumer *consumer, const char *topic) {
    gtc_notices *notices;
    OK(gtc_consumer_notices(consumer, &notices));
    CHECK(notices->length >= 1 && notices->items->kind == GTC_NOTICE_KIND_ASSIGNED);
    CHECK(notices->items->partitions_length == 1);
    CHECK_TEXT(notices->items->partitions->topic, topic);
    gtc_notices_free(notices);
}

static void batches_travel_with_what_was_made_of_them(void) {
    char *topic = world_topic("");
    const char *values[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        world_write("eu", topic, values[i]);
    gtc_coordinator *coordinator = world_open();
    gtc_consumer *consumer = make_consumer(coordinator, topic);
    gtc_batch *batch;
    OK(gtc_consumer_next(consumer, PATIENCE_MS, &batch));
    CHECK(batch && batch->records_length >= 1 && batch->records->offset == 0);
    CHECK_TEXT(batch->records->topic, topic);
    CHECK(!gtc_batch_is_stale(batch));
    copy(coordinator, batch);
    /* The records live as long as the batch, whatever became of its transaction. */
    CHECK(memcmp(batch->records->value.data, "a", 1) == 0);
    gtc_batch_free(batch);
    /* What was aborted comes again, and nothing is skipped. */
    int64_t position = 0;
    while (position < 3) {
        OK(gtc_consumer_next(consumer, PATIENCE_MS, &batch));
        CHECK(batch);
        copy_and_commit(coordinator, consumer, batch);
        if (batch->positions_length)
            position = batch->positions->offset;
        gtc_batch_free(batch);
    }
    OK(gtc_consumer_next(consumer, 200, &batch));
    CHECK(!batch);
    check_notices(consumer, topic);
    gtc_lags *lags;
    OK(gtc_consumer_lag(consumer, &lags));
    gtc_lags_free(lags);
    OK(gtc_consumer_close(consumer));
    OK(gtc_consumer_close(consumer));
    CHECK(gtc_consumer_next(consumer, GTC_FOREVER, &batch) == GTC_STATUS_CLOSED && !batch);
    gtc_consumer_free(consumer);
    gtc_coordinator_free(coordinator);
    COMMITTED("us", topic, "a b c ");
    free(topic);
}

typedef struct {
    gtc_coordinator *coordinator;
    const char *topic;
} job;

static void *book(void *context) {
    const job *job = context;
    gtc_transaction *transaction = begin(job->coordinator);
    put(transaction, "eu", job->topic, "x");
    put(transaction, "us", job->topic, "x");
    OK(gtc_transaction_commit(transaction));
    /* Each thread has an error of its own. */
    CHECK(gtc_transaction_commit(transaction) == GTC_STATUS_INVALID_STATE);
    CHECK_TEXT(gtc_error_transaction(), gtc_transaction_id(transaction));
    gtc_transaction_free(transaction);
    return NULL;
}

static void threads_share_a_coordinator(void) {
    char *topic = world_topic("");
    gtc_coordinator *coordinator = world_open();
    job job = {coordinator, topic};
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        CHECK(!pthread_create(&threads[i], NULL, book, &job));
    for (int i = 0; i < 8; i++)
        CHECK(!pthread_join(threads[i], NULL));
    gtc_coordinator_free(coordinator);
    COMMITTED("eu", topic, "x x x x x x x x ");
    COMMITTED("us", topic, "x x x x x x x x ");
    free(topic);
}

static void a_branch_without_a_word_is_a_no(void) {
    char *topic = world_topic("");
    gtc_coordinator *coordinator = world_open();
    OK(gtc_coordinator_settle(coordinator, "eu", world_name()));
    rd_kafka_t *own = world_producer("eu", world_name());
    gtc_transaction *transaction = begin(coordinator);
    gtc_own_branch *branch;
    CHECK(gtc_transaction_enlist(transaction, "eu", world_name(), 7, &branch) ==
          GTC_STATUS_CONFIG);
    CHECK(!branch);
    OK(gtc_transaction_enlist(transaction, "eu", world_name(), GTC_VERSION_CLASS_V1, &branch));
    put(transaction, "us", topic, "value");
    CHECK(!rd_kafka_begin_transaction(own));
    OK(gtc_own_branch_sent(branch));
    OK(gtc_own_branch_failed(branch, "the application saw an error"));
    CHECK(gtc_transaction_commit(transaction) == GTC_STATUS_ABORTED);
    CHECK(gtc_error_retry() == GTC_RETRY_LATER);
    gtc_own_branch_free(branch);
    gtc_transaction_free(transaction);
    gtc_coordinator_free(coordinator);
    CHECK(!rd_kafka_abort_transaction(own, PATIENCE_MS));
    rd_kafka_destroy(own);
    COMMITTED("us", topic, "");
    free(topic);
}

static void a_partition_that_the_transaction_does_not_have_is_a_no(void) {
    char *topic = world_topic("");
    gtc_coordinator *coordinator = world_open();
    OK(gtc_coordinator_settle(coordinator, "eu", world_name()));
    rd_kafka_t *own = world_producer("eu", world_name());
    gtc_transaction *transaction = begin(coordinator);
    gtc_own_branch *branch;
    OK(gtc_transaction_enlist(transaction, "eu", world_name(), GTC_VERSION_CLASS_V1, &branch));
    CHECK(!rd_kafka_begin_transaction(own));
    OK(gtc_own_branch_sent(branch));
    CHECK(!rd_kafka_producev(own, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_VALUE("value", 5),
                             RD_KAFKA_V_END));
    CHECK(!rd_kafka_flush(own, PATIENCE_MS));
    CHECK(gtc_own_branch_delivered_to(branch, NULL, 0) != GTC_STATUS_OK);
    OK(gtc_own_branch_delivered_to(branch, topic, 77));
    CHECK(gtc_transaction_commit(transaction) == GTC_STATUS_ABORTED);
    CHECK(strstr(gtc_error_text(), "-77"));
    gtc_own_branch_free(branch);
    gtc_transaction_free(transaction);
    gtc_coordinator_free(coordinator);
    CHECK(!rd_kafka_abort_transaction(own, PATIENCE_MS));
    rd_kafka_destroy(own);
    free(topic);
}

/* Commits a record of an own producer beside one of a managed producer. */
static void commit_own(gtc_coordinator *coordinator, rd_kafka_t *own, const char *topic) {
    gtc_transaction *transaction = begin(coordinator);
    gtc_own_branch *branch;
    OK(gtc_transaction_enlist_newest(transaction, "eu", world_name(), &branch));
    put(transaction, "us", topic, "value");
    CHECK(!rd_kafka_begin_transaction(own));
    OK(gtc_own_branch_sent(branch));
    CHECK(!rd_kafka_producev(own, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_VALUE("value", 5),
                             RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END));
    CHECK(!rd_kafka_flush(own, PATIENCE_MS));
    OK(gtc_own_branch_delivered(branch));
    OK(gtc_transaction_commit(transaction));
    gtc_own_branch_free(branch);
    gtc_transaction_free(transaction);
}

/* By class v2 a commit takes the epoch of the producer on, which librdkafka does not expect. */
static void the_newest_class_of_this_cluster_is_v2(void) {
    char *topic = world_topic("");
    gtc_coordinator *coordinator = world_open();
    OK(gtc_coordinator_settle(coordinator, "eu", world_name()));
    rd_kafka_t *own = world_producer("eu", world_name());
    commit_own(coordinator, own, topic);
    rd_kafka_error_t *error = rd_kafka_commit_transaction(own, PATIENCE_MS);
    CHECK(error && rd_kafka_error_is_fatal(error));
    rd_kafka_error_destroy(error);
    gtc_coordinator_free(coordinator);
    rd_kafka_destroy(own);
    COMMITTED("eu", topic, "value ");
    COMMITTED("us", topic, "value ");
    free(topic);
}

static void check_findings(gtc_findings *findings) {
    bool reachable = false;
    for (size_t i = 0; i < findings->length; i++) {
        CHECK_TEXT(findings->items[i].participant, "us");
        if (strcmp(findings->items[i].check, "reachable") == 0)
            reachable = findings->items[i].level == GTC_LEVEL_OK;
    }
    CHECK(reachable);
    gtc_findings_free(findings);
}

static void checks_and_status(void) {
    const char *us = "us";
    gtc_check_options options = {.participants = &us, .participants_length = 1};
    gtc_findings *findings;
    OK(gtc_check(gtc_source_file(world_config()), &options, &findings));
    check_findings(findings);
    gtc_coordinator *coordinator = world_open();
    OK(gtc_coordinator_check(coordinator, &options, &findings));
    check_findings(findings);
    OK(gtc_coordinator_recover(coordinator));
    OK(gtc_coordinator_verified(coordinator, "eu"));
    OK(gtc_coordinator_verified(coordinator, "us"));
    gtc_coordinator_info *info;
    OK(gtc_coordinator_status(coordinator, &info));
    CHECK(info->recovered && !info->stopped && info->open == 0 && info->foreign_length == 0);
    CHECK(info->participants_length == 2);
    CHECK_TEXT(info->participants[1].state, "verified");
    gtc_coordinator_info_free(info);
    gtc_foreign_branches *branches;
    OK(gtc_coordinator_foreign(coordinator, &branches));
    CHECK(branches->length == 0);
    gtc_foreign_branches_free(branches);
    gtc_coordinator_free(coordinator);
}

const test coordinator_tests[] = {
    {"what_is_committed_is_what_was_sent", what_is_committed_is_what_was_sent},
    {"an_abort_leaves_nothing", an_abort_leaves_nothing},
    {"what_no_cluster_can_take_is_refused_at_once", what_no_cluster_can_take_is_refused_at_once},
    {"a_place_that_the_cluster_does_not_have_is_not_to_be_tried_again",
     a_place_that_the_cluster_does_not_have_is_not_to_be_tried_again},
    {"batches_travel_with_what_was_made_of_them", batches_travel_with_what_was_made_of_them},
    {"threads_share_a_coordinator", threads_share_a_coordinator},
    {"a_branch_without_a_word_is_a_no", a_branch_without_a_word_is_a_no},
    {"a_partition_that_the_transaction_does_not_have_is_a_no",
     a_partition_that_the_transaction_does_not_have_is_a_no},
    {"the_newest_class_of_this_cluster_is_v2", the_newest_class_of_this_cluster_is_v2},
    {"checks_and_status", checks_and_status},
    {NULL, NULL},
};
