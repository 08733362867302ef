/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA only: that large batches are partitioned at all, and small ones are not, told by the peak of
 * memory, in which the copy counts (device/partition.h has the rule). Nothing on other backends.
 */
#include "support/array.h"

#if NACRE_HAVE_CUDA
#include "device/partition.h"
#include "support/cuda.h"

/* The copy's counters of bins, and what rounds its arrays up. */
#define COPY_EXTRA 65536

typedef struct large {
    nacre_map *map;
    uint64_t slots, keys; /* that the map has, and takes without growth */
    uint64_t held;        /* memory while it is empty */
    uint64_t pair_bytes;  /* of a key and its value */
} large;

/* Where nothing can be partitioned the row says so and ends. */
static bool can_partition(test *t)
{
    const char *why = t->backend != NACRE_BACKEND_CUDA ? "no CUDA"
                      : t->allocator != NULL           ? "a caller's allocator"
                      : test_gpu_attribute(t, cudaDevAttrL2CacheSize) == 0
                          ? "no size of the L2 cache"
                      : !test_gpu_attribute(t, cudaDevAttrMemoryPoolsSupported) ? "no memory pools"
                                                                                : NULL;
    if (why != NULL) {
        printf("SKIPPED %s on %s: %s\n", t->name, t->backend_name, why);
    }
    return why == NULL;
}

/* An empty map of as many bytes as `caches` L2 caches or more, up to twice that, all its slots
   reserved. */
static large large_of(test *t, uint64_t caches, uint32_t growth)
{
    large l = {.pair_bytes = t->key_bytes + t->value_bytes};
    const uint64_t bytes = caches * test_gpu_attribute(t, cudaDevAttrL2CacheSize);
    nacre_map *map = test_map_growing(t, growth, bytes / l.pair_bytes);
    l.slots = test_info(t, map).capacity_slots;
    l.keys = (uint64_t)((double)l.slots * test_map_config(t).load_max) - 1;
    nacre_map_destroy(map);
    l.map = test_map_growing(t, growth, l.keys);
    l.held = test_info(t, l.map).memory_peak_bytes;
    CHECK(t, test_info(t, l.map).capacity_slots == l.slots, "another number of slots");
    return l;
}

/* Keys number `first` and following, and then again from `again` elements on. */
static test_array keys_on(test *t, uint64_t first, uint64_t count, uint64_t again)
{
    uint64_t *keys = test_host(t, count * 8);
    for (uint64_t i = 0; i < count; i++) {
        keys[i] = test_key(t, first + i % again);
    }
    test_array array = test_array_of_numbers(t, keys, count, t->key_bytes);
    free(keys);
    return array;
}

/* At the peak there was a copy of so many elements, or (0) none. */
static void copied(test *t, const large *l, uint64_t elements)
{
    const uint64_t above = test_info(t, l->map).memory_peak_bytes - l->held;
    const uint64_t least = elements * l->pair_bytes, most = elements != 0 ? least + COPY_EXTRA : 0;
    CHECK(t, least <= above && above <= most, "%llu bytes above the table's at the peak, not %llu",
          LL(above), LL(least));
}

NACRE_CONTRACT_TEST_ONCE(partition, large_batch_goes_as_it_came)
{
    /* Goal: a tenth of the slots, and all of them in two halves, are copied into the table's order,
       for insertion and for erasure. Method: the peak of memory, with a table of four caches. */
    if (!can_partition(t)) {
        return;
    }
    large l = large_of(t, NACREI_PARTITION_CACHES_LEAST, NACRE_GROWTH_WAIT);
    test_array keys = keys_on(t, 0, l.keys, l.keys);
    test_array values = test_array_new(t, l.keys * t->value_bytes, t->value_bytes);
    const uint64_t tenth = l.slots / NACREI_PARTITION_SHARE_LEAST;
    OK(t, nacre_map_insert(l.map, keys.data, values.data, tenth, NULL, t->stream));
    copied(t, &l, tenth);
    OK(t, nacre_map_clear(l.map, &t->error, t->stream));
    OK(t, nacre_map_insert(l.map, keys.data, values.data, l.keys, NULL, t->stream));
    copied(t, &l, (l.keys + 1) / 2);
    nacre_map_destroy(l.map);

    /* Answers for each element keep an insertion as it is; an erasure has keys alone. */
    l = large_of(t, NACREI_PARTITION_CACHES_LEAST, NACRE_GROWTH_WAIT);
    test_array outcomes = test_array_new(t, tenth, 1);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.outcomes = outcomes.data;
    OK(t, nacre_map_insert(l.map, keys.data, values.data, tenth, &options, t->stream));
    copied(t, &l, 0);
    OK(t, nacre_map_erase(l.map, keys.data, tenth, NULL, t->stream));
    l.pair_bytes = t->key_bytes;
    copied(t, &l, tenth);
    nacre_map_destroy(l.map);
    test_array_free(t, &keys);
    test_array_free(t, &values);
    test_array_free(t, &outcomes);
}

NACRE_CONTRACT_TEST_ONCE(partition, small_batch_is_copied)
{
    /* Goal: less than a tenth of the slots, and any batch for a table that is not much larger than
       the L2 cache, goes as it came. Method: the peak of memory, after an insertion and an erasure
       of one element less than a tenth, and of all keys of a table of less than four caches. */
    if (!can_partition(t)) {
        return;
    }
    for (uint32_t small = 0; small < 2; small++) {
        const uint64_t caches = NACREI_PARTITION_CACHES_LEAST;
        large l = large_of(t, small ? caches / 4 : caches, NACRE_GROWTH_WAIT);
        const uint64_t n = small ? l.keys : l.slots / NACREI_PARTITION_SHARE_LEAST - 1;
        test_array keys = keys_on(t, 0, n, n);
        test_array values = test_array_new(t, n * t->value_bytes, t->value_bytes);
        OK(t, nacre_map_insert(l.map, keys.data, values.data, n, NULL, t->stream));
        copied(t, &l, 0);
        OK(t, nacre_map_erase(l.map, keys.data, n, NULL, t->stream));
        copied(t, &l, 0);
        test_array_free(t, &keys);
        test_array_free(t, &values);
        nacre_map_destroy(l.map);
    }
}

NACRE_CONTRACT_TEST_ONCE(partition, deferred_growth_sees_the_last_part_alone)
{
    /* Goal: a DEFERRED map grows by all new keys of a call that was cut into parts. Method: a call
       in two parts that fills the first with new keys, and brings few more in the second; a call of
       known keys beyond the reserved room then has to double the table. */
    if (!can_partition(t)) {
        return;
    }
    large l = large_of(t, NACREI_PARTITION_CACHES_LEAST, NACRE_GROWTH_DEFERRED);
    const uint64_t fresh = l.keys / 2 + l.keys / 30;
    test_array keys = keys_on(t, 0, l.keys, fresh);
    test_array values = test_array_new(t, l.keys * t->value_bytes, t->value_bytes);
    OK(t, nacre_map_insert(l.map, keys.data, values.data, l.keys, NULL, t->stream));
    copied(t, &l, (l.keys + 1) / 2);
    test_wait(t);
    CHECK(t, test_info(t, l.map).growths == 0, "it grew at once");
    OK(t, nacre_map_insert(l.map, keys.data, values.data, fresh, NULL, t->stream));
    CHECK(t, test_info(t, l.map).growths == 1, "%llu growths for %llu new keys of %llu",
          LL(test_info(t, l.map).growths), LL(fresh), LL(l.keys));
    uint64_t size = 0;
    OK(t, nacre_map_size(l.map, &size, &t->error, t->stream));
    CHECK(t, size == fresh, "size %llu of %llu", LL(size), LL(fresh));
    test_array_free(t, &keys);
    test_array_free(t, &values);
    nacre_map_destroy(l.map);
}
#else
NACRE_CONTRACT_TEST_ONCE(partition, not_in_this_build)
{
    /* Goal: say that the rows of this file need CUDA. Method: a line. */
    printf("SKIPPED partition on %s: this build has no CUDA\n", t->backend_name);
}
#endif
