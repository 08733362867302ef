/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views (case 43): the arguments on both backends, and on CUDA the operations in kernels of a
 * program's own (views.cu), judged like any other batch.
 */
#include "contract/refused.h"
#include "contract/view_batch.h"

NACRE_CONTRACT_TEST(views, bad_argument_begins_a_view)
{
    /* Goal: what is not allowed says so on both backends; what is allowed is UNSUPPORTED on the
       CPU, with a message that tells why. Method: one wrong argument at a time. */
    nacre_map *map = test_map_new(t, 0);
    nacrei_view view;
    const uint32_t k = t->key_bytes, v = t->value_bytes;
    memset(&view, 0, sizeof view);
#define BEGIN(m, access, keys, kb, vb, to, bytes) \
    nacre_map_view_begin(m, access, keys, kb, vb, to, bytes, &t->error, t->stream)
    const uint64_t size = sizeof view;
    STATUS(t, NACRE_ERROR_ARGUMENT, BEGIN(NULL, NACRE_ACCESS_READ, 0, k, v, &view, size));
    STATUS(t, NACRE_ERROR_ARGUMENT, BEGIN(map, 3, 0, k, v, &view, size));
    STATUS(t, NACRE_ERROR_ARGUMENT, BEGIN(map, NACRE_ACCESS_READ, 1, k, v, &view, size));
    STATUS(t, NACRE_ERROR_ARGUMENT, BEGIN(map, NACRE_ACCESS_ERASE, 1, k, v, &view, size));
    STATUS(t, NACRE_ERROR_ARGUMENT, BEGIN(map, NACRE_ACCESS_READ, 0, 12 - k, v, &view, size));
    STATUS(t, NACRE_ERROR_ARGUMENT, BEGIN(map, NACRE_ACCESS_READ, 0, k, v ^ 4, &view, size));
    STATUS(t, NACRE_ERROR_ARGUMENT, BEGIN(map, NACRE_ACCESS_READ, 0, k, v, NULL, size));
    STATUS(t, NACRE_ERROR_ARGUMENT, BEGIN(map, NACRE_ACCESS_READ, 0, k, v, &view, size - 8));
    STATUS(t, NACRE_ERROR_CAPACITY, BEGIN(map, NACRE_ACCESS_INSERT, UINT64_MAX, k, v, &view, size));
    if (t->backend == NACRE_BACKEND_CPU) {
        REFUSED(t, NACRE_ERROR_UNSUPPORTED, BEGIN(map, NACRE_ACCESS_READ, 0, k, v, &view, size),
                "nacre_map_view_begin: the map's device is the CPU");
        STATUS(t, NACRE_ERROR_UNSUPPORTED, view_end(t, map, &view, t->stream));
    } else {
        STATUS(t, NACRE_ERROR_ARGUMENT, view_end(t, map, &view, t->stream)); /* never begun */
        OK(t, BEGIN(map, NACRE_ACCESS_READ, 0, k, v, &view, size));
        STATUS(t, NACRE_ERROR_ARGUMENT,
               nacre_map_view_end(map, &view, size + 8, &t->error, t->stream));
        OK(t, view_end(t, map, &view, t->stream));
        STATUS(t, NACRE_ERROR_ARGUMENT, view_end(t, map, &view, t->stream)); /* twice */
    }
#undef BEGIN
    nacre_map_destroy(map);
}

#if NACRE_HAVE_CUDA
/* A key of few, side keys among them. */
static uint64_t some_key(test *t, uint64_t universe)
{
    if (test_random_below(&t->random, 50) == 0) {
        return test_cut(NACREI_KEY_XOR ^ test_random_below(&t->random, 20), t->key_bytes);
    }
    return test_key(t, test_random_below(&t->random, universe));
}

NACRE_CONTRACT_TEST(views, kernel_differs_from_the_oracle)
{
    /* Goal: every operation of a view, on any keys, equal ones among them, does what the batch call
       does, between batches of the library, while the map grows. Method: random sequences of both,
       judged; the whole map is compared now and then. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    static const uint32_t operations[] = {
        NACREI_INSERT, NACREI_INSERT_OR_ASSIGN, NACREI_ERASE,           NACREI_CONTAINS,
        NACREI_FIND,   NACREI_INSERT_OR_APPLY,  NACREI_INSERT_OR_APPLY, NACREI_FIND_OR_INSERT};
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 100);
    for (int step = 0; step < 80; step++) {
        const uint64_t n = test_random_below(&t->random, 30000);
        const uint64_t universe = step % 3 == 0 ? 40 : 100000;
        uint64_t *keys = test_host(t, n * 8);
        for (uint64_t i = 0; i < n; i++) {
            keys[i] = some_key(t, universe);
        }
        uint64_t *values = test_values(t, keys, n);
        const uint32_t operation =
            operations[test_random_below(&t->random, t->value_bytes != 0 ? 8 : 4)];
        test_batch b = test_batch_of(
            t->value_bytes == 0 && operation == NACREI_INSERT_OR_ASSIGN ? NACREI_INSERT : operation,
            keys, values, n);
        b.reduction = (uint32_t)test_random_below(&t->random, 3);
        b.type = t->value_bytes == 4 ? NACRE_TYPE_I32 : NACRE_TYPE_I64;
        test_note(t, "step %d: %s of %llu elements, %llu keys in the map", step,
                  test_operation_name(b.operation), LL(n), LL(o.size));
        if (step % 4 == 3) {
            test_batch_run(t, map, &b, &o);
            test_batch_free(&b);
        } else {
            view_do(t, map, &o, &b, n);
        }
        if (step % 20 == 19) {
            test_compare(t, map, &o, 1000);
        }
        free(keys);
        free(values);
    }
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(views, view_takes_more_or_fewer_keys_than_its_room)
{
    /* Goal: of more new keys than there is room for, exactly as many are inserted as fit; the rest
       says FULL, and the fault is set; what was there is found nevertheless. Method: a FIXED map
       filled through views step by step, each key given several times; and a WAIT map whose view
       asks for less than it is given, down to nothing. */
    if (t->backend != NACRE_BACKEND_CUDA || !view_inserts(t)) {
        return;
    }
    for (int fixed = 0; fixed < 2; fixed++) {
        oracle o;
        oracle_init(&o);
        nacre_map_config config = test_map_config(t);
        config.growth = fixed ? NACRE_GROWTH_FIXED : NACRE_GROWTH_WAIT;
        config.capacity_keys = 5000;
        o.capacity_keys = fixed ? 5000 : UINT64_MAX;
        nacre_map *map = test_map_create(t, &config);
        for (uint64_t step = 0; step < 6; step++) {
            const uint64_t different = 2000, n = 7 * different;
            uint64_t *keys = test_host(t, n * 8);
            for (uint64_t i = 0; i < n; i++) { /* half of them known from the step before */
                keys[i] = test_key(t, step * different / 2 + i % different);
            }
            uint64_t *values = test_values(t, keys, n);
            const uint64_t room = fixed ? n : step * 200;
            uint32_t faults = 0;
            test_batch b = test_batch_of(
                t->value_bytes != 0 && step % 2 == 0 ? NACREI_FIND_OR_INSERT : NACREI_INSERT, keys,
                values, n);
            view_do(t, map, &o, &b, room);
            const uint64_t wanted = fixed && step < 4 ? 0 : NACRE_FAULT_FULL;
            OK(t, nacre_map_faults(map, &faults, 1, &t->error));
            CHECK(t, faults == wanted, "faults %u in step %llu", faults, LL(step));
            free(keys);
            free(values);
        }
        test_compare(t, map, &o, 1000);
        nacre_map_destroy(map);
        oracle_free(&o);
    }
}

NACRE_CONTRACT_TEST(views, thread_does_not_see_its_own_insertion)
{
    /* Goal: a thread finds at once what it has inserted, or what it was told to be there, and not
       what it has erased, and so do others of its block after a barrier, though lookups may be
       answered by the cache. Method: a kernel that looks before and after each of its operations,
       on a map half full; each key comes twice, in different blocks. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    const uint64_t n = 100000;
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 2 * n);
    uint64_t *keys = test_keys(t, 0, 2 * n), *values = test_values(t, keys, 2 * n), wrong = 1;
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    uint64_t *twice = test_host(t, 2 * n * 8), *their_values = test_host(t, 2 * n * 8);
    for (uint64_t i = 0; i < 2 * n; i++) {
        twice[i] = keys[n + i % n];
        their_values[i] = values[n + i % n];
    }
    test_batch b = test_batch_of(NACREI_INSERT, twice, their_values, 2 * n);
    view_arrays on = view_arrays_of(t, &b);
    test_array wrong_on = test_array_new(t, 8, 8);
    for (int erases = 0; erases < 2; erases++) {
        nacrei_view view;
        if (!erases && !view_inserts(t)) {
            OK(t, nacre_map_insert(map, on.keys.data, on.values.data, 2 * n, NULL, t->stream));
            continue;
        }
        on.batch.operation = erases ? NACREI_ERASE : NACREI_INSERT;
        OK(t, nacre_memory_fill(t->device, wrong_on.data, 8, 0, &t->error, t->stream));
        OK(t, view_begin(t, map, view_access_of(on.batch.operation), erases ? 0 : n, &view,
                         t->stream));
        CUDA(t, views_run_and_look(&view, t->key_bytes, t->value_bytes, &on.batch, wrong_on.data,
                                   t->stream));
        OK(t, view_end(t, map, &view, t->stream));
        test_array_read(t, &wrong_on, &wrong);
        CHECK(t, wrong == 0, "%llu wrong answers after %s", LL(wrong),
              erases ? "erasing" : "inserting");
        CHECK(t, test_size(t, map) == (erases ? n : 2 * n), "the size is wrong");
    }
    test_compare(t, map, &o, 1000);
    view_arrays_free(t, &on);
    test_array_free(t, &wrong_on);
    free(keys);
    free(values);
    free(twice);
    free(their_values);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(views, slot_is_passed_over)
{
    /* Goal: for_each_slot comes to every key once, side keys among them, with its value, and may
       erase it. Method: the keys listed against the oracle, the odd ones erased, listed again. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    const uint64_t n = 50000;
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t *keys = test_keys(t, 0, n), *values = test_values(t, keys, n);
    for (uint64_t i = 0; i < 20; i++) {
        keys[i] = test_cut(NACREI_KEY_XOR ^ i, t->key_bytes);
    }
    test_do(t, map, &o, NACREI_INSERT, keys, values, n);
    test_array keys_on = test_array_new(t, n * t->key_bytes, 8);
    test_array values_on = test_array_new(t, n * t->value_bytes, 8);
    test_array needed_on = test_array_new(t, 8, 8);
    for (int round = 0; round < 2; round++) {
        nacrei_view view;
        uint64_t needed = 0;
        OK(t, view_begin(t, map, NACRE_ACCESS_READ, 0, &view, t->stream));
        CUDA(t,
             views_list(&view, t->key_bytes, t->value_bytes, keys_on.data,
                        t->value_bytes != 0 ? values_on.data : NULL, n, needed_on.data, t->stream));
        OK(t, view_end(t, map, &view, t->stream));
        test_array_read(t, &needed_on, &needed);
        CHECK(t, needed == o.size, "%llu keys instead of %llu", LL(needed), LL(o.size));
        test_array_read_numbers(t, &keys_on, keys, n, t->key_bytes);
        if (t->value_bytes != 0) {
            test_array_read_numbers(t, &values_on, values, n, t->value_bytes);
        }
        oracle seen;
        oracle_init(&seen);
        for (uint64_t i = 0; i < needed; i++) {
            CHECK(t, oracle_has(&o, keys[i]) && !oracle_has(&seen, keys[i]),
                  "key 0x%llx is not there, or listed twice", LL(keys[i]));
            CHECK(t, t->value_bytes == 0 || values[i] == oracle_value(&o, keys[i]),
                  "key 0x%llx has value 0x%llx", LL(keys[i]), LL(values[i]));
            oracle_put(&seen, keys[i], 0);
        }
        oracle_free(&seen);
        for (uint64_t i = 0; round == 0 && i < needed; i++) {
            if (keys[i] % 2 != 0) {
                oracle_remove(&o, keys[i]);
            }
        }
        OK(t, view_begin(t, map, NACRE_ACCESS_ERASE, 0, &view, t->stream));
        CUDA(t, views_erase_odd(&view, t->key_bytes, t->value_bytes, t->stream));
        OK(t, view_end(t, map, &view, t->stream));
        test_compare(t, map, &o, 1000);
    }
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    test_array_free(t, &needed_on);
    free(keys);
    free(values);
    nacre_map_destroy(map);
    oracle_free(&o);
}
#endif
