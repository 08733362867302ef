/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table: which submap a key belongs to, where a submap lies, and when the table grows.
 *
 * A submap is a power of two of 32-byte buckets followed by their signatures. Submap 0 is the stash
 * (probe.h); submaps 1 .. submap_count hold keys by linear hashing: with 2^L <= submap_count <
 * 2^(L+1), a key goes by L + 1 bits of its hash where that submap exists, and by L bits where it
 * does not yet. The table grows by splitting one submap after another: the keys of number s go to s
 * and s + 2^L, both rebuilt, and no other submap is touched.
 *
 * Growth in keys. Let U be the number of submaps at the last power of two and S the slots of one. A
 * table of U submaps takes load_start * S * U keys; from there to load_max * S * U keys splitting
 * goes on evenly, and by then every submap is split. So the pause of a doubling is spread over the
 * batches that bring the keys of that interval, an unsplit submap holds at most load_max of its
 * slots, and the mean load over log-uniform sizes is 0.62 at load_max 0.92: (load_start - load_max
 * / 2 + (load_max - load_start) ln 2) / ln 2.
 */
#ifndef NACRE_CORE_TABLE_H
#define NACRE_CORE_TABLE_H

#include "nacre/core/hash.h"
#include "nacre/core/inline.h"
#include "nacre/core/signature.h"
#include "nacre/core/slot.h"

/* The share of load_max at which splitting starts. */
#define NACREI_LOAD_START_SHARE 0.902

/* 2^39 submaps are more than any memory; the hash has bits for twice as many. */
#define NACREI_SUBMAPS_MAX ((uint64_t)1 << 39)

NACREI_INLINE uint64_t nacrei_submap_bytes(uint32_t bucket_count)
{
    return (uint64_t)bucket_count * NACREI_BUCKET_BYTES +
           bucket_count / NACREI_SIGNATURES_PER_WORD * 4u;
}

/* The greatest power of two <= x, x > 0. */
NACREI_INLINE uint64_t nacrei_floor_power(uint64_t x)
{
#if defined(__CUDA_ARCH__)
    return (uint64_t)1 << (63 - __clzll((long long)x));
#else
    return (uint64_t)1 << (63 - __builtin_clzll((unsigned long long)x));
#endif
}

/* The submap of a hash, 1 .. submap_count. `half` is nacrei_floor_power(submap_count). */
NACREI_INLINE uint64_t nacrei_submap_of(uint64_t hash, uint64_t submap_count, uint64_t half)
{
    uint64_t number = (hash >> NACREI_HASH_SUBMAP_SHIFT) & (2 * half - 1);
    return 1 + (number < submap_count ? number : number - half);
}

/* Keys that a growing table of so many submaps takes before the next one must be split. */
NACREI_INLINE uint64_t nacrei_table_capacity(uint64_t submap_count, uint64_t submap_slots,
                                             double load_max)
{
    uint64_t half = nacrei_floor_power(submap_count);
    double slots = (double)half * (double)submap_slots;
    double start = load_max * NACREI_LOAD_START_SHARE;
    double split = (double)(submap_count - half) / (double)half;
    return (uint64_t)(slots * (start + (load_max - start) * split));
}

/*
 * Keys that so many submaps take when nothing is to be split on the way: for reserved and fixed
 * room.
 */
NACREI_INLINE uint64_t nacrei_table_capacity_reserved(uint64_t submap_count, uint64_t submap_slots,
                                                      double load_max)
{
    return (uint64_t)((double)nacrei_floor_power(submap_count) * (double)submap_slots * load_max);
}

/*
 * The fewest submaps whose capacity is at least `keys`, while growing; NACREI_SUBMAPS_MAX: beyond.
 */
NACREI_INLINE uint64_t nacrei_table_submaps(uint64_t keys, uint64_t submap_slots, double load_max)
{
    uint64_t low = 1, high = 1;
    while (nacrei_table_capacity(high, submap_slots, load_max) < keys) {
        if (high >= NACREI_SUBMAPS_MAX) {
            return NACREI_SUBMAPS_MAX;
        }
        low = high;
        high *= 2;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (nacrei_table_capacity(middle, submap_slots, load_max) < keys) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The fewest submaps, a power of two, whose reserved capacity is at least `keys`. */
NACREI_INLINE uint64_t nacrei_table_submaps_reserved(uint64_t keys, uint64_t submap_slots,
                                                     double load_max)
{
    uint64_t submaps = 1;
    while (submaps < NACREI_SUBMAPS_MAX &&
           nacrei_table_capacity_reserved(submaps, submap_slots, load_max) < keys) {
        submaps *= 2;
    }
    return submaps;
}

/*
 * Segments: the pieces in which a table's memory is allocated where addresses cannot be reserved
 * (on the CPU, and on CUDA with a caller's allocator). They grow by a quarter of a power of two, so
 * that at most a quarter lies idle: four of 1 submap, four of 2, four of 4, ... 160 of them hold
 * NACREI_SUBMAPS_MAX submaps.
 */
#define NACREI_SEGMENTS_MAX 160

typedef struct nacrei_segment_place {
    uint32_t segment;
    uint64_t first; /* number of the segment's first submap */
    uint64_t count; /* submaps in the segment */
} nacrei_segment_place;

/* Where submap `number` (the stash, 0, included) lies. */
NACREI_INLINE nacrei_segment_place nacrei_segment_of(uint64_t number)
{
    nacrei_segment_place place;
    uint64_t shifted = number + 4;
    uint64_t quarter = nacrei_floor_power(shifted) / 4;
#if defined(__CUDA_ARCH__)
    uint32_t exponent = (uint32_t)(63 - __clzll((long long)quarter));
#else
    uint32_t exponent = (uint32_t)(63 - __builtin_clzll((unsigned long long)quarter));
#endif
    uint64_t part = (shifted >> exponent) - 4;
    place.segment = 4 * exponent + (uint32_t)part;
    place.first = ((part + 4) << exponent) - 4;
    place.count = quarter;
    return place;
}

#endif
