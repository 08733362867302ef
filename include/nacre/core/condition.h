/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions: whether a number is in a range, or has certain bits. Whatever the type, a test comes
 * to one comparison of unsigned numbers: low <= order(x & mask) <= high, where order() maps the
 * bits of a number to an unsigned one that sorts as the numbers do. "Every number" is mask 0,
 * "these bits" a range of one number.
 */
#ifndef NACRE_CORE_CONDITION_H
#define NACRE_CORE_CONDITION_H

#include "nacre/core/inline.h"
#include "nacre/types.h"

typedef struct nacrei_condition {
    uint64_t mask;
    uint64_t sign; /* the sign bit of a signed type; else 0 */
    uint64_t
        turns; /* of a floating-point type, all bits: negative numbers sort backwards; else 0 */
    uint64_t low, high;
} nacrei_condition;

NACREI_INLINE uint64_t nacrei_condition_order(const nacrei_condition *condition, uint64_t x)
{
    return (x & condition->sign) != 0 && condition->turns != 0 ? x ^ condition->turns
                                                               : x ^ condition->sign;
}

NACREI_INLINE int nacrei_condition_holds(const nacrei_condition *condition, uint64_t x)
{
    const uint64_t place = nacrei_condition_order(condition, x & condition->mask);
    return condition->low <= place && place <= condition->high;
}

/* `x` is a NaN of the condition's type. */
static inline int nacrei_condition_is_nan(const nacrei_condition *condition, uint64_t x)
{
    const uint64_t infinity =
        condition->sign == (uint64_t)1 << 31 ? 0x7F800000u : 0x7FF0000000000000u;
    return condition->turns != 0 && (x & ~condition->sign) > infinity;
}

/* From the caller's words, which have been checked. */
static inline nacrei_condition nacrei_condition_of(const nacre_condition *given)
{
    nacrei_condition made = {0, 0, 0, 0, 0};
    if (given->test == NACRE_TEST_BITS) {
        made.mask = given->mask;
        made.low = given->bits;
        made.high = given->bits;
    } else if (given->test == NACRE_TEST_RANGE) {
        const uint32_t type = given->type;
        const int narrow =
            type == NACRE_TYPE_I32 || type == NACRE_TYPE_U32 || type == NACRE_TYPE_F32;
        const int is_float = type == NACRE_TYPE_F32 || type == NACRE_TYPE_F64;
        made.mask = narrow ? UINT32_MAX : UINT64_MAX;
        made.sign = type == NACRE_TYPE_U32 || type == NACRE_TYPE_U64 ? 0 : made.mask / 2 + 1;
        made.turns = is_float ? made.mask : 0;
        if (nacrei_condition_is_nan(&made, given->low) ||
            nacrei_condition_is_nan(&made, given->high)) {
            made.low = 1; /* no number is in a range without an end */
            return made;
        }
        /* Both zeros are one number, in the range or not. */
        const uint64_t low = is_float && given->low == 0 ? made.sign : given->low;
        const uint64_t high = is_float && given->high == made.sign ? 0 : given->high;
        made.low = nacrei_condition_order(&made, low);
        made.high = nacrei_condition_order(&made, high);
    }
    return made;
}

#endif
