/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/view_batch.h"

nacre_status view_begin(test *t, nacre_map *map, uint32_t access, uint64_t new_keys,
                        nacrei_view *view, nacre_stream stream)
{
    return nacre_map_view_begin(map, access, new_keys, t->key_bytes, t->value_bytes, view,
                                sizeof *view, &t->error, stream);
}

nacre_status view_end(test *t, nacre_map *map, nacrei_view *view, nacre_stream stream)
{
    return nacre_map_view_end(map, view, sizeof *view, &t->error, stream);
}

#if NACRE_HAVE_CUDA
view_arrays view_arrays_of(test *t, const test_batch *b)
{
    view_arrays on;
    memset(&on, 0, sizeof on);
    on.keys = test_array_of_numbers(t, b->keys, b->count, t->key_bytes);
    on.values = test_array_of_numbers(t, b->values, b->count, t->value_bytes);
    on.values_out = test_array_new(t, b->count * t->value_bytes, 8);
    on.contained = test_array_new(t, b->count, 1);
    on.outcomes = test_array_new(t, b->count, 1);
    on.batch.operation = b->operation;
    on.batch.reduction = b->reduction;
    on.batch.type = b->type;
    on.batch.count = b->count;
    on.batch.keys = on.keys.data;
    on.batch.values = on.values.data;
    on.batch.values_out = on.values_out.data;
    on.batch.contained = on.contained.data;
    on.batch.outcomes = on.outcomes.data;
    return on;
}

void view_arrays_free(test *t, view_arrays *on)
{
    test_array *all[] = {&on->keys, &on->values, &on->values_out, &on->contained, &on->outcomes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        test_array_free(t, all[i]);
    }
}

void view_fetch(test *t, const view_arrays *on, test_batch *b)
{
    test_batch_free(b);
    b->outcomes = test_host(t, b->count);
    test_array_read(t, &on->outcomes, b->outcomes);
    if (b->operation == NACREI_CONTAINS) {
        b->contained = test_host(t, b->count);
        test_array_read(t, &on->contained, b->contained);
    }
    if (b->operation == NACREI_FIND || b->operation == NACREI_FIND_OR_INSERT) {
        b->untouched = test_cut(UINT64_C(0x0101010101010101) * TEST_FILL, t->value_bytes);
        b->values_out = test_host(t, b->count * 8);
        test_array_read_numbers(t, &on->values_out, b->values_out, b->count, t->value_bytes);
    }
    b->without_counts = true;
}

uint32_t view_access_of(uint32_t operation)
{
    return operation == NACREI_ERASE                                  ? NACRE_ACCESS_ERASE
           : operation == NACREI_FIND || operation == NACREI_CONTAINS ? NACRE_ACCESS_READ
                                                                      : NACRE_ACCESS_INSERT;
}

bool view_inserts(test *t)
{
    uint32_t two_step = 0;
    test_array flag = test_array_new(t, 4, 4);
    CUDA(t, views_two_step(flag.data, t->stream));
    test_array_read(t, &flag, &two_step);
    test_array_free(t, &flag);
    if (!two_step || nacrei_slot_bytes(t->key_bytes, t->value_bytes) != 16) {
        return true;
    }
    nacrei_view view;
    nacre_map *map = test_map_new(t, 0);
    STATUS(t, NACRE_ERROR_UNSUPPORTED,
           view_begin(t, map, NACRE_ACCESS_INSERT, 1, &view, t->stream));
    CHECK(t, strstr(t->error.message, "two steps") != NULL, "the message is: %s", t->error.message);
    nacre_map_destroy(map);
    return false;
}

void view_do(test *t, nacre_map *map, oracle *o, test_batch *b, uint64_t new_keys)
{
    nacrei_view view;
    const uint32_t access = view_access_of(b->operation);
    if (access == NACRE_ACCESS_INSERT && !view_inserts(t)) {
        test_batch_run(t, map, b, o);
        test_batch_free(b);
        return;
    }
    view_arrays on = view_arrays_of(t, b);
    const uint64_t capacity = o->capacity_keys;
    OK(t,
       view_begin(t, map, access, access == NACRE_ACCESS_INSERT ? new_keys : 0, &view, t->stream));
    CUDA(t, views_run(&view, t->key_bytes, t->value_bytes, &on.batch, t->stream));
    OK(t, view_end(t, map, &view, t->stream));
    view_fetch(t, &on, b);
    if (capacity > o->size + new_keys) {
        o->capacity_keys = o->size + new_keys;
    }
    test_batch_judge(t, map, b, o);
    o->capacity_keys = capacity;
    CHECK(t, test_size(t, map) == o->size, "the size is not %llu", LL(o->size));
    test_batch_free(b);
    view_arrays_free(t, &on);
}
#endif
