/* Two real clusters, `eu` and `us`, which `cargo xtask languages c` starts and names in the
 * environment; read and written with librdkafka, which knows nothing of gtc. */
#ifndef WORLD_H
#define WORLD_H

#include <librdkafka/rdkafka.h>

#include "harness.h"

#define PATIENCE_MS 60000

/* A name that no other test has. */
const char *world_name(void);

/* The address of a cluster. */
const char *world_bootstrap(const char *cluster);

/* A configuration file with both clusters and a log of its own. */
const char *world_config(void);

/* Makes a topic with one partition on both clusters; its name ends with `suffix`. */
char *world_topic(const char *suffix);

/* Writes a record outside of any transaction. */
void world_write(const char *cluster, const char *topic, const char *value);

/* An own producer, initialised. */
rd_kafka_t *world_producer(const char *cluster, const char *name);

typedef void (*world_reader)(void *context, const rd_kafka_message_t *message);

/* Shows each record that a read_committed reader sees, up to the end of the partition. */
void world_read(const char *cluster, const char *topic, world_reader see, void *context);

/* The values that such a reader sees, each with a space behind it; `(null)` for a tombstone. The
 * text is to be freed. */
char *world_committed(const char *cluster, const char *topic);

/* Checks what is committed, on one cluster. */
#define COMMITTED(cluster, topic, expected)                                                        \
    do {                                                                                           \
        char *values = world_committed(cluster, topic);                                            \
        CHECK_TEXT(values, expected);                                                              \
        free(values);                                                                              \
    } while (0)

/* A record with a value. */
gtc_record world_record(const char *topic, const char *value);

/* A coordinator of `world_config`. */
gtc_coordinator *world_open(void);

#endif
