/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harness: one test body, run on every backend and in every width.
 *
 *     NACRE_CONTRACT_TEST(insert, existing_key_loses_its_value)
 *     {
 *         // Goal: ... Method: ...
 *         nacre_map *map = test_map_new(t, 0);
 *         OK(t, nacre_map_clear(map, &t->error, t->stream));
 *         CHECK(t, 1 + 1 == 2, "arithmetic gave %d", 1 + 1);
 *         nacre_map_destroy(map);
 *     }
 *
 * Each such test becomes a Criterion test insert_cpu/existing_key_loses_its_value. On CUDA, where a
 * process costs 0.6 s, one Criterion test cuda/every_row runs all bodies of the executable,
 * printing the name of each; where there is no device it prints "SKIPPED cuda: reason" and is
 * skipped.
 *
 * A failing CHECK leaves the body by longjmp, so that the next one runs: what the body allocated
 * stays. CHECK belongs on the thread that runs the body.
 *
 * The environment of tests, and of nothing else:
 *     NACRE_TEST_SEED=n          another random sequence; failures print it
 *     NACRE_TEST_STEPS=n         steps of each random sequence, rounds of churn
 *     NACRE_TEST_ROWS=text       only rows with that in "suite/name"
 *     NACRE_TEST_WIDTHS=n        only the first n of the widths (8,8) (8,4) (8,0) (4,8) (4,4) (4,0)
 *     NACRE_TEST_SHORT=1         on CUDA, too, sizes as on the CPU: for sanitizers
 *     NACRE_TEST_THREADS=n       threads of the CPU device; default 3
 *     NACRE_TEST_ALLOCATOR=1     devices get a caller's allocator that checks how it is used
 *     NACRE_TEST_REQUIRE_CUDA=1  no CUDA device is a failure, not a skip
 *
 * Compiled with NACRE_TEST_PLAIN, the same rows make a program without Criterion (harness.c has its
 * main), for machines and sanitizers that Criterion does not run on: [--cpu | --cuda] [rows]
 */
#ifndef NACRE_TEST_HARNESS_H
#define NACRE_TEST_HARNESS_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/nacre.h"
#include "support/random.h"

#if !defined(NACRE_TEST_PLAIN)
#include <criterion/criterion.h>
#endif

/* For printf. */
#define LL(x) ((unsigned long long)(x))

typedef struct test_allocator test_allocator;     /* allocator.h */
typedef struct test_array_cache test_array_cache; /* array.h */

/* What a body works with. */
typedef struct test {
    const char *suite;
    const char *name;
    uint32_t backend; /* NACRE_BACKEND_CPU or _CUDA */
    const char *backend_name;
    nacre_device *device;
    nacre_stream stream; /* NULL on the CPU, a non-blocking one on CUDA */
    uint32_t key_bytes;
    uint32_t value_bytes;
    uint64_t seed;   /* of this row; printed when it fails */
    uint64_t random; /* state for test_random */
    nacre_error error;
    test_allocator *allocator; /* of the device; NULL: the library's own */
    test_array_cache *cache;
    char note[192]; /* what the body is at; printed when it fails */
    jmp_buf failed;
} test;

enum { TEST_WIDTHS_ONE, TEST_WIDTHS_VALUES, TEST_WIDTHS_ALL };

typedef struct test_row {
    const char *suite;
    const char *name;
    void (*run)(test *t);
    uint32_t widths; /* TEST_WIDTHS_... */
    struct test_row *next;
} test_row;

void test_row_add(test_row *row);

/* Runs one row on a backend in its widths; the number of those that failed. */
uint32_t test_row_run(const test_row *row, uint32_t backend);

/* Runs all rows of the executable; *ran counts them. */
uint32_t test_rows_run(uint32_t backend, uint32_t *ran);

/* 1 if a device of the backend opens; else 0 and why not. */
bool test_backend_usable(uint32_t backend, char *reason, uint64_t reason_bytes);

#define NACRE_TEST_REGISTER(suite, name, widths)                                          \
    static void suite##_##name(test *t);                                                  \
    static test_row suite##_##name##_row = {#suite, #name, suite##_##name, widths, NULL}; \
    __attribute__((constructor)) static void suite##_##name##_add(void)                   \
    {                                                                                     \
        test_row_add(&suite##_##name##_row);                                              \
    }

#if defined(NACRE_TEST_PLAIN)
#define NACRE_TEST_ROW(suite, name, widths)  \
    NACRE_TEST_REGISTER(suite, name, widths) \
    static void suite##_##name(test *t)
#else
#define NACRE_TEST_ROW(suite, name, widths)                                         \
    NACRE_TEST_REGISTER(suite, name, widths)                                        \
    Test(suite##_cpu, name)                                                         \
    {                                                                               \
        uint32_t failures = test_row_run(&suite##_##name##_row, NACRE_BACKEND_CPU); \
        cr_assert(failures == 0, "%u widths failed, see above", failures);          \
    }                                                                               \
    static void suite##_##name(test *t)
#endif

/* Every width that the build has; only those with values; only (8,8). */
#define NACRE_CONTRACT_TEST(suite, name)        NACRE_TEST_ROW(suite, name, TEST_WIDTHS_ALL)
#define NACRE_CONTRACT_TEST_VALUES(suite, name) NACRE_TEST_ROW(suite, name, TEST_WIDTHS_VALUES)
#define NACRE_CONTRACT_TEST_ONCE(suite, name)   NACRE_TEST_ROW(suite, name, TEST_WIDTHS_ONE)

/* Reports a failure and leaves the body. */
_Noreturn void test_fail(test *t, const char *file, int line, const char *what, const char *format,
                         ...) __attribute__((format(printf, 5, 6)));

#define CHECK(t, condition, ...)                                         \
    do {                                                                 \
        if (!(condition)) {                                              \
            test_fail((t), __FILE__, __LINE__, #condition, __VA_ARGS__); \
        }                                                                \
    } while (0)

/* The call must return this status. Messages come from t->error: give calls &t->error. */
void test_status(test *t, const char *file, int line, const char *call, nacre_status wanted,
                 nacre_status got);
#define STATUS(t, wanted, call) test_status((t), __FILE__, __LINE__, #call, (wanted), (call))
#define OK(t, call)             STATUS(t, NACRE_OK, call)

/* All the stream's work has finished. */
void test_wait(test *t);

/* One more device like t->device, with an allocator or (NULL) the library's own. */
nacre_device *test_device_open(test *t, const nacre_allocator *allocator);

/* A config of the row's widths, with a seed from the row's random numbers. */
nacre_map_config test_map_config(test *t);

/* A map of that config, or of all defaults with this capacity, or this mode of growth too. */
nacre_map *test_map_create(test *t, const nacre_map_config *config);
nacre_map *test_map_new(test *t, uint64_t capacity_keys);
nacre_map *test_map_growing(test *t, uint32_t growth, uint64_t capacity_keys);

/* What info says now. */
nacre_map_info test_info(test *t, const nacre_map *map);

/* Says what the body is at. */
void test_note(test *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number in an environment variable. */
uint64_t test_setting(const char *variable, uint64_t otherwise);

/* malloc that fails the test instead of returning NULL; also for 0 bytes. */
void *test_host(test *t, uint64_t bytes);

/* x cut to the row's keys or values. */
static inline uint64_t test_cut(uint64_t x, uint32_t bytes)
{
    return bytes >= 8 ? x : bytes == 4 ? (uint32_t)x : 0;
}

/* Key number i of this row: distinct for distinct i (below 2^32 for keys of 4 bytes), random. */
static inline uint64_t test_key(const test *t, uint64_t i)
{
    return t->key_bytes == 8 ? test_mix(i + t->seed) : test_mix32((uint32_t)(i + t->seed));
}

/* A random value that fits and is not the key. */
static inline uint64_t test_value(test *t, uint64_t key)
{
    uint64_t value;
    do {
        value = test_cut(test_random(&t->random), t->value_bytes);
    } while (t->value_bytes != 0 && value == test_cut(key, t->value_bytes));
    return value;
}

/* Fresh arrays, which the caller frees: keys number `first` and following of this row; values for
   keys. */
uint64_t *test_keys(test *t, uint64_t first, uint64_t count);
uint64_t *test_values(test *t, const uint64_t *keys, uint64_t count);

/* Distinct keys whose home bucket is `home` in any submap; keys of 8 bytes also share step and
   class. */
uint64_t *test_home_keys(test *t, uint64_t seed, uint32_t home, uint64_t count);

/* With NACRE_TEST_SHORT. */
static inline bool test_short(void)
{
    return test_setting("NACRE_TEST_SHORT", 0) != 0;
}

/* Large on CUDA, small on the CPU, and everywhere with NACRE_TEST_SHORT. */
static inline uint64_t test_scale(const test *t, uint64_t cpu, uint64_t cuda)
{
    return t->backend == NACRE_BACKEND_CUDA && !test_short() ? cuda : cpu;
}

#endif
