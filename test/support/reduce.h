/* SPDX-License-Identifier: Apache-2.0 */
/* What a reduction should give, in plain C arithmetic: the reference for core/reduction.h. */
#ifndef NACRE_TEST_REDUCE_H
#define NACRE_TEST_REDUCE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "nacre/types.h"

static inline double test_reduce_real(double old, double value, uint32_t reduction)
{
    if (isnan(old) || isnan(value)) { /* not fmin, which turns a signalling NaN into a quiet one */
        return isnan(old) ? value : old;
    }
    return reduction == NACRE_REDUCTION_MIN ? (value < old ? value : old)
                                            : (value > old ? value : old);
}

static inline int64_t test_signed(uint64_t bits, uint32_t type)
{
    return type == NACRE_TYPE_I32 ? (int64_t)(int32_t)(uint32_t)bits : (int64_t)bits;
}

static inline float test_f32(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float number;
    memcpy(&number, &low, 4);
    return number;
}

static inline double test_f64(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, 8);
    return number;
}

static inline uint64_t test_f32_bits(float number)
{
    uint32_t low;
    memcpy(&low, &number, 4);
    return low;
}

static inline uint64_t test_f64_bits(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, 8);
    return bits;
}

/* old (reduction) value as bits of the type. */
static inline uint64_t test_reduce(uint64_t old, uint64_t value, uint32_t reduction, uint32_t type)
{
    uint64_t mask = type == NACRE_TYPE_I32 || type == NACRE_TYPE_U32 ? 0xFFFFFFFFu : UINT64_MAX;
    if (type == NACRE_TYPE_F32) {
        float a = test_f32(old), b = test_f32(value);
        return test_f32_bits(reduction == NACRE_REDUCTION_ADD
                                 ? a + b
                                 : (float)test_reduce_real((double)a, (double)b, reduction));
    }
    if (type == NACRE_TYPE_F64) {
        double a = test_f64(old), b = test_f64(value);
        return test_f64_bits(reduction == NACRE_REDUCTION_ADD ? a + b
                                                              : test_reduce_real(a, b, reduction));
    }
    int is_signed = type == NACRE_TYPE_I32 || type == NACRE_TYPE_I64;
    int value_less = is_signed ? test_signed(value, type) < test_signed(old, type)
                               : (value & mask) < (old & mask);
    switch (reduction) {
    case NACRE_REDUCTION_ADD:
        return (old + value) & mask;
    case NACRE_REDUCTION_MIN:
        return (value_less ? value : old) & mask;
    case NACRE_REDUCTION_MAX:
        return (value_less ? old : value) & mask;
    case NACRE_REDUCTION_AND:
        return old & value & mask;
    case NACRE_REDUCTION_OR:
        return (old | value) & mask;
    default:
        return (old ^ value) & mask;
    }
}

/* Equal as values of the type: every NaN is like every other, and 0 like -0. */
static inline int test_same(uint64_t a, uint64_t b, uint32_t type)
{
    if (type == NACRE_TYPE_F32) {
        return test_f32(a) == test_f32(b) || (isnan(test_f32(a)) && isnan(test_f32(b)));
    }
    if (type == NACRE_TYPE_F64) {
        return test_f64(a) == test_f64(b) || (isnan(test_f64(a)) && isnan(test_f64(b)));
    }
    return a == b;
}

#endif
