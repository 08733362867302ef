/* SPDX-License-Identifier: Apache-2.0 */
/* find and contains: hits, misses, equal keys, empty and full maps. */
#include "support/batch.h"
#include "support/hash_inverse.h"

NACRE_CONTRACT_TEST(find, miss_is_reported_as_a_hit)
{
    /* Goal: keys that are there are found with their value, others are not. Method: sizes from 0 to
       60,000, ten times as many misses as hits, then batches of hits and misses mixed, with
       repetitions. */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t done = 0;
    test_compare(t, map, &o, 100);
    for (uint64_t n = 1; n <= 60000; n *= 40) {
        uint64_t *keys = test_keys(t, done, n - done), *values = test_values(t, keys, n - done);
        test_do(t, map, &o, NACREI_INSERT, keys, values, n - done);
        done = n;
        test_compare(t, map, &o, n < 5000 ? 10 * n : n);
        free(keys);
        free(values);
        uint64_t *mixed = test_host(t, 10000 * 8);
        for (uint64_t i = 0; i < 10000; i++) {
            mixed[i] = test_key(t, test_random_below(&t->random, 2 * n));
        }
        for (uint32_t operation = NACREI_FIND; operation <= NACREI_CONTAINS; operation++) {
            for (int variant = 0; variant < 8 && (operation != NACREI_FIND || t->value_bytes);
                 variant++) {
                uint64_t missing = test_random(&t->random);
                test_batch b = test_batch_of(operation, mixed, NULL, 10000);
                b.without_outcomes = (variant & 1) != 0;
                b.without_counts = (variant & 2) != 0;
                b.missing_value = (variant & 4) != 0 && t->value_bytes != 0 ? &missing : NULL;
                b.without_options = variant == 3;
                test_batch_run(t, map, &b, &o);
                test_batch_free(&b);
            }
        }
        free(mixed);
    }
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(find, miss_in_a_full_table_hangs)
{
    /* Goal: a lookup of a missing key returns in a table that is as full as it gets (case 4).
       Method: FIXED maps of 1 to 30,000 keys, load_max 0.95, filled; misses, then all erased and
       again. */
    for (uint64_t n = 1; n <= 30000; n = n * 5 + 2) {
        oracle o;
        oracle_init(&o);
        o.capacity_keys = n;
        nacre_map_config config = test_map_config(t);
        config.growth = NACRE_GROWTH_FIXED;
        config.capacity_keys = n;
        config.load_max = 0.95;
        nacre_map *map = test_map_create(t, &config);
        uint64_t *keys = test_keys(t, 0, n + 50), *values = test_values(t, keys, n + 50);
        test_do(t, map, &o, NACREI_INSERT, keys, values, n + 50);
        test_compare(t, map, &o, 20000);
        test_do(t, map, &o, NACREI_ERASE, keys, NULL, n + 50);
        test_compare(t, map, &o, 20000);
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}

NACRE_CONTRACT_TEST(find, answers_depend_on_the_batch_length)
{
    /* Goal: a lookup finds the same whatever the length of its batch, by which the way of looking
       is chosen, also on paths that lead through whole submaps into the stash. Method: 150,000 keys
       in a FIXED map at load_max 0.95, 9,000 of 8 bytes crowding two submaps of it; keys and as
       many misses in batches of 1 to all. */
    const uint64_t n = 150000;
    const uint64_t lengths[] = {1, 5, 300, 16384, 16385, 262144, 262145, 2 * n};
    nacre_map_config config = test_map_config(t);
    config.growth = NACRE_GROWTH_FIXED;
    config.capacity_keys = n;
    config.load_max = 0.95;
    nacre_map *map = test_map_create(t, &config);
    oracle o;
    oracle_init(&o);
    o.may_be_full = true;
    uint64_t *keys = test_keys(t, 0, 2 * n), *values = test_values(t, keys, 2 * n);
    for (uint64_t i = 0; i < 9000 && t->key_bytes == 8; i++) {
        const uint64_t fields = test_random(&t->random) & 0xFFFFFF, submap = 5 + i % 2;
        keys[i * 16] = test_hash_inverse(submap << NACREI_HASH_SUBMAP_SHIFT | fields, config.seed);
    }
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const uint64_t batches = lengths[i] < 1000 ? 20 : 2 * n / lengths[i];
        for (uint64_t b = 0; b < batches; b++) {
            const uint64_t first = test_random_below(&t->random, 2 * n - lengths[i] + 1);
            test_do(t, map, &o, t->value_bytes != 0 ? NACREI_FIND : NACREI_CONTAINS, keys + first,
                    NULL, lengths[i]);
        }
    }
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
}
