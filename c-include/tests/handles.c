/* Handles, errors and callbacks: what crosses the border, in every order. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

static void numbers_and_names_are_for_life(void) {
    CHECK(gtc_abi_version() == GTC_ABI_VERSION);
    CHECK(GTC_STATUS_OK == 0 && GTC_STATUS_ABORTED == 1 && GTC_STATUS_UNSUPPORTED == 12);
    CHECK_TEXT(gtc_status_name(GTC_STATUS_IN_DOUBT), "in-doubt");
    CHECK(gtc_status_retry(GTC_STATUS_IN_DOUBT) == GTC_RETRY_AFTER_RESOLVE);
    CHECK_TEXT(gtc_outcome_name(GTC_OUTCOME_MIXED), "mixed");
    CHECK_TEXT(GTC_PARTICIPANT_KEY("eu", GTC_PARTICIPANT_SLOTS), "participants.eu.slots");
    CHECK(sizeof(gtc_status) == sizeof(uint32_t));
}

/* Every call refuses NULL as an error; every `_free` takes it. */
static void null_does_no_harm(void) {
    gtc_coordinator *coordinator = (gtc_coordinator *)1;
    CHECK(gtc_coordinator_open(gtc_source_file(NULL), &coordinator) == GTC_STATUS_CONFIG);
    CHECK(!coordinator);
    CHECK_TEXT(gtc_error_problem(), "`source` is NULL");
    CHECK(gtc_error_kind() == GTC_STATUS_CONFIG && gtc_error_retry() == GTC_RETRY_NEVER);
    CHECK(gtc_coordinator_open(gtc_source_toml(""), NULL) == GTC_STATUS_CONFIG);
    gtc_transaction *transaction;
    CHECK(gtc_coordinator_begin(NULL, NULL, &transaction) == GTC_STATUS_CONFIG && !transaction);
    CHECK(gtc_coordinator_list(NULL, NULL) == GTC_STATUS_CONFIG);
    CHECK(gtc_coordinator_close(NULL) == GTC_STATUS_CONFIG);
    CHECK(gtc_transaction_send(NULL, NULL, NULL) == GTC_STATUS_CONFIG);
    CHECK(gtc_transaction_commit(NULL) == GTC_STATUS_CONFIG);
    CHECK(gtc_transaction_send_offsets(NULL, NULL) == GTC_STATUS_CONFIG);
    CHECK(gtc_consumer_next(NULL, 0, NULL) == GTC_STATUS_CONFIG);
    CHECK(gtc_own_branch_sent(NULL) == GTC_STATUS_CONFIG);
    CHECK(gtc_coordinator_open_async(gtc_source_toml(""), NULL, NULL) == GTC_STATUS_CONFIG);
    CHECK_TEXT(gtc_error_problem(), "`callback` is NULL");
    CHECK(!gtc_coordinator_id(NULL) && !gtc_transaction_id(NULL));
    CHECK(!gtc_consumer_is_caught_up(NULL) && !gtc_batch_is_stale(NULL));
    gtc_coordinator_free(NULL);
    gtc_transaction_free(NULL);
    gtc_consumer_free(NULL);
    gtc_batch_free(NULL);
    gtc_own_branch_free(NULL);
    gtc_transactions_free(NULL);
    gtc_foreign_branches_free(NULL);
    gtc_findings_free(NULL);
    gtc_lags_free(NULL);
    gtc_notices_free(NULL);
    gtc_coordinator_info_free(NULL);
}

static gtc_coordinator *open_from_values(void) {
    char log[64];
    snprintf(log, sizeof log, "work/%s", world_name());
    const gtc_setting settings[] = {
        {GTC_KEY_ID, world_name()},
        {GTC_KEY_LOG, log},
        {GTC_PARTICIPANT_KEY("eu", GTC_PARTICIPANT_KIND), "kafka"},
        {GTC_PARTICIPANT_KEY("eu", GTC_PARTICIPANT_SLOTS), "4"},
        {GTC_PARTICIPANT_KEY("eu", "bootstrap.servers"), world_bootstrap("eu")},
    };
    gtc_coordinator *coordinator;
    OK(gtc_coordinator_open(gtc_source_values(settings, 5), &coordinator));
    return coordinator;
}

static void errors_say_what_kind_where_and_what_to_do(void) {
    gtc_coordinator *second, *coordinator = open_from_values();
    CHECK_TEXT(gtc_error_text(), "");
    CHECK(!gtc_error_participant() && gtc_error_kind() == GTC_STATUS_OK);
    CHECK(gtc_coordinator_open(gtc_source_file(world_config()), &second) == GTC_STATUS_LOG);
    CHECK(!second && gtc_error_retry() == GTC_RETRY_LATER);
    CHECK(gtc_coordinator_open(gtc_source_toml("[coordinator]\nid = 7"), &second) ==
          GTC_STATUS_CONFIG);

    gtc_transaction *transaction;
    OK(gtc_coordinator_begin(coordinator, NULL, &transaction));
    gtc_record record = world_record("topic", "value");
    CHECK(gtc_transaction_send(transaction, "eux", &record) == GTC_STATUS_CONFIG);
    CHECK_TEXT(gtc_error_participant(), "eux");
    CHECK_TEXT(gtc_error_remedy(), "did you mean `eu`?");
    CHECK_TEXT(gtc_error_operation(), "send");
    record.topic = "\xff";
    CHECK(gtc_transaction_send(transaction, "eu", &record) == GTC_STATUS_CONFIG);
    CHECK_TEXT(gtc_error_problem(), "`topic` is not UTF-8");
    record = world_record("topic", "value");
    record.value.data = NULL;
    CHECK(gtc_transaction_send(transaction, "eu", &record) == GTC_STATUS_CONFIG);
    OK(gtc_transaction_abort(transaction, "enough"));
    CHECK(gtc_coordinator_forget(coordinator, gtc_transaction_id(transaction)) ==
          GTC_STATUS_INVALID_STATE);
    CHECK(gtc_coordinator_forget(coordinator, "seventeen") == GTC_STATUS_CONFIG);
    CHECK(gtc_coordinator_resolve(coordinator, "1-1", 77) == GTC_STATUS_CONFIG);
    gtc_transaction_free(transaction);

    OK(gtc_coordinator_close(coordinator));
    OK(gtc_coordinator_close(coordinator));
    CHECK(gtc_coordinator_begin(coordinator, NULL, &transaction) == GTC_STATUS_CLOSED);
    gtc_coordinator_free(coordinator);
}

static void nothing_outlives_its_coordinator(void) {
    char *topic = world_topic("");
    const char *topics = topic;
    gtc_coordinator *coordinator = world_open();
    gtc_transaction *transaction;
    OK(gtc_coordinator_begin(coordinator, NULL, &transaction));
    gtc_record record = world_record(topic, "value");
    OK(gtc_transaction_send(transaction, "eu", &record));
    gtc_consumer_options options = {.group = topic, .topics = &topics, .topics_length = 1};
    gtc_consumer *consumer;
    OK(gtc_coordinator_consumer(coordinator, "eu", &options, &consumer));
    gtc_coordinator_free(coordinator);
    /* The log is free again, while old handles live on and are told that it is over. */
    coordinator = world_open();
    CHECK(gtc_transaction_send(transaction, "eu", &record) != GTC_STATUS_OK);
    CHECK(gtc_transaction_commit(transaction) == GTC_STATUS_ABORTED);
    gtc_batch *batch;
    CHECK(gtc_consumer_next(consumer, GTC_FOREVER, &batch) == GTC_STATUS_CLOSED);
    gtc_transaction_free(transaction);
    gtc_consumer_free(consumer);
    gtc_coordinator_free(coordinator);
    COMMITTED("eu", topic, "");
    free(topic);
}

/* What a callback was told. */
typedef struct {
    sem_t told;
    gtc_status status;
    char error[256];
    pthread_t thread;
    void *value;
} call;

static void note(call *call, gtc_status status, void *value) {
    call->status = status;
    call->value = value;
    call->thread = pthread_self();
    snprintf(call->error, sizeof call->error, "%s", gtc_error_text());
    sem_post(&call->told);
}

static void on_done(void *context, gtc_status status) {
    note(context, status, NULL);
}

static void on_coordinator(void *context, gtc_status status, gtc_coordinator *coordinator) {
    note(context, status, coordinator);
}

static void on_batch(void *context, gtc_status status, gtc_batch *batch) {
    note(context, status, batch);
}

/* Makes the next calls itself, and waits for one. */
static void on_sent(void *context, gtc_status status) {
    call *call = context;
    CHECK(status == GTC_STATUS_OK);
    CHECK(gtc_transaction_commit_with(call->value, 9) == GTC_STATUS_CONFIG);
    OK(gtc_transaction_commit(call->value));
    OK(gtc_transaction_commit_async(call->value, GTC_COMMIT_RETURN_ACKNOWLEDGED, on_done, call));
}

static void wait_for(call *call) {
    while (sem_wait(&call->told))
        ;
    CHECK(!pthread_equal(call->thread, pthread_self()));
}

static void callbacks_run_once_on_a_thread_of_their_own(void) {
    char *topic = world_topic("");
    const char *topics = topic;
    call call = {0};
    sem_init(&call.told, 0, 0);
    OK(gtc_coordinator_open_async(gtc_source_toml("nonsense"), on_coordinator, &call));
    wait_for(&call);
    CHECK(call.status == GTC_STATUS_CONFIG && !call.value);
    CONTAINS(call.error, "config: ");
    OK(gtc_coordinator_open_async(gtc_source_file(world_config()), on_coordinator, &call));
    wait_for(&call);
    CHECK(call.status == GTC_STATUS_OK && call.value);
    CHECK_TEXT(call.error, "");
    gtc_coordinator *coordinator = call.value;

    gtc_transaction *transaction;
    OK(gtc_coordinator_begin(coordinator, NULL, &transaction));
    gtc_record record = world_record(topic, "value");
    call.value = transaction;
    OK(gtc_transaction_send_async(transaction, "eu", &record, on_sent, &call));
    wait_for(&call);
    CHECK(call.status == GTC_STATUS_INVALID_STATE);
    CONTAINS(call.error, gtc_transaction_id(transaction));
    gtc_transaction_free(transaction);

    gtc_consumer_options options = {.group = topic, .topics = &topics, .topics_length = 1};
    gtc_consumer *consumer;
    OK(gtc_coordinator_consumer(coordinator, "eu", &options, &consumer));
    OK(gtc_consumer_next_async(consumer, PATIENCE_MS, on_batch, &call));
    wait_for(&call);
    CHECK(call.status == GTC_STATUS_OK && call.value);
    gtc_batch_free(call.value);
    OK(gtc_coordinator_close_async(coordinator, on_done, &call));
    wait_for(&call);
    CHECK(call.status == GTC_STATUS_OK);
    gtc_consumer_free(consumer);
    gtc_coordinator_free(coordinator);
    sem_destroy(&call.told);
    COMMITTED("eu", topic, "value ");
    free(topic);
}

#ifdef __SANITIZE_ADDRESS__

/* The sanitizer's allocator may be locked by a thread that a fork leaves behind. */
static void forks_are_tested_without_the_sanitizer(void) {
    CHECK(system("./tests-plain a_forked_child") == 0);
}

#else

static void in_child(gtc_coordinator *coordinator, gtc_transaction *transaction) {
    gtc_transaction *begun;
    gtc_record record = world_record("topic", "value");
    CHECK(gtc_coordinator_begin(coordinator, NULL, &begun) == GTC_STATUS_UNSUPPORTED);
    CONTAINS(gtc_error_remedy(), "fork");
    CHECK(gtc_transaction_send(transaction, "eu", &record) == GTC_STATUS_UNSUPPORTED);
    CHECK(gtc_coordinator_close(coordinator) == GTC_STATUS_UNSUPPORTED);
    /* What it inherited goes away, and nothing of the parent's is touched by that. */
    gtc_transaction_free(transaction);
    gtc_coordinator_free(coordinator);
    _Exit(0);
}

static void a_forked_child_is_told_so_and_harms_nothing(void) {
    char *topic = world_topic("");
    gtc_coordinator *coordinator = world_open();
    gtc_transaction *transaction;
    OK(gtc_coordinator_begin(coordinator, NULL, &transaction));
    gtc_record record = world_record(topic, "value");
    OK(gtc_transaction_send(transaction, "eu", &record));
    pid_t child = fork();
    if (child == 0)
        in_child(coordinator, transaction);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    OK(gtc_transaction_send(transaction, "us", &record));
    OK(gtc_transaction_commit(transaction));
    gtc_transaction_free(transaction);
    gtc_coordinator_free(coordinator);
    COMMITTED("eu", topic, "value ");
    COMMITTED("us", topic, "value ");
    free(topic);
}

#endif

const test handle_tests[] = {
    {"numbers_and_names_are_for_life", numbers_and_names_are_for_life},
    {"null_does_no_harm", null_does_no_harm},
    {"errors_say_what_kind_where_and_what_to_do", errors_say_what_kind_where_and_what_to_do},
    {"nothing_outlives_its_coordinator", nothing_outlives_its_coordinator},
    {"callbacks_run_once_on_a_thread_of_their_own", callbacks_run_once_on_a_thread_of_their_own},
#ifdef __SANITIZE_ADDRESS__
    {"forks_are_tested_without_the_sanitizer", forks_are_tested_without_the_sanitizer},
#else
    {"a_forked_child_is_told_so_and_harms_nothing", a_forked_child_is_told_so_and_harms_nothing},
#endif
    {NULL, NULL},
};
