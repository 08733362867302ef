/* SPDX-License-Identifier: Apache-2.0 */
#include "support/harness.h"

#include <stdarg.h>
#include <time.h>

#include "nacre/core/hash.h"
#include "support/allocator.h"
#include "support/array.h"
#include "support/hash_inverse.h"

static test_row *first_row, **last_row = &first_row;

/* Tests ask for impossible amounts of memory: malloc shall say no, as it does elsewhere. */
#if defined(__SANITIZE_ADDRESS__)
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#elif defined(__SANITIZE_THREAD__)
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif

void test_row_add(test_row *row)
{
    *last_row = row;
    last_row = &row->next;
}

uint64_t test_setting(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text != NULL && *text != 0 ? strtoull(text, NULL, 0) : otherwise;
}

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static nacre_device_config device_config(uint32_t backend, nacre_error *error)
{
    nacre_device_config config;
    nacre_device_config_init(&config, sizeof config);
    config.backend = backend;
    config.threads = (uint32_t)test_setting("NACRE_TEST_THREADS", 3);
    config.checks = 1;
    config.error = error;
    return config;
}

bool test_backend_usable(uint32_t backend, char *reason, uint64_t reason_bytes)
{
    nacre_error error;
    nacre_device *device = NULL;
    nacre_error_init(&error, sizeof error);
    nacre_device_config config = device_config(backend, &error);
    nacre_status status = nacre_device_open(&config, &device);
    if (status != NACRE_OK) {
        snprintf(reason, reason_bytes, "%s: %s", nacre_status_name(status), error.message);
        return false;
    }
    nacre_device_close(device);
    return true;
}

nacre_device *test_device_open(test *t, const nacre_allocator *allocator)
{
    nacre_device *device = NULL;
    nacre_device_config config = device_config(t->backend, &t->error);
    if (allocator != NULL) {
        config.allocator = *allocator;
    }
    OK(t, nacre_device_open(&config, &device));
    return device;
}

_Noreturn void test_fail(test *t, const char *file, int line, const char *what, const char *format,
                         ...)
{
    va_list arguments;
    const char *base = strstr(file, "test/");
    fprintf(stderr, "\n%s:%d: %s/%s on %s, (%u,%u), NACRE_TEST_SEED=%llu\n    failed: %s\n    ",
            base != NULL ? base : file, line, t->suite, t->name, t->backend_name, t->key_bytes,
            t->value_bytes, (unsigned long long)test_setting("NACRE_TEST_SEED", 1), what);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s%s\n", t->note[0] != 0 ? "\n    at: " : "", t->note);
    fflush(stderr);
    longjmp(t->failed, 1);
}

void test_note(test *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->note, sizeof t->note, format, arguments);
    va_end(arguments);
}

void test_status(test *t, const char *file, int line, const char *call, nacre_status wanted,
                 nacre_status got)
{
    if (wanted != got) {
        test_fail(t, file, line, call, "%s instead of %s; \"%s\"", nacre_status_name(got),
                  nacre_status_name(wanted), got == NACRE_OK ? "" : t->error.message);
    }
}

void test_wait(test *t)
{
    OK(t, nacre_stream_wait(t->device, t->stream, &t->error));
}

nacre_map_config test_map_config(test *t)
{
    nacre_map_config config;
    nacre_map_config_init(&config, sizeof config);
    config.key_bytes = t->key_bytes;
    config.value_bytes = t->value_bytes;
    config.seed = test_random(&t->random);
    config.error = &t->error;
    return config;
}

nacre_map *test_map_create(test *t, const nacre_map_config *config)
{
    nacre_map *map = NULL;
    OK(t, nacre_map_create(t->device, config, &map));
    CHECK(t, map != NULL, "created, but NULL");
    return map;
}

nacre_map *test_map_growing(test *t, uint32_t growth, uint64_t capacity_keys)
{
    nacre_map_config config = test_map_config(t);
    config.growth = growth;
    config.capacity_keys = capacity_keys;
    return test_map_create(t, &config);
}

nacre_map *test_map_new(test *t, uint64_t capacity_keys)
{
    return test_map_growing(t, NACRE_GROWTH_WAIT, capacity_keys);
}

nacre_map_info test_info(test *t, const nacre_map *map)
{
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    OK(t, nacre_map_info_get(map, &info, &t->error));
    return info;
}

void *test_host(test *t, uint64_t bytes)
{
    void *memory = malloc(bytes != 0 ? bytes : 1);
    CHECK(t, memory != NULL, "the host has no %llu bytes", (unsigned long long)bytes);
    return memory;
}

uint64_t *test_keys(test *t, uint64_t first, uint64_t count)
{
    uint64_t *keys = test_host(t, count * 8);
    for (uint64_t i = 0; i < count; i++) {
        keys[i] = test_key(t, first + i);
    }
    return keys;
}

uint64_t *test_values(test *t, const uint64_t *keys, uint64_t count)
{
    uint64_t *values = test_host(t, count * 8);
    for (uint64_t i = 0; i < count; i++) {
        values[i] = test_value(t, keys[i]);
    }
    return values;
}

uint64_t *test_home_keys(test *t, uint64_t seed, uint32_t home, uint64_t count)
{
    uint64_t *keys = test_host(t, count * 8), key = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (t->key_bytes == 8) {
            keys[i] = test_hash_inverse(i << NACREI_HASH_SUBMAP_SHIFT | (home & 2047), seed);
            continue;
        }
        while ((nacrei_hash(key, seed) & 2047) != home) {
            key++;
        }
        CHECK(t, key <= UINT32_MAX, "not so many keys of 4 bytes share a home");
        keys[i] = key++;
    }
    return keys;
}

/* Opens what the body needs, runs it, closes; true when it came to its end. */
static bool run_body(test *t, void (*run)(test *t))
{
    if (setjmp(t->failed) != 0) {
        return false;
    }
    if (test_setting("NACRE_TEST_ALLOCATOR", 0) != 0) {
        t->allocator = test_allocator_new(t->backend);
    }
    t->device = test_device_open(t, t->allocator != NULL ? &t->allocator->callbacks : NULL);
    OK(t, nacre_stream_create(t->device, &t->stream, &t->error));
    run(t);
    test_wait(t);
    test_array_cache_release(t);
    OK(t, nacre_stream_destroy(t->device, t->stream, &t->error));
    nacre_device_close(t->device);
    if (t->allocator != NULL) {
        CHECK(t, t->allocator->misuse[0] == 0, "the allocator: %s", t->allocator->misuse);
        CHECK(t, t->allocator->live == 0, "%llu allocations are left",
              (unsigned long long)t->allocator->live);
        test_allocator_free(t->allocator);
    }
    return true;
}

uint32_t test_row_run(const test_row *row, uint32_t backend)
{
    static const uint32_t widths[6][2] = {{8, 8}, {8, 4}, {8, 0}, {4, 8}, {4, 4}, {4, 0}};
    const uint64_t wanted =
        row->widths == TEST_WIDTHS_ONE ? 1 : test_setting("NACRE_TEST_WIDTHS", 6);
    uint32_t failures = 0;
    for (uint32_t i = 0; i < 6 && i < wanted; i++) {
        if ((row->widths == TEST_WIDTHS_VALUES && widths[i][1] == 0) ||
            nacre_build_supports(backend, widths[i][0], widths[i][1]) == 0) {
            continue;
        }
        test *t = calloc(1, sizeof *t);
        if (t == NULL) {
            abort();
        }
        t->suite = row->suite;
        t->name = row->name;
        t->backend = backend;
        t->backend_name = backend == NACRE_BACKEND_CPU ? "cpu" : "cuda";
        t->key_bytes = widths[i][0];
        t->value_bytes = widths[i][1];
        t->seed = test_mix(test_setting("NACRE_TEST_SEED", 1) * 64 + i);
        for (const char *c = row->name; *c != 0; c++) {
            t->seed = test_mix(t->seed + (uint64_t)*c);
        }
        t->random = test_mix(t->seed);
        nacre_error_init(&t->error, sizeof t->error);
        failures += !run_body(t, row->run);
        free(t);
    }
    return failures;
}

uint32_t test_rows_run(uint32_t backend, uint32_t *ran)
{
    const char *wanted = getenv("NACRE_TEST_ROWS");
    uint32_t failures = 0;
    *ran = 0;
    for (const test_row *row = first_row; row != NULL; row = row->next) {
        char name[256];
        snprintf(name, sizeof name, "%s/%s", row->suite, row->name);
        if (wanted != NULL && strstr(name, wanted) == NULL) {
            continue;
        }
        double start = now_ms();
        uint32_t failed = test_row_run(row, backend);
        printf("%s %s: %s (%.0f ms)\n", backend == NACRE_BACKEND_CPU ? "cpu" : "cuda", name,
               failed == 0 ? "passed" : "FAILED", now_ms() - start);
        fflush(stdout);
        failures += failed;
        ++*ran;
    }
    return failures;
}

#if defined(NACRE_TEST_PLAIN)
int main(int argc, char **argv)
{
    uint32_t backends[2] = {NACRE_BACKEND_CPU, NACRE_BACKEND_CUDA}, failures = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cpu") == 0) {
            backends[1] = NACRE_BACKEND_CPU;
        } else if (strcmp(argv[i], "--cuda") == 0) {
            backends[0] = NACRE_BACKEND_CUDA;
        } else {
            setenv("NACRE_TEST_ROWS", argv[i], 1);
        }
    }
    for (uint32_t i = 0; i < (backends[0] == backends[1] ? 1u : 2u); i++) {
        char reason[320];
        uint32_t ran;
        if (!test_backend_usable(backends[i], reason, sizeof reason)) {
            printf("SKIPPED %s: %s\n", backends[i] == NACRE_BACKEND_CPU ? "cpu" : "cuda", reason);
            failures +=
                backends[i] == NACRE_BACKEND_CPU || test_setting("NACRE_TEST_REQUIRE_CUDA", 0) != 0;
            continue;
        }
        failures += test_rows_run(backends[i], &ran);
    }
    printf("%u failures\n", failures);
    return failures != 0;
}
#endif
