/* SPDX-License-Identifier: Apache-2.0 */
/* What an operation does to the value of a key that is there. */
#ifndef NACRE_CUDA_VALUE_CUH
#define NACRE_CUDA_VALUE_CUH

#include "nacre/core/reduction.h"
#include "nacre/cuda/slot.cuh"

/*
 * Overwrites a value. By an exchange whose result nobody wants, not a store: the L2 cache combines
 * atomics on one address five times as fast as stores, which counts for hot keys. Relaxed: a value
 * is a word of its own.
 */
template <typename Width>
__device__ __forceinline__ void nacrei_assign_value(char *slot, typename Width::value_type value)
{
    if constexpr (sizeof(value) == 8) {
        atomicExch((unsigned long long *)Width::value_address(slot), (unsigned long long)value);
    } else {
        atomicExch((unsigned int *)Width::value_address(slot), (unsigned int)value);
    }
}

/* Combines a value with one more. Relaxed: each value is a word of its own. */
template <typename Width>
__device__ __forceinline__ void nacrei_apply_value(char *slot, typename Width::value_type value,
                                                   uint32_t reduction, uint32_t type)
{
    typedef typename Width::value_type value_type;
    value_type *address = Width::value_address(slot);
    if constexpr (sizeof(value_type) == 4) {
        if (reduction == NACRE_REDUCTION_ADD) {
            if (type == NACRE_TYPE_F32) {
                atomicAdd((float *)address, __uint_as_float(value));
            } else {
                atomicAdd((unsigned int *)address, value);
            }
            return;
        }
    } else {
        if (reduction == NACRE_REDUCTION_ADD) {
            if (type == NACRE_TYPE_F64) {
                atomicAdd((double *)address, __longlong_as_double((long long)value));
            } else {
                atomicAdd((unsigned long long *)address, (unsigned long long)value);
            }
            return;
        }
    }
    value_type old = nacrei_load_relaxed(address);
    for (;;) {
        value_type next = (value_type)nacrei_reduce(old, value, reduction, type);
        if (next == old) {
            return;
        }
        value_type was = nacrei_swap_slot(address, old, next);
        if (was == old) {
            return;
        }
        old = was;
    }
}

#endif
