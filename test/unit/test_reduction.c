/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, against plain C arithmetic. */
#include <criterion/criterion.h>

#include "nacre/core/reduction.h"
#include "support/random.h"
#include "support/reduce.h"

/* Numbers where arithmetic goes wrong: ends of ranges, NaN, infinities, both zeros, subnormals. */
static uint64_t corner(uint64_t i, uint32_t type)
{
    const uint64_t integers[] = {0,          1,         0x7FFFFFFF,        0x80000000,
                                 0xFFFFFFFF, INT64_MAX, (uint64_t)1 << 63, UINT64_MAX};
    const double reals[] = {0.0, -0.0, 1.0, -1.5, NAN, -INFINITY, INFINITY, 1e-310};
    switch (type) {
    case NACRE_TYPE_F32:
        return test_f32_bits((float)reals[i]);
    case NACRE_TYPE_F64:
        return test_f64_bits(reals[i]);
    case NACRE_TYPE_I32:
    case NACRE_TYPE_U32:
        return (uint32_t)integers[i];
    default:
        return integers[i];
    }
}

static void compare(uint64_t old, uint64_t value, uint32_t reduction, uint32_t type)
{
    uint64_t wanted = test_reduce(old, value, reduction, type);
    uint64_t got = nacrei_reduce(old, value, reduction, type);
    cr_assert(test_same(got, wanted, type),
              "type %u, reduction %u: 0x%llx with 0x%llx is 0x%llx, not 0x%llx", type, reduction,
              (unsigned long long)old, (unsigned long long)value, (unsigned long long)wanted,
              (unsigned long long)got);
    cr_assert(nacrei_type_bytes(type) == 8 || got <= UINT32_MAX, "high bits are set");
}

Test(reduction, arithmetic_differs_from_c)
{
    /* Goal: every type and reduction does what C does, wraparound and NaN included. Method: all
       pairs of corner values, and random ones. */
    uint64_t state = 61;
    for (uint32_t type = NACRE_TYPE_I32; type <= NACRE_TYPE_F64; type++) {
        bool real = type >= NACRE_TYPE_F32;
        for (uint32_t reduction = 0;
             reduction <= (real ? NACRE_REDUCTION_MAX : NACRE_REDUCTION_XOR); reduction++) {
            for (uint64_t i = 0; i < 64; i++) {
                compare(corner(i / 8, type), corner(i % 8, type), reduction, type);
            }
            for (int i = 0; i < 20000; i++) {
                uint64_t a = test_random(&state), b = test_random(&state);
                if (nacrei_type_bytes(type) == 4) {
                    a = (uint32_t)a;
                    b = (uint32_t)b;
                }
                compare(a, b, reduction, type);
            }
        }
    }
}

Test(reduction, nan_swallows_a_number)
{
    /* Goal: MIN and MAX take the number where one side is NaN, on either side. Method: both
       orders. */
    const uint32_t types[2] = {NACRE_TYPE_F32, NACRE_TYPE_F64};
    for (int i = 0; i < 2; i++) {
        uint64_t nan = i == 0 ? test_f32_bits(NAN) : test_f64_bits(NAN);
        uint64_t two = i == 0 ? test_f32_bits(2) : test_f64_bits(2);
        for (uint32_t reduction = NACRE_REDUCTION_MIN; reduction <= NACRE_REDUCTION_MAX;
             reduction++) {
            cr_assert(nacrei_reduce(nan, two, reduction, types[i]) == two);
            cr_assert(nacrei_reduce(two, nan, reduction, types[i]) == two);
        }
        cr_assert(
            !test_same(nacrei_reduce(nan, two, NACRE_REDUCTION_ADD, types[i]), two, types[i]));
    }
}

Test(reduction, identity_changes_a_value)
{
    /* Goal: a reduction of its identity with any value gives that value, and, but for sums, its
       very bits. Method: every type and reduction, corner values and random ones. */
    uint64_t state = 62;
    for (uint32_t type = NACRE_TYPE_I32; type <= NACRE_TYPE_F64; type++) {
        const bool real = type >= NACRE_TYPE_F32;
        for (uint32_t reduction = 0;
             reduction <= (real ? NACRE_REDUCTION_MAX : NACRE_REDUCTION_XOR); reduction++) {
            const uint64_t identity = nacrei_reduction_identity(reduction, type);
            for (uint64_t i = 0; i < 20000; i++) {
                const uint64_t random = test_random(&state);
                const uint64_t value = i < 8                          ? corner(i, type)
                                       : nacrei_type_bytes(type) == 4 ? (uint32_t)random
                                                                      : random;
                const uint64_t got = nacrei_reduce(identity, value, reduction, type);
                const bool nan =
                    real && reduction == NACRE_REDUCTION_ADD && test_same(got, value, type);
                cr_assert(got == value || nan, "type %u, reduction %u: 0x%llx becomes 0x%llx", type,
                          reduction, (unsigned long long)value, (unsigned long long)got);
            }
        }
    }
}

Test(reduction, one_is_not_one)
{
    /* Goal: the value that stands for "none given" is the number 1 of each type. Method: as C has
       it. */
    cr_assert(nacrei_type_one(NACRE_TYPE_I32) == 1 && nacrei_type_one(NACRE_TYPE_U32) == 1);
    cr_assert(nacrei_type_one(NACRE_TYPE_I64) == 1 && nacrei_type_one(NACRE_TYPE_U64) == 1);
    cr_assert(nacrei_type_one(NACRE_TYPE_F32) == test_f32_bits(1.0f));
    cr_assert(nacrei_type_one(NACRE_TYPE_F64) == test_f64_bits(1.0));
    cr_assert(nacrei_type_bytes(NACRE_TYPE_F32) == 4 && nacrei_type_bytes(NACRE_TYPE_F64) == 8);
    cr_assert(nacrei_type_bytes(NACRE_TYPE_I32) == 4 && nacrei_type_bytes(NACRE_TYPE_U64) == 8);
}
