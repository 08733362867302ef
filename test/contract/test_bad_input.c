/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goal: no argument that is not allowed reaches a backend; the caller gets the status that the
 * header names, and a message with the call, the parameter, its value and what is allowed. Method:
 * a good call, each argument spoilt in turn, on every backend; afterwards the map holds what it
 * held.
 */
#include <math.h>

#include "contract/refused.h"
#include "lib/backend.h" /* NACREI_INSERT ...: the names of the operations */
#include "support/array.h"

static void *misaligned(const test_array *array, uint64_t by)
{
    return (char *)array->data + by;
}

/* One batch call, whichever it is. */
typedef struct batch_call {
    nacre_map *map;
    const void *keys;
    const void *values;
    uint64_t count;
    uint32_t reduction;
    uint32_t type;
    void *values_out;
    uint8_t *contained;
    const nacre_options *options;
    nacre_stream stream;
} batch_call;

static const char *const names[NACREI_OPERATIONS] = {
    [NACREI_INSERT] = "nacre_map_insert",
    [NACREI_INSERT_OR_ASSIGN] = "nacre_map_insert_or_assign",
    [NACREI_INSERT_OR_APPLY] = "nacre_map_insert_or_apply",
    [NACREI_FIND_OR_INSERT] = "nacre_map_find_or_insert",
    [NACREI_ASSIGN] = "nacre_map_assign",
    [NACREI_FIND] = "nacre_map_find",
    [NACREI_CONTAINS] = "nacre_map_contains",
    [NACREI_ERASE] = "nacre_map_erase",
};

static nacre_status run(uint32_t operation, const batch_call *c)
{
    switch (operation) {
    case NACREI_INSERT:
        return nacre_map_insert(c->map, c->keys, c->values, c->count, c->options, c->stream);
    case NACREI_INSERT_OR_ASSIGN:
        return nacre_map_insert_or_assign(c->map, c->keys, c->values, c->count, c->options,
                                          c->stream);
    case NACREI_INSERT_OR_APPLY:
        return nacre_map_insert_or_apply(c->map, c->keys, c->values, c->count, c->reduction,
                                         c->type, c->options, c->stream);
    case NACREI_FIND_OR_INSERT:
        return nacre_map_find_or_insert(c->map, c->keys, c->values, c->count, c->values_out,
                                        c->options, c->stream);
    case NACREI_ASSIGN:
        return nacre_map_assign(c->map, c->keys, c->values, c->count, c->options, c->stream);
    case NACREI_FIND:
        return nacre_map_find(c->map, c->keys, c->count, c->values_out, c->options, c->stream);
    case NACREI_CONTAINS:
        return nacre_map_contains(c->map, c->keys, c->count, c->contained, c->options, c->stream);
    default:
        return nacre_map_erase(c->map, c->keys, c->count, c->options, c->stream);
    }
}

static bool has_values(uint32_t operation)
{
    return operation <= NACREI_ASSIGN;
}

static bool has_values_out(uint32_t operation)
{
    return operation == NACREI_FIND || operation == NACREI_FIND_OR_INSERT;
}

static bool is_for_sets(uint32_t operation)
{
    return operation == NACREI_INSERT || operation == NACREI_INSERT_OR_ASSIGN ||
           operation == NACREI_CONTAINS || operation == NACREI_ERASE;
}

enum { COUNT = 4 };

/* A map with one key, and arguments with which every batch call would succeed. */
typedef struct bench {
    nacre_map *map;
    test_array keys, values, values_out, contained, options_memory;
    nacre_options options;
    batch_call call;
} bench;

static void bench_open(test *t, bench *b)
{
    uint64_t key = test_key(t, 0), keys[COUNT], values[COUNT];
    uint64_t value = test_value(t, key);
    for (uint64_t i = 0; i < COUNT; i++) {
        keys[i] = test_key(t, i);
        values[i] = test_value(t, keys[i]);
    }
    memset(b, 0, sizeof *b);
    b->map = test_map_new(t, 0);
    b->keys = test_array_of_numbers(t, keys, COUNT, t->key_bytes);
    b->values =
        test_array_of_numbers(t, t->value_bytes != 0 ? values : NULL, COUNT, t->value_bytes);
    b->values_out = test_array_new(t, COUNT * 8, 8);
    b->contained = test_array_new(t, COUNT, 1);
    b->options_memory = test_array_new(t, 64, 8);
    nacre_options_init(&b->options, sizeof b->options);
    b->options.error = &t->error;
    b->call = (batch_call){
        .map = b->map,
        .keys = b->keys.data,
        .values = b->values.data,
        .count = COUNT,
        .reduction = NACRE_REDUCTION_ADD,
        .type = t->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64,
        .values_out = b->values_out.data,
        .contained = b->contained.data,
        .options = &b->options,
        .stream = t->stream,
    };
    test_array one = test_array_of_numbers(t, &key, 1, t->key_bytes);
    test_array its =
        test_array_of_numbers(t, t->value_bytes != 0 ? &value : NULL, 1, t->value_bytes);
    OK(t, nacre_map_insert(b->map, one.data, its.data, 1, &b->options, t->stream));
    test_array_free(t, &one);
    test_array_free(t, &its);
}

/* Nothing got through: one key, no outputs, no faults. */
static void bench_close(test *t, bench *b)
{
    uint64_t size = 0;
    uint32_t faults = 0;
    unsigned char out[COUNT * 8], contained[COUNT];
    OK(t, nacre_map_size(b->map, &size, &t->error, t->stream));
    CHECK(t, size == 1, "size %llu instead of 1", (unsigned long long)size);
    OK(t, nacre_map_faults(b->map, &faults, 0, &t->error));
    CHECK(t, faults == 0, "faults 0x%x", faults);
    OK(t, nacre_map_check(b->map, &t->error, t->stream));
    test_array_read(t, &b->values_out, out);
    test_array_read(t, &b->contained, contained);
    for (uint32_t i = 0; i < COUNT * 8; i++) {
        CHECK(t, out[i] == TEST_FILL, "byte %u of values_out was written", i);
        CHECK(t, contained[i / 8] == TEST_FILL, "contained[%u] was written", i / 8);
    }
    test_array_free(t, &b->keys);
    if (b->values.data != NULL) {
        test_array_free(t, &b->values);
    }
    test_array_free(t, &b->values_out);
    test_array_free(t, &b->contained);
    test_array_free(t, &b->options_memory);
    nacre_map_destroy(b->map);
}

NACRE_CONTRACT_TEST(bad_input, arrays_of_a_batch)
{
    /* Goal: NULL and misaligned arrays of every call. */
    bench b;
    bench_open(t, &b);
    for (uint32_t o = 0; o < NACREI_OPERATIONS; o++) {
        if (t->value_bytes == 0 && !is_for_sets(o)) {
            REFUSED(t, NACRE_ERROR_UNSUPPORTED, run(o, &b.call), "%s: value_bytes of the map is 0",
                    names[o]);
            continue;
        }
        batch_call c = b.call;
        c.map = NULL;
        BAD(t, run(o, &c), "%s: map is NULL", names[o]);
        c = b.call;
        c.keys = NULL;
        BAD(t, run(o, &c), "%s: keys is NULL", names[o]);
        for (uint32_t by = 1; by < t->key_bytes; by += by) {
            c.keys = misaligned(&b.keys, by);
            c.count = COUNT - 1;
            BAD(t, run(o, &c), "%s: keys is %p", names[o], c.keys);
        }
        c = b.call;
        if (has_values(o) && t->value_bytes == 0) {
            c.values = b.values_out.data;
            BAD(t, run(o, &c), "%s: values is %p", names[o], c.values);
        } else if (has_values(o)) {
            c.values = misaligned(&b.values, t->value_bytes / 2);
            c.count = COUNT - 1;
            BAD(t, run(o, &c), "%s: values is %p", names[o], c.values);
            c.values = NULL;
            if (o != NACREI_INSERT_OR_APPLY) {
                BAD(t, run(o, &c), "%s: values is NULL", names[o]);
            }
        }
        c = b.call;
        if (has_values_out(o)) {
            c.values_out = NULL;
            BAD(t, run(o, &c), "%s: values_out is NULL", names[o]);
            c.values_out = misaligned(&b.values_out, t->value_bytes / 2);
            BAD(t, run(o, &c), "%s: values_out is %p", names[o], c.values_out);
        }
        if (o == NACREI_CONTAINS) {
            c.contained = NULL;
            BAD(t, run(o, &c), "%s: contained is NULL", names[o]);
        }
        c = b.call;
        c.count = ((uint64_t)1 << 60) + 1;
        BAD(t, run(o, &c), "%s: count is 1152921504606846977", names[o]);
        c.count = UINT64_MAX;
        BAD(t, run(o, &c), "%s: count is 18446744073709551615", names[o]);
    }
    bench_close(t, &b);
}

NACRE_CONTRACT_TEST_ONCE(bad_input, options_of_a_batch)
{
    /* Goal: each field of the options, in every call. */
    bench b;
    bench_open(t, &b);
    nacre_options good = b.options;
    void *odd = misaligned(&b.options_memory, 4);
    for (uint32_t o = 0; o < NACREI_OPERATIONS; o++) {
#define SPOIL(field, value, ...)              \
    do {                                      \
        b.options = good;                     \
        b.options.field = (value);            \
        BAD(t, run(o, &b.call), __VA_ARGS__); \
    } while (0)
        SPOIL(flags, 2, "%s: options.flags is 2", names[o]);
        SPOIL(flags, UINT32_MAX, "%s: options.flags is 4294967295", names[o]);
        SPOIL(mask_kind, 3, "%s: options.mask_kind is 3", names[o]);
        SPOIL(mask_kind, NACRE_MASK_BITS, "%s: options.mask is NULL", names[o]);
        SPOIL(mask_kind, NACRE_MASK_BYTES, "%s: options.mask is NULL", names[o]);
        SPOIL(mask, b.contained.data, "%s: options.mask is %p", names[o], b.contained.data);
        SPOIL(mask_offset, UINT64_MAX, "%s: options.mask_offset is 18446744073709551615", names[o]);
        SPOIL(algorithm, 5, "%s: options.algorithm is 5", names[o]);
        SPOIL(mask_bits, 256, "%s: options.mask_bits is 256", names[o]);
        SPOIL(mask_bits, 0, "%s: options.mask_bits is 0", names[o]);
        SPOIL(mask_offset, 5, "%s: options.mask_offset is 5", names[o]); /* without a mask */
        SPOIL(mask_bits, 7, "%s: options.mask_bits is 7", names[o]);
        SPOIL(reserved, 5, "%s: options.reserved is 5", names[o]);
        SPOIL(count_device, odd, "%s: options.count_device is %p", names[o], odd);
        SPOIL(counts, odd, "%s: options.counts is %p", names[o], odd);
#undef SPOIL
        b.options = good;
        b.options.struct_size = 0;
        SILENT(t, run(o, &b.call));
        b.options.struct_size = sizeof b.options - 1;
        SILENT(t, run(o, &b.call));
        b.options.struct_size = UINT32_MAX;
        SILENT(t, run(o, &b.call));
        b.options = good;
        batch_call c = b.call;
        c.options = NULL;
        c.keys = NULL;
        STATUS(t, NACRE_ERROR_ARGUMENT, run(o, &c));
    }
    bench_close(t, &b);
}

NACRE_CONTRACT_TEST_VALUES(bad_input, reduction_and_type)
{
    /* Goal: unknown reductions and types, types of another width, bit operations on floats. */
    bench b;
    bench_open(t, &b);
    const char *call = names[NACREI_INSERT_OR_APPLY];
    static const uint32_t widths[] = {4, 4, 8, 8, 4, 8};
    for (uint32_t type = 0; type < 6; type++) {
        bool is_float = type == NACRE_TYPE_F32 || type == NACRE_TYPE_F64;
        b.call.type = type;
        for (uint32_t reduction = 0; reduction < 6; reduction++) {
            b.call.reduction = reduction;
            if (widths[type] != t->value_bytes) {
                BAD(t, run(NACREI_INSERT_OR_APPLY, &b.call), "%s: type is %u", call, type);
            } else if (is_float && reduction >= NACRE_REDUCTION_AND) {
                BAD(t, run(NACREI_INSERT_OR_APPLY, &b.call), "%s: reduction is %u", call,
                    reduction);
            }
        }
        b.call.reduction = 6;
        BAD(t, run(NACREI_INSERT_OR_APPLY, &b.call), "%s: reduction is 6", call);
    }
    b.call.reduction = 0;
    b.call.type = 6;
    BAD(t, run(NACREI_INSERT_OR_APPLY, &b.call), "%s: type is 6", call);
    bench_close(t, &b);
}

NACRE_CONTRACT_TEST(bad_input, count_zero_is_legal)
{
    /* Goal: no elements, no arrays: OK, and counts are overwritten all the same. */
    bench b;
    bench_open(t, &b);
    b.call.keys = b.call.values = b.call.values_out = NULL;
    b.call.contained = NULL;
    b.call.count = 0;
    for (uint32_t o = 0; o < NACREI_OPERATIONS; o++) {
        if (t->value_bytes == 0 && !is_for_sets(o)) {
            continue;
        }
        b.options.counts = NULL;
        b.options.mask_kind = NACRE_MASK_BITS;
        OK(t, run(o, &b.call));
        nacre_counts counts;
        test_array memory = test_array_new(t, sizeof counts, 8);
        b.options.counts = memory.data;
        OK(t, run(o, &b.call));
        test_array_read(t, &memory, &counts);
        CHECK(t, counts.done == 0 && counts.refused == 0 && counts.skipped == 0,
              "%s left counts of %llu, %llu, %llu", names[o], (unsigned long long)counts.done,
              (unsigned long long)counts.refused, (unsigned long long)counts.skipped);
        test_array_free(t, &memory);
    }
    bench_close(t, &b);
}

NACRE_CONTRACT_TEST_ONCE(bad_input, stream_of_another_device)
{
    /* Goal: a CPU object accepts no stream but NULL. */
    bench b;
    bench_open(t, &b);
    nacre_stream stream = (nacre_stream)2;
    if (t->backend == NACRE_BACKEND_CPU) {
        uint64_t size;
        b.call.stream = stream;
        for (uint32_t o = 0; o < NACREI_OPERATIONS; o++) {
            BAD(t, run(o, &b.call), "%s: stream is 0x2", names[o]);
        }
        BAD(t, nacre_map_clear(b.map, &t->error, stream), "nacre_map_clear: stream is 0x2");
        BAD(t, nacre_map_reserve(b.map, 9, &t->error, stream), "nacre_map_reserve: stream is 0x2");
        BAD(t, nacre_map_maintain(b.map, &t->error, stream), "nacre_map_maintain: stream is 0x2");
        BAD(t, nacre_map_shrink(b.map, &t->error, stream), "nacre_map_shrink: stream is 0x2");
        BAD(t, nacre_map_check(b.map, &t->error, stream), "nacre_map_check: stream is 0x2");
        BAD(t, nacre_map_size(b.map, &size, &t->error, stream), "nacre_map_size: stream is 0x2");
        BAD(t, nacre_stream_wait(t->device, stream, &t->error), "nacre_stream_wait: stream is 0x2");
    }
    BAD(t, nacre_stream_destroy(t->device, stream, &t->error),
        "nacre_stream_destroy: stream is 0x2");
    bench_close(t, &b);
}

NACRE_CONTRACT_TEST_ONCE(bad_input, memory_out_of_reach)
{
    /* Goal: with checks, which the harness turns on, host memory given to a CUDA map is told. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    bench b;
    bench_open(t, &b);
    uint64_t *host = test_host(t, 64);
    uint64_t needed = 0;
    for (uint32_t o = 0; o < NACREI_OPERATIONS; o++) {
        batch_call c = b.call;
        c.keys = host;
        BAD(t, run(o, &c), "%s: keys is %p", names[o], (void *)host);
        b.options.outcomes = (uint8_t *)host;
        BAD(t, run(o, &b.call), "%s: options.outcomes is %p", names[o], (void *)host);
        b.options.outcomes = NULL;
    }
    BAD(t, nacre_map_size_async(b.map, host, &t->error, t->stream),
        "nacre_map_size_async: size_device is %p", (void *)host);
    BAD(t, nacre_map_retrieve(b.map, NULL, NULL, 0, &needed, &b.options, t->stream),
        "nacre_map_retrieve: needed is %p", (void *)&needed);
    free(host);
    bench_close(t, &b);
}

NACRE_CONTRACT_TEST(bad_input, calls_of_a_map)
{
    /* Goal: handles, outputs and numbers of what is not a batch. */
    bench b;
    bench_open(t, &b);
    nacre_error *e = &t->error;
    uint64_t *odd = misaligned(&b.options_memory, 4), *good = b.options_memory.data;
    BAD(t, nacre_map_clear(NULL, e, t->stream), "nacre_map_clear: map is NULL");
    BAD(t, nacre_map_reserve(NULL, 1, e, t->stream), "nacre_map_reserve: map is NULL");
    BAD(t, nacre_map_maintain(NULL, e, t->stream), "nacre_map_maintain: map is NULL");
    BAD(t, nacre_map_shrink(NULL, e, t->stream), "nacre_map_shrink: map is NULL");
    REFUSED(t, NACRE_ERROR_CAPACITY, nacre_map_reserve(b.map, UINT64_MAX, e, t->stream),
            "nacre_map_reserve: keys is 18446744073709551615");
    REFUSED(t, NACRE_ERROR_CAPACITY, nacre_map_reserve(b.map, (uint64_t)1 << 62, e, t->stream),
            "nacre_map_reserve: keys is 4611686018427387904");
    BAD(t, nacre_map_check(NULL, e, t->stream), "nacre_map_check: map is NULL");
    BAD(t, nacre_map_info_get(b.map, NULL, e), "nacre_map_info_get: info is NULL");
    BAD(t, nacre_map_statistics_get(b.map, NULL, e, t->stream),
        "nacre_map_statistics_get: statistics is NULL");
    BAD(t, nacre_map_faults(b.map, NULL, 0, e), "nacre_map_faults: bits is NULL");
    BAD(t, nacre_map_size(b.map, NULL, e, t->stream), "nacre_map_size: size is NULL");
    BAD(t, nacre_map_size_async(b.map, NULL, e, t->stream),
        "nacre_map_size_async: size_device is NULL");
    BAD(t, nacre_map_size_async(b.map, odd, e, t->stream),
        "nacre_map_size_async: size_device is %p", (void *)odd);
    BAD(t, nacre_map_retrieve(NULL, NULL, NULL, 0, good, &b.options, t->stream),
        "nacre_map_retrieve: map is NULL");
    BAD(t, nacre_map_retrieve(b.map, NULL, NULL, 0, NULL, &b.options, t->stream),
        "nacre_map_retrieve: needed is NULL");
    BAD(t, nacre_map_retrieve(b.map, NULL, NULL, 0, odd, &b.options, t->stream),
        "nacre_map_retrieve: needed is %p", (void *)odd);
    BAD(t, nacre_map_retrieve(b.map, misaligned(&b.keys, 1), NULL, 1, good, &b.options, t->stream),
        "nacre_map_retrieve: keys_out is %p", misaligned(&b.keys, 1));
    BAD(t,
        nacre_map_retrieve(b.map, NULL, misaligned(&b.values_out, 1), 1, good, &b.options,
                           t->stream),
        "nacre_map_retrieve: values_out is %p", misaligned(&b.values_out, 1));
    nacre_map_destroy(NULL);
    bench_close(t, &b);
}

/* Tries one field of a config. */
#define SPOIL(field, value, wanted, ...)                                        \
    do {                                                                        \
        nacre_map_config spoilt = config;                                       \
        spoilt.field = (value);                                                 \
        map = (nacre_map *)&config;                                             \
        REFUSED(t, wanted, nacre_map_create(t->device, &spoilt, &map),          \
                "nacre_map_create: " __VA_ARGS__);                              \
        CHECK(t, map == NULL, "a failing create left *map at %p", (void *)map); \
    } while (0)

NACRE_CONTRACT_TEST_ONCE(bad_input, config_of_a_map)
{
    nacre_map *map;
    nacre_map_config config = test_map_config(t);
    const nacre_status argument = NACRE_ERROR_ARGUMENT, capacity = NACRE_ERROR_CAPACITY;
    SPOIL(key_bytes, 3, argument, "key_bytes is 3");
    SPOIL(key_bytes, 0, argument, "key_bytes is 0");
    SPOIL(value_bytes, 16, argument, "value_bytes is 16");
    SPOIL(growth, 3, argument, "growth is 3");
    SPOIL(order, 2, argument, "order is 2");
    SPOIL(reserved, 7, argument, "reserved is 7");
    SPOIL(load_max, 0, argument, "load_max is 0");
    SPOIL(load_max, 0.0999, argument, "load_max is 0.0999");
    SPOIL(load_max, 0.951, argument, "load_max is 0.951");
    SPOIL(load_max, -1, argument, "load_max is -1");
    SPOIL(load_max, INFINITY, argument, "load_max is inf");
    SPOIL(load_max, (double)NAN, argument, "load_max is ");
    SPOIL(capacity_keys, ((uint64_t)1 << 63) + 1, capacity, "capacity_keys is 9223372036854775809");
    SPOIL(capacity_keys, (uint64_t)1 << 62, capacity, "capacity_keys is 4611686018427387904");
    config.capacity_keys = 1000000;
    SPOIL(memory_limit_bytes, 1000000, capacity, "memory_limit_bytes is 1000000");
    config.capacity_keys = 0;
    SPOIL(memory_limit_bytes, 1, capacity, "memory_limit_bytes is 1");

    BAD(t, nacre_map_create(NULL, &config, &map), "nacre_map_create: device is NULL");
    BAD(t, nacre_map_create(t->device, &config, NULL), "nacre_map_create: map is NULL");
    STATUS(t, NACRE_ERROR_ARGUMENT, nacre_map_create(t->device, NULL, NULL));

    uint64_t bytes = 17;
    BAD(t, nacre_map_estimate(NULL, &config, 1, &bytes), "nacre_map_estimate: device is NULL");
    BAD(t, nacre_map_estimate(t->device, &config, 1, NULL), "nacre_map_estimate: bytes is NULL");
    REFUSED(t, NACRE_ERROR_CAPACITY,
            nacre_map_estimate(t->device, &config, (uint64_t)1 << 62, &bytes),
            "nacre_map_estimate: keys is 4611686018427387904");
    config.key_bytes = 5;
    BAD(t, nacre_map_estimate(t->device, &config, 1, &bytes), "nacre_map_estimate: key_bytes is 5");
    CHECK(t, bytes == 17, "a failing estimate wrote %llu", (unsigned long long)bytes);
}
#undef SPOIL
