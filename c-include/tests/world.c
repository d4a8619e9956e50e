#include "world.h"

#include <unistd.h>

static char name[32];

const char *world_name(void) {
    if (!*name)
        snprintf(name, sizeof name, "c-%d", (int)getpid());
    return name;
}

const char *world_bootstrap(const char *cluster) {
    static char found[2][128];
    char *place = found[strcmp(cluster, "eu") == 0];
    const char *clusters = getenv("GTC_TEST_CLUSTERS");
    char pattern[32];
    snprintf(pattern, sizeof pattern, "%s=", cluster);
    const char *at = clusters ? strstr(clusters, pattern) : NULL;
    if (!at) {
        fprintf(stderr, "GTC_TEST_CLUSTERS names no %s: run `cargo xtask languages c`\n", cluster);
        exit(2);
    }
    snprintf(place, sizeof found[0], "%.*s", (int)strcspn(at + strlen(pattern), " "),
             at + strlen(pattern));
    return place;
}

const char *world_config(void) {
    static char path[64];
    snprintf(path, sizeof path, "work/%s.toml", world_name());
    FILE *file = fopen(path, "w");
    CHECK(file);
    fprintf(file, "[coordinator]\nid = \"%s\"\nlog = \"%s\"\n", world_name(), world_name());
    const char *clusters[] = {"eu", "us"};
    for (int i = 0; i < 2; i++)
        fprintf(file, "[participants.%s]\nkind = \"kafka\"\nslots = 4\nbootstrap.servers = \"%s\"\n",
                clusters[i], world_bootstrap(clusters[i]));
    CHECK(fclose(file) == 0);
    return path;
}

static void set(rd_kafka_conf_t *settings, const char *key, const char *value) {
    char why[256];
    if (rd_kafka_conf_set(settings, key, value, why, sizeof why) != RD_KAFKA_CONF_OK) {
        fprintf(stderr, "%s\n", why);
        _Exit(1);
    }
}

static rd_kafka_t *client(rd_kafka_type_t type, const char *cluster, const char *name) {
    rd_kafka_conf_t *settings = rd_kafka_conf_new();
    set(settings, "bootstrap.servers", world_bootstrap(cluster));
    if (name)
        set(settings, "transactional.id", name);
    if (type == RD_KAFKA_CONSUMER) {
        set(settings, "group.id", "reader");
        set(settings, "enable.auto.commit", "false");
        set(settings, "isolation.level", "read_committed");
        set(settings, "enable.partition.eof", "true");
    }
    char why[256];
    rd_kafka_t *made = rd_kafka_new(type, settings, why, sizeof why);
    CHECK(made);
    return made;
}

static void make_topic(const char *cluster, const char *topic) {
    rd_kafka_t *admin = client(RD_KAFKA_PRODUCER, cluster, NULL);
    char why[256];
    rd_kafka_NewTopic_t *made = rd_kafka_NewTopic_new(topic, 1, 1, why, sizeof why);
    CHECK(made);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(admin);
    rd_kafka_CreateTopics(admin, &made, 1, NULL, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, PATIENCE_MS);
    CHECK(event && rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR);
    size_t count;
    const rd_kafka_topic_result_t **results =
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
    CHECK(count == 1 && rd_kafka_topic_result_error(results[0]) == RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(made);
    rd_kafka_destroy(admin);
}

char *world_topic(const char *suffix) {
    size_t size = strlen(world_name()) + strlen(suffix) + 1;
    char *topic = malloc(size);
    snprintf(topic, size, "%s%s", world_name(), suffix);
    make_topic("eu", topic);
    make_topic("us", topic);
    return topic;
}

void world_write(const char *cluster, const char *topic, const char *value) {
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, cluster, NULL);
    rd_kafka_resp_err_t refused = rd_kafka_producev(
        producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_VALUE((void *)value, strlen(value)),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    CHECK(!refused);
    CHECK(!rd_kafka_flush(producer, PATIENCE_MS));
    rd_kafka_destroy(producer);
}

rd_kafka_t *world_producer(const char *cluster, const char *name) {
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, cluster, name);
    CHECK(!rd_kafka_init_transactions(producer, PATIENCE_MS));
    return producer;
}

void world_read(const char *cluster, const char *topic, world_reader see, void *context) {
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, cluster, NULL);
    rd_kafka_topic_partition_list_t *places = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(places, topic, 0)->offset = 0;
    CHECK(!rd_kafka_assign(consumer, places));
    for (;;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, PATIENCE_MS);
        /* Without one the last stable offset is stuck. */
        CHECK(message);
        rd_kafka_resp_err_t error = message->err;
        if (!error)
            see(context, message);
        rd_kafka_message_destroy(message);
        if (error == RD_KAFKA_RESP_ERR__PARTITION_EOF)
            break;
        CHECK(!error);
    }
    rd_kafka_topic_partition_list_destroy(places);
    CHECK(!rd_kafka_consumer_close(consumer));
    rd_kafka_destroy(consumer);
}

static void add(void *context, const rd_kafka_message_t *message) {
    if (message->payload)
        fprintf(context, "%.*s ", (int)message->len, (const char *)message->payload);
    else
        fprintf(context, "(null) ");
}

char *world_committed(const char *cluster, const char *topic) {
    char *text = NULL;
    size_t size;
    FILE *values = open_memstream(&text, &size);
    world_read(cluster, topic, add, values);
    CHECK(fclose(values) == 0);
    return text;
}

gtc_record world_record(const char *topic, const char *value) {
    gtc_record record = gtc_record_to(topic);
    record.value = (gtc_bytes){value, strlen(value)};
    return record;
}

gtc_coordinator *world_open(void) {
    gtc_coordinator *coordinator;
    OK(gtc_coordinator_open(gtc_source_file(world_config()), &coordinator));
    return coordinator;
}
