/* SPDX-License-Identifier: Apache-2.0 */
/* Growth: what makes a map grow, what must not, and what is there afterwards. */
#include "nacre/core/hash.h"
#include "support/batch.h"
#include "support/hash_inverse.h"

NACRE_CONTRACT_TEST(growth, grown_map_loses_or_repeats_a_key)
{
    /* Goal: from capacity 1 up, in batches of 1, 7, 1000 and large ones, with old keys among the
       new, every key is found after each batch, once, and the size is exact (cases 16, 18). Method:
       120,000 keys on the CPU, 10 million on CUDA for (8,8); the judge checks each batch, the whole
       map is compared at each doubling. */
    uint64_t total =
        t->key_bytes == 8 && t->value_bytes == 8 ? test_scale(t, 120000, 10000000) : 120000;
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 1);
    uint64_t compared = 1;
    for (uint64_t done = 0; done < total;) {
        uint64_t n = done < 20 ? 1 : done < 400 ? 7 : done < 30000 ? 1000 : total / 10;
        uint64_t old = done < n / 4 ? 0 : n / 4, fresh = n - old;
        uint64_t *keys = test_keys(t, done - old, n), *values = test_values(t, keys, n);
        test_do(t, map, &o, done % 2 == 0 ? NACREI_INSERT : NACREI_INSERT_OR_ASSIGN, keys, values,
                n);
        done += fresh;
        CHECK(t, o.size == done && test_size(t, map) == done, "size is not %llu", LL(done));
        if (done >= 2 * compared || done >= total) {
            test_compare(t, map, &o, 1000);
            compared = done;
        }
        free(keys);
        free(values);
    }
    nacre_map_info info = test_info(t, map);
    CHECK(t, info.growths > 0, "it never grew");
    CHECK(t, info.load > 0.38 && info.load < 0.96, "load %g", info.load);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(growth, batch_of_ten_times_the_capacity_loses_keys)
{
    /* Goal: a batch ten times the capacity: every key is present or reported (case 5). Method:
       capacities 0, 10, 3,000; WAIT takes all, FIXED exactly its capacity, DEFERRED what the
       outcomes say. */
    const uint64_t capacities[] = {0, 10, 3000};
    for (uint32_t growth = NACRE_GROWTH_WAIT; growth <= NACRE_GROWTH_FIXED; growth++) {
        for (int i = 0; i < 3; i++) {
            uint64_t n = capacities[i] == 0 ? 5000 : capacities[i] * 10;
            oracle o;
            oracle_init(&o);
            o.capacity_keys = growth == NACRE_GROWTH_FIXED ? capacities[i] : UINT64_MAX;
            o.may_be_full = growth == NACRE_GROWTH_DEFERRED;
            nacre_map *map = test_map_growing(t, growth, capacities[i]);
            uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
            test_batch b = test_batch_of(NACREI_INSERT, keys, values, n);
            test_batch_run(t, map, &b, &o);
            CHECK(t, b.counts.done + b.counts.refused == n, "%llu done, %llu refused",
                  LL(b.counts.done), LL(b.counts.refused));
            CHECK(t, o.size >= capacities[i], "%llu keys, though %llu fit", LL(o.size),
                  LL(capacities[i]));
            uint32_t faults;
            OK(t, nacre_map_faults(map, &faults, 1, &t->error));
            CHECK(t, faults == (b.counts.refused != 0 ? NACRE_FAULT_FULL : 0u), "faults 0x%x",
                  faults);
            test_batch_free(&b);
            test_compare(t, map, &o, 1000);
            nacre_map_destroy(map);
            oracle_free(&o);
            free(keys);
            free(values);
        }
    }
}

NACRE_CONTRACT_TEST(growth, updates_of_present_keys_grow_the_map)
{
    /* Goal: growth follows keys, not batch lengths (case 7). Method: 100 keys, then 2 million
       updates of them on the CPU (100 million on CUDA for (8,8)), in batches of 100,000; also as
       the very first batch. */
    uint64_t n = 100000;
    uint64_t rounds = t->key_bytes == 8 && t->value_bytes == 8 ? test_scale(t, 20, 1000) : 5;
    uint64_t *keys = test_host(t, n * 8);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = test_key(t, i % 100);
    }
    uint64_t *values = test_values(t, keys, n);
    uint64_t bytes = 0;
    for (int at_once = 0; at_once < 2; at_once++) {
        oracle o;
        oracle_init(&o);
        nacre_map *map = test_map_new(t, 0);
        test_do(t, map, &o, NACREI_INSERT, keys, values, at_once ? n : 100);
        nacre_map_info before = test_info(t, map);
        CHECK(t, !at_once || before.memory_bytes == bytes,
              "%llu bytes after a long batch, %llu after a short one", LL(before.memory_bytes),
              LL(bytes));
        bytes = before.memory_bytes;
        test_array keys_on = test_array_of_numbers(t, keys, n, t->key_bytes);
        test_array values_on = test_array_of_numbers(t, values, n, t->value_bytes);
        for (uint64_t round = 0; round < rounds; round++) {
            if (t->value_bytes != 0) {
                uint32_t type = t->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
                OK(t, nacre_map_insert_or_apply(map, keys_on.data, values_on.data, n,
                                                NACRE_REDUCTION_ADD, type, NULL, t->stream));
            } else {
                OK(t, nacre_map_insert_or_assign(map, keys_on.data, NULL, n, NULL, t->stream));
            }
        }
        for (uint64_t i = 0; i < n && t->value_bytes != 0; i++) {
            oracle_put(&o, keys[i],
                       test_cut(oracle_value(&o, keys[i]) + values[i] * rounds, t->value_bytes));
        }
        test_compare(t, map, &o, 1000);
        nacre_map_info after = test_info(t, map);
        CHECK(t,
              after.growths == before.growths && after.memory_bytes == before.memory_bytes &&
                  after.capacity_keys == before.capacity_keys,
              "it grew from %llu to %llu bytes", LL(before.memory_bytes), LL(after.memory_bytes));
        test_array_free(t, &keys_on);
        test_array_free(t, &values_on);
        nacre_map_destroy(map);
        oracle_free(&o);
    }
    free(keys);
    free(values);
}

NACRE_CONTRACT_TEST(growth, deferred_map_waits_or_never_grows)
{
    /* Goal: a DEFERRED map never waits, reports FULL, grows at later calls, and takes everything in
       the end. Method: give the refused keys again, NEVER_WAIT set, until none is left; each round
       must end the sooner. */
    for (uint64_t n = 100; n <= 100000; n *= 30) {
        oracle o;
        oracle_init(&o);
        o.may_be_full = true;
        nacre_map *map = test_map_growing(t, NACRE_GROWTH_DEFERRED, 10);
        uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n), left = n;
        int rounds = 0;
        while (left != 0) {
            CHECK(t, rounds++ < 100, "%llu of %llu keys are still refused", LL(left), LL(n));
            test_batch b = test_batch_of(NACREI_INSERT, keys, values, left);
            b.flags = NACRE_OPTION_NEVER_WAIT;
            test_batch_run(t, map, &b, &o);
            uint64_t again = 0;
            for (uint64_t i = 0; i < left; i++) {
                if (b.outcomes[i] == NACRE_OUTCOME_FULL) {
                    keys[again] = keys[i];
                    values[again++] = values[i];
                }
            }
            left = again;
            test_batch_free(&b);
        }
        CHECK(t, o.size == n, "%llu keys", LL(o.size));
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}

NACRE_CONTRACT_TEST(growth, keys_of_one_submap_are_lost)
{
    /* Goal: keys chosen against the hash make a map slow, not wrong: each is present or reported,
       and everything returns. Method: 11,000 keys of 8 bytes whose submap bits are all equal, into
       maps with a memory limit of 16 MB; into a DEFERRED map, without a limit, again and again: it
       does not grow for ever. */
    if (t->key_bytes != 8) {
        return;
    }
    uint64_t n = 11000;
    for (uint32_t growth = NACRE_GROWTH_WAIT; growth <= NACRE_GROWTH_FIXED; growth++) {
        oracle o;
        oracle_init(&o);
        o.may_be_full = true;
        nacre_map_config config = test_map_config(t);
        config.growth = growth;
        config.capacity_keys = growth == NACRE_GROWTH_FIXED ? n : 0;
        config.memory_limit_bytes = growth == NACRE_GROWTH_DEFERRED ? 0 : 16000000;
        nacre_map *map = test_map_create(t, &config);
        uint64_t *keys = test_host(t, n * 8), *values = test_host(t, n * 8);
        for (uint64_t i = 0; i < n; i++) {
            keys[i] =
                test_hash_inverse(UINT64_C(0x123456789A000000) | (i * 787 & 0xFFFFFF), config.seed);
            values[i] = test_value(t, keys[i]);
        }
        test_batch b = test_batch_of(NACREI_INSERT, keys, values, n);
        test_batch_call(t, map, &b);
        CHECK(t, b.status == NACRE_OK || b.status == NACRE_ERROR_OUT_OF_MEMORY, "%s",
              nacre_status_name(b.status));
        test_batch_judge(t, map, &b, &o);
        test_batch_free(&b);
        CHECK(t, o.size >= 3000, "only %llu keys found room, growth %u", LL(o.size), growth);
        test_compare(t, map, &o, 1000);
        uint64_t growths = 0;
        for (int round = 0; round < 30 && growth == NACRE_GROWTH_DEFERRED; round++) {
            growths = round == 15 ? test_info(t, map).growths : growths;
            test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        }
        CHECK(t, growths == 0 || test_info(t, map).growths == growths,
              "growth %llu for keys that find no place", LL(test_info(t, map).growths));
        test_do(t, map, &o, NACREI_ERASE, keys, NULL, n);
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}

/* One large random batch of any operation, masked every other time. */
static void large_batch(test *t, nacre_map *map, oracle *o, uint64_t universe, uint64_t count,
                        int turn)
{
    uint64_t *keys = test_host(t, count * 8);
    uint8_t *take = test_host(t, count);
    for (uint64_t i = 0; i < count; i++) {
        keys[i] = test_key(t, test_random_below(&t->random, universe));
        take[i] = test_random(&t->random) % 3 != 0;
    }
    uint64_t *values = test_values(t, keys, count);
    const uint32_t operations[] = {
        NACREI_INSERT,          NACREI_ERASE,          NACREI_INSERT_OR_ASSIGN, NACREI_CONTAINS,
        NACREI_INSERT_OR_APPLY, NACREI_FIND_OR_INSERT, NACREI_ASSIGN,           NACREI_FIND};
    test_batch b =
        test_batch_of(operations[turn % (t->value_bytes != 0 ? 8 : 4)], keys, values, count);
    b.type = t->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
    b.take = turn % 2 == 0 ? take : NULL;
    b.mask_kind = turn % 4 == 0 ? NACRE_MASK_BITS : NACRE_MASK_BYTES;
    b.mask_offset = (uint64_t)turn;
    test_batch_run(t, map, &b, o);
    test_batch_free(&b);
    free(keys);
    free(values);
    free(take);
}

NACRE_CONTRACT_TEST_VALUES(growth, key_put_off_until_there_is_room_is_lost_or_done_twice)
{
    /* Goal: where the table grows on the way, keys that wait for room are done once, in their
       order. Method: the CPU does so in batches too short to grow ahead of; 20,000 elements, of
       which a fifth is new and many are equal, added up or found, up to 60,000 keys; the judge
       looks at each outcome. */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    for (uint64_t universe = 4000; universe <= 60000; universe += 4000) {
        large_batch(t, map, &o, universe, 20000, 4);
        large_batch(t, map, &o, universe, 20000, 5);
    }
    CHECK(t, test_info(t, map).growths > 3, "it grew %llu times", LL(test_info(t, map).growths));
    test_compare(t, map, &o, 1000);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(growth, large_batch_on_many_submaps_goes_wrong)
{
    /* Goal: large batches on a table of more than 256 submaps, where the CPU gives threads submaps
       of their own and splits several at once: nothing is lost, FIXED stays exact. Method: load_max
       0.1, so that few keys make many submaps; batches of 40,000 to 100,000 random elements of
       every operation, before, while and after the table grows. */
    for (uint32_t growth = NACRE_GROWTH_WAIT; growth <= NACRE_GROWTH_FIXED; growth++) {
        nacre_map_config config = test_map_config(t);
        config.load_max = 0.1;
        nacre_map *map = test_map_create(t, &config);
        nacre_map_info info = test_info(t, map);
        uint64_t n = info.capacity_slots / info.submaps * 256 / 10 +
                     5000; /* keys of 256 submaps, and a few */
        nacre_map_destroy(map);
        config.growth = growth;
        config.capacity_keys = growth == NACRE_GROWTH_FIXED ? n : n / 2;
        map = test_map_create(t, &config);
        oracle o;
        oracle_init(&o);
        o.capacity_keys = growth == NACRE_GROWTH_FIXED ? n : UINT64_MAX;
        o.may_be_full = growth == NACRE_GROWTH_DEFERRED;
        uint64_t universe = n + n / 4, *keys = test_keys(t, 0, universe);
        uint64_t *values = test_values(t, keys, universe);
        large_batch(t, map, &o, universe, 40000, 0);
        for (uint64_t at = 0; at < universe; at += 100000) {
            uint64_t left = universe - at;
            test_do(t, map, &o, NACREI_INSERT, keys + at, values + at,
                    left < 100000 ? left : 100000);
        }
        CHECK(t, growth != NACRE_GROWTH_FIXED || o.size == n, "%llu keys of %llu", LL(o.size),
              LL(n));
        CHECK(t, growth != NACRE_GROWTH_WAIT || test_info(t, map).submaps > 256,
              "only %llu submaps", LL(test_info(t, map).submaps));
        for (int turn = 0; turn < 9; turn++) {
            large_batch(t, map, &o, universe, 70000, turn);
        }
        OK(t, nacre_map_reserve(map, n + n / 2, &t->error, t->stream));
        o.capacity_keys = growth == NACRE_GROWTH_FIXED ? n + n / 2 : UINT64_MAX;
        large_batch(t, map, &o, 2 * n, 100000, 0);
        test_compare(t, map, &o, 10000);
        nacre_map_destroy(map);
        oracle_free(&o);
        free(keys);
        free(values);
    }
}

NACRE_CONTRACT_TEST(growth, crowded_submap_spoils_its_neighbours)
{
    /* Goal: keys that crowd a few submaps of a large table beyond their slots, in one large batch
       with others, are present or reported, and the others present. Method: 8-byte keys; 9,000 to
       each of two submaps among 40,000 random ones, into a FIXED map; erase and insert again. */
    if (t->key_bytes != 8) {
        return;
    }
    nacre_map_config config = test_map_config(t);
    config.growth = NACRE_GROWTH_FIXED;
    config.load_max = 0.1;
    config.capacity_keys = 300000;
    nacre_map *map = test_map_create(t, &config);
    oracle o;
    oracle_init(&o);
    o.may_be_full = true;
    uint64_t n = 58000, *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
    for (uint64_t i = 0; i < 18000; i++) {
        uint64_t fields = test_random(&t->random) & 0xFFFFFF, submap = i % 2 == 0 ? 5 : 100;
        keys[i * 3] = test_hash_inverse(submap << NACREI_HASH_SUBMAP_SHIFT | fields, config.seed);
    }
    for (int round = 0; round < 2; round++) {
        test_do(t, map, &o, NACREI_INSERT, keys, values, n);
        uint64_t absent = 0;
        for (uint64_t i = 0; i < n; i++) {
            absent += (i >= 54000 || i % 3 != 0) && !oracle_has(&o, keys[i]);
        }
        CHECK(t, absent < 1500, "%llu keys of other submaps are absent", LL(absent));
        test_do(t, map, &o, t->value_bytes != 0 ? NACREI_FIND : NACREI_CONTAINS, keys, NULL, n);
        test_compare(t, map, &o, 1000);
        test_do(t, map, &o, NACREI_ERASE, keys, NULL, round == 0 ? n / 2 : n);
        test_compare(t, map, &o, 1000);
    }
    CHECK(t, o.size == 0, "%llu keys are left", LL(o.size));
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
}
