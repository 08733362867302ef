/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter of a batch that may not fit (nacre/cuda/claim.cuh): tickets are counted in the map's
 * own control, so that the batch is admitted exactly as many keys as there is room for.
 */
#ifndef NACRE_DEVICE_BATCH_METER_CUH
#define NACRE_DEVICE_BATCH_METER_CUH

#include "nacre/cuda/claim.cuh"

/*
 * The lanes that come here together take their tickets by one atomic: one for each thread would
 * hold a batch up at its single address.
 */
static __device__ __noinline__ nacrei_ticket nacrei_take_ticket(nacrei_control *control)
{
    unsigned long long *taken = (unsigned long long *)&control->taken;
    const uint64_t capacity = control->capacity_keys;
    /* Keys only grow in number during an insertion: once full, full for the whole batch. */
    if (nacrei_load_relaxed(&control->size) >= capacity) {
        return NACREI_TICKET_NONE_EVER;
    }
    if (nacrei_load_relaxed(&control->taken) >= capacity) {
        __nanosleep(200); /* somebody holds a ticket undecided */
        return NACREI_TICKET_NONE_NOW;
    }
    const uint32_t together = __activemask();
    const uint32_t rank = __popc(together & ((1u << threadIdx.x % 32) - 1));
    uint64_t first = 0;
    if (rank == 0) {
        /* Relaxed sums: what is too much goes back at once. */
        const uint32_t wanted = __popc(together);
        first = atomicAdd(taken, (unsigned long long)wanted);
        const uint64_t granted = first < capacity ? capacity - first : 0;
        if (granted < wanted) {
            atomicAdd(taken, granted - (unsigned long long)wanted);
        }
    }
    first = __shfl_sync(together, first, __ffs(together) - 1);
    return first + rank < capacity ? NACREI_TICKET_TAKEN : NACREI_TICKET_NONE_NOW;
}

/* Adds 1 for each lane that comes here together. Relaxed. */
static __device__ __forceinline__ void nacrei_count_key(uint64_t *counter)
{
    const uint32_t together = __activemask();
    if ((together & ((1u << threadIdx.x % 32) - 1)) == 0) {
        atomicAdd((unsigned long long *)counter, (unsigned long long)__popc(together));
    }
}

struct nacrei_batch_meter {
    static constexpr bool metered = true;
    nacrei_control *control;

    __device__ __forceinline__ nacrei_ticket take() const
    {
        return nacrei_take_ticket(control);
    }

    __device__ __forceinline__ void give_back() const
    {
        atomicAdd((unsigned long long *)&control->taken, ~0ull); /* relaxed: a sum */
    }

    __device__ __forceinline__ void count() const
    {
        nacrei_count_key(&control->size);
    }
};

#endif
