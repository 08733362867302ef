/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stable form: one pass, elements in their order. A tile may write when it knows how many
 * elements the tiles before it keep, and that wait decides: memory is busy only if many bytes are
 * under way meanwhile. So a tile is copied into shared memory without going through registers, of
 * which a block then needs so few that an SM holds six tiles of 32 KB. What needs no place is done
 * in that wait: each warp puts what it keeps together where it lies.
 *
 * Who adds up: not every tile by looking back at those before it, but one warp for all. A tile
 * puts its count into its place of a ring; the warp takes counts in order, as they come, and puts
 * what is before each tile into another; the tile polls its own place and hands it on to the tile
 * that comes a round later. Looking back was measured at the same rate in tiles of 16 KB, and at
 * less the more entries a tile looks at; this way the scratch has one size, however large a table
 * a captured call meets.
 *
 * Tiles are numbered by tickets in the order in which blocks start, and the adding warp is that of
 * ticket 0: whoever waits, waits for blocks that run.
 */
#ifndef NACRE_DEVICE_COMPACT_STABLE_CUH
#define NACRE_DEVICE_COMPACT_STABLE_CUH

#include "device/compact/tile.cuh"

#define NACREI_STABLE_BLOCKS 6 /* on an SM */

/*
 * Words of the ring: whose turn it is in 18 bits, a count in 46. All accesses are relaxed: what is
 * told is in the word itself.
 */
__device__ __forceinline__ uint64_t nacrei_ring_word(uint64_t turn, uint64_t count)
{
    return turn << 46 | count;
}

__device__ __forceinline__ uint64_t nacrei_ring_turn(uint64_t word)
{
    return word >> 46;
}

__device__ __forceinline__ uint64_t nacrei_ring_count(uint64_t word)
{
    return word & (((uint64_t)1 << 46) - 1);
}

__device__ __forceinline__ uint64_t nacrei_ring_load(const uint64_t *word)
{
    uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ void nacrei_ring_store(uint64_t *word, uint64_t value)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

/*
 * One warp adds up the counts of all tiles. counts[tile % ring] is tile's when its turn is tile /
 * ring + 1. places[tile % ring] is free for tile's sum when its turn is 2 * (tile / ring), and
 * holds it at the next.
 */
__device__ __forceinline__ void nacrei_add_up(nacrei_stable_scratch *scratch, uint64_t tiles,
                                              unsigned long long *needed)
{
    constexpr unsigned chunks = 4; /* of 32 tiles, read at a time */
    const uint32_t lane = threadIdx.x % 32;
    uint64_t next = 0, sum = 0;
    while (next < tiles) {
        uint64_t words[chunks], free[chunks];
#pragma unroll
        for (unsigned c = 0; c < chunks; c++) {
            const uint64_t place = (next + 32 * c + lane) % NACREI_COMPACT_RING;
            words[c] = nacrei_ring_load(&scratch->counts[place]);
            free[c] = nacrei_ring_load(&scratch->places[place]);
        }
        bool whole = true;
#pragma unroll
        for (unsigned c = 0; c < chunks; c++) {
            if (whole) {
                const uint64_t tile = next + lane, turn = tile / NACREI_COMPACT_RING;
                const bool ready = tile < tiles && nacrei_ring_turn(words[c]) == turn + 1 &&
                                   nacrei_ring_turn(free[c]) == 2 * turn;
                const uint32_t waiting = __ballot_sync(~0u, !ready);
                const uint32_t run = waiting != 0 ? __ffs((int)waiting) - 1 : 32;
                const uint32_t mine = lane < run ? (uint32_t)nacrei_ring_count(words[c]) : 0;
                uint32_t before = mine;
#pragma unroll
                for (unsigned step = 1; step < 32; step *= 2) {
                    const uint32_t other = __shfl_up_sync(~0u, before, step);
                    before += lane >= step ? other : 0;
                }
                if (lane < run) {
                    nacrei_ring_store(&scratch->places[tile % NACREI_COMPACT_RING],
                                      nacrei_ring_word(2 * turn + 1, sum + before - mine));
                }
                sum += __shfl_sync(~0u, before, 31);
                next += run;
                whole = run == 32;
            }
        }
    }
    if (lane == 0) {
        *needed = sum;
    }
}

/* Tells the count of a tile. One thread. */
__device__ __forceinline__ void nacrei_tell_count(nacrei_stable_scratch *scratch, uint64_t tile,
                                                  uint32_t kept)
{
    const uint64_t turn = tile / NACREI_COMPACT_RING;
    /* A count is taken before its place is free again: the place alone tells that both are. */
    while (nacrei_ring_turn(nacrei_ring_load(&scratch->places[tile % NACREI_COMPACT_RING])) !=
           2 * turn) {
    }
    nacrei_ring_store(&scratch->counts[tile % NACREI_COMPACT_RING],
                      nacrei_ring_word(turn + 1, kept));
}

/* Returns what the tiles before one keep, and hands its place in the ring on. */
__device__ __forceinline__ uint64_t nacrei_wait_for_place(nacrei_stable_scratch *scratch,
                                                          uint64_t tile)
{
    const uint64_t turn = tile / NACREI_COMPACT_RING;
    uint64_t *place = &scratch->places[tile % NACREI_COMPACT_RING];
    uint64_t word = nacrei_ring_load(place);
    while (nacrei_ring_turn(word) != 2 * turn + 1) {
        __nanosleep(200); /* polls cost the adding warp its speed */
        word = nacrei_ring_load(place);
    }
    nacrei_ring_store(place, nacrei_ring_word(2 * turn + 2, 0));
    return nacrei_ring_count(word);
}

/* Global to shared memory, without registers where the GPU can. */
template <unsigned Bytes>
__device__ __forceinline__ void nacrei_copy_async(void *to, const void *from)
{
#if __CUDA_ARCH__ >= 800
    const uint32_t address = (uint32_t)__cvta_generic_to_shared(to);
    if constexpr (Bytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(address), "l"(from));
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                     :
                     : "r"(address), "l"(from), "n"(Bytes));
    }
#else
    if constexpr (Bytes == 16) {
        *(ulonglong2 *)to = *(const ulonglong2 *)from;
    } else if constexpr (Bytes == 8) {
        *(uint64_t *)to = *(const uint64_t *)from;
    } else {
        *(uint32_t *)to = *(const uint32_t *)from;
    }
#endif
}

__device__ __forceinline__ void nacrei_copy_async_wait(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

/* Vectors of 16 bytes that a thread parks: a tile of 32 KB, or as many elements as fit a word. */
template <typename Source>
static constexpr unsigned nacrei_stable_vectors = Source::elements <= 8 ? 8 : 4;

template <typename Source>
__global__ void __launch_bounds__(NACREI_COMPACT_THREADS,
                                  nacrei_blocks_that_fit(NACREI_COMPACT_THREADS,
                                                         NACREI_STABLE_BLOCKS))
    nacrei_stable_kernel(const typename Source::parameters from, const nacrei_target target,
                         nacrei_stable_scratch *scratch)
{
    typedef typename Source::element_type element_type;
    constexpr unsigned S = Source::elements, V = nacrei_stable_vectors<Source>;
    constexpr unsigned group = S == 1 ? 4 : 2; /* vectors in registers at a time */
    typedef nacrei_keep<V * S> keep_type;
    typedef nacrei_by_warp<V, S> reserve_type;
    __shared__ alignas(16) typename Source::vector parked[NACREI_COMPACT_WARPS][V][32];
    __shared__ typename reserve_type::shared shared;
    __shared__ uint64_t first_shared, ticket_shared;
    const uint64_t tiles = Source::tiles(from, V);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (;;) {
        if (threadIdx.x == 0) {
            ticket_shared = atomicAdd(&scratch->tickets, 1u); /* relaxed: only a number */
        }
        reserve_type reserve;
        reserve.begin(shared);
        const uint64_t ticket = ticket_shared;
        if (ticket == 0 && threadIdx.x < 32) {
            nacrei_add_up(scratch, tiles, target.needed);
        }
        if (ticket == 0 || ticket > tiles) {
            return;
        }
        const Source source(from, ticket - 1, V);
        source.template park<V>(&parked[warp][0][lane]);
        nacrei_copy_async_wait(); /* each thread reads what it has copied itself */
        const keep_type keep =
            source.template keep<V, 1>([&](unsigned v) { return parked[warp][v][lane]; });
        const uint32_t kept = reserve.take(shared, keep);
        if (threadIdx.x == 0) {
            nacrei_tell_count(scratch, ticket - 1, kept);
        }
        /* No element moves up: what is written over has been read. */
        element_type *staged = (element_type *)parked[warp];
#pragma unroll
        for (unsigned v = 0; v < V; v += group) {
            typename Source::vector content[group];
#pragma unroll
            for (unsigned i = 0; i < group; i++) {
                content[i] = parked[warp][v + i][lane];
            }
            __syncwarp();
#pragma unroll
            for (unsigned i = 0; i < group * S; i++) {
                if (keep >> (v * S + i) & 1) {
                    staged[reserve.rank(v + i / S, i % S) - reserve.before] =
                        Source::element_of(content[i / S], i % S);
                }
            }
        }
        if (threadIdx.x == 0) {
            first_shared = nacrei_wait_for_place(scratch, ticket - 1);
        }
        __syncthreads();
        const uint64_t first = first_shared + reserve.before;
        nacrei_write_staged<Source, 32>(target, staged, first,
                                        nacrei_room_for(target, first, reserve.kept), lane);
        __syncwarp(); /* before the next round parks */
    }
}

#endif
