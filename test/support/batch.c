/* SPDX-License-Identifier: Apache-2.0 */
#include "support/batch.h"

const char *test_operation_name(uint32_t operation)
{
    static const char *const names[NACREI_OPERATIONS] = {"insert",          "insert_or_assign",
                                                         "insert_or_apply", "find_or_insert",
                                                         "assign",          "find",
                                                         "contains",        "erase"};
    return operation < NACREI_OPERATIONS ? names[operation] : "unknown";
}

test_batch test_batch_of(uint32_t operation, const uint64_t *keys, const uint64_t *values,
                         uint64_t count)
{
    test_batch b;
    memset(&b, 0, sizeof b);
    b.operation = operation;
    b.keys = keys;
    b.values = values;
    b.count = count;
    return b;
}

void test_batch_free(test_batch *b)
{
    free(b->outcomes);
    free(b->values_out);
    free(b->contained);
    b->outcomes = NULL;
    b->values_out = NULL;
    b->contained = NULL;
}

/* ---- the call ---- */

/* The arrays of one call on the device. */
typedef struct arrays {
    test_array keys, values, values_out, contained, outcomes, counts, mask, count_device;
} arrays;

static test_array mask_array(test *t, const test_batch *b)
{
    bool bits = b->mask_kind == NACRE_MASK_BITS;
    uint64_t bytes = b->mask_offset + b->count;
    bytes = bits ? (bytes + 7) / 8 : bytes;
    uint8_t *mask = test_host(t, bytes);
    for (uint64_t i = 0; i < bytes; i++) { /* what lies outside of the range is noise */
        mask[i] = (uint8_t)test_random(&t->random);
    }
    for (uint64_t i = 0; i < b->count; i++) {
        uint64_t place = b->mask_offset + i;
        if (!bits) {
            mask[place] = b->take[i] ? (uint8_t)(1 + test_random_below(&t->random, 255)) : 0;
        } else if (b->take[i]) {
            mask[place / 8] |= (uint8_t)(1u << (place % 8));
        } else {
            mask[place / 8] &= (uint8_t) ~(1u << (place % 8));
        }
    }
    test_array array = test_array_of(t, mask, bytes, 1);
    test_wait(t);
    free(mask);
    return array;
}

static nacre_status call(test *t, nacre_map *map, test_batch *b, const arrays *on,
                         const nacre_options *options)
{
    const void *keys = on->keys.data, *values = on->values.data;
    void *out = b->in_place ? on->values.data : on->values_out.data;
    switch (b->operation) {
    case NACREI_INSERT:
        return nacre_map_insert(map, keys, values, b->count, options, t->stream);
    case NACREI_INSERT_OR_ASSIGN:
        return nacre_map_insert_or_assign(map, keys, values, b->count, options, t->stream);
    case NACREI_INSERT_OR_APPLY:
        return nacre_map_insert_or_apply(map, keys, values, b->count, b->reduction, b->type,
                                         options, t->stream);
    case NACREI_FIND_OR_INSERT:
        return nacre_map_find_or_insert(map, keys, values, b->count, out, options, t->stream);
    case NACREI_ASSIGN:
        return nacre_map_assign(map, keys, values, b->count, options, t->stream);
    case NACREI_FIND:
        return nacre_map_find(map, keys, b->count, out, options, t->stream);
    case NACREI_CONTAINS:
        return nacre_map_contains(map, keys, b->count, on->contained.data, options, t->stream);
    default:
        return nacre_map_erase(map, keys, b->count, options, t->stream);
    }
}

void test_batch_call(test *t, nacre_map *map, test_batch *b)
{
    arrays on;
    nacre_options options;
    memset(&on, 0, sizeof on);
    nacre_options_init(&options, sizeof options);
    options.flags = b->flags;
    options.error = &t->error;
    bool finds = b->operation == NACREI_FIND || b->operation == NACREI_FIND_OR_INSERT;
    on.keys = test_array_of_numbers(t, b->keys, b->count, t->key_bytes);
    on.values = test_array_of_numbers(t, b->values, b->count, t->value_bytes);
    if (finds && t->value_bytes != 0 && !b->in_place) {
        on.values_out = test_array_new(t, b->count * t->value_bytes, t->value_bytes);
    }
    b->untouched = test_cut(UINT64_C(0x0101010101010101) * TEST_FILL, t->value_bytes);
    if (b->operation == NACREI_CONTAINS) {
        on.contained = test_array_new(t, b->count, 1);
    }
    if (!b->without_outcomes && !b->without_options) {
        on.outcomes = test_array_new(t, b->count, 1);
        options.outcomes = on.outcomes.data;
    }
    if (!b->without_counts && !b->without_options) {
        on.counts = test_array_new(t, sizeof b->counts, 8);
        options.counts = on.counts.data;
    }
    if (b->take != NULL) {
        on.mask = mask_array(t, b);
        options.mask = on.mask.data;
        options.mask_kind = b->mask_kind;
        options.mask_offset = b->mask_offset;
    }
    if (b->count_device != NULL) {
        on.count_device = test_array_of(t, b->count_device, 8, 8);
        options.count_device = on.count_device.data;
    }
    uint32_t missing32 = b->missing_value != NULL ? (uint32_t)*b->missing_value : 0;
    if (b->missing_value != NULL) {
        options.missing_value =
            t->value_bytes == 4 ? (const void *)&missing32 : (const void *)b->missing_value;
    }
    b->status = call(t, map, b, &on, b->without_options ? NULL : &options);
    missing32 = 0x5C5C5C5C; /* host memory is the caller's again when the call has returned */
    test_wait(t);
    test_batch_free(b);
    if (on.outcomes.data != NULL) {
        b->outcomes = test_host(t, b->count);
        test_array_read(t, &on.outcomes, b->outcomes);
    }
    if (on.counts.data != NULL) {
        test_array_read(t, &on.counts, &b->counts);
    }
    if (finds && t->value_bytes != 0) {
        b->values_out = test_host(t, b->count * 8);
        test_array_read_numbers(t, b->in_place ? &on.values : &on.values_out, b->values_out,
                                b->count, t->value_bytes);
    }
    if (on.contained.data != NULL) {
        b->contained = test_host(t, b->count);
        test_array_read(t, &on.contained, b->contained);
    }
    test_array *all = (test_array *)&on;
    for (uint64_t i = 0; i < sizeof on / sizeof *all; i++) {
        test_array_free(t, &all[i]);
    }
}

void test_batch_run(test *t, nacre_map *map, test_batch *b, oracle *o)
{
    test_batch_call(t, map, b);
    CHECK(t, b->status == NACRE_OK, "%s of %llu elements says %s: %s",
          test_operation_name(b->operation), (unsigned long long)b->count,
          nacre_status_name(b->status), t->error.message);
    test_batch_judge(t, map, b, o);
}

void test_do(test *t, nacre_map *map, oracle *o, uint32_t operation, const uint64_t *keys,
             const uint64_t *values, uint64_t count)
{
    test_batch b = test_batch_of(operation, keys, values, count);
    b.type = t->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
    test_batch_run(t, map, &b, o);
    test_batch_free(&b);
}

void test_do_one(test *t, nacre_map *map, oracle *o, uint32_t operation, uint64_t key,
                 uint64_t value)
{
    test_do(t, map, o, operation, &key, &value, 1);
}
