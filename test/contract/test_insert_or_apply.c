/* SPDX-License-Identifier: Apache-2.0 */
/* insert_or_apply: every reduction on every type, once per element. */
#include "support/batch.h"
#include "support/reduce.h"

static bool fits(const test *t, uint32_t type)
{
    return t->value_bytes ==
           (type == NACRE_TYPE_I32 || type == NACRE_TYPE_U32 || type == NACRE_TYPE_F32 ? 4u : 8u);
}

/* A value whose sums are exact in the type, in any order. */
static uint64_t number(test *t, uint32_t type)
{
    uint64_t random = test_random(&t->random);
    double small = (double)(random % 2001) - 1000;
    switch (type) {
    case NACRE_TYPE_F32:
        return test_f32_bits((float)small);
    case NACRE_TYPE_F64:
        return test_f64_bits(small);
    case NACRE_TYPE_I32:
    case NACRE_TYPE_U32:
        return (uint32_t)random;
    default:
        return random;
    }
}

static uint32_t last_reduction(uint32_t type)
{
    return type >= NACRE_TYPE_F32 ? NACRE_REDUCTION_MAX : NACRE_REDUCTION_XOR;
}

NACRE_CONTRACT_TEST_VALUES(insert_or_apply, reduction_is_wrong_or_skips_equal_keys)
{
    /* Goal: every reduction of every type that fits, on keys that are new, present, and many times
       in a batch. Method: three batches of 3,000 elements over 300 keys; the judge folds them in
       plain C. */
    for (uint32_t type = NACRE_TYPE_I32; type <= NACRE_TYPE_F64; type++) {
        for (uint32_t reduction = 0; fits(t, type) && reduction <= last_reduction(type);
             reduction++) {
            oracle o;
            oracle_init(&o);
            nacre_map *map = test_map_new(t, 0);
            enum { N = 3000 };
            uint64_t keys[N], values[N];
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < N; i++) {
                    uint64_t universe = 100 + 100 * (uint64_t)round;
                    keys[i] = test_key(t, i < 300 ? (uint64_t)i % universe
                                                  : test_random_below(&t->random, universe));
                    values[i] = number(t, type);
                }
                test_batch b = test_batch_of(NACREI_INSERT_OR_APPLY, keys, values, N);
                b.reduction = reduction;
                b.type = type;
                test_batch_run(t, map, &b, &o);
                test_batch_free(&b);
            }
            CHECK(t, o.size == 300, "%llu keys", (unsigned long long)o.size);
            test_compare(t, map, &o, 100);
            nacre_map_destroy(map);
            oracle_free(&o);
        }
    }
}

NACRE_CONTRACT_TEST_VALUES(insert_or_apply, null_values_do_not_count)
{
    /* Goal: values NULL means 1 of the type per element: a histogram. Method: add over skewed keys,
       all types; key number k comes 2^k times. */
    enum { KINDS = 14, N = (1 << KINDS) - 1 };
    uint64_t *keys = test_host(t, N * 8);
    for (uint32_t type = NACRE_TYPE_I32; type <= NACRE_TYPE_F64; type++) {
        if (!fits(t, type)) {
            continue;
        }
        oracle o;
        oracle_init(&o);
        nacre_map *map = test_map_new(t, 0);
        for (uint64_t i = 0; i < N; i++) {
            keys[i] = test_key(t, (uint64_t)(63 - __builtin_clzll(i + 1)));
        }
        for (uint64_t round = 1; round <= 3; round++) {
            for (uint64_t i = N - 1; i > 0; i--) { /* another order each time */
                uint64_t j = test_random_below(&t->random, i + 1), swap = keys[i];
                keys[i] = keys[j];
                keys[j] = swap;
            }
            test_batch b = test_batch_of(NACREI_INSERT_OR_APPLY, keys, NULL, N);
            b.reduction = NACRE_REDUCTION_ADD;
            b.type = type;
            test_batch_run(t, map, &b, &o);
            test_batch_free(&b);
            for (uint64_t k = 0; k < KINDS; k++) {
                uint64_t bits = oracle_value(&o, test_key(t, k)), wanted = round << k;
                double count = type == NACRE_TYPE_F32   ? (double)test_f32(bits)
                               : type == NACRE_TYPE_F64 ? test_f64(bits)
                                                        : (double)bits;
                CHECK(t, count == (double)wanted, "key %llu was counted %g times instead of %llu",
                      (unsigned long long)k, count, (unsigned long long)wanted);
            }
        }
        test_compare(t, map, &o, 100);
        nacre_map_destroy(map);
        oracle_free(&o);
    }
    free(keys);
}

NACRE_CONTRACT_TEST_VALUES(insert_or_apply, corner_numbers_go_wrong)
{
    /* Goal: wraparound, signs, NaN, infinities and zeros in the map as in C. Method: each pair of
       corner values on a key of its own: the first inserted, the second applied. */
    const uint64_t integers[8] = {0,          1,         0x7FFFFFFF, 0x80000000,
                                  0xFFFFFFFF, INT64_MAX, 1ull << 63, UINT64_MAX};
    const double reals[8] = {0, -0.0, 1, -1.5, NAN, -INFINITY, INFINITY, 3e38};
    for (uint32_t type = NACRE_TYPE_I32; type <= NACRE_TYPE_F64; type++) {
        for (uint32_t reduction = 0; fits(t, type) && reduction <= last_reduction(type);
             reduction++) {
            oracle o;
            oracle_init(&o);
            nacre_map *map = test_map_new(t, 0);
            uint64_t keys[64], values[64], others[64];
            for (uint64_t i = 0; i < 64; i++) {
                keys[i] = test_key(t, i);
                for (int side = 0; side < 2; side++) {
                    uint64_t corner = side == 0 ? i / 8 : i % 8;
                    (side == 0 ? values : others)[i] =
                        type == NACRE_TYPE_F32   ? test_f32_bits((float)reals[corner])
                        : type == NACRE_TYPE_F64 ? test_f64_bits(reals[corner])
                                                 : test_cut(integers[corner], t->value_bytes);
                }
            }
            test_batch b = test_batch_of(NACREI_INSERT_OR_APPLY, keys, values, 64);
            b.reduction = reduction;
            b.type = type;
            test_batch_run(t, map, &b, &o);
            b.values = others;
            test_batch_run(t, map, &b, &o);
            test_batch_free(&b);
            test_compare(t, map, &o, 10);
            nacre_map_destroy(map);
            oracle_free(&o);
        }
    }
}

NACRE_CONTRACT_TEST_VALUES(insert_or_apply, first_value_is_rounded)
{
    /* Goal: the value of a new key is stored bit by bit, though sums on a GPU make numbers too
       small to be normal zero, and do not keep a NaN's bits. Method: such values on keys of their
       own, by every reduction; found and compared as bits. */
    const uint64_t narrow[6] = {0x00000001, 0x807FFFFF, 0x80000000,
                                0x7FA12345, 0xFFC12345, 0x00000000};
    const uint64_t wide[6] = {UINT64_C(0x0000000000000001), UINT64_C(0x800FFFFFFFFFFFFF),
                              UINT64_C(0x8000000000000000), UINT64_C(0x7FF4123456789ABC),
                              UINT64_C(0xFFF8123456789ABC), UINT64_C(0x0000000000000000)};
    uint64_t *keys = test_keys(t, 0, 6), found[6];
    test_array keys_on = test_array_of_numbers(t, keys, 6, t->key_bytes);
    test_array values_on =
        test_array_of_numbers(t, t->value_bytes == 4 ? narrow : wide, 6, t->value_bytes);
    test_array found_on = test_array_new(t, 6 * (uint64_t)t->value_bytes, 8);
    for (uint32_t type = NACRE_TYPE_I32; type <= NACRE_TYPE_F64; type++) {
        for (uint32_t reduction = 0; fits(t, type) && reduction <= last_reduction(type);
             reduction++) {
            nacre_map *map = test_map_new(t, 0);
            OK(t, nacre_map_insert_or_apply(map, keys_on.data, values_on.data, 6, reduction, type,
                                            NULL, t->stream));
            OK(t, nacre_map_find(map, keys_on.data, 6, found_on.data, NULL, t->stream));
            test_array_read_numbers(t, &found_on, found, 6, t->value_bytes);
            for (int i = 0; i < 6; i++) {
                const uint64_t wanted = (t->value_bytes == 4 ? narrow : wide)[i];
                CHECK(t, found[i] == wanted, "type %u, reduction %u: 0x%llx instead of 0x%llx",
                      type, reduction, (unsigned long long)found[i], (unsigned long long)wanted);
            }
            nacre_map_destroy(map);
        }
    }
    test_array_free(t, &keys_on);
    test_array_free(t, &values_on);
    test_array_free(t, &found_on);
    free(keys);
}

NACRE_CONTRACT_TEST_VALUES(insert_or_apply, hot_key_loses_updates)
{
    /* Goal: no update of a key that many elements share is lost, while new keys come in beside it.
       Method: 200,000 elements, half of them one key. */
    uint64_t n = 200000;
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t *keys = test_host(t, n * 8);
    for (uint64_t i = 0; i < n; i++) {
        keys[i] = test_key(t, test_random_below(&t->random, 2) != 0 ? 0 : i / 3);
    }
    uint64_t *values = test_values(t, keys, n);
    test_do(t, map, &o, NACREI_INSERT_OR_APPLY, keys, values, n);
    test_do(t, map, &o, NACREI_INSERT_OR_APPLY, keys, values, n);
    test_compare(t, map, &o, 100);
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
}
