/* SPDX-License-Identifier: Apache-2.0 */
/* match: the hits of a lookup, dense. */
#include "support/batch.h"

/* One call: which keys are meant, and the outputs that are asked for. */
typedef struct call {
    const uint64_t *keys;
    uint64_t count, capacity;
    uint32_t index_bytes;
    const uint8_t *take;          /* NULL: all */
    const uint64_t *count_device; /* NULL: all */
    bool without_indices, without_values;
} call;

/* What came out of it, on the host. */
typedef struct output {
    uint64_t *indices, *values; /* [capacity] */
    uint8_t *outcomes;          /* [count] */
    uint64_t needed;
    nacre_counts counts;
} output;

/* Each hit is there once, with its value, and nothing beyond the capacity. */
static void judge_pairs(test *t, const oracle *o, const call *c, const output *out)
{
    const uint64_t filled = out->needed < c->capacity ? out->needed : c->capacity;
    uint8_t *seen = test_host(t, c->count);
    memset(seen, 0, c->count);
    for (uint64_t i = 0; i < c->capacity && !c->without_indices; i++) {
        const uint64_t index = out->indices[i];
        if (i >= filled) {
            CHECK(t, index == test_cut(UINT64_C(0xA5A5A5A5A5A5A5A5), c->index_bytes),
                  "indices_out[%llu] was written", LL(i));
            continue;
        }
        CHECK(t, index < c->count && out->outcomes[index] == NACRE_OUTCOME_FOUND && !seen[index],
              "index %llu is no hit, or there twice", LL(index));
        seen[index] = 1;
        CHECK(t,
              c->without_values || t->value_bytes == 0 ||
                  out->values[i] == oracle_value(o, c->keys[index]),
              "hit %llu with another value", LL(i));
    }
    free(seen);
}

static void judge(test *t, const oracle *o, const call *c, const output *out)
{
    uint64_t wanted = 0, skipped = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        const bool skips = (c->take != NULL && (c->take[i] & 1) == 0) ||
                           (c->count_device != NULL && i >= *c->count_device);
        const bool there = !skips && oracle_has(o, c->keys[i]);
        const uint32_t outcome = skips   ? NACRE_OUTCOME_SKIPPED
                                 : there ? NACRE_OUTCOME_FOUND
                                         : NACRE_OUTCOME_MISSING;
        CHECK(t, out->outcomes[i] == outcome, "outcome %u of key %llu", out->outcomes[i], LL(i));
        wanted += there;
        skipped += skips;
    }
    CHECK(t, out->needed == wanted && out->counts.done == wanted && out->counts.skipped == skipped,
          "needed %llu, done %llu, skipped %llu instead of %llu and %llu", LL(out->needed),
          LL(out->counts.done), LL(out->counts.skipped), LL(wanted), LL(skipped));
    judge_pairs(t, o, c, out);
}

/* Makes the call and judges it. */
static void match(test *t, nacre_map *map, const oracle *o, call c)
{
    const uint32_t value_bytes = t->value_bytes;
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    test_array keys = test_array_of_numbers(t, c.keys, c.count, t->key_bytes);
    test_array indices = test_array_new(t, c.capacity * c.index_bytes, c.index_bytes);
    test_array values =
        test_array_new(t, c.capacity * value_bytes, value_bytes != 0 ? value_bytes : 1);
    test_array needed = test_array_new(t, 8, 8), outcomes = test_array_new(t, c.count, 1);
    test_array counts = test_array_new(t, sizeof(nacre_counts), 8);
    test_array mask = test_array_of(t, c.take, c.take != NULL ? c.count : 0, 1);
    test_array told = test_array_of(t, c.count_device, c.count_device != NULL ? 8 : 0, 8);
    options.outcomes = outcomes.data;
    options.counts = counts.data;
    options.error = &t->error;
    if (c.take != NULL) {
        options.mask = mask.data;
        options.mask_kind = NACRE_MASK_BYTES;
        options.mask_bits = 1;
    }
    options.count_device = c.count_device != NULL ? told.data : NULL;
    OK(t, nacre_map_match(map, keys.data, c.count, c.without_indices ? NULL : indices.data,
                          c.index_bytes, c.without_values || value_bytes == 0 ? NULL : values.data,
                          c.capacity, needed.data, &options, t->stream));
    output out = {.indices = test_host(t, c.capacity * 8),
                  .values = test_host(t, c.capacity * 8),
                  .outcomes = test_host(t, c.count)};
    test_array_read(t, &needed, &out.needed);
    test_array_read(t, &counts, &out.counts);
    test_array_read(t, &outcomes, out.outcomes);
    test_array_read_numbers(t, &indices, out.indices, c.capacity, c.index_bytes);
    if (value_bytes != 0) {
        test_array_read_numbers(t, &values, out.values, c.capacity, value_bytes);
    }
    judge(t, o, &c, &out);
    test_array *const all[] = {&keys, &indices, &values, &needed, &outcomes, &counts, &mask, &told};
    for (uint64_t i = 0; i < sizeof all / sizeof *all; i++) {
        test_array_free(t, all[i]);
    }
    free(out.indices);
    free(out.values);
    free(out.outcomes);
}

/* All kinds of calls on the same keys, of which the device means `some` in two. */
static void match_every_way(test *t, nacre_map *map, const oracle *o, const uint64_t *keys,
                            uint64_t count, const uint8_t *take, uint64_t some)
{
    const uint64_t most = count + 5;
    call c = {.keys = keys, .count = count, .capacity = count, .index_bytes = 4};
    test_note(t, "%llu keys", LL(count));
    match(t, map, o, c);
    c.capacity = count / 4;
    match(t, map, o, c);
    c.capacity = 0;
    match(t, map, o, c);
    c.capacity = count;
    c.index_bytes = 8;
    c.take = take;
    match(t, map, o, c);
    c.without_values = true;
    c.count_device = &some;
    match(t, map, o, c);
    c.without_values = false;
    c.without_indices = true;
    match(t, map, o, c);
    c.take = NULL;
    c.count_device = &most;
    match(t, map, o, c);
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
        match_every_way(t, map, &o, keys, lengths[l], take, lengths[l] / 3);
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
    match_every_way(t, map, &o, keys, N, take, N - 100000);
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
    free(take);
}
