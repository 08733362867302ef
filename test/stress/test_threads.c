/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goal: no data race and no lost key when eight host threads work on one map while others come and
 * go. Method: a plain program for ThreadSanitizer, on the CPU. Each thread inserts, assigns,
 * counts, finds and erases keys of its own, adds to shared ones, and asks for size, info and
 * everything in between; batches large enough for the device's own threads are among them; each
 * also makes maps of its own on the shared device. What is known is verified on the way and at the
 * end. NACRE_TEST_STEPS: rounds per thread, default 30. NACRE_TEST_SEED.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/nacre.h"
#include "support/random.h"

enum { THREADS = 8, OWN = 6000, SHARED = 32, LARGE = 70000 };

typedef struct worker {
    nacre_device *device;
    nacre_map *map;
    uint64_t number;
    uint64_t rounds;
    uint64_t random;
    uint64_t added; /* to each shared key */
    uint8_t present[OWN];
    uint64_t values[OWN];
} worker;

#define NEED(condition, ...)                                                \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                   \
            fprintf(stderr, "\n");                                          \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

static void need_ok(nacre_status status, const nacre_error *error, const char *call)
{
    NEED(status == NACRE_OK, "%s: %s: %s", call, nacre_status_name(status), error->message);
}
#define OK(call) need_ok((call), &error, #call)

static uint64_t own_key(uint64_t number, uint64_t i)
{
    return test_mix(1000 + i * THREADS + number);
}

static uint64_t shared_key(uint64_t i)
{
    return test_mix(UINT64_MAX / 2 + i);
}

static uint64_t setting(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text != NULL && *text != 0 ? strtoull(text, NULL, 0) : otherwise;
}

/* One batch on a stretch of the thread's own keys, and what must have come of it. */
static void own_batch(worker *w, nacre_options *options)
{
    uint64_t keys[512], values[512], out[512], n = 1 + test_random_below(&w->random, 512);
    uint64_t first = test_random_below(&w->random, OWN - n + 1);
    uint8_t outcomes[512];
    nacre_error error;
    nacre_error_init(&error, sizeof error);
    options->outcomes = outcomes;
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = own_key(w->number, first + i);
        values[i] = test_random(&w->random);
    }
    uint64_t kind = test_random_below(&w->random, 5);
    switch (kind) {
    case 0:
        OK(nacre_map_insert(w->map, keys, values, n, options, NULL));
        break;
    case 1:
        OK(nacre_map_insert_or_assign(w->map, keys, values, n, options, NULL));
        break;
    case 2:
        OK(nacre_map_erase(w->map, keys, n, options, NULL));
        break;
    case 3:
        OK(nacre_map_find_or_insert(w->map, keys, values, n, out, options, NULL));
        break;
    default:
        OK(nacre_map_find(w->map, keys, n, out, options, NULL));
        break;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint8_t *present = &w->present[first + i];
        uint64_t *value = &w->values[first + i];
        const uint8_t there[5] = {NACRE_OUTCOME_FOUND, NACRE_OUTCOME_ASSIGNED, NACRE_OUTCOME_ERASED,
                                  NACRE_OUTCOME_FOUND, NACRE_OUTCOME_FOUND};
        uint8_t absent = kind == 2 || kind == 4 ? NACRE_OUTCOME_MISSING : NACRE_OUTCOME_INSERTED;
        NEED(outcomes[i] == (*present ? there[kind] : absent), "operation %d, outcome %u",
             (int)kind, outcomes[i]);
        if (kind == 1 || (kind != 2 && kind != 4 && !*present)) {
            *value = values[i];
        }
        *present = kind == 2 ? 0 : kind == 4 ? *present : 1;
        NEED((kind != 3 && kind != 4) || !*present || out[i] == *value, "another value");
    }
}

static void shared_batch(worker *w, nacre_options *options)
{
    uint64_t keys[SHARED * 4];
    nacre_error error;
    nacre_error_init(&error, sizeof error);
    options->outcomes = NULL;
    for (uint64_t i = 0; i < SHARED * 4; i++) {
        keys[i] = shared_key(i % SHARED);
    }
    OK(nacre_map_insert_or_apply(w->map, keys, NULL, SHARED * 4, NACRE_REDUCTION_ADD,
                                 NACRE_TYPE_U64, options, NULL));
    w->added += 4;
}

/* A map of the thread's own, with batches that the device's threads take part in. */
static void own_map(worker *w)
{
    nacre_error error;
    nacre_map_config config;
    nacre_map *map = NULL;
    uint64_t size = 0;
    nacre_error_init(&error, sizeof error);
    nacre_map_config_init(&config, sizeof config);
    config.value_bytes = w->number % 2 != 0 ? 4 : 8;
    config.load_max =
        w->number % 4 < 2 ? 0.1 : 0.92; /* at 0.1 there are enough submaps to share out */
    config.capacity_keys = w->number % 4 < 2 ? 110000 : 0;
    config.error = &error;
    OK(nacre_map_create(w->device, &config, &map));
    uint64_t *keys = malloc(LARGE * 8);
    NEED(keys != NULL, "no memory");
    for (uint64_t i = 0; i < LARGE; i++) {
        keys[i] = test_mix(i % (LARGE / 2) + w->number);
    }
    OK(nacre_map_insert(map, keys, keys, LARGE, NULL, NULL));
    OK(nacre_map_erase(map, keys, LARGE / 4, NULL, NULL));
    OK(nacre_map_size(map, &size, &error, NULL));
    NEED(size == LARGE / 2 - LARGE / 4, "size %llu", (unsigned long long)size);
    OK(nacre_map_check(map, &error, NULL));
    nacre_map_destroy(map);
    free(keys);
}

/* Calls that only look; what others do meanwhile is in them or not. */
static void look(worker *w)
{
    nacre_error error;
    nacre_map_info info;
    nacre_map_statistics statistics;
    uint64_t size = 0, async = 0, needed = 0, keys[100];
    uint32_t faults = 0;
    nacre_error_init(&error, sizeof error);
    nacre_map_info_init(&info, sizeof info);
    nacre_map_statistics_init(&statistics, sizeof statistics);
    OK(nacre_map_info_get(w->map, &info, &error));
    OK(nacre_map_size(w->map, &size, &error, NULL));
    OK(nacre_map_size_async(w->map, &async, &error, NULL));
    OK(nacre_map_retrieve(w->map, keys, NULL, 100, &needed, NULL, NULL));
    OK(nacre_map_faults(w->map, &faults, 1, &error));
    NEED(size <= THREADS * OWN + SHARED && needed <= THREADS * OWN + SHARED && faults == 0,
         "size %llu", (unsigned long long)size);
    if (test_random_below(&w->random, 8) == 0) {
        OK(nacre_map_statistics_get(w->map, &statistics, &error, NULL));
        OK(nacre_map_check(w->map, &error, NULL));
        OK(nacre_map_reserve(w->map, size + 1000, &error, NULL));
        OK(nacre_map_shrink(w->map, &error, NULL));
    }
}

static void *work(void *argument)
{
    worker *w = argument;
    for (uint64_t round = 0; round < w->rounds; round++) {
        nacre_options options;
        nacre_options_init(&options, sizeof options);
        for (int i = 0; i < 6; i++) {
            own_batch(w, &options);
        }
        shared_batch(w, &options);
        look(w);
        if (round % 10 == w->number) {
            own_map(w);
        }
    }
    return NULL;
}

/* The map holds what the threads say, and nothing else. */
static void verify(nacre_map *map, const worker *workers)
{
    nacre_error error;
    uint64_t wanted = SHARED, size = 0, added = 0;
    nacre_error_init(&error, sizeof error);
    for (uint64_t n = 0; n < THREADS; n++) {
        const worker *w = &workers[n];
        added += w->added;
        for (uint64_t i = 0; i < OWN; i++) {
            uint64_t key = own_key(n, i), value = ~w->values[i];
            OK(nacre_map_find(map, &key, 1, &value, NULL, NULL));
            NEED(value == (w->present[i] ? w->values[i] : ~w->values[i]), "key %llu of thread %llu",
                 (unsigned long long)i, (unsigned long long)n);
            wanted += w->present[i];
        }
    }
    for (uint64_t i = 0; i < SHARED; i++) {
        uint64_t key = shared_key(i), value = 0;
        OK(nacre_map_find(map, &key, 1, &value, NULL, NULL));
        NEED(value == added, "a shared key counts %llu instead of %llu", (unsigned long long)value,
             (unsigned long long)added);
    }
    OK(nacre_map_size(map, &size, &error, NULL));
    NEED(size == wanted, "%llu keys instead of %llu", (unsigned long long)size,
         (unsigned long long)wanted);
    OK(nacre_map_check(map, &error, NULL));
}

int main(void)
{
    nacre_error error;
    nacre_device *device = NULL;
    nacre_device_config device_config;
    nacre_map_config config;
    nacre_map *map = NULL;
    pthread_t threads[THREADS];
    worker *workers = calloc(THREADS, sizeof *workers);
    uint64_t seed = setting("NACRE_TEST_SEED", 1), rounds = setting("NACRE_TEST_STEPS", 30);
    NEED(workers != NULL, "no memory");
    printf("stress: NACRE_TEST_SEED=%llu NACRE_TEST_STEPS=%llu\n", (unsigned long long)seed,
           (unsigned long long)rounds);
    nacre_error_init(&error, sizeof error);
    nacre_device_config_init(&device_config, sizeof device_config);
    device_config.backend = NACRE_BACKEND_CPU;
    device_config.threads = 3;
    device_config.error = &error;
    OK(nacre_device_open(&device_config, &device));
    nacre_map_config_init(&config, sizeof config);
    config.error = &error;
    OK(nacre_map_create(device, &config, &map));
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i].device = device;
        workers[i].map = map;
        workers[i].number = i;
        workers[i].rounds = rounds;
        workers[i].random = test_mix(seed * THREADS + i);
        NEED(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "no thread");
    }
    for (uint64_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    nacre_device_close(device);
    verify(map, workers);
    nacre_map_destroy(map);
    free(workers);
    printf("passed\n");
    return 0;
}
