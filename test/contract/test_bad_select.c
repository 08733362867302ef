/* SPDX-License-Identifier: Apache-2.0 */
/* Bad input of the calls on selected keys, of match, and of nacre_compact. */
#include "contract/refused.h"
#include "support/array.h"

/* What every call here is given, before one thing is spoilt. */
typedef struct bench {
    nacre_map *map;
    test_array numbers; /* 64 of 8 bytes */
    nacre_select select;
    nacre_options options;
} bench;

static void bench_open(test *t, bench *b)
{
    b->map = test_map_new(t, 0);
    b->numbers = test_array_new(t, 64 * 8, 16);
    nacre_select_init(&b->select, sizeof b->select);
    nacre_options_init(&b->options, sizeof b->options);
    b->options.error = &t->error;
}

static void bench_close(test *t, bench *b)
{
    test_array_free(t, &b->numbers);
    nacre_map_destroy(b->map);
}

static nacre_status run_select(uint32_t which, const bench *b, test *t)
{
    void *numbers = b->numbers.data;
    switch (which) {
    case 0:
        return nacre_map_retrieve_if(b->map, &b->select, NULL, NULL, 0, numbers, &b->options,
                                     t->stream);
    case 1:
        return nacre_map_count_if(b->map, &b->select, numbers, &b->options, t->stream);
    default:
        return nacre_map_erase_if(b->map, &b->select, &b->options, t->stream);
    }
}

NACRE_CONTRACT_TEST(bad_select, selection)
{
    /* Goal: every field of a nacre_select, in every call that takes one. */
    static const char *const names[] = {"nacre_map_retrieve_if", "nacre_map_count_if",
                                        "nacre_map_erase_if"};
    bench b;
    bench_open(t, &b);
    const nacre_select good = b.select;
    for (uint32_t w = 0; w < 3; w++) {
#define SPOIL(field, value, ...)                   \
    do {                                           \
        b.select.field = (value);                  \
        BAD(t, run_select(w, &b, t), __VA_ARGS__); \
        b.select = good;                           \
    } while (0)
        SPOIL(field, 2, "%s: select->field is 2", names[w]);
        if (t->value_bytes == 0) {
            SPOIL(field, NACRE_FIELD_VALUE, "%s: select->field is 1", names[w]);
        }
        SPOIL(condition.test, 3, "%s: condition.test is 3", names[w]);
        b.select.condition.test = NACRE_TEST_RANGE;
        b.select.condition.type = 6;
        BAD(t, run_select(w, &b, t), "%s: condition.type is 6", names[w]);
        b.select.condition.type = t->key_bytes == 4 ? NACRE_TYPE_F64 : NACRE_TYPE_F32;
        BAD(t, run_select(w, &b, t), "%s: condition.type is %u", names[w], b.select.condition.type);
        if (t->key_bytes == 4) {
            b.select.condition.type = NACRE_TYPE_I32;
            b.select.condition.low = UINT64_MAX;
            BAD(t, run_select(w, &b, t), "%s: condition.low is 18446744073709551615", names[w]);
            b.select.condition.low = 0;
            b.select.condition.high = 4294967296;
            BAD(t, run_select(w, &b, t), "%s: condition.high is 4294967296", names[w]);
        }
        b.select = good;
        b.select.condition.test = NACRE_TEST_BITS;
        b.select.condition.mask = 5;
        b.select.condition.bits = 7;
        BAD(t, run_select(w, &b, t), "%s: condition.bits is 7", names[w]);
        b.select.condition.bits = 5;
        OK(t, run_select(w, &b, t));
        if (t->key_bytes == 4) {
            b.select.condition.mask = 4294967296 + 5;
            BAD(t, run_select(w, &b, t), "%s: condition.mask is 4294967301", names[w]);
        }
        b.select = good;
        b.select.struct_size = 12;
        BAD(t, run_select(w, &b, t), "%s: struct_size of nacre_select is 12", names[w]);
        b.select = good;
        b.select.layout = 123456;
        REFUSED(t, NACRE_ERROR_CHANGED, run_select(w, &b, t), "%s: select->layout is 123456",
                names[w]);
        b.select = good;
        OK(t, run_select(w, &b, t));
#undef SPOIL
    }
    bench_close(t, &b);
}

NACRE_CONTRACT_TEST(bad_select, outputs)
{
    /* Goal: NULL and misaligned outputs, unknown algorithms, a wrong width of indices. */
    bench b;
    bench_open(t, &b);
    char *numbers = b.numbers.data;
    void *odd = numbers + 4;
    b.options.algorithm = 11;
    BAD(t, nacre_map_retrieve(b.map, NULL, NULL, 0, b.numbers.data, &b.options, t->stream),
        "nacre_map_retrieve: options.algorithm is 11");
    b.options.algorithm = 1;
    BAD(t,
        nacre_map_match(b.map, numbers, 1, NULL, 4, NULL, 0, b.numbers.data, &b.options, t->stream),
        "nacre_map_match: options.algorithm is 1");
    b.options.algorithm = 0;
    BAD(t, nacre_map_retrieve(b.map, NULL, NULL, 0, NULL, &b.options, t->stream),
        "nacre_map_retrieve: needed is NULL");
    BAD(t, nacre_map_count_if(b.map, NULL, NULL, &b.options, t->stream),
        "nacre_map_count_if: count is NULL");
    BAD(t, nacre_map_count_if(b.map, NULL, odd, &b.options, t->stream),
        "nacre_map_count_if: count is %p", odd);
    BAD(t, nacre_map_match(b.map, numbers, 1, NULL, 5, NULL, 0, odd, &b.options, t->stream),
        "nacre_map_match: index_bytes is 5");
    BAD(t, nacre_map_match(b.map, numbers, 1, NULL, 4, NULL, 0, odd, &b.options, t->stream),
        "nacre_map_match: needed is %p", odd);
    BAD(t, nacre_map_match(b.map, NULL, 1, NULL, 4, NULL, 0, b.numbers.data, &b.options, t->stream),
        "nacre_map_match: keys is NULL");
    BAD(t,
        nacre_map_match(b.map, numbers, 1, odd, 8, NULL, 1, b.numbers.data, &b.options, t->stream),
        "nacre_map_match: indices_out is %p", odd);
    if (t->value_bytes == 0) {
        BAD(t,
            nacre_map_match(b.map, numbers, 1, NULL, 8, numbers, 1, b.numbers.data, &b.options,
                            t->stream),
            "nacre_map_match: values_out is %p", (void *)numbers);
    }
    b.options.counts = odd;
    BAD(t, nacre_map_erase_if(b.map, NULL, &b.options, t->stream),
        "nacre_map_erase_if: options.counts is %p", odd);
    bench_close(t, &b);
}

/* Fields of the options that a call takes. */
enum { ELEMENTS = 1, OUTCOMES = 2, COUNTS = 4, ALGORITHM = 8 };

static nacre_status run_any(uint32_t which, const bench *b, test *t)
{
    void *numbers = b->numbers.data;
    nacre_compaction what;
    switch (which) {
    case 3:
        return nacre_map_retrieve(b->map, NULL, NULL, 0, numbers, &b->options, t->stream);
    case 4:
        return nacre_map_match(b->map, numbers, 1, NULL, 8, NULL, 0, (uint64_t *)numbers + 1,
                               &b->options, t->stream);
    case 5:
        nacre_compaction_init(&what, sizeof what);
        what.items = numbers;
        what.needed = (uint64_t *)numbers + 1;
        return nacre_compact(t->device, &what, 1, &b->options, t->stream);
    default:
        return run_select(which, b, t);
    }
}

NACRE_CONTRACT_TEST_ONCE(bad_select, options_that_a_call_does_not_take_are_ignored)
{
    /* Goal: what a call cannot do is refused, by name, not ignored; NEVER_WAIT and missing_value,
       of cases that may not arise, are taken by all. Method: each field alone, in each call that
       writes densely, counts or erases. */
    static const char *const names[] = {"nacre_map_retrieve_if", "nacre_map_count_if",
                                        "nacre_map_erase_if",    "nacre_map_retrieve",
                                        "nacre_map_match",       "nacre_compact"};
    static const uint32_t takes[] = {
        ALGORITHM, 0, COUNTS, ALGORITHM, ELEMENTS | OUTCOMES | COUNTS, ELEMENTS | ALGORITHM};
    bench b;
    bench_open(t, &b);
    void *numbers = b.numbers.data;
    const nacre_options good = b.options;
    for (uint32_t w = 0; w < 6; w++) {
#define SPOIL(field, value, needs, ...)             \
    do {                                            \
        b.options.field = (value);                  \
        if ((takes[w] & (needs)) == 0) {            \
            BAD(t, run_any(w, &b, t), __VA_ARGS__); \
        }                                           \
        b.options = good;                           \
    } while (0)
        SPOIL(count_device, numbers, ELEMENTS, "%s: options.count_device is %p", names[w], numbers);
        SPOIL(mask, numbers, ELEMENTS, "%s: options.mask is %p", names[w], numbers);
        SPOIL(mask_kind, 1, ELEMENTS, "%s: options.mask_kind is 1", names[w]);
        SPOIL(mask_offset, 7, ELEMENTS, "%s: options.mask_offset is 7", names[w]);
        SPOIL(mask_bits, 8, ELEMENTS, "%s: options.mask_bits is 8", names[w]);
        SPOIL(outcomes, numbers, OUTCOMES, "%s: options.outcomes is %p", names[w], numbers);
        SPOIL(counts, numbers, COUNTS, "%s: options.counts is %p", names[w], numbers);
        SPOIL(algorithm, 1, ALGORITHM, "%s: options.algorithm is 1", names[w]);
        SPOIL(flags, 2, 0, "%s: options.flags is 2", names[w]);
        SPOIL(reserved, 1, 0, "%s: options.reserved is 1", names[w]);
#undef SPOIL
        b.options.flags = NACRE_OPTION_NEVER_WAIT;
        b.options.missing_value = &w;
        OK(t, run_any(w, &b, t));
        b.options = good;
        OK(t, run_any(w, &b, t));
    }
    bench_close(t, &b);
}

NACRE_CONTRACT_TEST_ONCE(bad_select, compaction)
{
    /* Goal: every field of a nacre_compaction. */
    bench b;
    bench_open(t, &b);
    char *numbers = b.numbers.data;
    nacre_compaction good, what;
    nacre_compaction_init(&good, sizeof good);
    good.items = numbers;
    good.items_out = numbers + 256;
    good.capacity = 8;
    good.needed = (uint64_t *)(void *)(numbers + 128);
#define RUN() nacre_compact(t->device, &what, 8, &b.options, t->stream)
#define SPOIL(field, value, ...)    \
    do {                            \
        what = good;                \
        what.field = (value);       \
        BAD(t, RUN(), __VA_ARGS__); \
    } while (0)
    SPOIL(item_bytes, 3, "nacre_compact: item_bytes is 3");
    SPOIL(value_bytes, 16, "nacre_compact: value_bytes is 16");
    SPOIL(reserved, 1, "nacre_compact: reserved is 1");
    SPOIL(items, NULL, "nacre_compact: items is NULL");
    SPOIL(items, numbers + 4, "nacre_compact: items is %p", (void *)(numbers + 4));
    SPOIL(items_out, numbers + 4, "nacre_compact: items_out is %p", (void *)(numbers + 4));
    SPOIL(values, numbers, "nacre_compact: values is %p", (void *)numbers);
    SPOIL(values_out, numbers, "nacre_compact: values_out is %p", (void *)numbers);
    SPOIL(needed, NULL, "nacre_compact: needed is NULL");
    SPOIL(condition.test, 9, "nacre_compact: condition.test is 9");
    SPOIL(struct_size, 4, "nacre_compact: struct_size of nacre_compaction is 4");
    what = good;
    what.value_bytes = 8;
    BAD(t, RUN(), "nacre_compact: values is NULL");
    what.item_bytes = 16;
    BAD(t, RUN(), "nacre_compact: item_bytes is 16");
    what.value_bytes = 0;
    what.condition.test = NACRE_TEST_BITS;
    BAD(t, RUN(), "nacre_compact: condition.test is 2");
    what = good;
    what.condition.test = NACRE_TEST_RANGE;
    BAD(t, RUN(), "nacre_compact: condition.type is 0");
    what = good;
    what.condition.test = NACRE_TEST_BITS;
    what.condition.bits = 1;
    BAD(t, RUN(), "nacre_compact: condition.bits is 1");
    for (what.item_bytes = 1; what.item_bytes < 8; what.item_bytes *= 2) {
        const uint64_t beyond = (uint64_t)1 << 8 * what.item_bytes;
        what.condition.mask = beyond;
        BAD(t, RUN(), "nacre_compact: condition.mask is %llu", LL(beyond));
        what.condition.mask = beyond - 1;
        OK(t, RUN());
    }
    what = good;
    what.item_bytes = 4;
    b.options.algorithm = NACRE_COMPACT_BLOCK_SCAN;
    REFUSED(t, NACRE_ERROR_UNSUPPORTED, RUN(), "nacre_compact: options.algorithm is 8");
    b.options.algorithm = 11;
    BAD(t, RUN(), "nacre_compact: options.algorithm is 11");
    b.options.algorithm = NACRE_COMPACT_STABLE;
    what = good;
    if (t->backend == NACRE_BACKEND_CUDA) {
        BAD(t, RUN(), "nacre_compact: workspace_bytes is 0");
    }
    b.options.algorithm = 0;
    uint64_t bytes;
    BAD(t, nacre_compact_workspace(t->device, 8, 11, &bytes, &t->error),
        "nacre_compact_workspace: algorithm is 11");
    BAD(t, nacre_compact_workspace(t->device, 8, 0, NULL, &t->error),
        "nacre_compact_workspace: bytes is NULL");
    BAD(t, nacre_compact(NULL, &good, 8, &b.options, t->stream), "nacre_compact: device is NULL");
    BAD(t, nacre_compact(t->device, NULL, 8, &b.options, t->stream),
        "nacre_compact: compaction is NULL");
    what = good;
    OK(t, RUN());
#undef RUN
#undef SPOIL
    bench_close(t, &b);
}
