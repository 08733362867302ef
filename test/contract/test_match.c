/* SPDX-License-Identifier: Apache-2.0 */
/* match: the hits of a lookup, dense. */
#include "support/batch.h"

/* One match of `count` keys; checks the pairs, the outcomes and the counts. */
static void match(test *t, nacre_map *map, const oracle *o, const uint64_t *keys, uint64_t count,
                  uint64_t capacity, uint32_t index_bytes, const uint8_t *take,
                  const uint64_t *count_device, uint32_t which)
{
    uint64_t needed = UINT64_MAX, wanted = 0, skipped = 0;
    nacre_options options;
    nacre_counts counts;
    nacre_options_init(&options, sizeof options);
    test_array keys_on = test_array_of_numbers(t, keys, count, t->key_bytes);
    test_array indices_on = test_array_new(t, capacity * index_bytes, index_bytes);
    test_array values_on =
        test_array_new(t, capacity * t->value_bytes, t->value_bytes != 0 ? t->value_bytes : 1);
    test_array needed_on = test_array_new(t, 8, 8), outcomes_on = test_array_new(t, count, 1);
    test_array counts_on = test_array_new(t, sizeof counts, 8);
    test_array mask_on = test_array_of(t, take, take != NULL ? count : 0, 1);
    test_array told_on = test_array_of(t, count_device, count_device != NULL ? 8 : 0, 8);
    options.outcomes = outcomes_on.data;
    options.counts = counts_on.data;
    options.error = &t->error;
    if (take != NULL) {
        options.mask = mask_on.data;
        options.mask_kind = NACRE_MASK_BYTES;
        options.mask_bits = 1;
    }
    options.count_device = count_device != NULL ? told_on.data : NULL;
    const bool with_indices = which != 1, with_values = which != 2 && t->value_bytes != 0;
    OK(t, nacre_map_match(map, keys_on.data, count, with_indices ? indices_on.data : NULL,
                          index_bytes, with_values ? values_on.data : NULL, capacity,
                          needed_on.data, &options, t->stream));
    test_array_read(t, &needed_on, &needed);
    test_array_read(t, &counts_on, &counts);
    uint64_t *indices = test_host(t, capacity * 8), *values = test_host(t, capacity * 8);
    uint8_t *outcomes = test_host(t, count), *seen = test_host(t, count);
    memset(seen, 0, count);
    test_array_read(t, &outcomes_on, outcomes);
    test_array_read_numbers(t, &indices_on, indices, capacity, index_bytes);
    if (t->value_bytes != 0) {
        test_array_read_numbers(t, &values_on, values, capacity, t->value_bytes);
    }
    for (uint64_t i = 0; i < count; i++) {
        const bool skips =
            (take != NULL && (take[i] & 1) == 0) || (count_device != NULL && i >= *count_device);
        const bool there = !skips && oracle_has(o, keys[i]);
        const uint32_t outcome = skips   ? NACRE_OUTCOME_SKIPPED
                                 : there ? NACRE_OUTCOME_FOUND
                                         : NACRE_OUTCOME_MISSING;
        CHECK(t, outcomes[i] == outcome, "outcome %u of key %llu", outcomes[i], LL(i));
        wanted += there;
        skipped += skips;
    }
    CHECK(t, needed == wanted && counts.done == wanted && counts.skipped == skipped,
          "needed %llu, done %llu, skipped %llu instead of %llu and %llu", LL(needed),
          LL(counts.done), LL(counts.skipped), LL(wanted), LL(skipped));
    const uint64_t filled = needed < capacity ? needed : capacity;
    for (uint64_t i = 0; i < capacity && with_indices; i++) {
        if (i >= filled) {
            CHECK(t, indices[i] == test_cut(UINT64_C(0xA5A5A5A5A5A5A5A5), index_bytes),
                  "indices_out[%llu] was written", LL(i));
            continue;
        }
        CHECK(t,
              indices[i] < count && outcomes[indices[i]] == NACRE_OUTCOME_FOUND &&
                  !seen[indices[i]],
              "index %llu is no hit, or there twice", LL(indices[i]));
        seen[indices[i]] = 1;
        CHECK(t, !with_values || values[i] == oracle_value(o, keys[indices[i]]),
              "hit %llu with another value", LL(i));
    }
    test_array *const all[] = {&keys_on,     &indices_on, &values_on, &needed_on,
                               &outcomes_on, &counts_on,  &mask_on,   &told_on};
    for (uint64_t i = 0; i < sizeof all / sizeof *all; i++) {
        test_array_free(t, all[i]);
    }
    free(indices);
    free(values);
    free(outcomes);
    free(seen);
}

NACRE_CONTRACT_TEST(match, pair_is_lost_doubled_or_of_another_key)
{
    /* Goal: each hit gives one pair of its index and value, within the capacity; the rest of the
       promises on batches hold. Method: keys half of which are there, in lengths around blocks,
       with masks, counts on the device, either output alone, both widths of indices. */
    const uint64_t lengths[] = {0, 1, 31, 255, 257, 5000, 40000};
    nacre_map *map = test_map_new(t, 0);
    oracle o;
    oracle_init(&o);
    uint64_t *keys = test_keys(t, 0, 40000), *values = test_values(t, keys, 40000);
    uint64_t *there = test_host(t, 20000 * 8), *values_there = test_host(t, 20000 * 8);
    for (uint64_t i = 0; i < 20000; i++) {
        there[i] = keys[2 * i];
        values_there[i] = values[2 * i];
    }
    test_do(t, map, &o, NACREI_INSERT, there, values_there, 20000);
    uint8_t *take = test_host(t, 40000);
    for (uint64_t i = 0; i < 40000; i++) {
        take[i] = (uint8_t)test_random(&t->random);
    }
    for (uint32_t l = 0; l < 7; l++) {
        const uint64_t n = lengths[l], some = n / 3, most = n + 5;
        test_note(t, "%llu keys", LL(n));
        match(t, map, &o, keys, n, n, 4, NULL, NULL, 0);
        match(t, map, &o, keys, n, n / 4, 8, NULL, NULL, 0);
        match(t, map, &o, keys, n, n, 8, take, NULL, 0);
        match(t, map, &o, keys, n, n, 4, take, &some, 2);
        match(t, map, &o, keys, n, n, 8, NULL, &most, 1);
    }
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
    free(there);
    free(values_there);
    free(take);
}

NACRE_CONTRACT_TEST_ONCE(match, hits_of_one_thread_overwrite_those_of_another)
{
    /* Goal: where threads share a call each hit has a place of its own, and the last places are
       those that fit. Method: more keys than threads take at a time, two thirds of which are there;
       capacities for all, for a part, for none; a mask, a count on the device. */
    enum { N = 700001, THERE = N / 3 * 2 };
    nacre_map *map = test_map_new(t, THERE);
    oracle o;
    oracle_init(&o);
    uint64_t *keys = test_keys(t, 0, N), *values = test_values(t, keys, N);
    test_do(t, map, &o, NACREI_INSERT, keys, values, THERE);
    for (uint64_t i = N - 1; i > 0; i--) { /* shuffled: hits and misses lie mixed */
        const uint64_t j = test_random_below(&t->random, i + 1), key = keys[i];
        keys[i] = keys[j];
        keys[j] = key;
    }
    uint8_t *take = test_host(t, N);
    for (uint64_t i = 0; i < N; i++) {
        take[i] = (uint8_t)test_random(&t->random);
    }
    const uint64_t some = N - 100000;
    match(t, map, &o, keys, N, N, 4, NULL, NULL, 0);
    match(t, map, &o, keys, N, THERE - 12345, 8, NULL, NULL, 0);
    match(t, map, &o, keys, N, N, 8, take, &some, 2);
    match(t, map, &o, keys, N, N, 8, take, NULL, 1);
    match(t, map, &o, keys, N, 0, 4, NULL, NULL, 0);
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
    free(take);
}
