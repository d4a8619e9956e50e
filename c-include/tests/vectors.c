/* Replays the golden scenarios through the bare core: the same lines in must give the same bytes out. */
#include <dirent.h>
#include <inttypes.h>

#include "harness.h"

/* A text that grows. */
typedef struct {
    char *text;
    size_t length;
    FILE *file;
} grown;

static void grow(grown *grown) {
    grown->file = open_memstream(&grown->text, &grown->length);
    CHECK(grown->file);
}

static char *take(grown *grown) {
    CHECK(fclose(grown->file) == 0);
    return grown->text;
}

/* What comes out until the core waits, as a line ends with it. */
static char *drain(gtc_core *core) {
    grown actions, events, all;
    grow(&actions);
    grow(&events);
    grow(&all);
    gtc_core_output output;
    for (;;) {
        OK(gtc_core_poll_output(core, &output));
        if (output.kind == GTC_CORE_OUTPUT_KIND_WAIT)
            break;
        FILE *file = output.kind == GTC_CORE_OUTPUT_KIND_ACTION ? actions.file : events.file;
        fprintf(file, "%s%s", ftell(file) ? "," : "", output.text);
    }
    char *done = take(&actions), *told = take(&events);
    fprintf(all.file, ",\"actions\":[%s],\"events\":[%s],\"wait\":%s}", done, told, output.text);
    free(done);
    free(told);
    return take(&all);
}

static gtc_now now_of(const char *line) {
    gtc_now now;
    CHECK(sscanf(line, "{\"now\":{\"monotonic_us\":%" SCNu64 ",\"unix_ms\":%" SCNu64,
                 &now.monotonic_us, &now.unix_ms) == 2);
    return now;
}

static gtc_bytes record_of(const char *digits, size_t length) {
    unsigned char *bytes = malloc(length / 2);
    for (size_t i = 0; i < length / 2; i++)
        CHECK(sscanf(digits + 2 * i, "%2hhx", &bytes[i]) == 1);
    return (gtc_bytes){bytes, length / 2};
}

/* From a header such as `{...,"config":{...},"log":["0101...",...]}`. */
static gtc_core *start(const char *header, gtc_now now) {
    char *config = strdup(strstr(header, "\"config\":") + strlen("\"config\":"));
    char *list = strstr(config, ",\"log\":[");
    CHECK(strstr(header, "\"format\":1,") && list);
    *list = 0;
    gtc_bytes log[256];
    size_t count = 0;
    char *rest = NULL, *from = list + strlen(",\"log\":[");
    for (char *part = strtok_r(from, "\",]}\n", &rest); part; part = strtok_r(NULL, "\",]}\n", &rest)) {
        CHECK(count < 256);
        log[count++] = record_of(part, strlen(part));
    }
    gtc_core *core;
    OK(gtc_core_new(config, log, count, now, &core));
    while (count)
        free((void *)log[--count].data);
    free(config);
    return core;
}

/* The whole line is the request: other members than its own do not matter. */
static void ask(gtc_core *core, const char *line, gtc_now now) {
    const char *answer;
    OK(gtc_core_handle_request(core, line, now, &answer));
    const char *wanted = strstr(line, "\"result\":");
    CHECK(wanted && strncmp(wanted + strlen("\"result\":"), answer, strlen(answer)) == 0);
}

static void step(gtc_core *core, const char *line, gtc_now now) {
    uint64_t id;
    const char *kind = strstr(line, "\"step\":\"") + strlen("\"step\":\"");
    if (strncmp(kind, "request\"", 8) == 0)
        ask(core, line, now);
    else if (sscanf(kind, "response\",\"to\":%" SCNu64, &id) == 1)
        OK(gtc_core_handle_response(core, id, line, now));
    else if (strncmp(kind, "timeout\"", 8) == 0)
        OK(gtc_core_handle_timeout(core, now));
    else
        CHECK(strncmp(kind, "start\"", 6) == 0);
}

static size_t replay(const char *path) {
    FILE *file = fopen(path, "r");
    CHECK(file);
    char *header = NULL, *line = NULL;
    size_t header_size = 0, size = 0, steps = 0;
    CHECK(getline(&header, &header_size, file) > 0);
    gtc_core *core = NULL;
    for (; getline(&line, &size, file) > 0; steps++) {
        line[strcspn(line, "\n")] = 0;
        gtc_now now = now_of(line);
        if (strstr(line, "\"step\":\"start\"")) {
            gtc_core_free(core);
            core = start(header, now);
        }
        step(core, line, now);
        char *found = drain(core);
        const char *end = line + strlen(line) - strlen(found);
        if (end < line || strcmp(end, found) != 0) {
            fprintf(stderr, "%s line %zu:\n%s\n    gave\n%s\n", path, steps + 2, line, found);
            _Exit(1);
        }
        free(found);
    }
    gtc_core_free(core);
    free(header);
    free(line);
    fclose(file);
    return steps;
}

static void every_golden_scenario_gives_the_same_bytes(void) {
    const char *directory = getenv("GTC_VECTORS");
    DIR *entries = directory ? opendir(directory) : NULL;
    if (!entries) {
        fprintf(stderr, "GTC_VECTORS names no directory: run `cargo xtask languages c`\n");
        exit(1);
    }
    size_t files = 0, steps = 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (strstr(path, ".jsonl")) {
            steps += replay(path);
            files++;
        }
    }
    closedir(entries);
    CHECK(files >= 40 && steps > 1000);
}

static void what_the_core_cannot_read_is_refused(void) {
    gtc_now now = {1, 1};
    gtc_core *core = (gtc_core *)1;
    CHECK(gtc_core_new("{", NULL, 0, now, &core) == GTC_STATUS_CONFIG && !core);
    const char *config =
        "{\"coordinator\": \"c\", \"log_id\": \"00000000000000ab\", \"participants\": [{\"name\": \"eu\", "
        "\"slots_max\": 1, \"timeout_ms\": 60000, \"margin_us\": 1000000, \"names_max\": 10}]}";
    gtc_bytes damaged = {"damaged", 7};
    CHECK(gtc_core_new(config, &damaged, 1, now, &core) == GTC_STATUS_CONFIG);
    CHECK(strstr(gtc_error_text(), "record 0 of the log"));
    OK(gtc_core_new(config, NULL, 0, now, &core));
    const char *answer;
    CHECK(gtc_core_handle_request(core, "{\"request\": \"rollback\"}", now, &answer) ==
          GTC_STATUS_CONFIG);
    CHECK(gtc_core_handle_response(core, 1, "\xff", now) == GTC_STATUS_CONFIG);
    CHECK(gtc_core_handle_request(core, NULL, now, &answer) == GTC_STATUS_CONFIG);
    CHECK(gtc_core_poll_output(core, NULL) == GTC_STATUS_CONFIG);
    CHECK(gtc_core_handle_timeout(NULL, now) == GTC_STATUS_CONFIG);
    gtc_core_output output;
    OK(gtc_core_poll_output(core, &output));
    CHECK(output.kind == GTC_CORE_OUTPUT_KIND_ACTION && output.id == 1);
    gtc_core_free(core);
    gtc_core_free(NULL);
}

const test vector_tests[] = {
    {"every_golden_scenario_gives_the_same_bytes", every_golden_scenario_gives_the_same_bytes},
    {"what_the_core_cannot_read_is_refused", what_the_core_cannot_read_is_refused},
    {NULL, NULL},
};
