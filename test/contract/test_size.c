/* SPDX-License-Identifier: Apache-2.0 */
/* size, info, statistics, faults and estimate. */
#include "support/batch.h"

NACRE_CONTRACT_TEST(size, size_drifts)
{
    /* Goal: both forms of size stay exact through insertions, failures to insert, erasures and
       clear. Method: 200 random batches on a FIXED map that is often full; test_size compares both
       forms after each. */
    oracle o;
    oracle_init(&o);
    o.capacity_keys = 700;
    nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, 700);
    for (int round = 0; round < 200; round++) {
        uint64_t n = 1 + test_random_below(&t->random, 600);
        uint64_t *keys = test_host(t, n * 8);
        for (uint64_t i = 0; i < n; i++) {
            keys[i] = test_key(t, test_random_below(&t->random, 1500));
        }
        uint64_t *values = test_values(t, keys, n);
        test_do(t, map, &o, round % 3 == 2 ? NACREI_ERASE : round % 3, keys, values, n);
        uint64_t size = test_size(t, map);
        CHECK(t, size == o.size, "size %llu instead of %llu in round %d", (unsigned long long)size,
              (unsigned long long)o.size, round);
        if (round == 100) {
            OK(t, nacre_map_clear(map, &t->error, t->stream));
            oracle_clear(&o);
        }
        free(keys);
        free(values);
    }
    test_compare(t, map, &o, 100);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(size, statistics_disagree_with_the_table)
{
    /* Goal: the histogram adds up to the size, means and maximum fit it. Method: a loaded map of
       30,000 keys. */
    oracle o;
    oracle_init(&o);
    uint64_t n = 30000;
    nacre_map *map = test_map_new(t, 0);
    uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
    for (int round = 0; round < 2; round++) {
        nacre_map_statistics s;
        nacre_map_statistics_init(&s, sizeof s);
        OK(t, nacre_map_statistics_get(map, &s, &t->error, t->stream));
        uint64_t sum = 0;
        uint32_t last = 0;
        for (uint32_t i = 0; i < 16; i++) {
            sum += s.probe_lengths[i];
            last = s.probe_lengths[i] != 0 ? i : last;
        }
        CHECK(t, s.size == o.size && sum == o.size, "size %llu, histogram %llu, keys %llu",
              (unsigned long long)s.size, (unsigned long long)sum, (unsigned long long)o.size);
        CHECK(t, s.stash_keys <= s.size, "%llu keys in the stash",
              (unsigned long long)s.stash_keys);
        if (o.size != 0) {
            CHECK(t,
                  s.probe_length_max >= last + 1 && (last == 15 || s.probe_length_max == last + 1),
                  "the longest probe is %u, the histogram ends at %u", s.probe_length_max, last);
            CHECK(t, s.probe_length_mean_hit >= 1 && s.probe_length_mean_hit < 4, "mean of hits %g",
                  s.probe_length_mean_hit);
            CHECK(t, s.probe_length_mean_missing >= 1 && s.probe_length_mean_missing < 4,
                  "mean of misses %g", s.probe_length_mean_missing);
        } else {
            test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        }
    }
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
}

NACRE_CONTRACT_TEST(size, fault_is_lost_or_sticks)
{
    /* Goal: FULL sets its fault bit, which stays until it is cleared and then comes again. Method:
       overfill a FIXED map, read without clearing, with, again; also in info. */
    oracle o;
    oracle_init(&o);
    o.capacity_keys = 10;
    nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, 10);
    uint64_t *keys = test_keys(t, 0, 20), *values = test_values(t, keys, 20);
    uint32_t bits = 77;
    nacre_map_info info;
    test_do(t, map, &o, NACREI_INSERT, keys, values, 10);
    OK(t, nacre_map_faults(map, &bits, 1, &t->error));
    CHECK(t, bits == 0, "faults 0x%x of a map that is just full", bits);
    for (int round = 0; round < 2; round++) {
        test_do(t, map, &o, NACREI_INSERT, keys, values, 20);
        for (uint32_t clear = 0; clear < 2; clear++) {
            nacre_map_info_init(&info, sizeof info);
            OK(t, nacre_map_info_get(map, &info, &t->error));
            CHECK(t, info.faults == NACRE_FAULT_FULL, "info says faults 0x%x", info.faults);
            OK(t, nacre_map_faults(map, &bits, clear, &t->error));
            CHECK(t, bits == NACRE_FAULT_FULL, "faults 0x%x", bits);
        }
        OK(t, nacre_map_faults(map, &bits, 0, &t->error));
        CHECK(t, bits == 0, "faults 0x%x after clearing", bits);
    }
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
}

NACRE_CONTRACT_TEST(size, estimate_is_wrong)
{
    /* Goal: a map created for n keys holds what the estimate says. Method: n from 0 to 3 million,
       and reserve; the map may hold less, but not less than half, apart from a fixed 4 MB. */
    for (uint64_t n = 0; n <= 3000000; n = n * 12 + 1) {
        nacre_map_config config = test_map_config(t);
        uint64_t bytes = 0;
        OK(t, nacre_map_estimate(t->device, &config, n, &bytes));
        for (int reserved = 0; reserved < 2; reserved++) {
            config.capacity_keys = reserved ? 0 : n;
            nacre_map *map = test_map_create(t, &config);
            if (reserved) {
                OK(t, nacre_map_reserve(map, n, &t->error, t->stream));
            }
            nacre_map_info info;
            nacre_map_info_init(&info, sizeof info);
            OK(t, nacre_map_info_get(map, &info, &t->error));
            CHECK(t, info.capacity_keys >= n, "room for %llu keys",
                  (unsigned long long)info.capacity_keys);
            CHECK(t, info.memory_bytes <= bytes && bytes / 2 <= info.memory_bytes + (4u << 20),
                  "%llu keys: estimated %llu bytes, holds %llu", (unsigned long long)n,
                  (unsigned long long)bytes, (unsigned long long)info.memory_bytes);
            nacre_map_destroy(map);
        }
    }
}
