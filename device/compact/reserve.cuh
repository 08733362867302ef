/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the kept elements of a tile get their ranks in it: one struct per strategy, the only part in
 * which the block-level algorithms differ. A thread keeps elements of V vectors of S elements,
 * told by a bit each, element j of vector v at bit v * S + j. begin() and take() are called by all
 * threads of the block; take() returns the number of elements that the tile keeps. Then rank() is
 * called once for each that the thread keeps, in their order.
 *
 * Counters in shared memory are set back in each round, by begin(), which ends in a barrier: it is
 * called before a tile's loads. No barrier stands in divergent code.
 */
#ifndef NACRE_DEVICE_COMPACT_RESERVE_CUH
#define NACRE_DEVICE_COMPACT_RESERVE_CUH

#include <cub/block/block_scan.cuh>

#include "device/compact/compact.h"

#define NACREI_COMPACT_WARPS (NACREI_COMPACT_THREADS / 32)

template <bool Wide>
struct nacrei_keep_word {
    typedef uint32_t type;
};
template <>
struct nacrei_keep_word<true> {
    typedef uint64_t type;
};

/* A bit for each of so many elements. */
template <unsigned Elements>
using nacrei_keep = typename nacrei_keep_word<(Elements > 32)>::type;

template <typename Keep>
__device__ __forceinline__ uint32_t nacrei_bits_of(Keep keep, unsigned v, unsigned s)
{
    return (uint32_t)(keep >> (v * s)) & ((1u << s) - 1);
}

__device__ __forceinline__ uint32_t nacrei_count_bits(uint32_t keep)
{
    return (uint32_t)__popc(keep);
}
__device__ __forceinline__ uint32_t nacrei_count_bits(uint64_t keep)
{
    return (uint32_t)__popcll(keep);
}

/* The sum over each lane and those before it in its group. */
template <unsigned Lanes>
__device__ __forceinline__ uint32_t nacrei_sum_lanes(uint32_t sum)
{
#pragma unroll
    for (unsigned step = 1; step < Lanes; step *= 2) {
        /* The predicate tells whether there is such a lane, which saves a comparison. */
        asm volatile("{\n\t"
                     ".reg .u32 other;\n\t"
                     ".reg .pred there;\n\t"
                     "shfl.sync.up.b32 other|there, %0, %1, %2, 0xffffffff;\n\t"
                     "@there add.u32 %0, %0, other;\n\t"
                     "}"
                     : "+r"(sum)
                     : "r"(step), "n"((32 - Lanes) << 8));
    }
    return sum;
}

/*
 * Ranks within a warp, in the order of vectors, lanes, elements. The counts of several vectors are
 * added up over the lanes as the fields of one word. Returns the number of elements that the warp
 * keeps.
 */
template <unsigned V, unsigned S>
__device__ __forceinline__ uint32_t nacrei_warp_ranks(nacrei_keep<V * S> keep, uint32_t (&base)[V])
{
    constexpr unsigned bits = 32 * S < 256 ? 8 : 16, fields = 32 / bits;
    constexpr uint32_t mask = (1u << bits) - 1;
    uint32_t kept = 0;
#pragma unroll
    for (unsigned first = 0; first < V; first += fields) {
        uint32_t counts = 0;
#pragma unroll
        for (unsigned f = 0; f < fields && first + f < V; f++) {
            counts |= __popc(nacrei_bits_of(keep, first + f, S)) << (f * bits);
        }
        const uint32_t sum = nacrei_sum_lanes<32>(counts);
        const uint32_t all = __shfl_sync(~0u, sum, 31), before = sum - counts;
#pragma unroll
        for (unsigned f = 0; f < fields && first + f < V; f++) {
            base[first + f] = kept + (before >> (f * bits) & mask);
            kept += all >> (f * bits) & mask;
        }
    }
    return kept;
}

/*
 * Warp-aggregated: one count per warp, added to what is before each later warp. Ranks in the order
 * of elements.
 */
template <unsigned V, unsigned S>
struct nacrei_by_warp {
    struct shared {
        uint32_t before[NACREI_COMPACT_WARPS + 1]; /* each warp; the last: all of them */
    };
    uint32_t before, kept; /* by the warps before this one; by it */
    uint32_t base[V];      /* of the next element of each vector */

    static __device__ __forceinline__ void begin(shared &shared)
    {
        if (threadIdx.x <= NACREI_COMPACT_WARPS) {
            shared.before[threadIdx.x] = 0;
        }
        __syncthreads();
    }

    __device__ __forceinline__ uint32_t take(shared &shared, nacrei_keep<V * S> keep)
    {
        const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        kept = nacrei_warp_ranks<V, S>(keep, base);
        if (lane > warp && lane <= NACREI_COMPACT_WARPS) {
            atomicAdd(&shared.before[lane], kept); /* relaxed: a barrier follows */
        }
        __syncthreads();
        before = shared.before[warp];
#pragma unroll
        for (unsigned v = 0; v < V; v++) {
            base[v] += before;
        }
        return shared.before[NACREI_COMPACT_WARPS];
    }

    __device__ __forceinline__ uint32_t rank(unsigned v, unsigned)
    {
        return base[v]++;
    }
};

/* Block atomic: an atomic in shared memory for each element. */
template <unsigned V, unsigned S>
struct nacrei_by_block_atomic {
    struct shared {
        uint32_t kept;
    };
    uint32_t ranks[V * S];

    static __device__ __forceinline__ void begin(shared &shared)
    {
        if (threadIdx.x == 0) {
            shared.kept = 0;
        }
        __syncthreads();
    }

    __device__ __forceinline__ uint32_t take(shared &shared, nacrei_keep<V * S> keep)
    {
        const uint32_t address = (uint32_t)__cvta_generic_to_shared(&shared.kept);
#pragma unroll
        for (unsigned i = 0; i < V * S; i++) {
            if (keep >> i & 1) {
                /*
                 * Relaxed: only a number. Not atomicAdd, which the compiler joins to one per warp.
                 */
                asm volatile("atom.shared.add.u32 %0, [%1], 1;"
                             : "=r"(ranks[i])
                             : "r"(address)
                             : "memory");
            }
        }
        __syncthreads();
        return shared.kept;
    }

    __device__ __forceinline__ uint32_t rank(unsigned v, unsigned j) const
    {
        return ranks[v * S + j];
    }
};

/* Tiles: groups of Lanes threads add up by shuffles; an atomic in shared memory for each group. */
template <unsigned Lanes>
struct nacrei_by_tile {
    template <unsigned V, unsigned S>
    struct of {
        struct shared {
            uint32_t kept;
        };
        uint32_t next; /* of this thread's elements */

        static __device__ __forceinline__ void begin(shared &shared)
        {
            if (threadIdx.x == 0) {
                shared.kept = 0;
            }
            __syncthreads();
        }

        __device__ __forceinline__ uint32_t take(shared &shared, nacrei_keep<V * S> keep)
        {
            const uint32_t mine = nacrei_count_bits(keep);
            const uint32_t sum = nacrei_sum_lanes<Lanes>(mine);
            uint32_t first = 0;
            if (threadIdx.x % Lanes == Lanes - 1) {
                first = atomicAdd(&shared.kept, sum); /* relaxed: only a number */
            }
            next = __shfl_sync(~0u, first, Lanes - 1, Lanes) + sum - mine;
            __syncthreads();
            return shared.kept;
        }

        __device__ __forceinline__ uint32_t rank(unsigned, unsigned)
        {
            return next++;
        }
    };
};

/* Block scan: CUB's, over the counts of threads. */
template <unsigned V, unsigned S>
struct nacrei_by_block_scan {
    typedef nacrei_wrapped::cub::BlockScan<uint32_t, NACREI_COMPACT_THREADS> scan;
    typedef typename scan::TempStorage shared;
    uint32_t next;

    static __device__ __forceinline__ void begin(shared &)
    {
        __syncthreads(); /* the round before has been read */
    }

    __device__ __forceinline__ uint32_t take(shared &shared, nacrei_keep<V * S> keep)
    {
        uint32_t all;
        scan(shared).ExclusiveSum(nacrei_count_bits(keep), next, all);
        return all;
    }

    __device__ __forceinline__ uint32_t rank(unsigned, unsigned)
    {
        return next++;
    }
};

#endif
