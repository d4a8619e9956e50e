/* A test runs in a process of its own: a crash or a leak is its own, and gtc starts anew in each. */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gtc.h>

/* Ends the test with where and what. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n    last error: %s\n", __FILE__, __LINE__, #condition,     \
                    gtc_error_text());                                                             \
            _Exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define OK(call) CHECK((call) == GTC_STATUS_OK)

#define CHECK_TEXT(found, expected)                                                                \
    do {                                                                                           \
        const char *text = (found);                                                                \
        if (!text || strcmp(text, (expected)) != 0) {                                              \
            fprintf(stderr, "%s:%d: %s is `%s`\n    and not `%s`\n", __FILE__, __LINE__, #found,   \
                    text ? text : "NULL", (expected));                                             \
            _Exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#define CONTAINS(found, part)                                                                      \
    do {                                                                                           \
        const char *text = (found);                                                                \
        if (!text || !strstr(text, (part))) {                                                      \
            fprintf(stderr, "%s:%d: %s is `%s`\n    without `%s`\n", __FILE__, __LINE__, #found,   \
                    text ? text : "NULL", (part));                                                 \
            _Exit(1);                                                                              \
        }                                                                                          \
    } while (0)

typedef struct {
    const char *name;
    void (*run)(void);
} test;

extern const test coordinator_tests[];
extern const test handle_tests[];
extern const test process_tests[];
extern const test vector_tests[];

#endif
