/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goal: maps and devices alive when a process ends or forks do no harm (case 41): it ends at once
 * and as it would, destroyed or not, by whichever thread; a child without the device's threads is
 * told. Method: each scenario in a child process, which has a time limit and says in shared memory
 * how far it came. This process calls nothing of nacre's: CUDA does not survive a fork. A plain
 * program: [--cpu | --cuda]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nacre/nacre.h"
#include "support/random.h"

enum { KEYS = 100000, FEW = 100, SECONDS = 120, NO_DEVICE = 77 };

#define NEED(condition, ...)                                                \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                   \
            fprintf(stderr, "\n");                                          \
            _exit(1);                                                       \
        }                                                                   \
    } while (0)
#define OK(call)                                                                           \
    do {                                                                                   \
        nacre_status status = (call);                                                      \
        NEED(status == NACRE_OK, "%s: %s", nacre_status_name(status), made.error.message); \
    } while (0)

/* What a child has made. Not on the stack: what is not destroyed is no leak. */
static struct {
    nacre_device *device;
    nacre_map *map;
    nacre_stream stream;
    uint64_t *keys; /* [KEYS], that the device reads; their own values, too */
    nacre_options options;
    nacre_error error;
} made;

/* Shared with the parent: scenes that came to their end. */
static volatile uint32_t *scenes;

/* Where there is no such device the child ends here. */
static void open_device(uint32_t backend)
{
    nacre_device_config config;
    nacre_device_config_init(&config, sizeof config);
    nacre_error_init(&made.error, sizeof made.error);
    config.backend = backend;
    config.threads = 3;
    config.error = &made.error;
    nacre_status status = nacre_device_open(&config, &made.device);
    if (status == NACRE_ERROR_NO_DEVICE || status == NACRE_ERROR_UNSUPPORTED) {
        printf("SKIPPED cuda: %s\n", made.error.message);
        fflush(stdout);
        _exit(NO_DEVICE);
    }
    OK(status);
    void *memory = NULL;
    OK(nacre_stream_create(made.device, &made.stream, &made.error));
    OK(nacre_memory_allocate(made.device, KEYS * 8, NACRE_SPACE_PINNED, &memory, &made.error));
    made.keys = memory;
    for (uint64_t i = 0; i < KEYS; i++) {
        made.keys[i] = test_mix(i);
    }
    nacre_options_init(&made.options, sizeof made.options);
    made.options.error = &made.error;
    OK(nacre_map_create(made.device, NULL, &made.map));
}

static nacre_status insert(uint64_t count)
{
    return nacre_map_insert(made.map, made.keys, made.keys, count, &made.options, made.stream);
}

/* Growth, threads; on CUDA the last batches are still on their way. */
static void use_map(void)
{
    OK(insert(KEYS));
    OK(nacre_map_erase(made.map, made.keys, KEYS / 2, &made.options, made.stream));
    OK(insert(KEYS));
}

static void destroy_all(void)
{
    nacre_map_destroy(made.map);
    nacre_memory_release(made.device, made.keys, NULL);
    nacre_stream_destroy(made.device, made.stream, NULL);
    nacre_device_close(made.device);
    memset(&made, 0, sizeof made);
    *scenes += 1;
}

/* ---- the scenarios: each ends its process, with status 0 ---- */

static void exit_with_all_alive(uint32_t backend)
{
    open_device(backend);
    use_map();
    exit(0);
}

/* Registered last, the handler runs first. */
static void destroy_by_a_late_handler(uint32_t backend)
{
    open_device(backend);
    use_map();
    NEED(atexit(destroy_all) == 0, "no handler");
    exit(0);
}

/* Registered first, the handler runs last: on CUDA the runtime is gone. */
static void destroy_by_an_early_handler(uint32_t backend)
{
    NEED(atexit(destroy_all) == 0, "no handler");
    open_device(backend);
    use_map();
    exit(0);
}

static void *exit_here(void *handler)
{
    use_map();
    NEED(handler == NULL || atexit(destroy_all) == 0, "no handler");
    exit(0);
}

static void exit_by_another_thread(uint32_t backend)
{
    pthread_t thread;
    open_device(backend);
    use_map();
    NEED(pthread_create(&thread, NULL, exit_here, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
}

static void destroy_by_another_thread_at_exit(uint32_t backend)
{
    pthread_t thread;
    open_device(backend);
    use_map();
    NEED(pthread_create(&thread, NULL, exit_here, &made) == 0, "no thread");
    pthread_join(thread, NULL);
}

/* Waits for a child of a scenario, which has to exit with 0. */
static void expect_child(pid_t child)
{
    int status = 0;
    NEED(child > 0 && waitpid(child, &status, 0) == child, "no child");
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with 0x%x", status);
}

static void need_unsupported(nacre_status status, const char *call)
{
    char begin[80];
    snprintf(begin, sizeof begin, "%s: this process was forked", call);
    NEED(status == NACRE_ERROR_UNSUPPORTED && made.error.status == status &&
             strncmp(made.error.message, begin, strlen(begin)) == 0 &&
             strstr(made.error.message, "; allowed: ") != NULL,
         "%s: %s: %s", call, nacre_status_name(status), made.error.message);
}

static void fork_after_threads_started(uint32_t backend)
{
    uint64_t size = 0, needed = 0, *found = malloc(KEYS * 8);
    NEED(found != NULL, "no memory");
    open_device(backend);
    use_map();
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        need_unsupported(insert(KEYS), "nacre_map_insert");
        need_unsupported(nacre_map_find(made.map, made.keys, KEYS, found, &made.options, NULL),
                         "nacre_map_find");
        need_unsupported(nacre_map_erase(made.map, made.keys, KEYS, &made.options, NULL),
                         "nacre_map_erase");
        OK(nacre_map_erase(made.map, made.keys, FEW, &made.options, NULL));
        OK(nacre_map_find(made.map, made.keys + FEW, FEW, found, &made.options, NULL));
        NEED(memcmp(found, made.keys + FEW, FEW * 8) == 0, "other values");
        OK(nacre_map_match(made.map, made.keys, KEYS, NULL, 8, NULL, 0, &needed, &made.options,
                           NULL));
        OK(nacre_map_retrieve(made.map, NULL, NULL, 0, &size, &made.options, NULL));
        NEED(needed == KEYS - FEW && size == needed, "%llu matches of %llu",
             (unsigned long long)needed, (unsigned long long)size);
        OK(nacre_map_check(made.map, &made.error, NULL));
        destroy_all();
        open_device(backend); /* one of its own */
        use_map();
        destroy_all();
        free(found);
        exit(0);
    }
    expect_child(child);
    OK(nacre_map_find(made.map, made.keys, KEYS, found, &made.options, NULL));
    NEED(memcmp(found, made.keys, KEYS * 8) == 0, "other values after a fork");
    free(found);
    destroy_all();
    exit(0);
}

static void fork_before_threads_started(uint32_t backend)
{
    open_device(backend);
    OK(insert(FEW));
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        use_map();
        destroy_all();
        exit(0);
    }
    expect_child(child);
    use_map();
    destroy_all();
    exit(0);
}

static const struct {
    const char *name;
    void (*run)(uint32_t backend);
    uint32_t scenes;
    uint32_t cpu_only; /* it forks */
} scenarios[] = {
    {"exit_with_all_alive", exit_with_all_alive, 0, 0},
    {"destroy_by_a_late_handler", destroy_by_a_late_handler, 1, 0},
    {"destroy_by_an_early_handler", destroy_by_an_early_handler, 1, 0},
    {"exit_by_another_thread", exit_by_another_thread, 0, 0},
    {"destroy_by_another_thread_at_exit", destroy_by_another_thread_at_exit, 1, 0},
    {"fork_after_threads_started", fork_after_threads_started, 3, 1},
    {"fork_before_threads_started", fork_before_threads_started, 2, 1},
};

/* 0: passed; 77: there is no such device. */
static int play(uint32_t backend, uint32_t number)
{
    const char *on = backend == NACRE_BACKEND_CPU ? "cpu" : "cuda";
    int status = 0;
    *scenes = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        scenarios[number].run(backend);
        _exit(1); /* it came back */
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        printf("%s process/%s: FAILED: no child\n", on, scenarios[number].name);
        return 1;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_DEVICE) {
        return NO_DEVICE;
    }
    const int passed = status == 0 && *scenes == scenarios[number].scenes;
    printf("%s process/%s: %s (status 0x%x, %u scenes)\n", on, scenarios[number].name,
           passed ? "passed" : "FAILED", (unsigned)status, (unsigned)*scenes);
    return !passed;
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";
    const char *required = getenv("NACRE_TEST_REQUIRE_CUDA");
    int failures = 0;
    scenes = mmap(NULL, sizeof *scenes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (scenes == MAP_FAILED) {
        return 1;
    }
    for (uint32_t backend = NACRE_BACKEND_CPU; backend <= NACRE_BACKEND_CUDA; backend++) {
        if (strcmp(only, backend == NACRE_BACKEND_CPU ? "--cuda" : "--cpu") == 0) {
            continue;
        }
        for (uint32_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
            if (backend == NACRE_BACKEND_CUDA && scenarios[i].cpu_only) {
                continue;
            }
            const int result = play(backend, i);
            if (result == NO_DEVICE) {
                failures += backend == NACRE_BACKEND_CPU || (required != NULL && *required == '1');
                break;
            }
            failures += result;
        }
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
