/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random sequences of operations against the oracle: every width, every kind of growth, masks,
 * counts on the device, with and without outcomes. NACRE_TEST_SEED and NACRE_TEST_STEPS choose
 * another or a longer sequence; a failure prints the seed, the step and the operation.
 */
#include "nacre/core/slot.h"
#include "support/batch.h"

/* What one sequence is about. */
typedef struct sequence {
    const char *name;
    uint32_t growth;
    uint64_t universe;  /* distinct keys that may occur */
    uint64_t batch_max; /* elements */
    uint64_t capacity_keys;
    uint64_t memory_limit_bytes; /* beyond what an empty map holds; 0: none */
    double load_max;
} sequence;

static const sequence sequences[] = {
    {"wait, tiny", NACRE_GROWTH_WAIT, 12, 60, 0, 0, 0.92},
    {"wait, small", NACRE_GROWTH_WAIT, 400, 1500, 0, 0, 0.95},
    {"wait, large", NACRE_GROWTH_WAIT, 150000, 20000, 0, 0, 0.92},
    {"wait, sparse", NACRE_GROWTH_WAIT, 20000, 5000, 50, 0, 0.10},
    /* so many submaps that the CPU's threads share them out, and batches worth growing ahead */
    {"wait, wide", NACRE_GROWTH_WAIT, 300000, 131071, 0, 0, 0.10},
    {"wait, limited", NACRE_GROWTH_WAIT, 400000, 40000, 0, 1500000, 0.92},
    {"deferred", NACRE_GROWTH_DEFERRED, 60000, 8000, 0, 0, 0.92},
    {"fixed, tiny", NACRE_GROWTH_FIXED, 30, 80, 11, 0, 0.95},
    {"fixed, full", NACRE_GROWTH_FIXED, 12000, 6000, 7500, 0, 0.95},
};

/* Numbers from 1 to most, small ones as often as large ones. */
static uint64_t some_length(test *t, uint64_t most)
{
    uint64_t bits = 1 + test_random_below(&t->random, (uint64_t)(64 - __builtin_clzll(most)));
    uint64_t length = 1 + test_random_below(&t->random, (uint64_t)1 << bits);
    return length < most ? length : most;
}

/* Keys of the universe: side keys and the ends of the range, then random ones. */
static uint64_t some_key(test *t, uint64_t universe)
{
    uint64_t i = test_random_below(&t->random, universe);
    const uint64_t ends[4] = {0, UINT64_MAX, (uint64_t)1 << 63, 1};
    if (i < 4) {
        return test_cut(ends[i], t->key_bytes);
    }
    if (i < 8) {
        return test_cut(NACREI_KEY_XOR ^ (i - 4) * 5, t->key_bytes);
    }
    return test_key(t, i);
}

/* Operations that insert and those that erase balance, so that sizes wander; with values all eight
   occur. */
static uint32_t some_operation(test *t)
{
    static const uint32_t with_values[] = {NACREI_INSERT,          NACREI_INSERT_OR_ASSIGN,
                                           NACREI_INSERT_OR_APPLY, NACREI_FIND_OR_INSERT,
                                           NACREI_ASSIGN,          NACREI_FIND,
                                           NACREI_CONTAINS,        NACREI_ERASE,
                                           NACREI_ERASE,           NACREI_ERASE};
    static const uint32_t of_sets[] = {NACREI_INSERT, NACREI_INSERT_OR_ASSIGN, NACREI_CONTAINS,
                                       NACREI_ERASE, NACREI_INSERT};
    return t->value_bytes != 0 ? with_values[test_random_below(&t->random, 10)]
                               : of_sets[test_random_below(&t->random, 5)];
}

static void batch_step(test *t, const sequence *s, nacre_map *map, oracle *o, uint64_t step)
{
    uint64_t n = some_length(t, s->batch_max), missing = test_random(&t->random);
    uint64_t few = test_random(&t->random) % 4 == 0 ? 1 + s->universe / 50 : s->universe;
    uint64_t count_device = test_random_below(&t->random, n + n / 4 + 1);
    uint64_t *keys = test_host(t, n * 8);
    uint8_t *take = test_host(t, n);
    uint32_t density = (uint32_t)test_random_below(&t->random, 5);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = some_key(t, few);
        take[i] = test_random_below(&t->random, 4) < density;
    }
    uint64_t *values = test_values(t, keys, n), random = test_random(&t->random);
    test_batch b = test_batch_of(some_operation(t), keys, values, n);
    b.type = (t->value_bytes == 4 ? NACRE_TYPE_I32 : NACRE_TYPE_I64) + (uint32_t)(random & 1);
    b.reduction = (uint32_t)(random >> 8) % 6;
    b.values = b.operation == NACREI_INSERT_OR_APPLY && (random >> 16 & 3) == 0 ? NULL : values;
    b.mask_kind = (uint32_t)(random >> 24) % 3;
    b.take = b.mask_kind != NACRE_MASK_NONE ? take : NULL;
    b.mask_offset = (random >> 32) % 70;
    b.count_device = (random >> 40 & 7) == 0 ? &count_device : NULL;
    b.missing_value = t->value_bytes != 0 && (random >> 44 & 1) != 0 ? &missing : NULL;
    b.without_outcomes = (random >> 48 & 3) == 0;
    b.without_counts = (random >> 50 & 3) == 0;
    b.in_place = b.operation == NACREI_FIND_OR_INSERT && (random >> 52 & 1) != 0;
    test_note(t, "sequence \"%s\", step %llu: %s of %llu elements, %s, %llu keys in the map",
              s->name, LL(step), test_operation_name(b.operation), LL(n),
              b.take != NULL ? "masked" : "no mask", LL(o->size));
    test_batch_call(t, map, &b);
    bool refused = b.status == NACRE_ERROR_OUT_OF_MEMORY && s->memory_limit_bytes != 0;
    CHECK(t, b.status == NACRE_OK || refused, "%s: %s", nacre_status_name(b.status),
          t->error.message);
    o->may_be_full = refused || s->growth == NACRE_GROWTH_DEFERRED;
    test_batch_judge(t, map, &b, o);
    test_batch_free(&b);
    free(keys);
    free(values);
    free(take);
}

static void reserve_step(test *t, const sequence *s, nacre_map *map, oracle *o, uint64_t step)
{
    uint64_t keys = test_random_below(&t->random, o->size + s->universe / 4 + 2);
    test_note(t, "sequence \"%s\", step %llu: reserve of %llu", s->name, LL(step), LL(keys));
    nacre_status status = nacre_map_reserve(map, keys, &t->error, t->stream);
    CHECK(t, status == NACRE_OK || (s->memory_limit_bytes != 0 && status == NACRE_ERROR_CAPACITY),
          "%s: %s", nacre_status_name(status), t->error.message);
    if (s->growth == NACRE_GROWTH_FIXED && keys > o->capacity_keys) {
        o->capacity_keys = keys;
    }
}

/* Counts, then erases, the keys in a range of about an eighth of all keys. */
static void erase_if_step(test *t, const sequence *s, nacre_map *map, oracle *o, uint64_t step)
{
    const uint64_t width = test_cut(UINT64_MAX, t->key_bytes) / 8;
    uint64_t count = 0, wanted = 0;
    nacre_select select;
    nacre_select_init(&select, sizeof select);
    select.condition.test = NACRE_TEST_RANGE;
    select.condition.type = t->key_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
    select.condition.low = test_random_below(&t->random, 7 * width);
    select.condition.high = select.condition.low + width;
    test_note(t, "sequence \"%s\", step %llu: erase_if, %llu keys in the map", s->name, LL(step),
              LL(o->size));
    test_array count_on = test_array_new(t, 8, 8);
    OK(t, nacre_map_count_if(map, &select, count_on.data, NULL, t->stream));
    OK(t, nacre_map_erase_if(map, &select, NULL, t->stream));
    test_array_read(t, &count_on, &count);
    test_array_free(t, &count_on);
    uint64_t *keys = oracle_keys(o);
    const uint64_t size = o->size;
    for (uint64_t i = 0; i < size; i++) {
        if (keys[i] >= select.condition.low && keys[i] <= select.condition.high) {
            oracle_remove(o, keys[i]);
            wanted++;
        }
    }
    free(keys);
    CHECK(t, count == wanted, "count_if says %llu instead of %llu", LL(count), LL(wanted));
}

static void run(test *t, const sequence *s, uint64_t steps)
{
    oracle o;
    oracle_init(&o);
    nacre_map_config config = test_map_config(t);
    config.growth = s->growth;
    config.capacity_keys = s->capacity_keys;
    if (s->memory_limit_bytes != 0) {
        OK(t, nacre_map_estimate(t->device, &config, 0, &config.memory_limit_bytes));
        config.memory_limit_bytes += s->memory_limit_bytes;
    }
    config.load_max = s->load_max;
    o.capacity_keys = s->growth == NACRE_GROWTH_FIXED ? s->capacity_keys : UINT64_MAX;
    nacre_map *map = test_map_create(t, &config);
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t what = test_random_below(&t->random, 100);
        if (what == 0) {
            test_note(t, "sequence \"%s\", step %llu: clear", s->name, LL(step));
            OK(t, nacre_map_clear(map, &t->error, t->stream));
            oracle_clear(&o);
        } else if (what < 3 && (s->growth != NACRE_GROWTH_FIXED || what == 1)) {
            reserve_step(t, s, map, &o, step);
        } else if (what == 3) {
            erase_if_step(t, s, map, &o, step);
        } else if (what == 4) {
            test_note(t, "sequence \"%s\", step %llu: shrink", s->name, LL(step));
            OK(t, nacre_map_shrink(map, &t->error, t->stream));
            o.capacity_keys = s->growth == NACRE_GROWTH_FIXED ? o.size : UINT64_MAX;
        } else {
            batch_step(t, s, map, &o, step);
        }
        if (step % 25 == 24 || step + 1 == steps) {
            o.may_be_full = s->growth == NACRE_GROWTH_DEFERRED || s->memory_limit_bytes != 0;
            test_note(t, "sequence \"%s\", the whole map after step %llu", s->name, LL(step));
            test_compare(t, map, &o, 500);
        }
    }
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(differential, map_differs_from_the_oracle)
{
    /* Goal: no sequence of operations makes the map differ from the oracle. Method: see above; the
       judge checks every batch, every 25th step the whole map is compared. */
    uint64_t steps = test_setting("NACRE_TEST_STEPS", 500);
    printf("differential %s (%u,%u): NACRE_TEST_SEED=%llu NACRE_TEST_STEPS=%llu\n", t->backend_name,
           t->key_bytes, t->value_bytes, LL(test_setting("NACRE_TEST_SEED", 1)), LL(steps));
    fflush(stdout);
    for (uint64_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        run(t, &sequences[i], steps);
    }
}
