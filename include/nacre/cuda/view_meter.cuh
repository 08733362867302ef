/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meter of insertions through a view (claim.cuh). The view's room is shared out to padded
 * counters, and neighbouring threads use different ones. A thread takes from its own counter, and
 * from the others where that one is empty. All room is gone for good when as many keys have been
 * counted: a thread that finds none before then walks again, since a ticket may come back.
 */
#ifndef NACRE_CUDA_VIEW_METER_CUH
#define NACRE_CUDA_VIEW_METER_CUH

#include "nacre/cuda/claim.cuh"

/* A counter for this thread: any will do, neighbours in time had better have different ones. */
static __device__ __forceinline__ uint32_t nacrei_view_own_counter(void)
{
    uint32_t multiprocessor, warp, lane;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return (multiprocessor * 67 + warp * 33 + lane) % NACREI_VIEW_COUNTERS;
}

/* Relaxed: each counter is a sum of its own. Returns what it was. */
static __device__ __forceinline__ int64_t nacrei_view_add(void *counter, int64_t number)
{
    return (int64_t)atomicAdd((unsigned long long *)counter, (unsigned long long)number);
}

/* True when all room of the view is gone for good. */
static __device__ __forceinline__ bool nacrei_view_is_full(nacrei_view_counts *counts)
{
    uint64_t inserted = 0; /* only grows: what is read one after another is no more than the sum */
#pragma unroll 1
    for (uint32_t i = 0; i < NACREI_VIEW_COUNTERS; i++) {
        inserted += nacrei_load_relaxed(&counts->counters[i].changed);
    }
    if (inserted < counts->room) {
        return false;
    }
    __threadfence();                         /* what was counted, before the flag that says so */
    *(volatile uint32_t *)&counts->full = 1; /* spares others the sum */
    return true;
}

/*
 * A ticket where any counter has one. It looks before it takes: what many threads took and gave
 * back at once, again and again, would hide the ticket that another gave back.
 */
static __device__ __noinline__ nacrei_ticket nacrei_view_take_any(nacrei_view_counts *counts)
{
    if (nacrei_load_relaxed(&counts->full) != 0) {
        return NACREI_TICKET_NONE_EVER;
    }
    const uint32_t own = nacrei_view_own_counter();
#pragma unroll 1
    for (uint32_t i = 0; i < NACREI_VIEW_COUNTERS; i++) {
        int64_t *room = &counts->counters[(own + i) % NACREI_VIEW_COUNTERS].room;
        if ((int64_t)nacrei_load_relaxed((uint64_t *)room) > 0) {
            if (nacrei_view_add(room, -1) > 0) {
                return NACREI_TICKET_TAKEN;
            }
            nacrei_view_add(room, 1);
        }
    }
    if (nacrei_view_is_full(counts)) {
        return NACREI_TICKET_NONE_EVER;
    }
    __nanosleep(200); /* somebody holds a ticket undecided */
    return NACREI_TICKET_NONE_NOW;
}

struct nacrei_view_meter {
    static constexpr bool metered = true;
    nacrei_view_counts *counts;
    bool tried; /* the thread's own counter, without a look */

    __device__ __forceinline__ nacrei_ticket take()
    {
        if (!tried) {
            int64_t *room = &counts->counters[nacrei_view_own_counter()].room;
            tried = true;
            if (nacrei_view_add(room, -1) > 0) {
                return NACREI_TICKET_TAKEN;
            }
            nacrei_view_add(room, 1);
        }
        return nacrei_view_take_any(counts);
    }

    __device__ __forceinline__ void give_back() const
    {
        nacrei_view_add(&counts->counters[nacrei_view_own_counter()].room, 1);
    }

    __device__ __forceinline__ void count() const
    {
        nacrei_add_release(&counts->counters[nacrei_view_own_counter()].changed, 1);
    }
};

#endif
