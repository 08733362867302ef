/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter of insertions through a view (claim.cuh). The view's room is shared out to padded
 * counters. The lanes of a warp that come together take from one of them, and from the others where
 * that one has too little. All room is gone for good when as many keys have been counted: a thread
 * that finds none before then walks again, since a ticket may come back.
 */
#ifndef NACRE_CUDA_VIEW_METER_CUH
#define NACRE_CUDA_VIEW_METER_CUH

#include "nacre/cuda/claim.cuh"

/* A counter for this warp: any will do, neighbours in time had better have different ones. */
static __device__ __forceinline__ uint32_t nacrei_view_counter_of_warp(void)
{
    uint32_t multiprocessor, warp;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    return (multiprocessor + warp * 33) % NACREI_VIEW_COUNTERS;
}

/* Takes up to `wanted` from the counters, from number `own` on; how many. */
static __device__ __forceinline__ uint32_t nacrei_view_take_room(nacrei_view_counts *counts,
                                                                 uint32_t own, uint32_t wanted)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < NACREI_VIEW_COUNTERS && taken < wanted; i++) {
        int64_t *room = &counts->counters[(own + i) % NACREI_VIEW_COUNTERS].room;
        if ((int64_t)nacrei_load_relaxed((uint64_t *)room) > 0) {
            /* Relaxed sums: what is too much goes back at once. */
            const int64_t rest = wanted - taken;
            const int64_t was =
                (int64_t)atomicAdd((unsigned long long *)room, (unsigned long long)-rest);
            const int64_t granted = was <= 0 ? 0 : was < rest ? was : rest;
            if (granted < rest) {
                atomicAdd((unsigned long long *)room, (unsigned long long)(rest - granted));
            }
            taken += (uint32_t)granted;
        }
    }
    return taken;
}

/* True when all room of the view is gone for good. */
static __device__ __forceinline__ bool nacrei_view_is_full(nacrei_view_counts *counts)
{
    uint64_t inserted = 0; /* only grows: what is read one after another is no more than the sum */
    for (uint32_t i = 0; i < NACREI_VIEW_COUNTERS; i++) {
        inserted += nacrei_load_relaxed(&counts->counters[i].changed);
    }
    if (inserted < counts->room) {
        return false;
    }
    *(volatile uint32_t *)&counts->full = 1; /* spares others the sum */
    return true;
}

static __device__ __noinline__ nacrei_ticket nacrei_view_take_ticket(nacrei_view_counts *counts)
{
    if (nacrei_load_relaxed(&counts->full) != 0) {
        return NACREI_TICKET_NONE_EVER;
    }
    const uint32_t together = __activemask();
    const uint32_t rank = __popc(together & nacrei_lanes_below());
    uint32_t taken = 0;
    uint32_t full = 0;
    if (rank == 0) {
        taken = nacrei_view_take_room(counts, nacrei_view_counter_of_warp(), __popc(together));
        if (taken == 0) {
            full = nacrei_view_is_full(counts);
            if (!full) {
                __nanosleep(200); /* somebody holds a ticket undecided */
            }
        }
    }
    taken = __shfl_sync(together, taken, __ffs(together) - 1);
    full = __shfl_sync(together, full, __ffs(together) - 1);
    return rank < taken ? NACREI_TICKET_TAKEN
           : full       ? NACREI_TICKET_NONE_EVER
                        : NACREI_TICKET_NONE_NOW;
}

struct nacrei_view_meter {
    static constexpr bool metered = true;
    nacrei_view_counts *counts;

    __device__ __forceinline__ nacrei_ticket take() const
    {
        return nacrei_view_take_ticket(counts);
    }

    __device__ __forceinline__ void give_back() const
    {
        nacrei_count_lanes((uint64_t *)&counts->counters[nacrei_view_counter_of_warp()].room);
    }

    __device__ __forceinline__ void count() const
    {
        nacrei_count_lanes(&counts->counters[nacrei_view_counter_of_warp()].changed);
    }
};

#endif
