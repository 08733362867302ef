/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one kernel of the unordered algorithms: a block takes a tile of elements into registers,
 * reserves room in the output once for all that it keeps, puts those together in shared memory, and
 * writes them out (stage.cuh).
 *
 * Source says what elements are (map_source.cuh, array_source.cuh), Reserve how they get their
 * places (reserve.cuh). A launch has a block per tile, which is 5 % faster than blocks that loop;
 * where it has fewer (in a graph, whose grid is fixed), they loop.
 */
#ifndef NACRE_DEVICE_COMPACT_TILE_CUH
#define NACRE_DEVICE_COMPACT_TILE_CUH

#include "device/compact/reserve.cuh"
#include "device/compact/stage.cuh"
#include "device/occupancy.cuh"

/* Vectors of 16 bytes that a thread takes: so many loads are in flight. */
#define NACREI_TILE_VECTORS 4
/* Of sixteen elements each: more would need more registers. */
#define NACREI_TILE_VECTORS_OF_BYTES 2

template <typename Source>
static constexpr unsigned nacrei_tile_vectors =
    Source::elements <= 8 ? NACREI_TILE_VECTORS : NACREI_TILE_VECTORS_OF_BYTES;

/* Writes one element to its place, where that is within the capacity. */
template <typename Source>
__device__ __forceinline__ void nacrei_write_element(const nacrei_target &target, uint64_t place,
                                                     const typename Source::vector &vector,
                                                     unsigned j)
{
    if (place >= target.capacity) {
        return;
    }
    if (target.first != nullptr) {
        nacrei_stream_out((typename Source::first_type *)target.first + place,
                          Source::first_of(Source::element_of(vector, j)));
    }
    if constexpr (Source::has_second) {
        if (target.second != nullptr) {
            nacrei_stream_out((typename Source::second_type *)target.second + place,
                              Source::second_of(Source::element_of(vector, j)));
        }
    }
}

/* Elements of a tile with `first` before them that the capacity has room for. */
__device__ __forceinline__ uint32_t nacrei_room_for(const nacrei_target &target, uint64_t first,
                                                    uint32_t kept)
{
    if (first >= target.capacity) {
        return 0;
    }
    const uint64_t room = target.capacity - first;
    return room < kept ? (uint32_t)room : kept;
}

/* Blocks on an SM, by registers: for few elements in a vector six, which measured best. */
template <typename Source>
static constexpr unsigned nacrei_tile_blocks = Source::elements <= 2 ? 6 : 4;

template <typename Source, template <unsigned, unsigned> class Reserve>
__global__ void __launch_bounds__(NACREI_COMPACT_THREADS,
                                  nacrei_blocks_that_fit(NACREI_COMPACT_THREADS,
                                                         nacrei_tile_blocks<Source>))
    nacrei_tile_kernel(const typename Source::parameters from, const nacrei_target target)
{
    constexpr unsigned V = nacrei_tile_vectors<Source>, S = Source::elements;
    typedef nacrei_keep<V * S> keep_type;
    typedef Reserve<V, S> reserve_type;
    typedef typename Source::element_type element_type;
    __shared__ alignas(16) element_type staged[V * S * NACREI_COMPACT_THREADS];
    __shared__ typename reserve_type::shared shared;
    __shared__ uint64_t first_shared;
    const bool wanted = target.first != nullptr || target.second != nullptr; /* not only counted */
    const uint64_t tiles = Source::tiles(from, V);
    for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const Source source(from, tile, V);
        reserve_type reserve;
        typename Source::vector content[V];
        reserve.begin(shared);
        source.template load<V>(content);
        const keep_type keep = source.template keep<V>([&](unsigned v) { return content[v]; });
        const uint32_t kept = reserve.take(shared, keep);
        if (threadIdx.x == 0) {
            /* Relaxed: places are only numbers. */
            first_shared = kept != 0 ? atomicAdd(target.needed, (unsigned long long)kept) : 0;
        }
        if (wanted) {
#pragma unroll
            for (unsigned i = 0; i < V * S; i++) {
                if (keep >> i & 1) {
                    staged[reserve.rank(i / S, i % S)] = Source::element_of(content[i / S], i % S);
                }
            }
        }
        __syncthreads();
        if (wanted) {
            const uint64_t first = first_shared;
            nacrei_write_staged<Source, NACREI_COMPACT_THREADS>(
                target, staged, first, nacrei_room_for(target, first, kept), threadIdx.x);
        }
    }
}

/* Global atomic: no tile has room of its own; each element takes a place by itself. */
template <typename Source>
__global__ void __launch_bounds__(NACREI_COMPACT_THREADS)
    nacrei_global_atomic_kernel(const typename Source::parameters from, const nacrei_target target)
{
    constexpr unsigned V = nacrei_tile_vectors<Source>, S = Source::elements;
    typedef nacrei_keep<V * S> keep_type;
    const uint64_t tiles = Source::tiles(from, V);
    for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const Source source(from, tile, V);
        typename Source::vector content[V];
        source.template load<V>(content);
        const keep_type keep = source.template keep<V>([&](unsigned v) { return content[v]; });
#pragma unroll
        for (unsigned i = 0; i < V * S; i++) {
            if (keep >> i & 1) {
                unsigned long long place;
                /*
                 * Relaxed: only a number. Not atomicAdd, which the compiler joins to one per warp.
                 */
                asm volatile("atom.global.add.u64 %0, [%1], 1;"
                             : "=l"(place)
                             : "l"(target.needed)
                             : "memory");
                nacrei_write_element<Source>(target, place, content[i / S], i % S);
            }
        }
    }
}

#endif
