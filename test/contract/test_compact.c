/* SPDX-License-Identifier: Apache-2.0 */
/* nacre_compact: every algorithm, item size, kept fraction, length; flags, conditions. */
#include "support/array.h"

/* One compaction, all of it on the host. */
typedef struct job {
    uint32_t item_bytes, value_bytes, algorithm, mask_kind, mask_bits;
    uint64_t count, mask_offset, capacity;
    const uint64_t *count_device;
    nacre_condition condition;
    unsigned char *items, *values; /* [count] */
    uint8_t *mask;                 /* NULL: none */
    uint64_t mask_bytes;
    uint8_t *keep; /* [count], what must come out */
} job;

static uint64_t number_of(const job *j, uint64_t i)
{
    uint64_t number = 0;
    memcpy(&number, j->items + i * j->item_bytes, j->item_bytes < 8 ? j->item_bytes : 8);
    return number;
}

/* What came out of a job, on the host. */
typedef struct output {
    unsigned char *items, *values; /* [capacity] */
    uint64_t needed;
} output;

/* Item `to` of the output, and its value, are those of item `from`. */
static bool is_item(const job *j, const output *out, uint64_t to, uint64_t from)
{
    return memcmp(out->items + to * j->item_bytes, j->items + from * j->item_bytes,
                  j->item_bytes) == 0 &&
           (j->value_bytes == 0 || memcmp(out->values + to * j->value_bytes,
                                          j->values + from * j->value_bytes, j->value_bytes) == 0);
}

/* The output is the items kept, one after the other; their number. */
static uint64_t judge_in_order(test *t, const job *j, const output *out)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < j->count; i++) {
        if (j->keep[i]) {
            CHECK(t, kept >= j->capacity || is_item(j, out, kept, i),
                  "item %llu of the output is not item %llu of the input, or has another value",
                  LL(kept), LL(i));
            kept++;
        }
    }
    return kept;
}

/*
 * The same in any order. Items are numbered in the test's data, so that an item tells where it
 * comes from; those too narrow for that are compared by how often each occurs.
 */
static uint64_t judge_in_any_order(test *t, const job *j, const output *out)
{
    uint64_t histogram[65536] = {0}, kept = 0;
    uint8_t *seen = test_host(t, j->count);
    memset(seen, 0, j->count);
    for (uint64_t i = 0; i < j->count; i++) {
        histogram[number_of(j, i) & 0xFFFF] += j->keep[i];
        kept += j->keep[i];
    }
    for (uint64_t i = 0; i < kept && i < j->capacity; i++) {
        uint64_t number = 0;
        memcpy(&number, out->items + i * j->item_bytes, j->item_bytes < 8 ? j->item_bytes : 8);
        CHECK(t, histogram[number & 0xFFFF] > 0, "item %llu of the output is there too often",
              LL(i));
        histogram[number & 0xFFFF]--;
        if (j->item_bytes >= 4) {
            const uint64_t from = number & 0xFFFFFF;
            CHECK(t, from < j->count && j->keep[from] && !seen[from] && is_item(j, out, i, from),
                  "item %llu of the output is none of the input's, there twice, or has another "
                  "value",
                  LL(i));
            seen[from] = 1;
        }
    }
    free(seen);
    return kept;
}

static void judge(test *t, const job *j, const output *out)
{
    const bool in_order = j->algorithm == NACRE_COMPACT_STABLE || t->backend == NACRE_BACKEND_CPU;
    const uint64_t kept = in_order ? judge_in_order(t, j, out) : judge_in_any_order(t, j, out);
    const uint64_t filled = kept < j->capacity ? kept : j->capacity;
    CHECK(t, out->needed == kept, "needed is %llu instead of %llu", LL(out->needed), LL(kept));
    for (uint64_t i = filled * j->item_bytes; i < j->capacity * j->item_bytes; i++) {
        CHECK(t, out->items[i] == TEST_FILL, "byte %llu behind the output was written", LL(i));
    }
}

/* Runs a job with arrays aligned to their elements and no better; checks all that comes out. */
static void run(test *t, const job *j)
{
    nacre_compaction what;
    nacre_options options;
    nacre_compaction_init(&what, sizeof what);
    nacre_options_init(&options, sizeof options);
    test_array items = test_array_of(t, j->items, j->count * j->item_bytes, j->item_bytes);
    test_array values = test_array_of(t, j->values, j->count * j->value_bytes, 8);
    test_array mask = test_array_of(t, j->mask, j->mask_bytes, 1);
    test_array items_out = test_array_new(t, j->capacity * j->item_bytes, j->item_bytes);
    test_array values_out =
        test_array_new(t, j->capacity * j->value_bytes, j->value_bytes == 0 ? 1 : j->value_bytes);
    test_array needed_on = test_array_new(t, 8, 8);
    test_array count_device = test_array_of(t, j->count_device, j->count_device != NULL ? 8 : 0, 8);
    uint64_t workspace_bytes = 0;
    void *workspace = NULL;
    OK(t, nacre_compact_workspace(t->device, j->count, j->algorithm, &workspace_bytes, &t->error));
    OK(t, nacre_memory_allocate(t->device, workspace_bytes, NACRE_SPACE_DEVICE, &workspace,
                                &t->error));
    what.items = items.data;
    what.item_bytes = j->item_bytes;
    what.values = j->value_bytes != 0 ? values.data : NULL;
    what.value_bytes = j->value_bytes;
    what.items_out = items_out.data;
    what.values_out = j->value_bytes != 0 ? values_out.data : NULL;
    what.capacity = j->capacity;
    what.needed = needed_on.data;
    what.condition = j->condition;
    what.workspace = workspace;
    what.workspace_bytes = workspace_bytes;
    options.algorithm = j->algorithm;
    if (j->mask_kind != NACRE_MASK_NONE) {
        options.mask = mask.data;
        options.mask_kind = j->mask_kind;
        options.mask_bits = j->mask_bits;
        options.mask_offset = j->mask_offset;
    }
    options.count_device = j->count_device != NULL ? count_device.data : NULL;
    options.error = &t->error;
    OK(t, nacre_compact(t->device, &what, j->count, &options, t->stream));
    output out = {.items = test_host(t, j->capacity * j->item_bytes),
                  .values = test_host(t, j->capacity * j->value_bytes)};
    test_array_read(t, &needed_on, &out.needed);
    test_array_read(t, &items_out, out.items);
    test_array_read(t, &values_out, out.values);
    judge(t, j, &out);
    OK(t, nacre_memory_release(t->device, workspace, &t->error));
    test_array *const all[] = {&items,      &values,    &mask,        &items_out,
                               &values_out, &needed_on, &count_device};
    for (uint64_t i = 0; i < sizeof all / sizeof *all; i++) {
        test_array_free(t, all[i]);
    }
    free(out.items);
    free(out.values);
}

/* Fresh data: items that carry their number in the lowest 24 bits, random above. */
static void job_fill(test *t, job *j)
{
    j->items = test_host(t, j->count * j->item_bytes + 8);
    j->values = test_host(t, j->count * j->value_bytes + 8);
    j->keep = test_host(t, j->count);
    for (uint64_t i = 0; i < j->count; i++) {
        const uint64_t words[2] = {(test_random(&t->random) & ~UINT64_C(0xFFFFFF)) | i,
                                   test_random(&t->random)};
        const uint64_t value = test_random(&t->random);
        memcpy(j->items + i * j->item_bytes, words, j->item_bytes);
        memcpy(j->values + i * j->value_bytes, &value, j->value_bytes);
        j->keep[i] = 1;
    }
}

/* A mask that keeps so many of 1000; what lies beside it, and beside its bits, is noise. */
static void job_mask(test *t, job *j, uint32_t kept_of_1000)
{
    const int bits = j->mask_kind == NACRE_MASK_BITS;
    j->mask_bytes = bits ? (j->mask_offset + j->count + 7) / 8 : j->mask_offset + j->count;
    j->mask = test_host(t, j->mask_bytes);
    for (uint64_t i = 0; i < j->mask_bytes; i++) {
        j->mask[i] = (uint8_t)test_random(&t->random);
    }
    for (uint64_t i = 0; i < j->count; i++) {
        const uint64_t at = j->mask_offset + i;
        j->keep[i] = test_random_below(&t->random, 1000) < kept_of_1000;
        if (bits) {
            const uint8_t bit = (uint8_t)(1u << at % 8);
            j->mask[at / 8] =
                (uint8_t)(j->keep[i] ? j->mask[at / 8] | bit : j->mask[at / 8] & ~bit);
        } else if (j->keep[i]) {
            j->mask[at] |= (uint8_t)(j->mask_bits & -j->mask_bits); /* its lowest bit */
        } else {
            j->mask[at] &= (uint8_t)~j->mask_bits;
        }
    }
}

static void job_free(job *j)
{
    free(j->items);
    free(j->values);
    free(j->mask);
    free(j->keep);
}

static const uint32_t widths[][2] = {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0},
                                     {4, 4}, {4, 8}, {8, 4}, {8, 8}};

/* Does the device have the algorithm for items of these widths? */
static int has(uint32_t algorithm, uint32_t item_bytes, uint32_t value_bytes)
{
    return algorithm == NACRE_COMPACT_AUTO || algorithm == NACRE_COMPACT_STABLE ||
           (item_bytes == 8 && value_bytes == 0);
}

NACRE_CONTRACT_TEST_ONCE(compact, flags_lose_or_double_an_item)
{
    /* Goal: whatever the algorithm, width, length, kept fraction and kind of flags, exactly the
       items kept come out, in their order where that is promised, and nothing beyond the capacity
       is written (cases 26, 27). Method: all combinations (where tests are short, of lengths up to
       8193, every other one), at random offsets and mask bits; lengths on both sides of tiles. */
    static const uint64_t lengths[] = {0,    1,    31,   32,   33,    1023,  1024,
                                       1025, 2047, 2049, 8193, 16385, 65537, (1 << 20) + 7};
    static const uint32_t fractions[] = {0, 10, 100, 500, 900, 1000};
    const uint64_t last = test_short() ? 11 : 14;
    const uint32_t step = test_short() ? 2 : 1;
    for (uint32_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        for (uint64_t l = 0; l < last; l++) {
            for (uint32_t f = (uint32_t)l % step; f < 6; f += step) {
                job j = {.item_bytes = widths[w][0], .value_bytes = widths[w][1]};
                j.count = lengths[l];
                j.mask_kind = 1 + (f / step + (uint32_t)l) % 2;
                j.mask_bits = f % 3 == 0 ? 255 : 1 + (uint32_t)test_random_below(&t->random, 255);
                j.mask_offset = f < 2 ? 0 : test_random_below(&t->random, 70);
                job_fill(t, &j);
                job_mask(t, &j, fractions[f]);
                for (j.algorithm = 0; j.algorithm <= NACRE_COMPACT_STABLE; j.algorithm++) {
                    const bool due = j.algorithm == NACRE_COMPACT_AUTO || l < test_scale(t, 13, 14);
                    if (!has(j.algorithm, j.item_bytes, j.value_bytes) || !due) {
                        continue; /* on the CPU all are one */
                    }
                    test_note(t, "algorithm %u, items of %u + %u bytes, %llu, kept %u of 1000",
                              j.algorithm, j.item_bytes, j.value_bytes, LL(j.count), fractions[f]);
                    j.capacity = j.count + 3;
                    run(t, &j);
                    j.capacity = j.count * fractions[f] / 2000;
                    run(t, &j);
                }
                job_free(&j);
            }
        }
    }
}

NACRE_CONTRACT_TEST_ONCE(compact, one_in_a_million_or_every_other_is_missed)
{
    /* Goal and method: flags that alternate, and a single one in 2^20 (case 26), with the count
       told by the device. */
    const uint64_t count = (1 << 20) + 5, told = (1 << 20) - 3;
    for (uint32_t pattern = 0; pattern < 2; pattern++) {
        job j = {.item_bytes = 8, .count = count, .mask_kind = NACRE_MASK_BYTES, .mask_bits = 255};
        j.capacity = count;
        j.count_device = &told;
        job_fill(t, &j);
        job_mask(t, &j, 0);
        for (uint64_t i = 0; i < count; i++) {
            const int kept = pattern == 0 ? i % 2 == 0 : i == 777777;
            j.keep[i] = kept && i < told;
            j.mask[i] = (uint8_t)(kept ? 1 : 0);
        }
        for (j.algorithm = 0; j.algorithm <= NACRE_COMPACT_STABLE; j.algorithm++) {
            test_note(t, "algorithm %u, pattern %u", j.algorithm, pattern);
            run(t, &j);
        }
        job_free(&j);
    }
}

/* What a condition says, worked out on real numbers. */
static int holds(const nacre_condition *c, uint64_t x)
{
#define IN_RANGE(number)                      \
    do {                                      \
        number a, low, high;                  \
        memcpy(&a, &x, sizeof a);             \
        memcpy(&low, &c->low, sizeof low);    \
        memcpy(&high, &c->high, sizeof high); \
        return a >= low && a <= high;         \
    } while (0)
    if (c->test == NACRE_TEST_BITS) {
        return (x & c->mask) == c->bits;
    }
    switch (c->test == NACRE_TEST_ALL ? 99u : c->type) {
    case NACRE_TYPE_I32:
        IN_RANGE(int32_t);
    case NACRE_TYPE_U32:
        IN_RANGE(uint32_t);
    case NACRE_TYPE_I64:
        IN_RANGE(int64_t);
    case NACRE_TYPE_U64:
        IN_RANGE(uint64_t);
    case NACRE_TYPE_F32:
        IN_RANGE(float);
    case NACRE_TYPE_F64:
        IN_RANGE(double);
    default:
        return 1;
    }
#undef IN_RANGE
}

NACRE_CONTRACT_TEST_ONCE(compact, condition_compares_as_another_type)
{
    /* Goal: a range means what it means in C for each type, NaN, both zeros and the ends included;
       bits too. Method: numbers of all exponents, bounds drawn from among them. */
    enum { COUNT = 5000 };
    for (uint32_t round = 0; round < 120; round++) {
        const uint32_t type = round % 7; /* 6: bits */
        const uint32_t narrow =
            type == NACRE_TYPE_I32 || type == NACRE_TYPE_U32 || type == NACRE_TYPE_F32;
        job j = {.item_bytes = narrow ? 4 : 8, .count = COUNT, .capacity = COUNT};
        if (type == 6) {
            j.item_bytes = 1u << round / 7 % 4;
        }
        const uint64_t special[] = {0,
                                    UINT64_C(0x8000000000000000),
                                    0x80000000u,
                                    UINT64_MAX,
                                    0x7F800000u,
                                    0x7FC00000u,
                                    0xFFC00000u,
                                    UINT64_C(0x7FF0000000000000),
                                    UINT64_C(0x7FF8000000000000),
                                    UINT64_C(0xFFF8000000000000),
                                    1};
        uint64_t bounds[2];
        job_fill(t, &j);
        for (uint64_t i = 0; i < COUNT; i++) {
            /* A number in the lowest bits tells nothing about a float's exponent: any will do. */
            const uint64_t x = i % 3 == 0 ? special[i / 3 % 11] : test_random(&t->random);
            memcpy(j.items + i * j.item_bytes, &x, j.item_bytes);
        }
        for (uint32_t b = 0; b < 2; b++) {
            const uint64_t x = test_random(&t->random);
            bounds[b] = number_of(&j, x % COUNT);
        }
        j.condition.test = type == 6 ? NACRE_TEST_BITS : NACRE_TEST_RANGE;
        j.condition.type = type % 6;
        j.condition.low = bounds[0];
        j.condition.high = bounds[1];
        j.condition.mask = 0x15;
        j.condition.bits = round % 2 == 0 ? 0x11 : 4;
        j.algorithm = NACRE_COMPACT_STABLE; /* in order: numbers may repeat */
        for (uint64_t i = 0; i < COUNT; i++) {
            j.keep[i] = (uint8_t)holds(&j.condition, number_of(&j, i));
        }
        test_note(t, "type %u, round %u", type, round);
        run(t, &j);
        job_free(&j);
    }
}
