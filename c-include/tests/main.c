/* Runs the tests, or those whose names have the part that is given. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* Far more than the longest test takes: what waits longer hangs. */
#define PATIENCE_S 240

static int passed, failed;

static int run(const test *test) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        test->run();
        exit(0);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void run_all(const test *tests, const char *part) {
    for (const test *test = tests; test->name; test++) {
        if (!strstr(test->name, part))
            continue;
        int worked = run(test);
        passed += worked;
        failed += !worked;
        printf("%s %s\n", worked ? "ok" : "not ok", test->name);
    }
}

int main(int argc, char **argv) {
    const char *part = argc > 1 ? argv[1] : "";
    /* For the logs and configurations of the tests. */
    mkdir("work", 0777);
    run_all(vector_tests, part);
    run_all(handle_tests, part);
    run_all(coordinator_tests, part);
    run_all(process_tests, part);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
