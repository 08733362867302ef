/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter of a batch that may not fit (nacre/cuda/claim.cuh): tickets are counted in the map's
 * own control, so that the batch is admitted exactly as many keys as there is room for. A block
 * takes a ticket for each of its threads at once, and gives back what it did not need at its end:
 * two atomics for all. Only where there is no room for so many do its threads take their own.
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

/* Adds 1 for each lane that comes here together, after what all of them did. */
static __device__ __forceinline__ void nacrei_count_key(uint64_t *counter)
{
    const uint32_t together = __activemask();
    __syncwarp(together);
    if ((together & ((1u << threadIdx.x % 32) - 1)) == 0) {
        nacrei_add_release(counter, __popc(together));
    }
}

struct nacrei_batch_meter {
    static constexpr bool metered = true;
    nacrei_control *control;
    bool block_has; /* a ticket for each thread of the block */

    /* By all threads of a block, first of all. `used`: one of them may need a ticket. */
    static __device__ __forceinline__ nacrei_batch_meter begin(nacrei_control *control, bool used)
    {
        int granted = 0;
        if (threadIdx.x == 0 && used) {
            unsigned long long *taken = (unsigned long long *)&control->taken;
            const uint64_t capacity = control->capacity_keys;
            /* Relaxed sums, as for single tickets. */
            if (nacrei_load_relaxed(&control->taken) + blockDim.x <= capacity) {
                granted = atomicAdd(taken, (unsigned long long)blockDim.x) + blockDim.x <= capacity;
                if (!granted) {
                    atomicAdd(taken, 0ull - blockDim.x);
                }
            }
        }
        return nacrei_batch_meter{control, __syncthreads_or(granted) != 0};
    }

    __device__ __forceinline__ nacrei_ticket take() const
    {
        return block_has ? NACREI_TICKET_TAKEN : nacrei_take_ticket(control);
    }

    __device__ __forceinline__ void give_back() const
    {
        if (!block_has) {
            atomicAdd((unsigned long long *)&control->taken, ~0ull); /* relaxed: a sum */
        }
    }

    __device__ __forceinline__ void count() const
    {
        if (!block_has) {
            nacrei_count_key(&control->size);
        }
    }

    /* By all threads of the block, once each knows whether it has inserted a key. */
    __device__ __forceinline__ void end(bool inserted) const
    {
        if (block_has) {
            const uint64_t keys = (uint32_t)__syncthreads_count(inserted);
            if (threadIdx.x == 0) {
                if (keys != 0) {
                    nacrei_add_release(&control->size, keys);
                }
                atomicAdd((unsigned long long *)&control->taken,
                          (unsigned long long)keys - blockDim.x); /* relaxed: a sum */
            }
        }
    }
};

#endif
