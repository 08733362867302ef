/* SPDX-License-Identifier: Apache-2.0 */
/* Selected keys: retrieve_if, count_if, erase_if, cursors, every algorithm. */
#include "nacre/core/slot.h"
#include "support/batch.h"

/* Is a number selected? On real numbers, not by the library's way. */
static bool holds(const nacre_condition *c, uint64_t x, uint32_t bytes)
{
    if (c->test == NACRE_TEST_BITS) {
        return (x & c->mask) == c->bits;
    }
    if (c->test == NACRE_TEST_ALL) {
        return true;
    }
    if (c->type == NACRE_TYPE_I32 || c->type == NACRE_TYPE_I64) {
        const uint32_t up = 64 - 8 * bytes;
        return (int64_t)(x << up) >= (int64_t)(c->low << up) &&
               (int64_t)(x << up) <= (int64_t)(c->high << up);
    }
    return x >= c->low && x <= c->high;
}

static bool selected(const test *t, const nacre_select *select, uint64_t key, uint64_t value)
{
    const bool of_value = select->field == NACRE_FIELD_VALUE;
    return holds(&select->condition, of_value ? value : key,
                 of_value ? t->value_bytes : t->key_bytes);
}

static uint64_t count_selected(const test *t, const nacre_select *select, const oracle *o)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < o->places; i++) {
        count += o->used[i] && selected(t, select, o->keys[i], o->values[i]);
    }
    return count;
}

/* Keys that a walk has given so far. */
typedef struct seen {
    oracle keys;
    uint64_t count;
} seen;

/*
 * One retrieve_if; returns needed. With `all`, checks that exactly the selected keys come, else
 * that those that come are selected, and not in `before`, where they are put.
 */
static uint64_t retrieve(test *t, nacre_map *map, const nacre_select *select, uint32_t algorithm,
                         const oracle *o, uint64_t capacity, bool all, seen *before)
{
    uint64_t needed = 0;
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.algorithm = algorithm;
    options.error = &t->error;
    test_array needed_on = test_array_new(t, 8, 8);
    test_array keys_on = test_array_new(t, capacity * t->key_bytes, t->key_bytes);
    test_array values_on =
        test_array_new(t, capacity * t->value_bytes, t->value_bytes != 0 ? t->value_bytes : 1);
    OK(t,
       nacre_map_retrieve_if(map, select, keys_on.data, t->value_bytes != 0 ? values_on.data : NULL,
                             capacity, needed_on.data, &options, t->stream));
    test_array_read(t, &needed_on, &needed);
    uint64_t *keys = test_host(t, capacity * 8), *values = test_host(t, capacity * 8);
    memset(values, 0, capacity * 8);
    test_array_read_numbers(t, &keys_on, keys, capacity, t->key_bytes);
    if (t->value_bytes != 0) {
        test_array_read_numbers(t, &values_on, values, capacity, t->value_bytes);
    }
    const uint64_t wanted = count_selected(t, select, o);
    const uint64_t filled = needed < capacity ? needed : capacity;
    CHECK(t, !all || needed == wanted, "needed is %llu instead of %llu", LL(needed), LL(wanted));
    for (uint64_t i = 0; i < filled; i++) {
        CHECK(t, oracle_has(o, keys[i]), "key 0x%llx is not there", LL(keys[i]));
        const uint64_t value = oracle_value(o, keys[i]);
        CHECK(t, t->value_bytes == 0 || values[i] == value, "key 0x%llx with value 0x%llx",
              LL(keys[i]), LL(values[i]));
        CHECK(t, selected(t, select, keys[i], value), "key 0x%llx is not selected", LL(keys[i]));
        CHECK(t, !oracle_has(&before->keys, keys[i]), "key 0x%llx twice", LL(keys[i]));
        oracle_put(&before->keys, keys[i], 0);
    }
    for (uint64_t i = filled; i < capacity; i++) {
        CHECK(t, keys[i] == test_cut(UINT64_C(0xA5A5A5A5A5A5A5A5), t->key_bytes),
              "keys_out[%llu] was written", LL(i));
    }
    before->count += filled;
    test_array_free(t, &needed_on);
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    free(keys);
    free(values);
    return needed;
}

static void retrieve_all_of(test *t, nacre_map *map, const nacre_select *select, uint32_t algorithm,
                            const oracle *o, uint64_t capacity)
{
    seen none = {.count = 0};
    oracle_init(&none.keys);
    retrieve(t, map, select, algorithm, o, capacity, true, &none);
    oracle_free(&none.keys);
}

static uint64_t count_if(test *t, nacre_map *map, const nacre_select *select)
{
    uint64_t count = 0;
    test_array on = test_array_new(t, 8, 8);
    OK(t, nacre_map_count_if(map, select, on.data, NULL, t->stream));
    test_array_read(t, &on, &count);
    test_array_free(t, &on);
    return count;
}

/* A map and its oracle: `count` keys of this row from `first` on, and some side keys. */
static void fill(test *t, nacre_map *map, oracle *o, uint64_t first, uint64_t count)
{
    uint64_t *keys = test_keys(t, first, count);
    for (uint64_t i = 0; i < count && i < 6; i++) {
        keys[i] = test_cut(NACREI_KEY_XOR ^ (i * 3), t->key_bytes);
    }
    uint64_t *values = test_values(t, keys, count);
    test_do(t, map, o, NACREI_INSERT_OR_ASSIGN, keys, values, count);
    free(keys);
    free(values);
}

/* A condition that about half of the keys or values meet. */
static nacre_select some_select(test *t, uint32_t round)
{
    nacre_select select;
    nacre_select_init(&select, sizeof select);
    select.field = t->value_bytes != 0 ? round % 2 : 0;
    const uint32_t bytes = select.field == NACRE_FIELD_VALUE ? t->value_bytes : t->key_bytes;
    const uint64_t a = test_cut(test_random(&t->random), bytes);
    const uint64_t b = test_cut(test_random(&t->random), bytes);
    select.condition.test = 1 + round / 2 % 2;
    select.condition.type = (bytes == 4 ? NACRE_TYPE_I32 : NACRE_TYPE_I64) + round / 4 % 2;
    select.condition.low = a < b ? a : b;
    select.condition.high = a < b ? b : a;
    select.condition.mask = UINT64_C(0x100080);
    select.condition.bits = round % 3 == 0 ? UINT64_C(0x100080) : 0x80;
    return select;
}

NACRE_CONTRACT_TEST(select, algorithm_gives_other_keys)
{
    /* Goal: every algorithm retrieves the same keys, with any capacity; STABLE the same bytes each
       time; a map whose slots it does not take says UNSUPPORTED (cases 26 to 28). Method: sizes
       around tiles, everything and a condition. */
    const uint64_t sizes[] = {0, 1, 33, 1023, 5000, 60000};
    nacre_map *map = test_map_new(t, 0);
    oracle o;
    oracle_init(&o);
    const bool all_algorithms = nacrei_slot_bytes(t->key_bytes, t->value_bytes) != 4;
    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fill(t, map, &o, 0, sizes[i]);
        for (uint32_t algorithm = 0; algorithm <= NACRE_COMPACT_STABLE; algorithm++) {
            nacre_select select = some_select(t, algorithm);
            test_note(t, "algorithm %u, %llu keys", algorithm, LL(o.size));
            if (!all_algorithms && algorithm != 0 && algorithm != NACRE_COMPACT_STABLE) {
                nacre_options options;
                nacre_options_init(&options, sizeof options);
                options.algorithm = algorithm;
                options.error = &t->error;
                test_array needed = test_array_new(t, 8, 8);
                STATUS(t, NACRE_ERROR_UNSUPPORTED,
                       nacre_map_retrieve(map, NULL, NULL, 0, needed.data, &options, t->stream));
                test_array_free(t, &needed);
                continue;
            }
            retrieve_all_of(t, map, &select, algorithm, &o, o.size);
            retrieve_all_of(t, map, &select, algorithm, &o, o.size / 5);
            nacre_select everything;
            nacre_select_init(&everything, sizeof everything);
            retrieve_all_of(t, map, &everything, algorithm, &o, o.size + 7);
            retrieve_all_of(t, map, &everything, algorithm, &o, o.size / 2);
        }
    }
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(select, stable_order_changes)
{
    /* Goal: STABLE writes the same bytes each time, and a smaller capacity is a prefix of them.
       Method: 70,000 keys, twice whole and once in part, both arrays. */
    enum { COUNT = 70000 };
    nacre_map *map = test_map_new(t, 0);
    oracle o;
    oracle_init(&o);
    fill(t, map, &o, 0, COUNT);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.algorithm = NACRE_COMPACT_STABLE;
    options.error = &t->error;
    uint64_t *first = test_host(t, COUNT * 8), *again = test_host(t, COUNT * 8);
    for (uint32_t round = 0; round < 3; round++) {
        const uint64_t capacity = round < 2 ? COUNT : 31234;
        test_array needed = test_array_new(t, 8, 8);
        test_array keys = test_array_new(t, COUNT * (uint64_t)t->key_bytes, t->key_bytes);
        OK(t, nacre_map_retrieve(map, keys.data, NULL, capacity, needed.data, &options, t->stream));
        test_array_read_numbers(t, &keys, round == 0 ? first : again, COUNT, t->key_bytes);
        for (uint64_t i = 0; round > 0 && i < capacity; i++) {
            CHECK(t, first[i] == again[i], "key %llu is another one the next time", LL(i));
        }
        test_array_free(t, &needed);
        test_array_free(t, &keys);
    }
    free(first);
    free(again);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(select, condition_counts_or_erases_others)
{
    /* Goal: count_if counts, retrieve_if gives and erase_if erases the same keys, side keys among
       them; what is left is whole, and can be inserted again. Method: random conditions on keys and
       values, each erased, everything compared with the oracle, and filled up again. */
    nacre_map *map = test_map_new(t, 0);
    oracle o;
    oracle_init(&o);
    test_array counts_on = test_array_new(t, sizeof(nacre_counts), 8);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.counts = counts_on.data;
    options.error = &t->error;
    for (uint32_t round = 0; round < 16; round++) {
        nacre_counts counts;
        nacre_select select = some_select(t, round);
        fill(t, map, &o, round * 1000, 20000);
        if (round == 15) {
            nacre_select_init(&select, sizeof select);
        }
        const uint64_t wanted = count_selected(t, &select, &o);
        const uint64_t count = count_if(t, map, &select);
        test_note(t, "round %u, %llu of %llu keys", round, LL(wanted), LL(o.size));
        CHECK(t, count == wanted, "count_if says %llu instead of %llu", LL(count), LL(wanted));
        retrieve_all_of(t, map, &select, NACRE_COMPACT_AUTO, &o, o.size);
        OK(t, nacre_map_erase_if(map, &select, &options, t->stream));
        test_array_read(t, &counts_on, &counts);
        CHECK(t, counts.done == wanted && counts.refused == 0 && counts.skipped == 0,
              "erased %llu, refused %llu, skipped %llu", LL(counts.done), LL(counts.refused),
              LL(counts.skipped));
        uint64_t *keys = oracle_keys(&o);
        const uint64_t size = o.size;
        for (uint64_t i = 0; i < size; i++) {
            if (selected(t, &select, keys[i], oracle_value(&o, keys[i]))) {
                oracle_remove(&o, keys[i]);
            }
        }
        free(keys);
        test_compare(t, map, &o, 100);
        CHECK(t, count_if(t, map, &select) == 0, "selected keys are left");
    }
    CHECK(t, o.size == 0, "%llu keys", LL(o.size));
    test_array_free(t, &counts_on);
    nacre_map_destroy(map);
    oracle_free(&o);
}

/* Walks through the map in ranges of so many slots; the number of keys seen. */
static uint64_t walk(test *t, nacre_map *map, const oracle *o, nacre_select select,
                     uint64_t slot_count, uint32_t algorithm)
{
    seen before = {.count = 0};
    oracle_init(&before.keys);
    const nacre_map_info info = test_info(t, map);
    select.slot_count = slot_count;
    select.layout = info.layout;
    uint64_t needed = 0;
    for (uint64_t first = 0; first < info.walk_slots; first += slot_count) {
        select.first_slot = first;
        needed += retrieve(t, map, &select, algorithm, o,
                           slot_count < o->size ? slot_count : o->size, false, &before);
    }
    CHECK(t, needed == before.count, "%llu needed, %llu given", LL(needed), LL(before.count));
    oracle_free(&before.keys);
    return needed;
}

NACRE_CONTRACT_TEST(select, cursor_misses_or_doubles_a_key)
{
    /* Goal: ranges of slots, taken together, give every selected key once (cases 28, 46). Method:
       walks in ranges of several sizes, with and without a condition, over maps of 0 to 30,000
       keys; and erasure in ranges. */
    const uint64_t sizes[] = {0, 5, 30000};
    nacre_map *map = test_map_new(t, 0);
    oracle o;
    oracle_init(&o);
    for (uint32_t i = 0; i < 3; i++) {
        fill(t, map, &o, 0, sizes[i]);
        const uint64_t slots = test_info(t, map).walk_slots;
        const uint64_t ranges[] = {slots, slots + 100, slots - 1, slots / 3, 4097, 1000};
        for (uint32_t r = 0; r < 6; r++) {
            nacre_select select = some_select(t, r);
            test_note(t, "%llu keys, ranges of %llu", LL(o.size), LL(ranges[r]));
            uint64_t count = walk(t, map, &o, select, ranges[r], r % 2 * NACRE_COMPACT_STABLE);
            CHECK(t, count == count_selected(t, &select, &o), "%llu keys selected", LL(count));
            nacre_select_init(&select, sizeof select);
            count = walk(t, map, &o, select, ranges[r], NACRE_COMPACT_AUTO);
            CHECK(t, count == o.size, "%llu keys instead of %llu", LL(count), LL(o.size));
        }
    }
    nacre_select select;
    nacre_select_init(&select, sizeof select);
    select.first_slot = test_info(t, map).walk_slots + 5;
    CHECK(t, count_if(t, map, &select) == 0, "keys beyond the last slot");
    /* Without a layout, which lets the map be maintained afterwards. */
    seen half = {.count = 0};
    oracle_init(&half.keys);
    select.first_slot = 1111;
    select.slot_count = test_info(t, map).walk_slots / 2;
    retrieve(t, map, &select, NACRE_COMPACT_AUTO, &o, o.size, false, &half);
    OK(t, nacre_map_erase_if(map, &select, NULL, t->stream));
    uint64_t *erased = oracle_keys(&half.keys);
    for (uint64_t i = 0; i < half.count; i++) {
        oracle_remove(&o, erased[i]);
    }
    free(erased);
    oracle_free(&half.keys);
    test_compare(t, map, &o, 100);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(select, cursor_ends_itself_by_erasing)
{
    /* Goal: one cursor retrieves a range, erases it, and goes on: every key comes once, and in the
       end none is left; what was not rebuilt on the way is so later. Method: 30,000 keys in seven
       ranges, with the layout of the beginning; then erasures without it, and other keys. */
    nacre_map *map = test_map_new(t, 0);
    oracle o;
    oracle_init(&o);
    fill(t, map, &o, 0, 30000);
    const nacre_map_info before = test_info(t, map);
    seen all = {.count = 0};
    oracle_init(&all.keys);
    nacre_select select;
    nacre_select_init(&select, sizeof select);
    select.slot_count = before.walk_slots / 7 + 1;
    select.layout = before.layout;
    for (; select.first_slot < before.walk_slots; select.first_slot += select.slot_count) {
        retrieve(t, map, &select, NACRE_COMPACT_AUTO, &o, o.size, false, &all);
        OK(t, nacre_map_erase_if(map, &select, NULL, t->stream));
        CHECK(t, count_if(t, map, &select) == 0, "keys are left in the range");
    }
    CHECK(t, all.count == o.size, "%llu of %llu keys came", LL(all.count), LL(o.size));
    CHECK(t, test_info(t, map).layout == before.layout, "erasing moved keys");
    oracle_clear(&o);
    test_compare(t, map, &o, 100);
    fill(t, map, &o, 40000, 20000);
    test_wait(t);
    OK(t, nacre_map_erase_if(map, NULL, NULL, t->stream));
    oracle_clear(&o);
    fill(t, map, &o, 60000, 20000);
    CHECK(t, test_info(t, map).layout != before.layout, "nothing was rebuilt in the end");
    test_compare(t, map, &o, 100);
    oracle_free(&all.keys);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(select, cursor_is_not_told_that_keys_moved)
{
    /* Goal: after growth or maintenance a cursor's call says CHANGED, whatever it is; insertions
       and erasures that move nothing leave it alone (case 46). Method: as stated. */
    nacre_map *map = test_map_new(t, 0);
    oracle o;
    oracle_init(&o);
    fill(t, map, &o, 0, 3000);
    nacre_select select;
    nacre_select_init(&select, sizeof select);
    select.slot_count = 1000;
    select.layout = test_info(t, map).layout;
    CHECK(t, select.layout != 0, "layout is 0");
    fill(t, map, &o, 3000, 10); /* there is room for these */
    CHECK(t, test_info(t, map).layout == select.layout, "ten more keys moved others");
    count_if(t, map, &select);
    for (uint32_t way = 0; way < 2; way++) {
        test_array needed = test_array_new(t, 8, 8);
        if (way == 0) {
            fill(t, map, &o, 0, 200000);
        } else {
            OK(t, nacre_map_maintain(map, &t->error, t->stream));
        }
        nacre_options options;
        nacre_options_init(&options, sizeof options);
        options.error = &t->error;
        STATUS(
            t, NACRE_ERROR_CHANGED,
            nacre_map_retrieve_if(map, &select, NULL, NULL, 0, needed.data, &options, t->stream));
        STATUS(t, NACRE_ERROR_CHANGED,
               nacre_map_count_if(map, &select, needed.data, &options, t->stream));
        STATUS(t, NACRE_ERROR_CHANGED, nacre_map_erase_if(map, &select, &options, t->stream));
        select.layout = test_info(t, map).layout;
        count_if(t, map, &select);
        test_array_free(t, &needed);
    }
    test_compare(t, map, &o, 0);
    nacre_map_destroy(map);
    oracle_free(&o);
}
