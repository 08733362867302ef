/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches with many elements for each submap. The CPU copies them into the order of the table, with
 * one thread as well as with several, and takes memory for that; so here a map begins with enough
 * submaps and batches are long enough for it.
 */
#include "support/allocator.h"
#include "support/batch.h"

enum {
    SUBMAPS = 256,
    SUBMAP_BYTES = 65536,
    ELEMENTS = 600000, /* more than 1024 for each submap, also after some growth */
};

/* Low, so that few keys make many submaps. */
#define LOAD 0.10

/* Keys that fill a map of so many submaps. */
static uint64_t full(const test *t)
{
    uint32_t slot = t->value_bytes == 0 ? t->key_bytes : t->key_bytes + t->value_bytes;
    return (uint64_t)(LOAD * SUBMAPS * SUBMAP_BYTES / (slot == 12 ? 16 : slot)) - 1;
}

static nacre_map *map_on(test *t, nacre_device *device, uint32_t growth)
{
    nacre_map_config config = test_map_config(t);
    nacre_map *map;
    config.growth = growth;
    config.load_max = LOAD;
    config.capacity_keys = full(t);
    OK(t, nacre_map_create(device, &config, &map));
    return map;
}

/* One more device of the row's backend; on the CPU with so many threads. */
static nacre_device *device_of(test *t, uint32_t threads, const nacre_allocator *allocator)
{
    nacre_device_config config;
    nacre_device *device;
    nacre_device_config_init(&config, sizeof config);
    config.backend = t->backend;
    config.threads = t->backend == NACRE_BACKEND_CPU ? threads : 0;
    if (allocator != NULL) {
        config.allocator = *allocator;
    }
    config.error = &t->error;
    OK(t, nacre_device_open(&config, &device));
    return device;
}

/* A batch over keys 0 .. universe - 1 of the row, each several times; judged. */
static void step(test *t, nacre_map *map, oracle *o, uint32_t operation, uint32_t mask_kind,
                 uint64_t universe)
{
    uint64_t *keys = test_host(t, ELEMENTS * 8), count_device = ELEMENTS - 7;
    uint8_t *take = test_host(t, ELEMENTS);
    for (uint64_t i = 0; i < ELEMENTS; i++) {
        uint64_t number = test_random_below(&t->random, universe);
        keys[i] = number < 4 ? test_cut(number - 2, t->key_bytes) : test_key(t, number);
        take[i] = test_random_below(&t->random, 3) != 0;
    }
    uint64_t *values = test_values(t, keys, ELEMENTS), missing = test_random(&t->random);
    test_batch b = test_batch_of(operation, keys, values, ELEMENTS);
    b.type = t->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
    b.values = operation == NACREI_INSERT_OR_APPLY && mask_kind == NACRE_MASK_BITS ? NULL : values;
    b.mask_kind = mask_kind;
    b.mask_offset = 3;
    b.take = mask_kind != NACRE_MASK_NONE ? take : NULL;
    b.count_device = mask_kind == NACRE_MASK_BYTES ? &count_device : NULL;
    b.missing_value = operation == NACREI_FIND_OR_INSERT ? &missing : NULL;
    b.in_place = operation == NACREI_FIND_OR_INSERT && mask_kind == NACRE_MASK_NONE;
    b.without_outcomes = operation == NACREI_INSERT && mask_kind == NACRE_MASK_BYTES;
    test_note(t, "%s, mask %u, %llu keys in the map", test_operation_name(operation), mask_kind,
              LL(o->size));
    test_batch_run(t, map, &b, o);
    test_batch_free(&b);
    free(keys);
    free(values);
    free(take);
}

static void steps(test *t, nacre_map *map, oracle *o, uint64_t universe)
{
    step(t, map, o, NACREI_INSERT, NACRE_MASK_BYTES, universe / 2);
    step(t, map, o, NACREI_INSERT, NACRE_MASK_NONE, universe);
    if (t->value_bytes != 0) {
        step(t, map, o, NACREI_INSERT_OR_APPLY, NACRE_MASK_NONE, universe);
        step(t, map, o, NACREI_INSERT_OR_APPLY, NACRE_MASK_BITS, universe);
        step(t, map, o, NACREI_ASSIGN, NACRE_MASK_BYTES, universe);
    }
    step(t, map, o, NACREI_ERASE, NACRE_MASK_BITS, universe / 3);
    if (t->value_bytes != 0) {
        step(t, map, o, NACREI_FIND_OR_INSERT, NACRE_MASK_NONE, universe);
        step(t, map, o, NACREI_FIND_OR_INSERT, NACRE_MASK_BYTES, universe);
    }
    step(t, map, o, NACREI_INSERT_OR_ASSIGN, NACRE_MASK_BITS, universe);
    test_compare(t, map, o, 1000);
}

NACRE_CONTRACT_TEST(table_order, batch_in_another_order_answers_otherwise)
{
    /* Goal: equal keys, outcomes, values, masks, reductions and full maps are right when a batch is
       not done in its order; by one thread and by three, with and without growth on the way.
       Method: the judge on every operation; the peak of memory shows that copies were made. */
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t growth = i == 1 ? NACRE_GROWTH_FIXED : NACRE_GROWTH_WAIT;
        nacre_device *device = device_of(t, i < 2 ? 1 : 3, NULL);
        nacre_map *map = map_on(t, device, growth);
        oracle o;
        oracle_init(&o);
        o.capacity_keys = growth == NACRE_GROWTH_FIXED ? full(t) : UINT64_MAX;
        steps(t, map, &o, full(t) + full(t) / 8);
        nacre_map_info info = test_info(t, map);
        CHECK(t,
              t->backend != NACRE_BACKEND_CPU ||
                  info.memory_peak_bytes >= info.memory_bytes + ELEMENTS * t->key_bytes,
              "no copies: %llu bytes, %llu at the peak", LL(info.memory_bytes),
              LL(info.memory_peak_bytes));
        nacre_map_destroy(map);
        nacre_device_close(device);
        oracle_free(&o);
    }
}

NACRE_CONTRACT_TEST(table_order, refused_copies_refuse_keys)
{
    /* Goal: a batch does without copies where memory for them is refused, by the allocator, by
       memory_limit_bytes, or because the room was reserved. Method: a map that need not grow; every
       allocation from now on refused, a limit that leaves nothing to spare, calls counted. */
    if (t->backend != NACRE_BACKEND_CPU) {
        return;
    }
    for (int how = 0; how < 3; how++) {
        test_allocator *a = test_allocator_new(t->backend);
        nacre_device *device = device_of(t, how == 0 ? 1 : 3, &a->callbacks);
        nacre_map_config config = test_map_config(t);
        config.load_max = how == 2 ? 9 * LOAD : LOAD;
        config.capacity_keys = how == 2 ? 9 * full(t) : full(t); /* the former takes any batch */
        if (how == 1) {
            OK(t, nacre_map_estimate(device, &config, 0, &config.memory_limit_bytes));
        }
        nacre_map *map;
        OK(t, nacre_map_create(device, &config, &map));
        oracle o;
        oracle_init(&o);
        uint64_t calls = a->calls, peak = test_info(t, map).memory_peak_bytes;
        test_allocator_refuse(a, how == 0 ? 1 : 0, true);
        step(t, map, &o, NACREI_INSERT, NACRE_MASK_NONE, full(t) - full(t) / 8);
        CHECK(t, how != 0 || a->refused != 0, "no memory was asked for");
        CHECK(t, how == 0 || a->calls == calls, "%llu calls", LL(a->calls - calls));
        CHECK(t, test_info(t, map).memory_peak_bytes == peak, "memory was held");
        test_allocator_refuse(a, 0, false);
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        nacre_device_close(device);
        CHECK(t, a->live == 0 && a->misuse[0] == 0, "%llu left; %s", LL(a->live), a->misuse);
        test_allocator_free(a);
        oracle_free(&o);
    }
}
