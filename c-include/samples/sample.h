/* What the samples share: arguments are checked, and an error ends the program with its text. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gtc.h>

static inline void usage(int wanted, int given, const char *text) {
    if (given < wanted) {
        fprintf(stderr, "usage: %s\n", text);
        exit(2);
    }
}

/* Ends the program with the error of this thread's last call. */
static inline void check(gtc_status status) {
    if (status != GTC_STATUS_OK) {
        fprintf(stderr, "%s\n", gtc_error_text());
        exit(1);
    }
}

static inline gtc_bytes bytes(const char *text) {
    gtc_bytes bytes = {text, strlen(text)};
    return bytes;
}

#endif
