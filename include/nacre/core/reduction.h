/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions: what insert_or_apply does to a value. One function on bits, used by the CPU backend
 * and by compare-and-swap loops on the device.
 */
#ifndef NACRE_CORE_REDUCTION_H
#define NACRE_CORE_REDUCTION_H

#include <string.h>

#include "nacre/core/inline.h"
#include "nacre/types.h"

NACREI_INLINE uint32_t nacrei_type_bytes(uint32_t type)
{
    return type == NACRE_TYPE_I32 || type == NACRE_TYPE_U32 || type == NACRE_TYPE_F32 ? 4u : 8u;
}

/* The bits of the number 1, which stands for a value that was not given. */
NACREI_INLINE uint64_t nacrei_type_one(uint32_t type)
{
    return type == NACRE_TYPE_F32 ? 0x3F800000u : type == NACRE_TYPE_F64 ? 0x3FF0000000000000u : 1u;
}

#define NACREI_REDUCE_NUMBER(number, old_bits, bits, reduction) \
    do {                                                        \
        number a, b;                                            \
        memcpy(&a, &(old_bits), sizeof a);                      \
        memcpy(&b, &(bits), sizeof b);                          \
        if ((reduction) == NACRE_REDUCTION_ADD) {               \
            a = a + b;                                          \
        } else if ((reduction) == NACRE_REDUCTION_MIN) {        \
            a = b < a || a != a ? b : a;                        \
        } else {                                                \
            a = b > a || a != a ? b : a;                        \
        }                                                       \
        memcpy(&(old_bits), &a, sizeof a);                      \
    } while (0)

/*
 * The bits that a reduction with any value turns into that value. Of the minimum and maximum of
 * floating-point numbers it is a NaN, which those pass over.
 */
NACREI_INLINE uint64_t nacrei_reduction_identity(uint32_t reduction, uint32_t type)
{
    const uint32_t bits = 8 * nacrei_type_bytes(type);
    const uint64_t ones = ~(uint64_t)0 >> (64 - bits), top = (uint64_t)1 << (bits - 1);
    const uint32_t is_float = type == NACRE_TYPE_F32 || type == NACRE_TYPE_F64;
    const uint32_t is_signed = type == NACRE_TYPE_I32 || type == NACRE_TYPE_I64;
    switch (reduction) {
    case NACRE_REDUCTION_ADD:
        return is_float ? top : 0; /* -0.0: +0.0 would lose the sign of -0.0 */
    case NACRE_REDUCTION_MIN:
        return is_signed ? ones ^ top : ones;
    case NACRE_REDUCTION_MAX:
        return is_float ? ones : is_signed ? top : 0;
    case NACRE_REDUCTION_AND:
        return ones;
    default: /* or, xor */
        return 0;
    }
}

/* old (reduction) value, in the lowest nacrei_type_bytes(type) bytes; the rest is zero. */
NACREI_INLINE uint64_t nacrei_reduce(uint64_t old, uint64_t value, uint32_t reduction,
                                     uint32_t type)
{
    if (reduction == NACRE_REDUCTION_AND) {
        return old & value;
    }
    if (reduction == NACRE_REDUCTION_OR) {
        return old | value;
    }
    if (reduction == NACRE_REDUCTION_XOR) {
        return old ^ value;
    }
    switch (type) {
    case NACRE_TYPE_F32:
        NACREI_REDUCE_NUMBER(float, old, value, reduction);
        return old;
    case NACRE_TYPE_F64:
        NACREI_REDUCE_NUMBER(double, old, value, reduction);
        return old;
    default:
        break;
    }
    if (reduction == NACRE_REDUCTION_ADD) {
        old += value;
        return nacrei_type_bytes(type) == 4 ? (uint32_t)old : old;
    }
    int less;
    switch (type) {
    case NACRE_TYPE_I32:
        less = (int32_t)(uint32_t)value < (int32_t)(uint32_t)old;
        break;
    case NACRE_TYPE_I64:
        less = (int64_t)value < (int64_t)old;
        break;
    default:
        less = value < old;
        break;
    }
    return (reduction == NACRE_REDUCTION_MIN) == (less != 0) ? value : old;
}

#endif
