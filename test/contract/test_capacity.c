/* SPDX-License-Identifier: Apache-2.0 */
/* Room for keys: FIXED maps, capacity_keys, reserve, memory_limit_bytes, and what is beyond all of
   them. */
#include "contract/refused.h"
#include "support/batch.h"

NACRE_CONTRACT_TEST(capacity, fixed_map_takes_another_number)
{
    /* Goal: a FIXED map of n keys takes exactly n distinct ones, then reports FULL per key, and an
       erased key makes room for one (case 4). Method: n from 0 to 30,000, in one batch with
       repetitions and one key at a time, several loads. */
    const uint64_t sizes[] = {0, 1, 2, 3, 7, 9, 64, 65, 1000, 7000, 30000};
    const double loads[] = {0.92, 0.95, 0.5, 0.1};
    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t n = sizes[i], more = n + n / 3 + 5;
        oracle o;
        oracle_init(&o);
        o.capacity_keys = n;
        nacre_map_config config = test_map_config(t);
        config.growth = NACRE_GROWTH_FIXED;
        config.capacity_keys = n;
        config.load_max = loads[i % 4];
        nacre_map *map = test_map_create(t, &config);
        nacre_map_info before = test_info(t, map);
        CHECK(t, before.capacity_keys == n, "capacity %llu instead of %llu",
              LL(before.capacity_keys), LL(n));
        uint64_t *keys = test_keys(t, 0, more), *values = test_values(t, keys, more);
        for (uint64_t k = 0; k < more; k += 5) { /* some come twice */
            keys[k] = keys[k / 2];
        }
        for (uint64_t k = 0; n < 50 && k < more; k++) {
            test_do_one(t, map, &o, NACREI_INSERT, keys[k], values[k]);
        }
        test_do(t, map, &o, NACREI_INSERT_OR_ASSIGN, keys, values, more);
        test_do(t, map, &o, NACREI_INSERT, keys, values, more);
        for (int round = 0; round < 3; round++) {
            uint64_t out = n / 4 + (uint64_t)round;
            test_do(t, map, &o, NACREI_ERASE, keys + test_random_below(&t->random, more - out),
                    NULL, out);
            test_do(t, map, &o, NACREI_INSERT, keys, values, more);
        }
        test_compare(t, map, &o, 1000);
        nacre_map_info after = test_info(t, map);
        CHECK(t, after.growths == before.growths && after.memory_bytes == before.memory_bytes,
              "it grew");
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}

NACRE_CONTRACT_TEST(capacity, reserved_room_is_missing)
{
    /* Goal: after reserve(n) n keys go in without waiting, growing or FULL, under each kind of
       growth; reserve keeps what is there and never shrinks. Method: reserve in two steps, fill in
       batches with NEVER_WAIT, erase half, refill. */
    for (uint32_t growth = NACRE_GROWTH_WAIT; growth <= NACRE_GROWTH_FIXED; growth++) {
        for (uint64_t n = 3; n <= 40000; n *= 115) {
            oracle o;
            oracle_init(&o);
            nacre_map *map = test_map_growing(t, growth, n / 3);
            uint64_t *keys = test_keys(t, 0, n + 1), *values = test_values(t, keys, n + 1);
            test_do(t, map, &o, NACREI_INSERT, keys, values, n / 3);
            OK(t, nacre_map_reserve(map, n, &t->error, t->stream));
            OK(t, nacre_map_reserve(map, n / 2, &t->error, t->stream));
            test_compare(t, map, &o, 1000);
            nacre_map_info before = test_info(t, map);
            CHECK(t, before.capacity_keys >= n, "capacity %llu", LL(before.capacity_keys));
            for (int round = 0; round < 2; round++) {
                for (uint64_t at = o.size; at < n;) {
                    uint64_t count = 1 + test_random_below(&t->random, n - at);
                    test_batch b = test_batch_of(NACREI_INSERT, keys + at, values + at, count);
                    b.flags = NACRE_OPTION_NEVER_WAIT;
                    test_batch_run(t, map, &b, &o);
                    test_batch_free(&b);
                    at += count;
                }
                CHECK(t, o.size == n, "%llu keys of %llu", LL(o.size), LL(n));
                test_compare(t, map, &o, 1000);
                nacre_map_info after = test_info(t, map);
                CHECK(t,
                      after.growths == before.growths && after.memory_bytes == before.memory_bytes,
                      "it grew");
                test_do(t, map, &o, NACREI_ERASE, keys + n / 2, NULL, n - n / 2);
            }
            if (growth == NACRE_GROWTH_FIXED) {
                o.capacity_keys = n;
                test_do(t, map, &o, NACREI_INSERT, keys, values, n + 1);
                CHECK(t, o.size == n, "a reserved FIXED map takes %llu keys instead of %llu",
                      LL(o.size), LL(n));
            }
            nacre_map_destroy(map);
            oracle_free(&o);
            free(keys);
            free(values);
        }
    }
}

NACRE_CONTRACT_TEST_ONCE(capacity, reserve_after_refusals_grows)
{
    /* Goal: what a DEFERRED map refused earlier makes no call grow that stays within the room
       reserved. Method: five times as many keys as fit, then room for all of them, or none of them
       there any more; ten more keys, some at a time. */
    enum { KEYS = 5000 };
    for (uint32_t way = 0; way < 2; way++) {
        oracle o;
        oracle_init(&o);
        o.may_be_full = true;
        nacre_map *map = test_map_growing(t, NACRE_GROWTH_DEFERRED, way == 0 ? 1000 : 30000);
        const uint64_t n = way == 0 ? KEYS : 150000;
        uint64_t *keys = test_keys(t, 0, n + 10), *values = test_values(t, keys, n + 10);
        test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        CHECK(t, o.size < n, "nothing was refused");
        if (way == 0) {
            OK(t, nacre_map_reserve(map, 4 * n, &t->error, t->stream));
        } else {
            test_do(t, map, &o, NACREI_ERASE, keys, NULL, n);
        }
        const nacre_map_info before = test_info(t, map);
        for (uint64_t i = 0; i < 10; i += 2) {
            test_do(t, map, &o, NACREI_INSERT, keys + n + i, values + n + i, 2);
        }
        const nacre_map_info after = test_info(t, map);
        CHECK(t, after.growths == before.growths && after.memory_bytes == before.memory_bytes,
              "%llu bytes became %llu", LL(before.memory_bytes), LL(after.memory_bytes));
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}

NACRE_CONTRACT_TEST(capacity, map_refuses_keys_within_what_was_estimated)
{
    /* Goal: a map that grows by itself takes as many keys within a limit as nacre_map_estimate says
       that the limit holds, without more memory. Method: limits estimated for several numbers of
       keys; those keys in batches of a seventh; what a DEFERRED map refuses is given again. */
    const uint64_t sizes[] = {700, 7500, 120000};
    for (uint32_t growth = NACRE_GROWTH_WAIT; growth <= NACRE_GROWTH_DEFERRED; growth++) {
        for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const uint64_t n = sizes[i], part = (n + 6) / 7;
            oracle o;
            oracle_init(&o);
            o.may_be_full = growth == NACRE_GROWTH_DEFERRED;
            nacre_map_config config = test_map_config(t);
            config.growth = growth;
            OK(t, nacre_map_estimate(t->device, &config, n, &config.memory_limit_bytes));
            nacre_map *map = test_map_create(t, &config);
            uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
            for (int round = 0; round == 0 || (round < 40 && o.size < n); round++) {
                for (uint64_t at = 0; at < n; at += part) {
                    test_do(t, map, &o, NACREI_INSERT, keys + at, values + at,
                            n - at < part ? n - at : part);
                }
            }
            const nacre_map_info info = test_info(t, map);
            CHECK(t, o.size == n && info.memory_peak_bytes <= config.memory_limit_bytes,
                  "%llu keys of %llu, %llu bytes of %llu", LL(o.size), LL(n),
                  LL(info.memory_peak_bytes), LL(config.memory_limit_bytes));
            test_compare(t, map, &o, 1000);
            nacre_map_destroy(map);
            oracle_free(&o);
            free(keys);
            free(values);
        }
    }
}

NACRE_CONTRACT_TEST(capacity, reserve_tenfold_scrambles_the_table)
{
    /* Goal: a table that grows by many submaps at once keeps its keys. Method: 45,000 keys, then
       room for fewer, a few more, many more; WAIT and FIXED. */
    const uint64_t rooms[] = {100, 50000, 500000};
    for (uint32_t growth = NACRE_GROWTH_WAIT; growth <= NACRE_GROWTH_FIXED; growth += 2) {
        for (int i = 0; i < 3; i++) {
            oracle o;
            uint64_t room = rooms[i];
            oracle_init(&o);
            uint64_t n = 45000, *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
            nacre_map *map = test_map_growing(t, growth, n);
            o.capacity_keys = growth == NACRE_GROWTH_FIXED ? (room > n ? room : n) : UINT64_MAX;
            test_do(t, map, &o, NACREI_INSERT, keys, values, n);
            OK(t, nacre_map_reserve(map, room, &t->error, t->stream));
            test_compare(t, map, &o, 1000);
            test_do(t, map, &o, NACREI_INSERT_OR_ASSIGN, keys, values, n);
            test_do(t, map, &o, NACREI_ERASE, keys, NULL, n);
            test_compare(t, map, &o, 1000);
            nacre_map_destroy(map);
            oracle_free(&o);
            free(keys);
            free(values);
        }
    }
}

NACRE_CONTRACT_TEST(capacity, created_room_is_missing)
{
    /* Goal: a map created for n keys takes any n distinct ones without growth, NEVER_WAIT given,
       whatever the seed and the load. Method: twenty sizes around powers of two and random ones. */
    for (int i = 0; i < 20; i++) {
        uint64_t n = i < 12 ? ((uint64_t)1 << (i + 3)) * 92 / 100 + (uint64_t)(i % 3) - 1
                            : 1 + test_random_below(&t->random, 30000);
        nacre_map_config config = test_map_config(t);
        config.capacity_keys = n;
        config.load_max = i % 2 == 0 ? 0.92 : 0.95;
        oracle o;
        oracle_init(&o);
        nacre_map *map = test_map_create(t, &config);
        nacre_map_info before = test_info(t, map);
        uint64_t *keys = test_keys(t, (uint64_t)i << 20, n), *values = test_values(t, keys, n);
        test_batch b = test_batch_of(NACREI_INSERT, keys, values, n);
        b.flags = NACRE_OPTION_NEVER_WAIT;
        test_batch_run(t, map, &b, &o);
        test_batch_free(&b);
        nacre_map_info after = test_info(t, map);
        CHECK(t, after.growths == before.growths && after.memory_bytes == before.memory_bytes,
              "it grew");
        OK(t, nacre_map_check(map, &t->error, t->stream));
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}

NACRE_CONTRACT_TEST(capacity, impossible_capacity_is_tried)
{
    /* Goal: capacities beyond memory or beyond 2^63 are refused at once, at creation, by reserve
       and by estimate, and the map is as it was; 0 to 3 work (case 3). Method: the ends, 2^50, a
       limit that is too low. */
    const uint64_t many[] = {UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 63, ((uint64_t)1 << 63) + 1,
                             ((uint64_t)1 << 63) - 1};
    oracle o;
    oracle_init(&o);
    for (uint64_t n = 0; n <= 3; n++) {
        nacre_map *map = test_map_new(t, n);
        uint64_t *keys = test_keys(t, 0, 100), *values = test_values(t, keys, 100);
        test_do(t, map, &o, NACREI_INSERT, keys, values, 100);
        for (uint64_t i = 0; i < sizeof many / sizeof *many; i++) {
            REFUSED(t, NACRE_ERROR_CAPACITY, nacre_map_reserve(map, many[i], &t->error, t->stream),
                    "nacre_map_reserve: keys is %llu", LL(many[i]));
        }
        nacre_status status = nacre_map_reserve(map, (uint64_t)1 << 50, &t->error, t->stream);
        CHECK(t, status == NACRE_ERROR_CAPACITY || status == NACRE_ERROR_OUT_OF_MEMORY, "%s",
              nacre_status_name(status));
        test_compare(t, map, &o, 100);
        oracle_clear(&o);
        nacre_map_destroy(map);
        free(keys);
        free(values);
    }
    oracle_free(&o);
    nacre_map_config config = test_map_config(t);
    nacre_map *map = (nacre_map *)t;
    for (uint64_t i = 0; i < sizeof many / sizeof *many; i++) {
        uint64_t bytes = 0;
        config.capacity_keys = many[i];
        REFUSED(t, NACRE_ERROR_CAPACITY, nacre_map_create(t->device, &config, &map),
                "nacre_map_create: capacity_keys is %llu", LL(many[i]));
        CHECK(t, map == NULL, "a refused map has an address");
        config.capacity_keys = 0;
        REFUSED(t, NACRE_ERROR_CAPACITY, nacre_map_estimate(t->device, &config, many[i], &bytes),
                "nacre_map_estimate: keys is %llu", LL(many[i]));
    }
    config.capacity_keys = 1000000;
    config.memory_limit_bytes = 1000000;
    REFUSED(t, NACRE_ERROR_CAPACITY, nacre_map_create(t->device, &config, &map),
            "nacre_map_create: memory_limit_bytes is 1000000");
}

NACRE_CONTRACT_TEST_ONCE(capacity, no_limit_is_refused)
{
    /* Goal: the greatest number is "no limit" wherever a number is a limit: of memory, which then
       is held as without one, of an output, of a range. Keys to make room for are no limit, and
       refused (impossible_capacity_is_tried). Method: a map that grows, and everything out of it
       by each call. */
    enum { COUNT = 50000 };
    nacre_map_config config = test_map_config(t);
    nacre_map *plain = test_map_create(t, &config);
    config.memory_limit_bytes = UINT64_MAX;
    nacre_map *map = test_map_create(t, &config);
    oracle o, same;
    oracle_init(&o);
    oracle_init(&same);
    uint64_t *keys = test_keys(t, 0, COUNT), *values = test_values(t, keys, COUNT), needed = 0;
    test_do(t, plain, &same, NACREI_INSERT, keys, values, COUNT);
    test_do(t, map, &o, NACREI_INSERT, keys, values, COUNT);
    const uint64_t bytes = test_info(t, map).memory_bytes;
    CHECK(t, bytes == test_info(t, plain).memory_bytes, "%llu bytes instead of %llu", LL(bytes),
          LL(test_info(t, plain).memory_bytes));
    REFUSED(t, NACRE_ERROR_CAPACITY,
            nacre_map_reserve(map, (uint64_t)1 << 50, &t->error, t->stream),
            "nacre_map_reserve: keys is 1125899906842624");
    test_array out = test_array_new(t, COUNT * 8, 8), needed_on = test_array_new(t, 8, 8);
    test_array in = test_array_of_numbers(t, keys, COUNT, 8);
    nacre_select select;
    nacre_select_init(&select, sizeof select);
    select.slot_count = UINT64_MAX;
    nacre_compaction what;
    nacre_compaction_init(&what, sizeof what);
    what.items = in.data;
    what.items_out = out.data;
    what.capacity = UINT64_MAX;
    what.needed = needed_on.data;
    for (uint32_t call = 0; call < 4; call++) {
        nacre_status status =
            call == 0   ? nacre_map_retrieve(map, out.data, NULL, UINT64_MAX, needed_on.data, NULL,
                                             t->stream)
            : call == 1 ? nacre_map_retrieve_if(map, &select, out.data, NULL, UINT64_MAX,
                                                needed_on.data, NULL, t->stream)
            : call == 2 ? nacre_map_match(map, in.data, COUNT, out.data, 8, NULL, UINT64_MAX,
                                          needed_on.data, NULL, t->stream)
                        : nacre_compact(t->device, &what, COUNT, NULL, t->stream);
        CHECK(t, status == NACRE_OK, "call %u says %s", call, nacre_status_name(status));
        test_array_read(t, &needed_on, &needed);
        CHECK(t, needed == COUNT, "call %u: %llu needed", call, LL(needed));
    }
    test_compare(t, map, &o, 100);
    test_array_free(t, &out);
    test_array_free(t, &needed_on);
    test_array_free(t, &in);
    free(keys);
    free(values);
    nacre_map_destroy(map);
    nacre_map_destroy(plain);
    oracle_free(&o);
    oracle_free(&same);
}

/* Inserts in batches until memory is refused; every key is present or reported, at every step. */
static void insert_until_refused(test *t, nacre_map *map, oracle *o, uint64_t limit)
{
    uint64_t at = 0, refused = 0;
    for (int batch = 0; batch < 400 && refused == 0; batch++) {
        uint64_t n = 1 + test_random_below(&t->random, 20000);
        uint64_t *keys = test_keys(t, at, n), *values = test_values(t, keys, n);
        test_batch b = test_batch_of(NACREI_INSERT, keys, values, n);
        test_batch_call(t, map, &b);
        CHECK(t, b.status == NACRE_OK || b.status == NACRE_ERROR_OUT_OF_MEMORY, "%s: %s",
              nacre_status_name(b.status), t->error.message);
        CHECK(t, b.status != NACRE_OK || b.counts.refused == 0, "full, but the status is OK");
        o->may_be_full = b.status != NACRE_OK;
        refused = b.counts.refused;
        test_batch_judge(t, map, &b, o);
        CHECK(t, test_info(t, map).memory_peak_bytes <= limit, "%llu bytes, the limit is %llu",
              LL(test_info(t, map).memory_peak_bytes), LL(limit));
        if (refused != 0) { /* make room, then give exactly the refused ones again */
            test_compare(t, map, o, 1000);
            uint64_t size = o->size, *all = oracle_keys(o), again = 0;
            uint64_t out = refused < size ? refused : size;
            for (uint64_t i = 0; i < n; i++) {
                if (b.outcomes[i] == NACRE_OUTCOME_FULL && again < out) {
                    keys[again] = keys[i];
                    values[again++] = values[i];
                }
            }
            test_do(t, map, o, NACREI_ERASE, all, NULL, out);
            test_batch retry = test_batch_of(NACREI_INSERT, keys, values, again);
            test_batch_call(t, map, &retry);
            test_batch_judge(t, map, &retry, o);
            CHECK(t, retry.counts.refused <= out / 8 + 1,
                  "%llu erased, but %llu of %llu found no room", LL(out), LL(retry.counts.refused),
                  LL(again));
            test_batch_free(&retry);
            free(all);
        }
        test_batch_free(&b);
        free(keys);
        free(values);
        at += n;
    }
    CHECK(t, refused != 0, "the limit was never reached");
}

NACRE_CONTRACT_TEST(capacity, memory_limit_is_passed_or_loses_keys)
{
    /* Goal: a map never holds more than memory_limit_bytes; what finds no room then is FULL, the
       call says OUT_OF_MEMORY, the fault bits say so, nothing is lost, and room made by erasing is
       used. Method: limits of 0.5, 2.6 and 4.7 MB beyond what an empty map holds. */
    for (uint64_t beyond = 500000; beyond <= 4700000; beyond += 2100000) {
        oracle o;
        oracle_init(&o);
        nacre_map_config config = test_map_config(t);
        uint64_t limit = 0;
        OK(t, nacre_map_estimate(t->device, &config, 0, &limit));
        limit += beyond;
        config.memory_limit_bytes = limit;
        nacre_map *map = test_map_create(t, &config);
        insert_until_refused(t, map, &o, limit);
        uint32_t faults = 0;
        OK(t, nacre_map_faults(map, &faults, 1, &t->error));
        CHECK(t, faults == (NACRE_FAULT_FULL | NACRE_FAULT_MEMORY), "faults 0x%x", faults);
        REFUSED(t, NACRE_ERROR_CAPACITY, nacre_map_reserve(map, limit, &t->error, t->stream),
                "nacre_map_reserve: keys is %llu; allowed: what fits into %llu bytes, "
                "memory_limit_bytes",
                LL(limit), LL(limit));
        test_compare(t, map, &o, 1000);
        CHECK(t, (double)o.size * (t->key_bytes + t->value_bytes) > 0.15 * (double)limit,
              "only %llu keys in %llu bytes", LL(o.size), LL(limit));
        nacre_map_destroy(map);
        oracle_free(&o);
    }
}
