/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the kept elements of a tile get their ranks in it: one struct per strategy, the only part in
 * which the block-level algorithms differ. A thread keeps elements of V vectors of S elements,
 * told by a bit each, element j of vector v at bit v * S + j. take() is called by all threads of
 * the block, and returns the number of elements that the tile keeps; rank() then tells each one's.
 *
 * Counters in shared memory are set back in each round, and no barrier stands in divergent code.
 */
#ifndef NACRE_DEVICE_COMPACT_RESERVE_CUH
#define NACRE_DEVICE_COMPACT_RESERVE_CUH

#define CUB_WRAPPED_NAMESPACE nacrei_wrapped
#include <cub/block/block_scan.cuh>

#include "device/compact/compact.h"

__device__ __forceinline__ uint32_t nacrei_bits_of(uint64_t keep, unsigned v, unsigned s)
{
    return (uint32_t)(keep >> (v * s)) & ((1u << s) - 1);
}

/*
 * Ranks within a warp, in the order of vectors, lanes, elements: by ballots, or for many elements
 * in a vector by a scan over the lanes. Returns the number of elements that the warp keeps.
 */
template <unsigned V, unsigned S>
__device__ __forceinline__ uint32_t nacrei_warp_ranks(uint64_t keep, uint32_t (&base)[V])
{
    const uint32_t lane = threadIdx.x % 32, below = (1u << lane) - 1;
    uint32_t kept = 0;
#pragma unroll
    for (unsigned v = 0; v < V; v++) {
        const uint32_t bits = nacrei_bits_of(keep, v, S);
        if constexpr (S <= 4) {
            uint32_t before = 0, all = 0;
#pragma unroll
            for (unsigned j = 0; j < S; j++) {
                const uint32_t votes = __ballot_sync(~0u, bits >> j & 1);
                before += __popc(votes & below);
                all += __popc(votes);
            }
            base[v] = kept + before;
            kept += all;
        } else {
            uint32_t sum = __popc(bits);
#pragma unroll
            for (unsigned step = 1; step < 32; step *= 2) {
                const uint32_t other = __shfl_up_sync(~0u, sum, step);
                sum += lane >= step ? other : 0;
            }
            base[v] = kept + sum - __popc(bits);
            kept += __shfl_sync(~0u, sum, 31);
        }
    }
    return kept;
}

/* The rank of an element, by that of its vector. */
template <unsigned S>
__device__ __forceinline__ uint32_t nacrei_rank(uint32_t base, uint64_t keep, unsigned v,
                                                unsigned j)
{
    return base + __popc(nacrei_bits_of(keep, v, S) & ((1u << j) - 1));
}

/* Warp-aggregated: ballots, one count per warp in shared memory. Ranks in the order of elements. */
template <unsigned V, unsigned S>
struct nacrei_by_warp {
    struct shared {
        uint32_t of_warp[NACREI_COMPACT_THREADS / 32];
    };
    uint32_t base[V];

    __device__ __forceinline__ uint32_t take(shared &shared, uint64_t keep)
    {
        const uint32_t kept = nacrei_warp_ranks<V, S>(keep, base);
        if (threadIdx.x % 32 == 0) {
            shared.of_warp[threadIdx.x / 32] = kept;
        }
        __syncthreads();
        uint32_t before = 0, all = 0;
#pragma unroll
        for (unsigned warp = 0; warp < NACREI_COMPACT_THREADS / 32; warp++) {
            before = warp == threadIdx.x / 32 ? all : before;
            all += shared.of_warp[warp];
        }
#pragma unroll
        for (unsigned v = 0; v < V; v++) {
            base[v] += before;
        }
        return all;
    }

    __device__ __forceinline__ uint32_t rank(uint64_t keep, unsigned v, unsigned j) const
    {
        return nacrei_rank<S>(base[v], keep, v, j);
    }
};

/* Block atomic: an atomic in shared memory for each element. */
template <unsigned V, unsigned S>
struct nacrei_by_block_atomic {
    struct shared {
        uint32_t kept;
    };
    uint32_t ranks[V * S];

    __device__ __forceinline__ uint32_t take(shared &shared, uint64_t keep)
    {
        if (threadIdx.x == 0) {
            shared.kept = 0;
        }
        __syncthreads();
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

    __device__ __forceinline__ uint32_t rank(uint64_t, unsigned v, unsigned j) const
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
        uint32_t start; /* of this thread's elements */

        __device__ __forceinline__ uint32_t take(shared &shared, uint64_t keep)
        {
            if (threadIdx.x == 0) {
                shared.kept = 0;
            }
            __syncthreads();
            const uint32_t mine = (uint32_t)__popcll(keep), lane = threadIdx.x % Lanes;
            uint32_t sum = mine, first = 0;
#pragma unroll
            for (unsigned step = 1; step < Lanes; step *= 2) {
                const uint32_t other = __shfl_up_sync(~0u, sum, step, Lanes);
                sum += lane >= step ? other : 0;
            }
            if (lane == Lanes - 1) {
                first = atomicAdd(&shared.kept, sum); /* relaxed: only a number */
            }
            start = __shfl_sync(~0u, first, Lanes - 1, Lanes) + sum - mine;
            __syncthreads();
            return shared.kept;
        }

        __device__ __forceinline__ uint32_t rank(uint64_t keep, unsigned v, unsigned j) const
        {
            return start + (uint32_t)__popcll(keep & (((uint64_t)1 << (v * S + j)) - 1));
        }
    };
};

/* Block scan: CUB's, over the counts of threads. */
template <unsigned V, unsigned S>
struct nacrei_by_block_scan {
    typedef nacrei_wrapped::cub::BlockScan<uint32_t, NACREI_COMPACT_THREADS> scan;
    typedef typename scan::TempStorage shared;
    uint32_t start;

    __device__ __forceinline__ uint32_t take(shared &shared, uint64_t keep)
    {
        uint32_t all;
        scan(shared).ExclusiveSum((uint32_t)__popcll(keep), start, all);
        return all;
    }

    __device__ __forceinline__ uint32_t rank(uint64_t keep, unsigned v, unsigned j) const
    {
        return start + (uint32_t)__popcll(keep & (((uint64_t)1 << (v * S + j)) - 1));
    }
};

#endif
