/* SPDX-License-Identifier: Apache-2.0 */
/* assign: only keys that are there. */
#include "support/batch.h"

NACRE_CONTRACT_TEST_VALUES(assign, absent_key_appears)
{
    /* Goal: present keys get the new value, absent ones stay absent, also erased ones and on an
       empty map. Method: assign to a mixture, before and after erasing, with equal keys in the
       batch. */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t n = 5000;
    uint64_t *keys = test_keys(t, 0, 2 * n), *values = test_values(t, keys, 2 * n);
    test_do(t, map, &o, NACREI_ASSIGN, keys, values, n);
    CHECK(t, o.size == 0, "an empty map has %llu keys", (unsigned long long)o.size);
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    for (int round = 0; round < 4; round++) {
        uint64_t *some = test_host(t, n * 8);
        for (uint64_t i = 0; i < n; i++) {
            some[i] = test_key(t, test_random_below(&t->random, 2 * n));
        }
        uint64_t *others = test_values(t, some, n);
        test_do(t, map, &o, NACREI_ASSIGN, some, others, n);
        test_compare(t, map, &o, 1000);
        test_do(t, map, &o, NACREI_ERASE, some, NULL, n / 4);
        free(some);
        free(others);
    }
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
}
