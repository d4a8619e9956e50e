/* The samples as programs of their own: what they say, and what a kill -9 leaves to others. */
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "world.h"

/* What a program printed, and how it ended. */
typedef struct {
    char text[4096];
    int status;
} end;

__attribute__((format(printf, 1, 2))) static end run(const char *format, ...) {
    char line[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    strncat(line, " 2>&1", sizeof line - strlen(line) - 1);
    end end = {0};
    FILE *output = popen(line, "r");
    CHECK(output);
    end.text[fread(end.text, 1, sizeof end.text - 1, output)] = 0;
    end.status = pclose(output);
    return end;
}

/* Ends the test with what the program said. */
static void says(end end, const char *part) {
    if (end.status != 0 || !strstr(end.text, part)) {
        fprintf(stderr, "status %d without `%s`:\n%s\n", end.status, part, end.text);
        _Exit(1);
    }
}

static int was_killed(end end) {
    /* A shell tells of the signal by a status above 128. */
    int status = WIFEXITED(end.status) ? WEXITSTATUS(end.status) - 128 : WTERMSIG(end.status);
    if (status != SIGKILL)
        fprintf(stderr, "this needs a library with the feature crash-points, as `cargo xtask "
                        "languages c` makes it: %d\n%s\n", end.status, end.text);
    return status == SIGKILL;
}

static void the_samples_do_what_they_say(void) {
    char *topic = world_topic("");
    const char *config = world_config();
    says(run("./basic %s eu us %s", config, topic), "is on both clusters");
    says(run("./abort %s eu us %s", config, topic), "is on neither cluster: aborted");
    says(run("./resolve_in_doubt %s", config), "nothing is open");
    end unknown = run("./resolve_in_doubt %s 1-1000 commit", config);
    CHECK(unknown.status != 0);
    CONTAINS(unknown.text, "invalid-state: ");
    says(run("./basic-static %s eu us %s", config, topic), "is on both clusters");
    says(run("./usable_from_cpp %s eu us %s", config, topic), "is on both clusters");
    COMMITTED("eu", topic, "an order an order an order ");
    COMMITTED("us", topic, "an order an order an order ");
    free(topic);
}

static void an_own_producer_takes_part(void) {
    char *topic = world_topic("");
    const char *config = world_config();
    for (int i = 0; i < 2; i++)
        says(run("./own_producer %s eu us %s %s", config, topic, world_bootstrap("eu")),
             "is on both clusters");
    COMMITTED("eu", topic, "an order an order ");
    COMMITTED("us", topic, "an order an order ");
    free(topic);
}

static void the_jobs_do_what_they_say(void) {
    char *orders = world_topic("-orders"), *sums = world_topic("-sums");
    const char *config = world_config(), *values[] = {"1 2", "3", "4 5 6"};
    for (int i = 0; i < 3; i++)
        world_write("eu", orders, values[i]);
    const char *line = "./consume_transform_produce %s eu %s us %s";
    says(run(line, config, orders, sums), "3 orders summed");
    COMMITTED("us", sums, "3 3 15 ");
    says(run(line, config, orders, sums), "0 orders summed");
    says(run("./fan_out %s us %s eu", config, sums), "3 records are on all clusters");
    COMMITTED("eu", sums, "3 3 15 ");
    free(orders);
    free(sums);
}

static void killed_after_the_decision_another_program_ends_it(void) {
    char *topic = world_topic("");
    const char *config = world_config(), *crash = "GTC_CRASH_AT=append-decided:after";
    const char *sample = "./crash_and_recover";
    CHECK(was_killed(run("%s %s %s eu us %s", crash, sample, config, topic)));
    /* The program gtc, which is not written in C, finishes the same log. */
    CHECK(run("$GTC_PROGRAM recover --config %s", config).status == 0);
    COMMITTED("eu", topic, "-100 ");
    COMMITTED("us", topic, "+100 ");
    says(run("%s %s eu us %s", sample, config, topic), "was booked before");
    COMMITTED("eu", topic, "-100 ");
    free(topic);
}

static void killed_before_the_decision_the_next_run_books_it(void) {
    char *topic = world_topic("");
    const char *config = world_config(), *crash = "GTC_CRASH_AT=append-decided:before";
    const char *sample = "./crash_and_recover";
    CHECK(was_killed(run("%s %s %s eu us %s", crash, sample, config, topic)));
    says(run("%s %s eu us %s", sample, config, topic), "is booked, as");
    COMMITTED("eu", topic, "-100 ");
    COMMITTED("us", topic, "+100 ");
    free(topic);
}

static void valgrind_finds_nothing(void) {
    char *topic = world_topic("");
    says(run("valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "
             "./basic-plain %s eu us %s",
             world_config(), topic),
         "is on both clusters");
    COMMITTED("eu", topic, "an order ");
    free(topic);
}

const test process_tests[] = {
    {"the_samples_do_what_they_say", the_samples_do_what_they_say},
    {"an_own_producer_takes_part", an_own_producer_takes_part},
    {"the_jobs_do_what_they_say", the_jobs_do_what_they_say},
    {"killed_after_the_decision_another_program_ends_it",
     killed_after_the_decision_another_program_ends_it},
    {"killed_before_the_decision_the_next_run_books_it",
     killed_before_the_decision_the_next_run_books_it},
    {"valgrind_finds_nothing", valgrind_finds_nothing},
    {NULL, NULL},
};
