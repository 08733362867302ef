/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that equal the library's own empty patterns: every operation does with them what it does
   with others (case 42). */
#include "nacre/core/slot.h"
#include "support/batch.h"

enum { SIDE = NACREI_SIDE_SLOTS_MAX, OTHERS = 50, ALL = SIDE + OTHERS };

/* The keys whose stored form is a pattern in a set (the first of them in a map with values),
   among others. */
static void fill_keys(const test *t, uint64_t *keys)
{
    for (uint64_t i = 0; i < ALL; i++) {
        keys[i] = i < SIDE ? test_cut(NACREI_KEY_XOR ^ i, t->key_bytes) : test_key(t, i);
    }
}

NACRE_CONTRACT_TEST(side_keys, operation_forgets_a_side_key)
{
    /* Goal: each operation treats side keys like any other. Method: a random sequence of all
       operations on batches in which most keys are side keys, many of them equal; the oracle knows
       nothing of side keys. */
    uint64_t keys[ALL], batch[200];
    fill_keys(t, keys);
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    for (int round = 0; round < 300; round++) {
        uint64_t n = 1 + test_random_below(&t->random, round % 3 == 0 ? 2 : 200);
        for (uint64_t i = 0; i < n; i++) {
            batch[i] =
                keys[test_random_below(&t->random, test_random(&t->random) % 4 != 0 ? SIDE : ALL)];
        }
        uint64_t *values = test_values(t, batch, n), missing = test_random(&t->random);
        uint32_t operation = (uint32_t)test_random_below(&t->random, NACREI_OPERATIONS);
        if (t->value_bytes == 0 && operation != NACREI_INSERT &&
            operation != NACREI_INSERT_OR_ASSIGN) {
            operation = round % 2 != 0 ? NACREI_CONTAINS : NACREI_ERASE;
        }
        test_batch b = test_batch_of(operation, batch, values, n);
        b.type = t->value_bytes == 4 ? NACRE_TYPE_I32 : NACRE_TYPE_I64;
        b.reduction = (uint32_t)test_random_below(&t->random, 6);
        b.missing_value = round % 2 != 0 ? &missing : NULL;
        test_batch_run(t, map, &b, &o);
        test_batch_free(&b);
        free(values);
        if (round % 20 == 0) {
            test_compare(t, map, &o, 100);
        }
    }
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(side_keys, growth_clear_or_statistics_forget_a_side_key)
{
    /* Goal: side keys survive growth, are in size, statistics and retrieve, and go with clear.
       Method: insert them, grow the map a hundredfold, compare; count; clear; compare; a side key
       alone in the map has the longest probe, of one bucket. */
    uint64_t keys[ALL];
    fill_keys(t, keys);
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t *values = test_values(t, keys, ALL);
    test_do(t, map, &o, NACREI_INSERT, keys, values, ALL);
    uint64_t *more = test_keys(t, 1000, 50000), *more_values = test_values(t, more, 50000);
    test_do(t, map, &o, NACREI_INSERT, more, more_values, 50000);
    test_do(t, map, &o, t->value_bytes != 0 ? NACREI_FIND : NACREI_CONTAINS, keys, NULL, ALL);
    test_compare(t, map, &o, 1000);
    nacre_map_statistics statistics;
    nacre_map_statistics_init(&statistics, sizeof statistics);
    OK(t, nacre_map_statistics_get(map, &statistics, &t->error, t->stream));
    CHECK(t, statistics.size == o.size, "statistics count %llu keys",
          (unsigned long long)statistics.size);
    OK(t, nacre_map_clear(map, &t->error, t->stream));
    oracle_clear(&o);
    test_compare(t, map, &o, 100);
    test_do(t, map, &o, NACREI_INSERT, keys, values, 1);
    OK(t, nacre_map_statistics_get(map, &statistics, &t->error, t->stream));
    CHECK(t, statistics.probe_length_max == 1 && statistics.probe_lengths[0] == 1,
          "of one key the longest probe is %u", statistics.probe_length_max);
    test_do(t, map, &o, NACREI_CONTAINS, keys, NULL, ALL);
    test_do(t, map, &o, NACREI_INSERT, keys, values, ALL);
    test_compare(t, map, &o, 100);
    nacre_map_destroy(map);
    oracle_free(&o);
    free(values);
    free(more);
    free(more_values);
}

NACRE_CONTRACT_TEST(side_keys, side_key_is_outside_of_the_capacity)
{
    /* Goal: a FIXED map of n keys takes n, side keys counted like others: never n + 1, never n - 1.
       Method: side keys first, last and only; n 1, 8, 32, 56. */
    uint64_t keys[ALL], turned[ALL];
    fill_keys(t, keys);
    const uint64_t sizes[] = {1, 8, SIDE, SIDE + 24};
    for (int i = 0; i < ALL; i++) {
        turned[i] = keys[ALL - 1 - i];
    }
    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int variant = 0; variant < 3; variant++) {
            oracle o;
            oracle_init(&o);
            o.capacity_keys = sizes[i];
            nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, sizes[i]);
            uint64_t *values = test_values(t, keys, ALL);
            for (uint64_t k = 0; k < ALL && variant == 2; k++) {
                test_do_one(t, map, &o, NACREI_INSERT, keys[k], values[k]);
            }
            test_do(t, map, &o, NACREI_INSERT, variant == 0 ? keys : turned, values, ALL);
            CHECK(t, o.size == sizes[i], "%llu keys in a map of %llu", (unsigned long long)o.size,
                  (unsigned long long)sizes[i]);
            test_compare(t, map, &o, 100);
            nacre_map_destroy(map);
            oracle_free(&o);
            free(values);
        }
    }
}
