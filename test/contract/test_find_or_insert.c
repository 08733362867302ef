/* SPDX-License-Identifier: Apache-2.0 */
/* find_or_insert: each element learns the value that its key has now. */
#include "support/batch.h"

NACRE_CONTRACT_TEST_VALUES(find_or_insert, elements_with_equal_keys_learn_different_values)
{
    /* Goal: all elements of one key get the same value: the present one, or that of the element
       that reports INSERTED. Method: 20,000 elements over universes from 3 to 40,000 keys, in one
       map; values_out apart and in place of values. */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t n = 20000;
    uint64_t *keys = test_host(t, n * 8);
    for (uint64_t universe = 3; universe <= 40000; universe *= 11) {
        for (int in_place = 0; in_place < 2; in_place++) {
            for (uint64_t i = 0; i < n; i++) {
                keys[i] = test_key(t, test_random_below(&t->random, universe));
            }
            uint64_t *values = test_values(t, keys, n);
            test_batch b = test_batch_of(NACREI_FIND_OR_INSERT, keys, values, n);
            b.in_place = in_place != 0;
            test_batch_run(t, map, &b, &o);
            for (uint64_t i = 0; i < n; i++) {
                CHECK(t, b.values_out[i] == oracle_value(&o, keys[i]), "element %llu learns 0x%llx",
                      (unsigned long long)i, (unsigned long long)b.values_out[i]);
            }
            test_batch_free(&b);
            free(values);
        }
    }
    test_compare(t, map, &o, 100);
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
}

NACRE_CONTRACT_TEST_VALUES(find_or_insert, full_element_gets_a_value)
{
    /* Goal: an element that is FULL gets missing_value, or nothing. Method: a FIXED map of 100
       keys, 300 keys, with and without missing_value and outcomes. */
    for (int variant = 0; variant < 4; variant++) {
        oracle o;
        oracle_init(&o);
        o.capacity_keys = 100;
        nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, 100);
        uint64_t *keys = test_keys(t, 0, 300), *values = test_values(t, keys, 300);
        uint64_t missing = test_random(&t->random);
        test_batch b = test_batch_of(NACREI_FIND_OR_INSERT, keys, values, 300);
        b.missing_value = (variant & 1) != 0 ? &missing : NULL;
        b.in_place = (variant & 2) != 0;
        test_batch_run(t, map, &b, &o);
        CHECK(t, b.counts.refused == 200, "%llu refused", (unsigned long long)b.counts.refused);
        test_batch_free(&b);
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}
