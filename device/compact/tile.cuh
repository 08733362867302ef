/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one kernel of the unordered algorithms: a block takes a tile of elements into registers,
 * reserves room in the output once for all that it keeps, puts those together in shared memory, and
 * writes them out in aligned vectors of 16 bytes. That last step counts: stores straight from
 * registers touch lines in pieces (0.96 of the copy bandwidth at load 0.9, staged 0.99).
 *
 * Source says what elements are (map_source.cuh, array_source.cuh), Reserve how they get their
 * places (reserve.cuh). A launch has a block per tile, which is 5 % faster than blocks that loop;
 * where it has fewer (in a graph, whose grid is fixed), they loop.
 */
#ifndef NACRE_DEVICE_COMPACT_TILE_CUH
#define NACRE_DEVICE_COMPACT_TILE_CUH

#include "device/compact/reserve.cuh"

/* Vectors of 16 bytes that a thread takes: so many loads are in flight. */
#define NACREI_TILE_VECTORS 4
/* Of sixteen elements each: more would need more registers. */
#define NACREI_TILE_VECTORS_OF_BYTES 2

template <typename Source>
static constexpr unsigned nacrei_tile_vectors =
    Source::elements <= 8 ? NACREI_TILE_VECTORS : NACREI_TILE_VECTORS_OF_BYTES;

template <typename Type>
__device__ __forceinline__ void nacrei_stream_out(Type *to, Type value)
{
    __stcs(to, value);
}

/*
 * Copies `bytes` bytes that begin at `shift` of `stage` to `to`, where `to` - shift is a multiple
 * of 16: vectors inside, elements at both ends.
 */
template <typename Type>
__device__ __forceinline__ void nacrei_write_run(const unsigned char *stage, char *to,
                                                 uint32_t shift, uint32_t bytes)
{
    char *base = to - shift;
    const uint32_t end = shift + bytes;
    for (uint32_t at = threadIdx.x * 16; at < end; at += NACREI_COMPACT_THREADS * 16) {
        if (at >= shift && at + 16 <= end) {
            __stcs((ulonglong2 *)(base + at), *(const ulonglong2 *)(stage + at));
        } else {
#pragma unroll
            for (uint32_t i = 0; i < 16; i += sizeof(Type)) {
                if (at + i >= shift && at + i < end) {
                    nacrei_stream_out((Type *)(base + at + i), *(const Type *)(stage + at + i));
                }
            }
        }
    }
}

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
                          Source::first_of(vector, j));
    }
    if constexpr (Source::has_second) {
        if (target.second != nullptr) {
            nacrei_stream_out((typename Source::second_type *)target.second + place,
                              Source::second_of(vector, j));
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
static constexpr int nacrei_tile_blocks = Source::elements <= 2 ? 6 : 4;

template <typename Source, template <unsigned, unsigned> class Reserve>
__global__ void __launch_bounds__(NACREI_COMPACT_THREADS, nacrei_tile_blocks<Source>)
    nacrei_tile_kernel(const typename Source::parameters from, const nacrei_target target)
{
    constexpr unsigned V = nacrei_tile_vectors<Source>, S = Source::elements;
    typedef Reserve<V, S> reserve_type;
    typedef typename Source::first_type first_type;
    typedef typename Source::second_type second_type;
    constexpr uint32_t first_bytes = (V * S * NACREI_COMPACT_THREADS * sizeof(first_type)) + 16;
    constexpr uint32_t second_bytes =
        Source::has_second ? (V * S * NACREI_COMPACT_THREADS * sizeof(second_type)) + 16 : 0;
    __shared__ alignas(16) unsigned char stage[first_bytes + second_bytes];
    __shared__ typename reserve_type::shared shared;
    __shared__ uint64_t first_shared;
    const uint64_t tiles = Source::tiles(from, V);
    for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        Source source(from, tile, V);
        typename Source::vector content[V];
        const uint64_t keep = source.template load<V>(content);
        reserve_type reserve;
        const uint32_t kept = reserve.take(shared, keep);
        if (threadIdx.x == 0) {
            /* Relaxed: places are only numbers. */
            first_shared = kept != 0 ? atomicAdd(target.needed, (unsigned long long)kept) : 0;
        }
        __syncthreads();
        const uint64_t first = first_shared;
        const uint32_t room = nacrei_room_for(target, first, kept);
        first_type *first_out = (first_type *)target.first + first;
        second_type *second_out = (second_type *)target.second + first;
        const uint32_t first_shift = (uint32_t)((uintptr_t)first_out % 16);
        const uint32_t second_shift = (uint32_t)((uintptr_t)second_out % 16);
        if (target.first != nullptr || target.second != nullptr) {
#pragma unroll
            for (unsigned i = 0; i < V * S; i++) {
                const uint32_t rank = reserve.rank(keep, i / S, i % S);
                if (keep >> i & 1) {
                    *((first_type *)(stage + first_shift) + rank) =
                        Source::first_of(content[i / S], i % S);
                    if constexpr (Source::has_second) {
                        *((second_type *)(stage + first_bytes + second_shift) + rank) =
                            Source::second_of(content[i / S], i % S);
                    }
                }
            }
        }
        __syncthreads();
        if (target.first != nullptr) {
            nacrei_write_run<first_type>(stage, (char *)first_out, first_shift,
                                         room * sizeof(first_type));
        }
        if constexpr (Source::has_second) {
            if (target.second != nullptr) {
                nacrei_write_run<second_type>(stage + first_bytes, (char *)second_out, second_shift,
                                              room * sizeof(second_type));
            }
        }
        __syncthreads(); /* before the next round writes what is shared */
    }
}

/* Global atomic: no tile has room of its own; each element takes a place by itself. */
template <typename Source>
__global__ void __launch_bounds__(NACREI_COMPACT_THREADS)
    nacrei_global_atomic_kernel(const typename Source::parameters from, const nacrei_target target)
{
    constexpr unsigned V = nacrei_tile_vectors<Source>, S = Source::elements;
    const uint64_t tiles = Source::tiles(from, V);
    for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        Source source(from, tile, V);
        typename Source::vector content[V];
        const uint64_t keep = source.template load<V>(content);
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
