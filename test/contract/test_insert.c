/* SPDX-License-Identifier: Apache-2.0 */
/* insert: present keys keep their values; any key, any value, any batch. */
#include "support/batch.h"

/* Keys at the ends of their range, of either width; cases.md 1. */
static const uint64_t end_keys[] = {0,
                                    1,
                                    2,
                                    0x7FFFFFFF,
                                    0x80000000,
                                    0xFFFFFFFF,
                                    0xFFFFFFFE,
                                    0xFFFFFFFD,
                                    1ull << 32,
                                    INT64_MAX,
                                    1ull << 63,
                                    UINT64_MAX,
                                    UINT64_MAX - 1,
                                    UINT64_MAX - 2,
                                    (uint64_t)-2147483648LL,
                                    (uint64_t)-42};
#define END_KEYS (sizeof end_keys / sizeof *end_keys)

NACRE_CONTRACT_TEST(insert, present_key_loses_its_value)
{
    /* Goal: insert keeps the values of keys that are there. Method: insert, insert again with new
       values and half of the keys new, compare everything. */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t n = 3000;
    uint64_t *keys = test_keys(t, 0, 2 * n);
    uint64_t *values = test_values(t, keys, 2 * n), *others = test_values(t, keys, 2 * n);
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    test_do(t, map, &o, NACREI_INSERT, keys, others, 2 * n);
    for (uint64_t i = 0; i < 2 * n; i++) {
        CHECK(t, t->value_bytes == 0 || oracle_value(&o, keys[i]) == (i < n ? values : others)[i],
              "key %llu has another value", (unsigned long long)i);
    }
    test_compare(t, map, &o, 2000);
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
    free(others);
}

NACRE_CONTRACT_TEST(insert, equal_keys_are_inserted_twice)
{
    /* Goal: of equal keys in a batch exactly one is INSERTED, and its value stays. Method: batches
       of 1 to 20,000 elements over ever larger universes, into one map and into fresh ones. */
    for (int fresh = 0; fresh < 2; fresh++) {
        oracle o;
        oracle_init(&o);
        nacre_map *map = test_map_new(t, 0);
        for (uint64_t n = 1; n <= 20000; n = n * 3 + 1) {
            uint64_t *keys = test_host(t, n * 8);
            for (uint64_t i = 0; i < n; i++) {
                keys[i] = test_key(t, test_random_below(&t->random, n / 4 + 2));
            }
            uint64_t *values = test_values(t, keys, n);
            test_do(t, map, &o, NACREI_INSERT, keys, values, n);
            if (fresh) {
                test_compare(t, map, &o, 100);
                nacre_map_destroy(map);
                map = test_map_new(t, 0);
                oracle_clear(&o);
            }
            free(keys);
            free(values);
        }
        test_compare(t, map, &o, 100);
        nacre_map_destroy(map);
        oracle_free(&o);
    }
}

NACRE_CONTRACT_TEST(insert, all_keys_equal_or_all_but_one)
{
    /* Goal: a batch of one key, and one with a single other key, at the front, amid or at the end
       (case 7). Method: 100,000 elements; exactly one INSERTED per key. */
    uint64_t n = 100000;
    uint64_t *keys = test_host(t, n * 8), *values = NULL;
    for (int other = -1; other < 3; other++) {
        oracle o;
        oracle_init(&o);
        nacre_map *map = test_map_new(t, 0);
        for (uint64_t i = 0; i < n; i++) {
            keys[i] = test_key(t, 7);
        }
        if (other >= 0) {
            keys[other == 0 ? 0 : other == 1 ? n / 2 : n - 1] = test_key(t, 8);
        }
        free(values);
        values = test_values(t, keys, n);
        test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        CHECK(t, o.size == (other < 0 ? 1u : 2u), "%llu keys", (unsigned long long)o.size);
        test_compare(t, map, &o, 10);
        nacre_map_destroy(map);
        oracle_free(&o);
    }
    free(keys);
    free(values);
}

NACRE_CONTRACT_TEST(insert, a_key_or_value_is_reserved)
{
    /* Goal: keys at the ends of their range and values that equal internal patterns are like any
       other, and a miss is told from them (cases 1, 2). Method: each such key with each such value:
       insert, find, retrieve, erase, insert again. */
    const uint64_t patterns[] = {0, UINT64_MAX, 15, 1, 0x8000000000000000u, 0xFFFFFFFFu};
    for (uint64_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        oracle o;
        oracle_init(&o);
        nacre_map *map = test_map_new(t, 0);
        uint64_t values[END_KEYS];
        for (uint64_t i = 0; i < END_KEYS; i++) {
            values[i] = patterns[p];
        }
        test_do(t, map, &o, NACREI_CONTAINS, end_keys, NULL, END_KEYS);
        test_do(t, map, &o, NACREI_INSERT, end_keys, values, END_KEYS);
        test_compare(t, map, &o, 1000);
        test_do(t, map, &o, NACREI_ERASE, end_keys, NULL, END_KEYS / 2);
        test_compare(t, map, &o, 1000);
        test_do(t, map, &o, NACREI_INSERT, end_keys, values, END_KEYS);
        test_do(t, map, &o, NACREI_ERASE, end_keys, NULL, END_KEYS);
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        oracle_free(&o);
    }
}

NACRE_CONTRACT_TEST(insert, regular_keys_are_lost)
{
    /* Goal: sequences, keys with equal halves, multiples of 2^20 and keys of one home bucket (case
       8). Method: insert 6,000 of each into one map of known seed, compare, erase half, compare. */
    nacre_map_config config = test_map_config(t);
    config.seed = 12345;
    for (int kind = 0; kind < 6; kind++) {
        oracle o;
        oracle_init(&o);
        nacre_map *map = test_map_create(t, &config);
        uint64_t n = kind == 5 ? 1500 : 6000;
        uint64_t *keys = kind == 5 ? test_home_keys(t, config.seed, 1000, n) : test_keys(t, 0, n);
        for (uint64_t i = 0; i < n && kind < 5; i++) {
            const uint64_t kinds[5] = {i, i << 32 | 77, 0x12345678ull << 32 | i, i << 20, 0 - i};
            keys[i] = kinds[kind];
        }
        uint64_t *values = test_values(t, keys, n);
        test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        test_compare(t, map, &o, 1000);
        test_do(t, map, &o, NACREI_ERASE, keys + n / 4, NULL, n / 2);
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}

NACRE_CONTRACT_TEST(insert, batches_enqueued_without_a_wait_interfere)
{
    /* Goal: batches of one stream run in its order. Method: enqueue twenty insertions, erasures and
       sizes into device memory without waiting in between, on arrays that stay; compare all sizes
       at the end. */
    enum { BATCHES = 20, N = 1000 };
    nacre_map *map = test_map_new(t, 0);
    uint64_t *keys = test_keys(t, 0, BATCHES * N), *values = test_values(t, keys, BATCHES * N);
    test_array keys_on = test_array_of_numbers(t, keys, BATCHES * N, t->key_bytes);
    test_array values_on = test_array_of_numbers(t, values, BATCHES * N, t->value_bytes);
    test_array sizes_on = test_array_new(t, BATCHES * 8, 8);
    uint64_t sizes[BATCHES];
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.error = &t->error;
    for (uint64_t i = 0; i < BATCHES; i++) {
        const char *key = (const char *)keys_on.data + i * N * t->key_bytes;
        const char *value = (const char *)values_on.data + i * N * t->value_bytes;
        OK(t,
           nacre_map_insert(map, key, t->value_bytes != 0 ? value : NULL, N, &options, t->stream));
        OK(t, nacre_map_erase(map, key, N / 2, &options, t->stream));
        OK(t, nacre_map_size_async(map, (uint64_t *)sizes_on.data + i, &t->error, t->stream));
    }
    test_array_read(t, &sizes_on, sizes);
    for (uint64_t i = 0; i < BATCHES; i++) {
        CHECK(t, sizes[i] == (i + 1) * (N / 2), "size %llu after batch %llu",
              (unsigned long long)sizes[i], (unsigned long long)i);
    }
    OK(t, nacre_map_check(map, &t->error, t->stream));
    nacre_map_destroy(map);
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    test_array_free(t, &sizes_on);
    free(keys);
    free(values);
}
