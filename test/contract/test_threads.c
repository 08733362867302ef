/* SPDX-License-Identifier: Apache-2.0 */
/* Host threads: one map from several, several maps at once (cases 21, 22). */
#include <pthread.h>
#include <time.h>

#include "support/batch.h"

enum { THREADS_MAX = 8 };

/* One host thread: a copy of the row's context, so that a failing CHECK leaves this thread's body
   only. */
typedef struct worker {
    test context;
    nacre_map *map;
    oracle o;
    uint64_t number;
    uint64_t *published; /* keys that are there for good, in `reads` */
    uint64_t *stop;
    void *shared; /* with the other threads, as the body likes */
    void (*body)(struct worker *w);
    bool passed;
    pthread_t thread;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    test *t = &w->context;
    if (setjmp(t->failed) == 0) {
        OK(t, nacre_stream_create(t->device, &t->stream, &t->error));
        w->body(w);
        test_wait(t);
        test_array_cache_release(t);
        OK(t, nacre_stream_destroy(t->device, t->stream, &t->error));
        w->passed = true;
    }
    return NULL;
}

static worker *workers_new(test *t, uint64_t count)
{
    worker *w = calloc(count, sizeof *w);
    CHECK(t, w != NULL, "no host memory");
    for (uint64_t i = 0; i < count; i++) {
        w[i].context = *t;
        w[i].context.cache = NULL;
        w[i].context.random = test_mix(t->seed + i + 1);
        w[i].number = i;
        oracle_init(&w[i].o);
    }
    return w;
}

static void workers_run(test *t, worker *w, uint64_t count)
{
    uint64_t passed = 0;
    for (uint64_t i = 0; i < count; i++) {
        CHECK(t, pthread_create(&w[i].thread, NULL, work, &w[i]) == 0, "no thread");
    }
    for (uint64_t i = 0; i < count; i++) {
        pthread_join(w[i].thread, NULL);
        passed += w[i].passed;
    }
    CHECK(t, passed == count, "%llu of %llu threads failed, see above",
          (unsigned long long)(count - passed), (unsigned long long)count);
}

/* Key i of a worker: no other has it. */
static uint64_t own_key(const worker *w, uint64_t i)
{
    return test_key(&w->context, i * THREADS_MAX + w->number);
}

/* Random operations on the worker's own keys, judged by its own oracle. */
static void mix_operations(worker *w)
{
    test *t = &w->context;
    for (int round = 0; round < 40; round++) {
        uint64_t n = 1 + test_random_below(&t->random, round % 10 == 9 ? 5000 : 300);
        uint64_t *keys = test_host(t, n * 8);
        for (uint64_t i = 0; i < n; i++) {
            keys[i] = own_key(w, test_random_below(&t->random, 20000));
        }
        uint64_t *values = test_values(t, keys, n);
        uint32_t operation = (uint32_t)test_random_below(&t->random, NACREI_OPERATIONS);
        if (t->value_bytes == 0 && operation != NACREI_INSERT_OR_ASSIGN &&
            operation != NACREI_ERASE) {
            operation = round % 2 == 0 ? NACREI_INSERT : NACREI_CONTAINS;
        }
        test_do(t, w->map, &w->o, operation, keys, values, n);
        if (round % 8 == 0) {
            nacre_map_info info;
            uint64_t size;
            nacre_map_info_init(&info, sizeof info);
            OK(t, nacre_map_info_get(w->map, &info, &t->error));
            CHECK(t,
                  info.layout != 0 && info.submaps != 0 && info.capacity_keys != 0 &&
                      info.capacity_slots != 0 && info.memory_bytes != 0 &&
                      info.memory_peak_bytes >= info.memory_bytes,
                  "layout %llu, %llu submaps, room for %llu keys, %llu bytes",
                  (unsigned long long)info.layout, (unsigned long long)info.submaps,
                  (unsigned long long)info.capacity_keys, (unsigned long long)info.memory_bytes);
            OK(t, nacre_map_size(w->map, &size, &t->error, t->stream));
            CHECK(t, size >= w->o.size, "size %llu, of which %llu are mine",
                  (unsigned long long)size, (unsigned long long)w->o.size);
            test_array needed = test_array_new(t, 8, 8);
            OK(t, nacre_map_retrieve(w->map, NULL, NULL, 0, needed.data, NULL, t->stream));
            test_array_read(t, &needed, &size);
            CHECK(t, size >= w->o.size, "%llu keys, of which %llu are mine",
                  (unsigned long long)size, (unsigned long long)w->o.size);
            test_array_free(t, &needed);
        }
        free(keys);
        free(values);
    }
}

/* Compares the map with what all the workers' oracles say, and gives these up. */
static void workers_compare(test *t, nacre_map *map, worker *w, int count)
{
    oracle all;
    oracle_init(&all);
    for (int i = 0; i < count; i++) {
        for (uint64_t j = 0; j < w[i].o.places; j++) {
            if (w[i].o.used[j]) {
                oracle_put(&all, w[i].o.keys[j], w[i].o.values[j]);
            }
        }
        oracle_free(&w[i].o);
    }
    test_compare(t, map, &all, 1000);
    oracle_free(&all);
}

NACRE_CONTRACT_TEST(threads, one_map_from_eight_threads_loses_keys)
{
    /* Goal: any calls on one map from eight host threads, each with a stream of its own, growth
       included. Method: each has keys of its own and judges them; at the end the union is compared.
     */
    nacre_map *map = test_map_new(t, 0);
    worker *w = workers_new(t, THREADS_MAX);
    for (int i = 0; i < THREADS_MAX; i++) {
        w[i].map = map;
        w[i].body = mix_operations;
    }
    workers_run(t, w, THREADS_MAX);
    CHECK(t, test_info(t, map).growths > 1, "the map did not grow meanwhile");
    workers_compare(t, map, w, THREADS_MAX);
    nacre_map_destroy(map);
    free(w);
}

/* Fills the map with keys of the worker's own and erases most of them, again and again; the first
   worker shrinks it meanwhile. */
static void shrink_beside(worker *w)
{
    enum { KEYS = 8000 };
    test *t = &w->context;
    uint64_t keys[KEYS];
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = own_key(w, i);
    }
    uint64_t *values = test_values(t, keys, KEYS);
    for (int round = 0; round < 10 && w->number != 0; round++) {
        test_do(t, w->map, &w->o, NACREI_INSERT, keys, values, KEYS);
        test_do(t, w->map, &w->o, NACREI_CONTAINS, keys, NULL, KEYS);
        test_do(t, w->map, &w->o, NACREI_ERASE, keys + 100, NULL, KEYS - 100);
    }
    __atomic_add_fetch(w->stop, w->number != 0, __ATOMIC_ACQ_REL);
    for (int i = 0; i < 1000000 && w->number == 0 && __atomic_load_n(w->stop, __ATOMIC_ACQUIRE) < 3;
         i++) {
        OK(t, nacre_map_shrink(w->map, &t->error, t->stream));
    }
    free(values);
}

NACRE_CONTRACT_TEST(threads, shrinking_beside_others_loses_keys)
{
    /* Goal: a map may be shrunk while others insert, find and erase. Method: three threads that
       judge their own keys, one that shrinks; at the end the union is compared. */
    nacre_map *map = test_map_new(t, 0);
    worker *w = workers_new(t, 4);
    uint64_t done = 0;
    for (int i = 0; i < 4; i++) {
        w[i].map = map;
        w[i].stop = &done;
        w[i].body = shrink_beside;
    }
    workers_run(t, w, 4);
    workers_compare(t, map, w, 4);
    nacre_map_destroy(map);
    free(w);
}

NACRE_CONTRACT_TEST(threads, maps_of_different_threads_meet)
{
    /* Goal: two maps on two streams from two host threads have nothing to do with each other.
       Method: each thread creates, uses, compares and destroys three maps of its own. */
    worker *w = workers_new(t, 2);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) {
            w[i].map = test_map_new(t, 0);
            w[i].body = mix_operations;
            w[i].passed = false;
        }
        workers_run(t, w, 2);
        for (int i = 0; i < 2; i++) {
            test_compare(t, w[i].map, &w[i].o, 100);
            nacre_map_destroy(w[i].map);
            oracle_clear(&w[i].o);
        }
    }
    oracle_free(&w[0].o);
    oracle_free(&w[1].o);
    free(w);
}

/* Adds 1 to the same 64 keys, many times. */
static void count_up(worker *w)
{
    test *t = &w->context;
    uint64_t keys[256];
    uint32_t type = t->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
    for (uint64_t i = 0; i < 256; i++) {
        keys[i] = test_key(t, i % 64);
    }
    test_array keys_on = test_array_of_numbers(t, keys, 256, t->key_bytes);
    for (int round = 0; round < 100; round++) {
        OK(t, nacre_map_insert_or_apply(w->map, keys_on.data, NULL, 256, NACRE_REDUCTION_ADD, type,
                                        NULL, t->stream));
    }
    test_array_free(t, &keys_on);
}

NACRE_CONTRACT_TEST_VALUES(threads, updates_of_shared_keys_are_lost)
{
    /* Goal: no update is lost when eight threads add to the same keys. Method: 8 threads, 100
       batches, 4 times each key. */
    nacre_map *map = test_map_new(t, 0);
    worker *w = workers_new(t, THREADS_MAX);
    oracle o;
    oracle_init(&o);
    for (int i = 0; i < THREADS_MAX; i++) {
        w[i].map = map;
        w[i].body = count_up;
    }
    workers_run(t, w, THREADS_MAX);
    for (uint64_t i = 0; i < 64; i++) {
        oracle_put(&o, test_key(t, i), THREADS_MAX * 100 * 4);
    }
    test_compare(t, map, &o, 100);
    for (int i = 0; i < THREADS_MAX; i++) {
        oracle_free(&w[i].o);
    }
    nacre_map_destroy(map);
    oracle_free(&o);
    free(w);
}

/* The value of key i in the test below: a reader can compute it. */
static uint64_t value_of_key(const test *t, uint64_t i)
{
    return test_cut(test_mix(i + 99), t->value_bytes);
}

/* Inserts batch after batch and publishes how many keys are there. */
static void write_keys(worker *w)
{
    test *t = &w->context;
    uint64_t done = 0;
    for (int batch = 0; batch < 60; batch++) {
        uint64_t n = 1 + test_random_below(&t->random, 2000);
        uint64_t *keys = test_keys(t, done, n), *values = test_host(t, n * 8);
        for (uint64_t i = 0; i < n; i++) {
            values[i] = value_of_key(t, done + i);
        }
        test_do(t, w->map, &w->o, batch % 2 == 0 ? NACREI_INSERT : NACREI_INSERT_OR_ASSIGN, keys,
                values, n);
        free(keys);
        free(values);
        done += n;
        __atomic_store_n(w->published, done, __ATOMIC_RELEASE);
    }
    __atomic_store_n(w->stop, 1, __ATOMIC_RELEASE);
}

/* Finds published keys: each is there with its value. */
static void read_keys(worker *w)
{
    test *t = &w->context;
    do {
        uint64_t there = __atomic_load_n(w->published, __ATOMIC_ACQUIRE), n = 500;
        uint64_t *keys = test_host(t, n * 8), *numbers = test_host(t, n * 8);
        for (uint64_t i = 0; i < n && there != 0; i++) {
            numbers[i] = test_random_below(&t->random, there);
            keys[i] = test_key(t, numbers[i]);
        }
        test_batch b = test_batch_of(t->value_bytes != 0 ? NACREI_FIND : NACREI_CONTAINS, keys,
                                     NULL, there != 0 ? n : 0);
        test_batch_call(t, w->map, &b);
        CHECK(t, b.status == NACRE_OK, "%s", t->error.message);
        for (uint64_t i = 0; i < b.count; i++) {
            CHECK(t, b.outcomes[i] == NACRE_OUTCOME_FOUND, "key %llu of %llu is missing",
                  (unsigned long long)numbers[i], (unsigned long long)there);
            CHECK(t, t->value_bytes == 0 || b.values_out[i] == value_of_key(t, numbers[i]),
                  "key %llu has value 0x%llx", (unsigned long long)numbers[i],
                  (unsigned long long)b.values_out[i]);
        }
        test_batch_free(&b);
        free(keys);
        free(numbers);
    } while (__atomic_load_n(w->stop, __ATOMIC_ACQUIRE) == 0);
}

NACRE_CONTRACT_TEST(threads, reader_misses_a_key_while_others_insert)
{
    /* Goal: keys of earlier batches are always found, with whole values, while another thread
       inserts and the map grows (case 21). Method: one writer that publishes its progress, three
       readers. */
    nacre_map *map = test_map_new(t, 0);
    worker *w = workers_new(t, 4);
    uint64_t published = 0, stop = 0;
    for (int i = 0; i < 4; i++) {
        w[i].map = map;
        w[i].body = i == 0 ? write_keys : read_keys;
        w[i].published = &published;
        w[i].stop = &stop;
    }
    workers_run(t, w, 4);
    test_compare(t, map, &w[0].o, 1000);
    for (int i = 0; i < 4; i++) {
        oracle_free(&w[i].o);
    }
    nacre_map_destroy(map);
    free(w);
}

/* Inserts the same keys again and again, until it is told to stop. */
static void insert_on(worker *w)
{
    test *t = &w->context;
    uint64_t *keys = test_keys(t, 1000 * w->number, 1000);
    test_array keys_on = test_array_of_numbers(t, keys, 1000, t->key_bytes);
    test_array values_on = test_array_of_numbers(t, keys, 1000, 8);
    for (int i = 0; __atomic_load_n(w->stop, __ATOMIC_ACQUIRE) == 0; i++) {
        OK(t,
           nacre_map_insert_or_assign(w->map, keys_on.data, values_on.data, 1000, NULL, t->stream));
        if (i % 100 == 99) {
            test_wait(t);
        }
    }
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    free(keys);
}

/* Twenty lookups of a key each; then the others may stop. */
static void look_up_in_time(worker *w)
{
    test *t = &w->context;
    struct timespec begin, end;
    uint64_t key = test_key(t, 0);
    test_array keys_on = test_array_of_numbers(t, &key, 1, t->key_bytes);
    test_array found = test_array_new(t, 1, 1);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 20; i++) {
        OK(t, nacre_map_contains(w->map, keys_on.data, 1, found.data, NULL, t->stream));
        test_wait(t);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    __atomic_store_n(w->stop, 1, __ATOMIC_RELEASE);
    CHECK(t, end.tv_sec - begin.tv_sec < 10, "20 lookups took %lld s",
          (long long)(end.tv_sec - begin.tv_sec));
    test_array_free(t, &keys_on);
    test_array_free(t, &found);
}

NACRE_CONTRACT_TEST_ONCE(threads, lookups_starve_beside_insertions)
{
    /* Goal: threads that insert without end do not keep the lookups of another out. Method: four
       that insert 1000 keys a call; 20 lookups of one key each have their answers within 10 s. */
    nacre_map *map = test_map_new(t, 0);
    worker *w = workers_new(t, 5);
    uint64_t stop = 0;
    for (int i = 0; i < 5; i++) {
        w[i].map = map;
        w[i].body = i == 0 ? look_up_in_time : insert_on;
        w[i].stop = &stop;
    }
    workers_run(t, w, 5);
    for (int i = 0; i < 5; i++) {
        oracle_free(&w[i].o);
    }
    nacre_map_destroy(map);
    free(w);
}

/* Destroys the worker's map, whose last calls came from another thread. */
static void destroy(worker *w)
{
    nacre_map_destroy(w->map);
}

NACRE_CONTRACT_TEST_ONCE(threads, destroy_on_another_thread_waits_for_ever)
{
    /* Goal: destroy works from any thread, with work of others' still in flight, and leaves the
       streams and arrays of that work usable. Method: this thread fills eight maps without waiting,
       eight others destroy one each; then a map of this thread finds what it should. */
    enum { KEYS = 100000 };
    uint64_t *keys = test_keys(t, 0, KEYS), *values = test_values(t, keys, KEYS);
    test_array keys_on = test_array_of_numbers(t, keys, KEYS, t->key_bytes);
    test_array values_on = test_array_of_numbers(t, values, KEYS, t->value_bytes);
    worker *w = workers_new(t, THREADS_MAX);
    for (int i = 0; i < THREADS_MAX; i++) {
        w[i].map = test_map_new(t, i % 2 == 0 ? KEYS : 0);
        w[i].body = destroy;
        OK(t, nacre_map_insert(w[i].map, keys_on.data, values_on.data, KEYS, NULL, t->stream));
        OK(t, nacre_map_erase(w[i].map, keys_on.data, KEYS, NULL, t->stream));
    }
    workers_run(t, w, THREADS_MAX);
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    nacre_map *map = test_map_new(t, 0);
    oracle o;
    oracle_init(&o);
    test_do(t, map, &o, NACREI_INSERT, keys, values, KEYS);
    test_compare(t, map, &o, 100);
    nacre_map_destroy(map);
    oracle_free(&o);
    for (int i = 0; i < THREADS_MAX; i++) {
        oracle_free(&w[i].o);
    }
    free(w);
    free(keys);
    free(values);
}

/* What one match of all keys found, beside another thread's clear. */
typedef struct beside_clear {
    uint64_t *keys;
    uint64_t count;
    uint64_t found;
} beside_clear;

static void match_or_clear(worker *w)
{
    test *t = &w->context;
    beside_clear *b = w->shared;
    if (w->number != 0) {
        OK(t, nacre_map_clear(w->map, &t->error, t->stream));
        return;
    }
    test_array keys = test_array_of_numbers(t, b->keys, b->count, t->key_bytes);
    test_array needed = test_array_new(t, 8, 8);
    OK(t, nacre_map_match(w->map, keys.data, b->count, NULL, 8, NULL, 0, needed.data, NULL,
                          t->stream));
    test_array_read(t, &needed, &b->found);
    test_array_free(t, &keys);
    test_array_free(t, &needed);
}

NACRE_CONTRACT_TEST_ONCE(threads, match_sees_half_of_a_clear)
{
    /* Goal: what is exclusive runs beside no match. Method: one thread matches every key of the map
       while another clears it; all are found or none. */
    enum { KEYS = 300000, ROUNDS = 10 };
    nacre_map *map = test_map_new(t, KEYS);
    beside_clear b = {.keys = test_keys(t, 0, KEYS), .count = KEYS};
    uint64_t *values = test_values(t, b.keys, KEYS);
    worker *w = workers_new(t, 2);
    for (int round = 0; round < ROUNDS; round++) {
        test_batch filling = test_batch_of(NACREI_INSERT, b.keys, values, KEYS);
        test_batch_call(t, map, &filling);
        test_batch_free(&filling);
        for (int i = 0; i < 2; i++) {
            w[i].map = map;
            w[i].body = match_or_clear;
            w[i].shared = &b;
            w[i].passed = false;
        }
        workers_run(t, w, 2);
        CHECK(t, b.found == 0 || b.found == KEYS, "%llu of %d keys were found",
              (unsigned long long)b.found, KEYS);
    }
    nacre_map_destroy(map);
    oracle_free(&w[0].o);
    oracle_free(&w[1].o);
    free(b.keys);
    free(values);
    free(w);
}
