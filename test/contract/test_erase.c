/* SPDX-License-Identifier: Apache-2.0 */
/* erase: frees at once, leaves nothing behind, and the table stays sound under churn. */
#include "support/batch.h"

/* The operations that insert, on this row's widths. */
static uint32_t inserting(const test *t, uint32_t *operations)
{
    uint32_t n = 0;
    operations[n++] = NACREI_INSERT;
    operations[n++] = NACREI_INSERT_OR_ASSIGN;
    if (t->value_bytes != 0) {
        operations[n++] = NACREI_INSERT_OR_APPLY;
        operations[n++] = NACREI_FIND_OR_INSERT;
    }
    return n;
}

NACRE_CONTRACT_TEST(erase, absent_or_repeated_key_is_erased)
{
    /* Goal: absent keys are MISSING, of equal keys exactly one is ERASED, everything can go and
       come back (case 14). Method: batches with repetitions and absent keys, on an empty map
       too. */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t n = 10000;
    uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
    uint64_t *some = test_host(t, n * 8);
    test_do(t, map, &o, NACREI_ERASE, keys, NULL, n);
    for (int round = 0; round < 3; round++) {
        test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        for (uint64_t i = 0; i < n; i++) {
            some[i] = test_key(t, test_random_below(&t->random, round == 0 ? 10 : 2 * n));
        }
        test_do(t, map, &o, NACREI_ERASE, some, NULL, n);
        test_compare(t, map, &o, 1000);
    }
    test_do(t, map, &o, NACREI_ERASE, keys, NULL, n);
    CHECK(t, o.size == 0, "%llu keys are left", (unsigned long long)o.size);
    test_compare(t, map, &o, 1000);
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    test_compare(t, map, &o, 1000);
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
    free(some);
}

NACRE_CONTRACT_TEST(erase, hole_hides_the_keys_behind_it)
{
    /* Goal: with keys that collide, erase one and insert another again: it is there once, with its
       old value or the new one as the operation says (cases 11, 12). Method: keys of one home, 40
       and, for each width of slots, so many that the last lies alone in the neighbour of its home;
       for each erased one and each inserting operation, insert the last again, then bring the
       erased one back. */
    static const uint64_t numbers[] = {3, 5, 9, 40};
    uint32_t operations[4], count = inserting(t, operations);
    nacre_map_config config = test_map_config(t);
    uint64_t *keys = test_home_keys(t, config.seed, 3, 40);
    for (uint32_t i = 0; i < 4 * count; i++) {
        const uint32_t operation = operations[i / 4];
        const uint64_t n = numbers[i % 4];
        oracle o;
        oracle_init(&o);
        nacre_map *map = test_map_create(t, &config);
        uint64_t *values = test_values(t, keys, n);
        test_do(t, map, &o, NACREI_INSERT, keys, values, n - 1);
        test_do_one(t, map, &o, NACREI_INSERT, keys[n - 1], values[n - 1]);
        for (uint64_t gone = 0; gone < n - 1; gone++) {
            test_do_one(t, map, &o, NACREI_ERASE, keys[gone], 0);
            test_do_one(t, map, &o, operation, keys[n - 1], test_value(t, keys[n - 1]));
            uint64_t size = test_size(t, map);
            CHECK(t, size == n - 1, "size %llu after %s", (unsigned long long)size,
                  test_operation_name(operation));
            test_do_one(t, map, &o, operation, keys[gone], test_value(t, keys[gone]));
        }
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        oracle_free(&o);
        free(values);
    }
    free(keys);
}

NACRE_CONTRACT_TEST_VALUES(erase, old_value_comes_back)
{
    /* Goal: a key erased and inserted again starts afresh (case 15). Method: count keys with apply,
       erase half, count on; the judge knows the sums. */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t n = 3000;
    uint64_t *keys = test_keys(t, 0, n);
    for (int round = 0; round < 5; round++) {
        test_do(t, map, &o, NACREI_INSERT_OR_APPLY, keys, NULL, n);
        test_do(t, map, &o, NACREI_ERASE, keys + n / 2, NULL, n / 2);
        test_do(t, map, &o, NACREI_INSERT_OR_APPLY, keys, NULL, n);
        CHECK(t, oracle_value(&o, keys[0]) == 2u * (uint64_t)round + 2,
              "the first key was not counted");
        CHECK(t, oracle_value(&o, keys[n - 1]) == 1, "an erased key remembers");
        test_do(t, map, &o, NACREI_ERASE, keys + n / 2, NULL, n / 2);
    }
    test_compare(t, map, &o, 1000);
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
}

NACRE_CONTRACT_TEST(erase, operation_on_an_emptied_submap_hangs)
{
    /* Goal: after erasing every key of a table filled to its capacity, every operation returns and
       finds nothing (case 6). Method: FIXED maps of 1, 40 and 12,000 keys. */
    uint32_t operations[4], count = inserting(t, operations);
    for (uint64_t n = 1; n <= 12000; n = n == 1 ? 40 : n * 300) {
        oracle o;
        oracle_init(&o);
        o.capacity_keys = n;
        nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, n);
        uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
        for (uint32_t i = 0; i < count; i++) {
            test_do(t, map, &o, operations[i], keys, values, n);
            test_do(t, map, &o, NACREI_ERASE, keys, NULL, n);
            test_do(t, map, &o, NACREI_CONTAINS, keys, NULL, n);
            test_do(t, map, &o, NACREI_ERASE, keys, NULL, n);
            test_compare(t, map, &o, 3000);
        }
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}

NACRE_CONTRACT_TEST(erase, churn_corrupts_the_table)
{
    /* Goal: rounds of erasing and inserting a tenth at load 0.8 keep size and contents exact, and
       the map does not grow (case 13). Method: 20,000 keys, 300 rounds on the CPU; 10,000 on CUDA
       for (8,8). A window slides over the keys; sizes are compared each round, everything every
       hundredth. */
    uint64_t n = 20000, step = n / 10;
    uint64_t rounds = t->key_bytes == 8 && t->value_bytes == 8 ? test_scale(t, 300, 10000) : 60;
    nacre_map_config config = test_map_config(t);
    config.capacity_keys = n;
    config.load_max = 0.8;
    nacre_map *map = test_map_create(t, &config);
    oracle o;
    oracle_init(&o);
    uint64_t *keys = test_keys(t, 0, n + step), *values = test_values(t, keys, n + step);
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    nacre_map_info before, after;
    nacre_map_info_init(&before, sizeof before);
    nacre_map_info_init(&after, sizeof after);
    OK(t, nacre_map_info_get(map, &before, &t->error));
    uint64_t whole = n + step;
    test_array keys_on = test_array_of_numbers(t, keys, whole, t->key_bytes);
    test_array values_on = test_array_of_numbers(t, values, whole, t->value_bytes);
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t out = round * step % whole, in = (out + n) % whole, size = 0;
        const char *key = keys_on.data, *value = values_on.data;
        OK(t, nacre_map_erase(map, key + out * t->key_bytes, step, NULL, t->stream));
        OK(t, nacre_map_insert(map, key + in * t->key_bytes,
                               value != NULL ? value + in * t->value_bytes : NULL, step, NULL,
                               t->stream));
        for (uint64_t i = 0; i < step; i++) {
            oracle_remove(&o, keys[out + i]);
            oracle_put(&o, keys[in + i], t->value_bytes != 0 ? values[in + i] : 0);
        }
        OK(t, nacre_map_size(map, &size, &t->error, t->stream));
        CHECK(t, size == n, "size %llu in round %llu", (unsigned long long)size,
              (unsigned long long)round);
        if (round % 100 == 99 || round + 1 == rounds) {
            test_compare(t, map, &o, 1000);
        }
    }
    OK(t, nacre_map_info_get(map, &after, &t->error));
    CHECK(t, after.growths == before.growths && after.memory_bytes == before.memory_bytes,
          "the map grew %llu times", (unsigned long long)(after.growths - before.growths));
    nacre_map_destroy(map);
    oracle_free(&o);
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    free(keys);
    free(values);
}

NACRE_CONTRACT_TEST(erase, clear_leaves_a_key)
{
    /* Goal: clear erases every key, side keys too, and keeps the capacity; the map is as good as
       new. Method: fill, clear, compare, fill with other keys, with NEVER_WAIT, since the capacity
       stays. */
    oracle o;
    oracle_init(&o);
    uint64_t n = 15000;
    nacre_map *map = test_map_new(t, n);
    for (uint64_t round = 0; round < 3; round++) {
        uint64_t *keys = test_keys(t, round * n / 2, n), *values = test_values(t, keys, n);
        keys[0] = test_cut(UINT64_C(0xB5297A4D3C9E61F3), t->key_bytes);
        test_batch b = test_batch_of(NACREI_INSERT, keys, values, n);
        b.flags = NACRE_OPTION_NEVER_WAIT;
        test_batch_run(t, map, &b, &o);
        test_batch_free(&b);
        test_compare(t, map, &o, 1000);
        OK(t, nacre_map_clear(map, &t->error, t->stream));
        oracle_clear(&o);
        test_compare(t, map, &o, 1000);
        test_do(t, map, &o, NACREI_CONTAINS, keys, NULL, n);
        free(keys);
        free(values);
    }
    nacre_map_destroy(map);
    oracle_free(&o);
}
