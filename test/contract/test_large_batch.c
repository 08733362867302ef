/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of a good part of the table: both backends bring such a batch into the table's order
 * before it changes anything, in a copy of its own. Larger than what the other suites insert, so
 * that CUDA does it too (tables of four times its L2 cache): arrays, no oracle.
 */
#include "lib/backend.h"
#include "nacre/core/slot.h"
#include "support/array.h"
#include "support/hash_inverse.h"

typedef struct large {
    nacre_map *map;
    uint64_t n;        /* elements of a batch */
    uint64_t universe; /* different keys */
    uint32_t *numbers; /* [n] which key an element has */
    uint32_t *times;   /* [universe] how often a key is in the batch */
    uint64_t present;  /* different keys of the batch */
    test_array keys;   /* [n] */
    test_array all;    /* [universe] every key */
} large;

/*
 * Every fourth element has one of a few hot keys where `skewed`, else all are alike. `limited`: the
 * map may not hold more memory than it begins with.
 */
static large large_of(test *t, bool skewed, bool limited)
{
    large l;
    nacre_map_config config = test_map_config(t);
    const uint64_t slots = ((uint64_t)1 << 28) / nacrei_slot_bytes(t->key_bytes, t->value_bytes);
    memset(&l, 0, sizeof l);
    config.capacity_keys = slots / 2;
    if (limited) {
        OK(t, nacre_map_estimate(t->device, &config, 0, &config.memory_limit_bytes));
    }
    l.map = test_map_create(t, &config);
    l.n = slots * 3 / 11; /* a quarter of the table at least */
    l.universe = l.n / 2;
    l.numbers = test_host(t, l.n * sizeof *l.numbers);
    l.times = test_host(t, l.universe * sizeof *l.times);
    memset(l.times, 0, l.universe * sizeof *l.times);
    uint64_t *keys = test_host(t, l.n * 8);
    for (uint64_t i = 0; i < l.n; i++) {
        const uint64_t below = skewed && i % 4 == 0 ? 3 : l.universe;
        l.numbers[i] = (uint32_t)test_random_below(&t->random, below);
        keys[i] = test_key(t, l.numbers[i]);
        l.present += l.times[l.numbers[i]]++ == 0;
    }
    l.keys = test_array_of_numbers(t, keys, l.n, t->key_bytes);
    for (uint64_t number = 0; number < l.universe; number++) {
        keys[number] = test_key(t, number);
    }
    l.all = test_array_of_numbers(t, keys, l.universe, t->key_bytes);
    free(keys);
    return l;
}

static void large_free(test *t, large *l)
{
    test_array_free(t, &l->keys);
    test_array_free(t, &l->all);
    free(l->numbers);
    free(l->times);
    nacre_map_destroy(l->map);
}

static uint64_t cut(const test *t, uint64_t value)
{
    return t->value_bytes == 4 ? (uint32_t)value : value;
}

/* Values of the elements: a multiple of the key's number. */
static test_array values_of(test *t, const large *l, uint64_t factor)
{
    uint64_t *values = test_host(t, l->n * 8);
    for (uint64_t i = 0; i < l->n; i++) {
        values[i] = l->numbers[i] * factor + 1;
    }
    test_array on =
        test_array_of_numbers(t, t->value_bytes != 0 ? values : NULL, l->n, t->value_bytes);
    free(values);
    return on;
}

/* The map holds the batch's keys, or those of its elements from `first` on were erased; with
   number * factor + 1 + times * added as values. */
static void compare(test *t, const large *l, uint64_t factor, uint64_t added)
{
    uint64_t size = 0;
    OK(t, nacre_map_check(l->map, &t->error, t->stream));
    OK(t, nacre_map_size(l->map, &size, &t->error, t->stream));
    CHECK(t, size == l->present, "size %llu, and %llu different keys were inserted",
          (unsigned long long)size, (unsigned long long)l->present);
    uint8_t *there = test_host(t, l->universe);
    test_array there_on = test_array_new(t, l->universe, 1);
    OK(t, nacre_map_contains(l->map, l->all.data, l->universe, there_on.data, NULL, t->stream));
    test_array_read(t, &there_on, there);
    for (uint64_t number = 0; number < l->universe; number++) {
        CHECK(t, there[number] == (l->times[number] != 0), "key number %llu is%s there",
              (unsigned long long)number, there[number] != 0 ? "" : " not");
    }
    if (t->value_bytes != 0) {
        uint64_t *values = test_host(t, l->universe * 8);
        test_array values_on = test_array_new(t, l->universe * t->value_bytes, t->value_bytes);
        OK(t, nacre_map_find(l->map, l->all.data, l->universe, values_on.data, NULL, t->stream));
        test_array_read_numbers(t, &values_on, values, l->universe, t->value_bytes);
        for (uint64_t number = 0; number < l->universe; number++) {
            const uint64_t wanted = cut(t, number * factor + 1 + l->times[number] * added);
            CHECK(t, l->times[number] == 0 || values[number] == wanted,
                  "key number %llu, %u times in the batch, has value %llu and not %llu",
                  (unsigned long long)number, l->times[number], (unsigned long long)values[number],
                  (unsigned long long)wanted);
        }
        test_array_free(t, &values_on);
        free(values);
    }
    test_array_free(t, &there_on);
    free(there);
}

static void change_everything(test *t, bool skewed)
{
    large l = large_of(t, skewed, false);
    test_array first = values_of(t, &l, 3), second = values_of(t, &l, 5);
    OK(t, nacre_map_insert(l.map, l.keys.data, first.data, l.n, NULL, t->stream));
    compare(t, &l, 3, 0);
    OK(t, nacre_map_insert(l.map, l.keys.data, second.data, l.n, NULL, t->stream));
    compare(t, &l, 3, 0);
    OK(t, nacre_map_insert_or_assign(l.map, l.keys.data, second.data, l.n, NULL, t->stream));
    compare(t, &l, 5, 0);
    if (t->value_bytes != 0) {
        const uint32_t type = t->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
        OK(t, nacre_map_insert_or_apply(l.map, l.keys.data, NULL, l.n, NACRE_REDUCTION_ADD, type,
                                        NULL, t->stream));
        compare(t, &l, 5, 1);
    }
    /* Nearly all: fewer elements would be no large batch. */
    const uint64_t erased = l.n - l.n / 100;
    OK(t, nacre_map_erase(l.map, l.keys.data, erased, NULL, t->stream));
    for (uint64_t i = 0; i < erased; i++) {
        l.present -= l.times[l.numbers[i]] != 0;
        l.times[l.numbers[i]] = 0;
    }
    compare(t, &l, 5, 1);
    OK(t, nacre_map_insert(l.map, l.keys.data, first.data, l.n, NULL, t->stream));
    test_array_free(t, &first);
    test_array_free(t, &second);
    large_free(t, &l);
}

NACRE_CONTRACT_TEST(large_batch, element_is_lost_on_the_way_to_its_place)
{
    /* Goal: every element of a batch that is brought into order takes effect, once. Method: random
       keys with repeats; all changes, the sum of ones tells how often each came; every key
       compared. */
    change_everything(t, false);
}

NACRE_CONTRACT_TEST_ONCE(large_batch, hot_keys_meet_in_one_region)
{
    /* Goal: the same where a few keys are so frequent that their regions stand out. Method: a
       quarter of the elements are of three keys. */
    change_everything(t, true);
}

/* Checks what a lookup told about each element: `mask` is a bit for each, `done` of those found. */
static void compare_outcomes(test *t, const large *l, const uint8_t *mask,
                             const test_array *outcomes_on, const test_array *counts_on,
                             uint8_t done)
{
    uint8_t *outcomes = test_host(t, l->n);
    nacre_counts counts;
    uint64_t found = 0, skipped = 0;
    test_array_read(t, outcomes_on, outcomes);
    test_array_read(t, counts_on, &counts);
    for (uint64_t i = 0; i < l->n; i++) {
        const bool takes_part = mask[i / 8] >> i % 8 & 1, there = l->times[l->numbers[i]] != 0;
        const uint8_t wanted = !takes_part ? NACRE_OUTCOME_SKIPPED
                               : there     ? done
                                           : NACRE_OUTCOME_MISSING;
        CHECK(t, outcomes[i] == wanted, "element %llu has outcome %u and not %u",
              (unsigned long long)i, outcomes[i], wanted);
        found += wanted == done;
        skipped += !takes_part;
    }
    CHECK(t, counts.done == found && counts.refused == 0 && counts.skipped == skipped,
          "counts are %llu, %llu and %llu", (unsigned long long)counts.done,
          (unsigned long long)counts.refused, (unsigned long long)counts.skipped);
    free(outcomes);
}

/* Of elements that are there every other one, by its number, is erased again. */
static void erase_some(test *t, large *l)
{
    uint64_t *keys = test_host(t, l->universe * 8), count = 0;
    for (uint64_t number = 0; number < l->universe; number += 2) {
        keys[count++] = test_key(t, number);
        l->present -= l->times[number] != 0;
        l->times[number] = 0;
    }
    test_array erased = test_array_of_numbers(t, keys, count, t->key_bytes);
    OK(t, nacre_map_erase(l->map, erased.data, count, NULL, t->stream));
    test_array_free(t, &erased);
    free(keys);
}

/* find and assign, with the same options. */
static void look_up_values(test *t, const large *l, const uint8_t *mask, nacre_options *options,
                           const test_array *outcomes, const test_array *counts)
{
    test_array second = values_of(t, l, 5);
    const uint64_t missing_value = 77;
    options->missing_value = &missing_value;
    test_array values_on = test_array_new(t, l->n * t->value_bytes, t->value_bytes);
    uint64_t *values = test_host(t, l->n * 8);
    OK(t, nacre_map_find(l->map, l->keys.data, l->n, values_on.data, options, t->stream));
    compare_outcomes(t, l, mask, outcomes, counts, NACRE_OUTCOME_FOUND);
    test_array_read_numbers(t, &values_on, values, l->n, t->value_bytes);
    for (uint64_t i = 0; i < l->n; i++) {
        const uint64_t fill = 0x0101010101010101u * TEST_FILL;
        const uint64_t wanted = !(mask[i / 8] >> i % 8 & 1)    ? fill
                                : l->times[l->numbers[i]] != 0 ? l->numbers[i] * 3 + 1
                                                               : missing_value;
        CHECK(t, values[i] == cut(t, wanted), "element %llu: %llu", (unsigned long long)i,
              (unsigned long long)values[i]);
    }
    options->missing_value = NULL;
    OK(t, nacre_map_assign(l->map, l->keys.data, second.data, l->n, options, t->stream));
    compare_outcomes(t, l, mask, outcomes, counts, NACRE_OUTCOME_ASSIGNED);
    uint8_t *assigned = test_host(t, l->universe);
    memset(assigned, 0, l->universe);
    for (uint64_t i = 0; i < l->n; i++) {
        assigned[l->numbers[i]] |= mask[i / 8] >> i % 8 & 1;
    }
    OK(t, nacre_map_find(l->map, l->keys.data, l->n, values_on.data, NULL, t->stream));
    test_array_read_numbers(t, &values_on, values, l->n, t->value_bytes);
    for (uint64_t i = 0; i < l->n; i++) {
        const uint64_t number = l->numbers[i], wanted = number * (assigned[number] ? 5 : 3) + 1;
        CHECK(t, l->times[number] == 0 || values[i] == cut(t, wanted), "element %llu: %llu",
              (unsigned long long)i, (unsigned long long)values[i]);
    }
    free(assigned);
    OK(t, nacre_map_assign(l->map, l->keys.data, second.data, l->n, NULL, t->stream));
    compare(t, l, 5, 0);
    test_array_free(t, &values_on);
    free(values);
    test_array_free(t, &second);
}

static void look_up(test *t, bool skewed)
{
    large l = large_of(t, skewed, false);
    test_array first = values_of(t, &l, 3);
    OK(t, nacre_map_insert(l.map, l.keys.data, first.data, l.n, NULL, t->stream));
    erase_some(t, &l);
    uint8_t *mask = test_host(t, l.n / 8 + 1);
    for (uint64_t i = 0; i <= l.n / 8; i++) {
        mask[i] = (uint8_t)test_random(&t->random);
    }
    test_array mask_on = test_array_of(t, mask, l.n / 8 + 1, 1);
    test_array outcomes = test_array_new(t, l.n, 1);
    test_array counts = test_array_new(t, sizeof(nacre_counts), 8);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.mask = mask_on.data;
    options.mask_kind = NACRE_MASK_BITS;
    options.outcomes = outcomes.data;
    options.counts = counts.data;
    test_array there_on = test_array_new(t, l.n, 1);
    OK(t, nacre_map_contains(l.map, l.keys.data, l.n, there_on.data, &options, t->stream));
    compare_outcomes(t, &l, mask, &outcomes, &counts, NACRE_OUTCOME_FOUND);
    uint8_t *there = test_host(t, l.n);
    test_array_read(t, &there_on, there);
    for (uint64_t i = 0; i < l.n; i++) {
        const uint8_t wanted = !(mask[i / 8] >> i % 8 & 1) ? TEST_FILL : l.times[l.numbers[i]] != 0;
        CHECK(t, there[i] == wanted, "element %llu: %u", (unsigned long long)i, there[i]);
    }
    if (t->value_bytes != 0) {
        look_up_values(t, &l, mask, &options, &outcomes, &counts);
    }
    test_array_free(t, &there_on);
    test_array_free(t, &mask_on);
    test_array_free(t, &outcomes);
    test_array_free(t, &counts);
    test_array_free(t, &first);
    free(there);
    free(mask);
    large_free(t, &l);
}

NACRE_CONTRACT_TEST(large_batch, answer_goes_to_another_element)
{
    /* Goal: of millions of lookups in one call, which threads share and settle in any order, each
       tells what it tells of a few. Method: random keys with repeats, half of them erased; find,
       contains, assign with a random mask, outcomes and counts; every element compared. */
    look_up(t, false);
}

NACRE_CONTRACT_TEST_ONCE(large_batch, answer_goes_to_another_element_of_hot_keys)
{
    /* Goal: the same where keys come so often that each thread looks alone. Method: a quarter of
       the elements are of three keys. */
    look_up(t, true);
}

/* Every so many of n keys inserted, with 3 * number + 1 as values, or erased; `there` is kept. */
static void change_some(test *t, nacre_map *map, const uint64_t *keys, uint64_t n, uint64_t every,
                        bool erase, uint8_t *there)
{
    uint64_t *some = test_host(t, n * 8), *values = test_host(t, n * 8), count = 0;
    for (uint64_t i = 0; i < n; i += every) {
        some[count] = keys[i];
        values[count++] = 3 * i + 1;
    }
    test_array keys_on = test_array_of_numbers(t, some, count, 8);
    test_array values_on = test_array_of_numbers(t, values, count, 8);
    test_array outcomes_on = test_array_new(t, count, 1);
    uint8_t *outcomes = test_host(t, count);
    nacre_options options;
    nacre_options_init(&options, sizeof options);
    options.outcomes = outcomes_on.data;
    if (erase) {
        OK(t, nacre_map_erase(map, keys_on.data, count, &options, t->stream));
    } else {
        OK(t, nacre_map_insert(map, keys_on.data, values_on.data, count, &options, t->stream));
    }
    test_array_read(t, &outcomes_on, outcomes);
    for (uint64_t i = 0; i < count; i++) {
        const bool was = there[i * every] != 0, is = !erase && outcomes[i] != NACRE_OUTCOME_FULL;
        CHECK(t,
              erase ? outcomes[i] == (was ? NACRE_OUTCOME_ERASED : NACRE_OUTCOME_MISSING)
                    : !is || outcomes[i] == NACRE_OUTCOME_INSERTED,
              "key number %llu: outcome %u", (unsigned long long)(i * every), outcomes[i]);
        there[i * every] = is;
    }
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    test_array_free(t, &outcomes_on);
    free(some);
    free(values);
    free(outcomes);
}

NACRE_CONTRACT_TEST_ONCE(large_batch, long_path_is_given_up)
{
    /* Goal: lookups whose threads share keys find each at the end of any path, also through whole
       submaps into the stash, past holes of erased keys, in a table beyond the caches. Method: a
       FIXED map of 4 M keys at load_max 0.95, 9,000 of them crowding two submaps; a third erased,
       half of those inserted again; all keys and as many misses, in one batch and in batches of
       2^18 + 1. */
    const uint64_t n = 4000000, part = ((uint64_t)1 << 18) + 1;
    nacre_map_config config = test_map_config(t);
    config.growth = NACRE_GROWTH_FIXED;
    config.capacity_keys = n;
    config.load_max = 0.95;
    nacre_map *map = test_map_create(t, &config);
    uint64_t *keys = test_host(t, 2 * n * 8), *values = test_host(t, 2 * n * 8);
    uint8_t *there = test_host(t, 2 * n);
    memset(there, 0, 2 * n);
    for (uint64_t i = 0; i < 2 * n; i++) {
        keys[i] = test_key(t, i);
    }
    for (uint64_t i = 0; i < 9000; i++) {
        const uint64_t fields = i * 0x9E3779 & 0xFFFFFF, submap = 5 + i % 2; /* all different */
        keys[i * 16] = test_hash_inverse(submap << NACREI_HASH_SUBMAP_SHIFT | fields, config.seed);
    }
    change_some(t, map, keys, n, 1, false, there);
    change_some(t, map, keys, n, 3, true, there);
    change_some(t, map, keys, n, 6, false, there);
    OK(t, nacre_map_check(map, &t->error, t->stream));
    test_array keys_on = test_array_of_numbers(t, keys, 2 * n, 8);
    for (int parts = 0; parts < 2; parts++) {
        const uint64_t most = parts ? part : 2 * n, missing_value = 0;
        test_array values_on = test_array_new(t, 2 * n * 8, 8);
        nacre_options options;
        nacre_options_init(&options, sizeof options);
        options.missing_value = &missing_value;
        for (uint64_t first = 0; first < 2 * n; first += most) {
            const uint64_t count = 2 * n - first < most ? 2 * n - first : most;
            OK(t, nacre_map_find(map, (uint64_t *)keys_on.data + first, count,
                                 (uint64_t *)values_on.data + first, &options, t->stream));
        }
        test_array_read(t, &values_on, values);
        for (uint64_t i = 0; i < 2 * n; i++) {
            CHECK(t, values[i] == (there[i] ? 3 * i + 1 : 0), "key number %llu: %llu",
                  (unsigned long long)i, (unsigned long long)values[i]);
        }
        test_array_free(t, &values_on);
    }
    test_array_free(t, &keys_on);
    nacre_map_destroy(map);
    free(keys);
    free(values);
    free(there);
}

NACRE_CONTRACT_TEST_ONCE(large_batch, copies_go_beyond_the_limit)
{
    /* Goal: where memory_limit_bytes leaves no room for copies a batch does without, and the peak
       of memory tells the truth. Method: a limit that the empty map just keeps. */
    large l = large_of(t, false, true);
    test_array values = values_of(t, &l, 3);
    const nacre_map_info before = test_info(t, l.map);
    OK(t, nacre_map_insert(l.map, l.keys.data, values.data, l.n, NULL, t->stream));
    compare(t, &l, 3, 0);
    const nacre_map_info after = test_info(t, l.map);
    CHECK(t, after.memory_peak_bytes == before.memory_peak_bytes,
          "memory went from %llu bytes to %llu at the peak",
          (unsigned long long)before.memory_peak_bytes,
          (unsigned long long)after.memory_peak_bytes);
    test_array_free(t, &values);
    large_free(t, &l);
}

NACRE_CONTRACT_TEST_ONCE(large_batch, copies_on_loan_and_a_reservation_go_beyond_the_limit)
{
    /* Goal: memory that batches in flight have borrowed counts within memory_limit_bytes, and in
       the peak, and a reservation that needs it gets it when it is back. Method: a limit with room
       for the copy of one batch; a batch, and at once a reservation of all that the limit allows.
     */
    large l = large_of(t, false, false);
    test_array values = values_of(t, &l, 3);
    nacre_map_config config = test_map_config(t);
    uint64_t bytes = 0, more = 0, at_first;
    config.capacity_keys = (uint64_t)test_info(t, l.map).capacity_keys;
    OK(t, nacre_map_estimate(t->device, &config, 0, &at_first));
    config.memory_limit_bytes =
        at_first + l.n * (t->key_bytes + t->value_bytes) * 5 / 4 + (4 << 20);
    nacre_map_config larger = config;
    larger.memory_limit_bytes = 0;
    do {
        more = larger.capacity_keys;
        larger.capacity_keys += config.capacity_keys / 256;
        OK(t, nacre_map_estimate(t->device, &larger, 0, &bytes));
    } while (bytes <= config.memory_limit_bytes);
    nacre_map_destroy(l.map);
    l.map = test_map_create(t, &config);
    OK(t, nacre_map_insert(l.map, l.keys.data, values.data, l.n, NULL, t->stream));
    OK(t, nacre_map_reserve(l.map, more, &t->error, t->stream));
    compare(t, &l, 3, 0);
    const nacre_map_info info = test_info(t, l.map);
    CHECK(t, info.memory_peak_bytes <= config.memory_limit_bytes && info.capacity_keys >= more,
          "room for %llu keys of %llu, %llu bytes at the peak, of %llu", LL(info.capacity_keys),
          LL(more), LL(info.memory_peak_bytes), LL(config.memory_limit_bytes));
    test_array_free(t, &values);
    large_free(t, &l);
}

NACRE_CONTRACT_TEST_ONCE(large_batch, key_is_lost_where_a_large_table_grows_by_small_calls)
{
    /* Goal: a table far beyond the caches, in which one thread, too, brings a call of some hundred
       keys for each submap into the table's order, has every key once, with its value. Method: on
       the CPU, one thread; 7 calls of 2^20 elements, an eighth of them keys that were there. */
    enum { CALLS = 7, PART = 1 << 20 };
    if (t->backend != NACRE_BACKEND_CPU) {
        return;
    }
    nacre_device_config config;
    nacre_device *device = NULL;
    nacre_map *map = NULL;
    nacre_device_config_init(&config, sizeof config);
    config.backend = NACRE_BACKEND_CPU;
    config.threads = 1;
    OK(t, nacre_device_open(&config, &device));
    nacre_map_config map_config = test_map_config(t);
    OK(t, nacre_map_create(device, &map_config, &map));
    uint64_t *keys = test_host(t, PART * 8), *values = test_host(t, PART * 8);
    uint64_t *found = test_host(t, PART * 8), next = 0, size = 0;
    for (uint64_t call = 0; call < CALLS; call++) {
        for (uint64_t i = 0; i < PART; i++) {
            const bool known = i % 8 == 7;
            const uint64_t number = known ? test_random_below(&t->random, next) : next++;
            keys[i] = test_key(t, number);
            values[i] = known ? 0 : 3 * number + 1; /* which a key that is there does not take */
        }
        OK(t, nacre_map_insert(map, keys, values, PART, NULL, NULL));
    }
    OK(t, nacre_map_size(map, &size, &t->error, NULL));
    CHECK(t, size == next, "size %llu of %llu keys", LL(size), LL(next));
    for (uint64_t first = 0; first < next; first += PART) {
        const uint64_t n = next - first < PART ? next - first : PART;
        for (uint64_t i = 0; i < n; i++) {
            keys[i] = test_key(t, first + i);
            found[i] = 0;
        }
        OK(t, nacre_map_find(map, keys, n, found, NULL, NULL));
        for (uint64_t i = 0; i < n; i++) {
            CHECK(t, found[i] == 3 * (first + i) + 1, "key number %llu has value %llu",
                  LL(first + i), LL(found[i]));
        }
    }
    OK(t, nacre_map_check(map, &t->error, NULL));
    free(keys);
    free(values);
    free(found);
    nacre_map_destroy(map);
    nacre_device_close(device);
}
