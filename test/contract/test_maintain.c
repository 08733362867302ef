/* SPDX-License-Identifier: Apache-2.0 */
/* maintain. */
#include "support/batch.h"

NACRE_CONTRACT_TEST(maintain, rebuilding_loses_or_repeats_a_key)
{
    /*
     * Goal: a full pass keeps every key, at any load, on worn tables too, and lookups are not
     * longer for it. Method: a full map and one worn by 20 rounds of erasing and inserting a third;
     * compared with the oracle before and after.
     */
    for (int worn = 0; worn < 2; worn++) {
        oracle o;
        oracle_init(&o);
        const uint64_t n = 40000;
        nacre_map_config config = test_map_config(t);
        config.growth = NACRE_GROWTH_FIXED;
        config.capacity_keys = n;
        config.load_max = 0.95;
        nacre_map *map = test_map_create(t, &config);
        uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
        test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        for (uint64_t round = 0; worn != 0 && round < 20; round++) {
            const uint64_t third = n / 3, first = round % 3 * third;
            test_do(t, map, &o, NACREI_ERASE, keys + first, NULL, third);
            for (uint64_t i = first; i < first + third; i++) {
                keys[i] = test_key(t, n * (round + 1) + i);
            }
            test_do(t, map, &o, NACREI_INSERT, keys + first, values + first, third);
        }
        nacre_map_statistics before, after;
        nacre_map_statistics_init(&before, sizeof before);
        nacre_map_statistics_init(&after, sizeof after);
        OK(t, nacre_map_statistics_get(map, &before, &t->error, t->stream));
        OK(t, nacre_map_maintain(map, &t->error, t->stream));
        OK(t, nacre_map_statistics_get(map, &after, &t->error, t->stream));
        test_compare(t, map, &o, 1000);
        CHECK(t, after.size == before.size, "%llu keys instead of %llu",
              (unsigned long long)after.size, (unsigned long long)before.size);
        CHECK(t, after.probe_length_mean_hit <= before.probe_length_mean_hit * 1.01,
              "%.3f pairs a hit instead of %.3f", after.probe_length_mean_hit,
              before.probe_length_mean_hit);
        free(keys);
        free(values);
        nacre_map_destroy(map);
        oracle_free(&o);
    }
}

NACRE_CONTRACT_TEST(maintain, churn_wears_the_map_out)
{
    /*
     * Goal: however many rounds of erasing and inserting, keys are right and paths stay short: the
     * share that batches rebuild on the way is enough. Method: rounds of a tenth at load 0.8, 200
     * unless NACRE_TEST_STEPS says more; pairs per lookup against those of the fresh map, all
     * keys against the oracle, at the end.
     */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_growing(t, NACRE_GROWTH_FIXED, 27000);
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    OK(t, nacre_map_info_get(map, &info, &t->error));
    const uint64_t n = info.capacity_slots * 8 / 10 / 10 * 10, tenth = n / 10;
    CHECK(t, n <= info.capacity_keys, "%llu slots for %llu keys", LL(info.capacity_slots),
          LL(info.capacity_keys));
    uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    nacre_map_statistics fresh, worn;
    nacre_map_statistics_init(&fresh, sizeof fresh);
    nacre_map_statistics_init(&worn, sizeof worn);
    OK(t, nacre_map_statistics_get(map, &fresh, &t->error, t->stream));
    const uint64_t rounds = test_setting("NACRE_TEST_STEPS", 200);
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t *part = keys + round % 10 * tenth;
        test_do(t, map, &o, NACREI_ERASE, part, NULL, tenth);
        for (uint64_t i = 0; i < tenth; i++) {
            part[i] = test_key(t, n + round * tenth + i);
        }
        test_do(t, map, &o, NACREI_INSERT, part, values + round % 10 * tenth, tenth);
    }
    OK(t, nacre_map_statistics_get(map, &worn, &t->error, t->stream));
    test_compare(t, map, &o, 1000);
    CHECK(t, worn.probe_length_mean_hit <= fresh.probe_length_mean_hit * 1.1,
          "%.3f pairs a hit after %llu rounds, %.3f before", worn.probe_length_mean_hit,
          (unsigned long long)rounds, fresh.probe_length_mean_hit);
    CHECK(t, worn.probe_length_mean_missing <= fresh.probe_length_mean_missing * 1.25,
          "%.3f pairs a miss after %llu rounds, %.3f before", worn.probe_length_mean_missing,
          (unsigned long long)rounds, fresh.probe_length_mean_missing);
    free(keys);
    free(values);
    nacre_map_destroy(map);
    oracle_free(&o);
}
