/* SPDX-License-Identifier: Apache-2.0 */
/* shrink. */
#include "nacre/core/hash.h"
#include "support/batch.h"
#include "support/hash_inverse.h"

#if NACRE_HAVE_CUDA
#include "support/cuda.h"
#endif

/* Shrinks, and says what the map was before and is after it; what may never change is checked. */
static void shrink(test *t, nacre_map *map, const oracle *o, nacre_map_info *before,
                   nacre_map_info *after)
{
    *before = test_info(t, map);
    OK(t, nacre_map_shrink(map, &t->error, t->stream));
    *after = test_info(t, map);
    CHECK(t,
          after->submaps <= before->submaps && after->capacity_keys <= before->capacity_keys &&
              after->memory_bytes <= before->memory_bytes,
          "%llu submaps for %llu keys, %llu bytes before, %llu for %llu, %llu bytes after",
          LL(before->submaps), LL(before->capacity_keys), LL(before->memory_bytes),
          LL(after->submaps), LL(after->capacity_keys), LL(after->memory_bytes));
    CHECK(t, after->capacity_keys >= o->size, "room for %llu keys of %llu",
          LL(after->capacity_keys), LL(o->size));
    CHECK(t, after->size_last_known == o->size, "size %llu instead of %llu",
          LL(after->size_last_known), LL(o->size));
    CHECK(t,
          after->growths == before->growths && after->memory_peak_bytes >= before->memory_bytes &&
              after->memory_peak_bytes == before->memory_peak_bytes,
          "growths %llu to %llu, peak %llu to %llu", LL(before->growths), LL(after->growths),
          LL(before->memory_peak_bytes), LL(after->memory_peak_bytes));
    test_compare(t, map, o, 1000);
}

NACRE_CONTRACT_TEST(shrink, memory_of_erased_keys_is_kept)
{
    /* Goal: after 99 % of the keys are erased the map is as small as one that grew to the others,
       and nothing else changes; it grows again (case 20). Method: a million keys for (8,8), 200,000
       otherwise; a fresh map of the hundredth beside it; a cursor of before is told. */
    const uint64_t n = t->key_bytes == 8 && t->value_bytes == 8 ? 1000000 : 200000, rest = n / 100;
    oracle o, small;
    oracle_init(&o);
    oracle_init(&small);
    nacre_map *map = test_map_new(t, 0), *fresh = test_map_new(t, 0);
    uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
    for (uint64_t at = 0; at < n; at += n / 10) {
        test_do(t, map, &o, NACREI_INSERT, keys + at, values + at, n / 10);
    }
    test_do(t, map, &o, NACREI_ERASE, keys + rest, NULL, n - rest);
    for (uint64_t at = 0; at < rest; at += rest / 10) {
        test_do(t, fresh, &small, NACREI_INSERT, keys + at, values + at, rest / 10);
    }
    const nacre_map_info grown = test_info(t, fresh);
    nacre_map_info before, after;
    nacre_select cursor;
    nacre_select_init(&cursor, sizeof cursor);
    cursor.slot_count = 1000;
    cursor.layout = test_info(t, map).layout;
    shrink(t, map, &o, &before, &after);
    CHECK(t, after.submaps <= grown.submaps && after.submaps < before.submaps,
          "%llu submaps, %llu before, %llu in a fresh map", LL(after.submaps), LL(before.submaps),
          LL(grown.submaps));
    CHECK(t, after.capacity_keys < before.capacity_keys, "still room for %llu keys",
          LL(after.capacity_keys));
    CHECK(t, after.memory_bytes <= grown.memory_bytes + grown.memory_bytes / 4,
          "%llu bytes of %llu, a fresh map holds %llu", LL(after.memory_bytes),
          LL(before.memory_bytes), LL(grown.memory_bytes));
    test_array count = test_array_new(t, 8, 8);
    STATUS(t, NACRE_ERROR_CHANGED, nacre_map_count_if(map, &cursor, count.data, NULL, t->stream));
    test_array_free(t, &count);
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    test_compare(t, map, &o, 1000);
    free(keys);
    free(values);
    nacre_map_destroy(map);
    nacre_map_destroy(fresh);
    oracle_free(&o);
    oracle_free(&small);
}

NACRE_CONTRACT_TEST(shrink, map_without_room_to_spare_is_spoilt)
{
    /* Goal: an empty map and one that needs its room stay as they are. Method: maps of each growth,
       with no keys and as many as fit, 58,000 also beyond what growth would have allowed, shrunk
       twice; the second time nothing falls. */
    for (uint32_t growth = NACRE_GROWTH_WAIT; growth <= NACRE_GROWTH_FIXED; growth++) {
        for (uint64_t n = 0; n <= 58000; n += 29000) {
            oracle o;
            oracle_init(&o);
            nacre_map_info before, after;
            nacre_map *map = test_map_growing(t, growth, n);
            uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
            test_do(t, map, &o, NACREI_INSERT, keys, values, n);
            shrink(t, map, &o, &before, &after);
            CHECK(t, growth != NACRE_GROWTH_FIXED || after.capacity_keys == n, "capacity %llu",
                  LL(after.capacity_keys));
            shrink(t, map, &o, &before, &after);
            CHECK(t,
                  after.memory_bytes == before.memory_bytes && after.submaps == before.submaps &&
                      after.capacity_keys == before.capacity_keys,
                  "%llu to %llu bytes", LL(before.memory_bytes), LL(after.memory_bytes));
            test_do(t, map, &o, NACREI_ERASE, keys, NULL, n / 2);
            test_do(t, map, &o, NACREI_INSERT, keys, values, n / 2);
            test_compare(t, map, &o, 1000);
            free(keys);
            free(values);
            nacre_map_destroy(map);
            oracle_free(&o);
        }
    }
}

NACRE_CONTRACT_TEST(shrink, reserved_room_is_kept)
{
    /* Goal: room that create or reserve made is given back; a FIXED map then takes what it holds,
       until reserve raises that; DEFERRED maps grow again. Method: room for 2 million keys of
       which 3,000 come; more keys afterwards; at last none are left. */
    const uint64_t room = 2000000, n = 3000, more = 5000, most = 40000;
    for (uint32_t growth = NACRE_GROWTH_WAIT; growth <= NACRE_GROWTH_FIXED; growth++) {
        for (int by_create = 0; by_create < 2; by_create++) {
            oracle o;
            oracle_init(&o);
            nacre_map_info before, after;
            nacre_map *map = test_map_growing(t, growth, by_create ? room : 0);
            OK(t, nacre_map_reserve(map, room, &t->error, t->stream));
            uint64_t *keys = test_keys(t, 0, most), *values = test_values(t, keys, most);
            test_do(t, map, &o, NACREI_INSERT, keys, values, n);
            shrink(t, map, &o, &before, &after);
            CHECK(t, after.memory_bytes < before.memory_bytes / 2 && after.capacity_keys < room / 4,
                  "%llu of %llu bytes, room for %llu keys", LL(after.memory_bytes),
                  LL(before.memory_bytes), LL(after.capacity_keys));
            o.capacity_keys = growth == NACRE_GROWTH_FIXED ? n : UINT64_MAX;
            o.may_be_full = growth == NACRE_GROWTH_DEFERRED;
            test_do(t, map, &o, NACREI_INSERT, keys, values, more + 100);
            OK(t, nacre_map_reserve(map, more, &t->error, t->stream));
            o.capacity_keys = growth == NACRE_GROWTH_FIXED ? more : UINT64_MAX;
            o.may_be_full = false;
            test_do(t, map, &o, NACREI_INSERT, keys, values, more);
            o.may_be_full = growth == NACRE_GROWTH_DEFERRED;
            test_do(t, map, &o, NACREI_INSERT, keys, values, most);
            test_do(t, map, &o, NACREI_ERASE, keys, NULL, most);
            shrink(t, map, &o, &before, &after);
            CHECK(t, growth != NACRE_GROWTH_FIXED || after.capacity_keys == 0, "room for %llu keys",
                  LL(after.capacity_keys));
            CHECK(t, after.submaps == 1, "%llu submaps for no keys", LL(after.submaps));
            free(keys);
            free(values);
            nacre_map_destroy(map);
            oracle_free(&o);
        }
    }
}

NACRE_CONTRACT_TEST(shrink, submap_left_over_is_not_as_new)
{
    /* Goal: the table grows again into what shrinking left of it, and shrinks again, by any share.
       Method: 20 rounds that erase a random share of 100,000 keys, shrink, erase half, and insert
       others. */
    const uint64_t n = 100000;
    oracle o;
    oracle_init(&o);
    nacre_map_info before, after;
    nacre_map *map = test_map_new(t, 0);
    uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
    for (int round = 0; round < 20; round++) {
        const uint64_t first = test_random_below(&t->random, n);
        const uint64_t erased = test_random_below(&t->random, n - first + 1);
        test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        test_compare(t, map, &o, 0);
        test_do(t, map, &o, NACREI_ERASE, keys + first, NULL, erased);
        shrink(t, map, &o, &before, &after);
        CHECK(t, erased < n / 2 || after.submaps < before.submaps,
              "%llu submaps still after %llu keys of %llu were erased", LL(after.submaps),
              LL(erased), LL(n));
        test_do(t, map, &o, NACREI_ERASE, keys, NULL, n / 2);
        for (uint64_t i = 0; i < n; i++) {
            keys[i] =
                oracle_has(&o, keys[i]) ? keys[i] : test_key(t, n * (uint64_t)(round + 1) + i);
        }
    }
    free(keys);
    free(values);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(shrink, keys_that_crowd_submaps_are_lost)
{
    /* Goal: submaps whose keys do not fit into one are not merged; keys in the stash stay, too.
       Method: 8-byte keys; nine tenths of the slots of each of two submaps that would become one,
       or half more than one submap has slots, among 1000 random keys in a FIXED map of many; then
       without most of them. */
    if (t->key_bytes != 8) {
        return;
    }
    for (int stash = 0; stash < 2; stash++) {
        nacre_map_config config = test_map_config(t);
        config.growth = NACRE_GROWTH_FIXED;
        config.load_max = 0.1;
        config.capacity_keys = 100000;
        nacre_map *map = test_map_create(t, &config);
        oracle o;
        oracle_init(&o);
        o.may_be_full = true;
        nacre_map_info before = test_info(t, map), after;
        const uint64_t half = before.submaps / 2, slots = before.capacity_slots / before.submaps;
        const uint64_t crowd = slots / 10 * (stash ? 15 : 18), n = crowd + 1000;
        uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
        for (uint64_t i = 0; i < crowd; i++) {
            const uint64_t submap = 5 + (stash ? 0 : i % 2 * half);
            const uint64_t fields = test_random(&t->random) & 0xFFFFFF;
            keys[i] = test_hash_inverse(submap << NACREI_HASH_SUBMAP_SHIFT | i << 40 | fields,
                                        config.seed);
        }
        test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        shrink(t, map, &o, &before, &after);
        CHECK(t, stash || after.submaps > 5 + half, "%llu submaps of %llu", LL(after.submaps),
              LL(before.submaps));
        test_do(t, map, &o, NACREI_ERASE, keys + crowd / 4, NULL, crowd - crowd / 4);
        shrink(t, map, &o, &before, &after);
        CHECK(t, after.submaps < 5 + half, "%llu submaps still", LL(after.submaps));
        OK(t, nacre_map_reserve(map, 100000, &t->error, t->stream));
        test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        test_compare(t, map, &o, 1000);
        free(keys);
        free(values);
        nacre_map_destroy(map);
        oracle_free(&o);
    }
}

#if NACRE_HAVE_CUDA
NACRE_CONTRACT_TEST(shrink, captured_batch_uses_memory_that_is_gone)
{
    /* Goal: captured batches stay valid when the map shrinks. Method: a graph of an insertion and a
       lookup, replayed right after 99 % of the keys were erased and the map shrunk; CUDA only. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    const uint32_t value_bytes = t->value_bytes;
    const uint64_t n = 3200000 / nacrei_slot_bytes(t->key_bytes, value_bytes); /* some MB */
    const uint64_t rest = n / 100, fresh = 500;
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, n + fresh);
    uint64_t *keys = test_keys(t, 0, n + fresh), *values = test_values(t, keys, n + fresh);
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    CHECK(t, test_size(t, map) == n, "size is not %llu", LL(n));
    test_array keys_on = test_array_of_numbers(t, keys + n, fresh, t->key_bytes);
    test_array values_on = test_array_of_numbers(t, values + n, fresh, value_bytes);
    test_array outcomes_on = test_array_new(t, fresh, 1), found_on = test_array_new(t, fresh, 1);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.outcomes = outcomes_on.data;
    options.error = &t->error;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(t, cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeGlobal));
    STATUS(t, NACRE_ERROR_WOULD_WAIT, nacre_map_shrink(map, &t->error, t->stream));
    OK(t, nacre_map_insert(map, keys_on.data, value_bytes == 0 ? NULL : values_on.data, fresh,
                           &options, t->stream));
    OK(t, nacre_map_contains(map, keys_on.data, fresh, found_on.data, NULL, t->stream));
    CUDA(t, cudaStreamEndCapture(t->stream, &graph));
    CUDA(t, cudaGraphInstantiate(&exec, graph, 0));
    test_do(t, map, &o, NACREI_ERASE, keys + rest, NULL, n - rest);
    nacre_map_info before, after;
    shrink(t, map, &o, &before, &after);
    CHECK(t, after.memory_bytes < before.memory_bytes, "%llu bytes still", LL(after.memory_bytes));
    CUDA(t, cudaGraphLaunch(exec, t->stream));
    unsigned char *outcomes = test_host(t, fresh), *found = test_host(t, fresh);
    test_array_read(t, &outcomes_on, outcomes);
    test_array_read(t, &found_on, found);
    for (uint64_t i = 0; i < fresh; i++) {
        CHECK(t, outcomes[i] == NACRE_OUTCOME_INSERTED && found[i] == 1,
              "element %llu: outcome %u, found %u", LL(i), outcomes[i], found[i]);
        oracle_put(&o, keys[n + i], values[n + i]);
    }
    test_compare(t, map, &o, 1000);
    CUDA(t, cudaGraphExecDestroy(exec));
    CUDA(t, cudaGraphDestroy(graph));
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    test_array_free(t, &outcomes_on);
    test_array_free(t, &found_on);
    free(outcomes);
    free(found);
    free(keys);
    free(values);
    nacre_map_destroy(map);
    oracle_free(&o);
}
#endif
