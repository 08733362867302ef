/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table on the device: addresses, signatures, and the lookups of one thread (erase, views,
 * match, the inspection) and of several. Decisions are those of nacre/core/.
 */
#ifndef NACRE_CUDA_TABLE_CUH
#define NACRE_CUDA_TABLE_CUH

#include "nacre/core/hash.h"
#include "nacre/core/probe.h"
#include "nacre/core/signature.h"
#include "nacre/core/table.h"
#include "nacre/cuda/slot.cuh"
#include "nacre/cuda/table.h"

/* How many submaps there are, fixed while a kernel runs: growth never runs beside a batch. */
struct nacrei_shape {
    uint64_t submap_count;
    uint64_t half;
};

__device__ __forceinline__ nacrei_shape nacrei_shape_of(const nacrei_table &table)
{
    nacrei_shape shape;
    shape.submap_count = table.submap_count != 0 ? table.submap_count : table.control->submap_count;
    shape.half = nacrei_floor_power(shape.submap_count);
    return shape;
}

__device__ __forceinline__ char *nacrei_submap_address(const nacrei_table &table, uint64_t number)
{
    if (table.base != nullptr) {
        return table.base + number * table.submap_bytes;
    }
    nacrei_segment_place place = nacrei_segment_of(number);
    return table.control->segments[place.segment] + (number - place.first) * table.submap_bytes;
}

/* A submap and where a path stands in it. */
struct nacrei_cursor {
    char *submap;
    nacrei_probe probe;
    bool in_stash;
};

__device__ __forceinline__ nacrei_cursor nacrei_cursor_begin(const nacrei_table &table,
                                                             const nacrei_shape &shape,
                                                             uint64_t hash)
{
    nacrei_cursor cursor;
    cursor.submap =
        nacrei_submap_address(table, nacrei_submap_of(hash, shape.submap_count, shape.half));
    cursor.probe = nacrei_probe_begin(hash, table.bucket_mask);
    cursor.in_stash = false;
    return cursor;
}

/* On to the next bucket of the path; false where it ends. */
__device__ __forceinline__ bool nacrei_cursor_next(const nacrei_table &table, uint64_t hash,
                                                   nacrei_cursor *cursor)
{
    nacrei_probe_next(&cursor->probe, table.bucket_mask);
    if (cursor->probe.length < nacrei_probe_limit(table.bucket_mask)) {
        return true;
    }
    if (cursor->in_stash) {
        return false;
    }
    cursor->submap = nacrei_submap_address(table, 0);
    cursor->probe = nacrei_probe_begin(hash, table.bucket_mask);
    cursor->in_stash = true;
    return true;
}

/* On by `count` buckets; false where the path ends before. */
__device__ __forceinline__ bool nacrei_cursor_skip(const nacrei_table &table, uint64_t hash,
                                                   uint32_t count, nacrei_cursor *cursor)
{
    const uint32_t limit = nacrei_probe_limit(table.bucket_mask);
    if (cursor->probe.length + count >= limit) {
        if (cursor->in_stash) {
            return false;
        }
        count -= limit - cursor->probe.length;
        cursor->submap = nacrei_submap_address(table, 0);
        cursor->probe = nacrei_probe_begin(hash, table.bucket_mask);
        cursor->in_stash = true;
    }
    nacrei_probe_skip(&cursor->probe, count, table.bucket_mask);
    return true;
}

__device__ __forceinline__ char *nacrei_bucket_address(const nacrei_cursor &cursor)
{
    return cursor.submap + (uint64_t)cursor.probe.bucket * NACREI_BUCKET_BYTES;
}

__device__ __forceinline__ uint32_t *nacrei_signature_address(const nacrei_table &table,
                                                              char *submap, uint32_t bucket)
{
    return (uint32_t *)(submap + ((uint64_t)table.bucket_mask + 1) * NACREI_BUCKET_BYTES) +
           nacrei_signature_word(bucket);
}

enum nacrei_scope { NACREI_FAR, NACREI_NEAR, NACREI_NEAR_KEPT };

/* Whether a key of these classes may lie beyond the pair where its path stands. */
template <nacrei_scope Scope>
__device__ __forceinline__ bool nacrei_beyond_pair(const nacrei_table &table,
                                                   const nacrei_cursor &cursor, uint32_t classes)
{
    const uint32_t *address = nacrei_signature_address(table, cursor.submap, cursor.probe.bucket);
    const uint32_t word = Scope == NACREI_FAR    ? nacrei_load_relaxed(address)
                          : Scope == NACREI_NEAR ? nacrei_load_near(address)
                                                 : nacrei_load_near_kept(address);
    return (word >> nacrei_signature_shift(cursor.probe.bucket & ~1u) & classes) == classes;
}

/* Whether an empty slot of the bucket where a path stands lets a key go on. */
__device__ __forceinline__ bool nacrei_hole_sends_on(uint32_t signature,
                                                     const nacrei_cursor &cursor, uint64_t hash)
{
    const bool first = (cursor.probe.length & 1) == 0;
    return (signature & (first ? NACREI_SIGNATURE_NEIGHBOUR
                               : nacrei_signature_bit(hash, cursor.probe.bucket))) != 0;
}

template <bool Near>
__device__ __forceinline__ uint32_t nacrei_signature_load(const nacrei_table &table, char *submap,
                                                          uint32_t bucket)
{
    uint32_t *address = nacrei_signature_address(table, submap, bucket);
    uint32_t word = Near ? nacrei_load_near(address) : nacrei_load_relaxed(address);
    return word >> nacrei_signature_shift(bucket) & NACREI_SIGNATURE_MASK;
}

template <typename Width>
__device__ __forceinline__ char *nacrei_side_address(const nacrei_table &table,
                                                     typename Width::key_type stored)
{
    return (char *)table.control->side + (uint64_t)stored * Width::slot_bytes;
}

#define NACREI_SIGNATURE_UNTOLD (~0u)

/* Where a key lies. */
struct nacrei_place {
    char *address; /* its slot; NULL: the key is not there */
    char *submap;  /* NULL: a side slot */
    uint32_t bucket;
    uint32_t signature; /* of the bucket, where a hole in it told; else NACREI_SIGNATURE_UNTOLD */
    uint32_t path_buckets; /* read on the way */
};

/* What a bucket says about a key. */
template <typename Width>
struct nacrei_scan {
    int match;          /* the slot that holds the key; -1: none */
    int hole;           /* the first empty slot; -1: none */
    uint32_t signature; /* as a hole tells it; counts if there is one */
};

template <typename Width>
__device__ __forceinline__ nacrei_scan<Width>
nacrei_scan_bucket(const typename Width::bucket &bucket, typename Width::key_type stored)
{
    nacrei_scan<Width> scan = {-1, -1, 0};
#pragma unroll
    for (int i = (int)Width::slots - 1; i >= 0; i--) { /* backwards: the first hole stays */
        if (Width::key_of(bucket.slot[i]) == stored) {
            scan.match = i;
        }
        if (Width::is_empty(bucket.slot[i])) {
            scan.hole = i;
            scan.signature = Width::signature_of_empty(bucket.slot[i]);
        }
    }
    return scan;
}

/* bucket.slot[index] without an index into registers. */
template <typename Width>
__device__ __forceinline__ typename Width::slot_type
nacrei_slot_of(const typename Width::bucket &bucket, int index)
{
    typename Width::slot_type slot = bucket.slot[0];
#pragma unroll
    for (int i = 1; i < (int)Width::slots; i++) {
        if (i == index) {
            slot = bucket.slot[i];
        }
    }
    return slot;
}

/*
 * Where a key lies; *slot gets the slot's content. `stored` is the key as slots hold it.
 *
 * Lookups ask for signatures to be kept; for operations that write to slots that was no gain. Those
 * believe holes only where slots change in one step.
 */
template <typename Width, nacrei_scope Scope>
__device__ __forceinline__ nacrei_place nacrei_locate(const nacrei_table &table,
                                                      const nacrei_shape &shape, uint64_t hash,
                                                      typename Width::key_type stored,
                                                      typename Width::slot_type *slot)
{
    nacrei_place place = {nullptr, nullptr, 0, 0, 1};
    if (stored < Width::empty_patterns) {
        char *side = nacrei_side_address<Width>(table, stored);
        *slot = Width::load(side);
        place.address = Width::is_empty(*slot) ? nullptr : side;
        return place;
    }
    constexpr bool holes_tell = !Width::two_step || Scope == NACREI_NEAR_KEPT;
    nacrei_cursor cursor = nacrei_cursor_begin(table, shape, hash);
    char *address;
    nacrei_scan<Width> scan;
    typename Width::bucket bucket;
    for (;;) {
        address = nacrei_bucket_address(cursor);
        bucket = Width::load_bucket(address, true);
        scan = nacrei_scan_bucket<Width>(bucket, stored);
        if (scan.match >= 0) {
            break;
        }
        bool goes_on = (cursor.probe.length & 1) == 0;
        if (scan.hole >= 0 && holes_tell) {
            goes_on = nacrei_hole_sends_on(scan.signature, cursor, hash);
        } else if (!goes_on) {
            goes_on = nacrei_beyond_pair<Scope>(table, cursor, nacrei_signature_pair(hash));
        }
        if (!goes_on || !nacrei_cursor_next(table, hash, &cursor)) {
            return place;
        }
        place.path_buckets++;
    }
    *slot = nacrei_slot_of<Width>(bucket, scan.match);
    place.address = address + scan.match * Width::slot_bytes;
    place.submap = cursor.submap;
    place.bucket = cursor.probe.bucket;
    place.signature = scan.hole >= 0 && holes_tell ? scan.signature : NACREI_SIGNATURE_UNTOLD;
    return place;
}

/*
 * The same by `Lanes` neighbouring threads with the same key, a bucket each, so that as many
 * buckets of the path and their signatures are on their way together: fewer steps that wait for
 * memory, and more memory read. For few keys, whose time is that of the longest path. Only the
 * thread that met the key gets its address and its slot; the others get NULL. Lanes: 2 or more, of
 * a warp, at most the buckets of a submap.
 */
template <typename Width, unsigned Lanes>
__device__ __forceinline__ char *
nacrei_locate_by_lanes(const nacrei_table &table, const nacrei_shape &shape, uint64_t hash,
                       typename Width::key_type stored, typename Width::slot_type *slot,
                       bool *found)
{
    const uint32_t lane = threadIdx.x % Lanes;
    const uint32_t group = (uint32_t)(((uint64_t)1 << Lanes) - 1) << (threadIdx.x % 32 - lane);
    char *address = nullptr;
    if (stored < Width::empty_patterns) {
        char *side = nacrei_side_address<Width>(table, stored);
        *slot = Width::load(side);
        *found = !Width::is_empty(*slot);
        return *found && lane == 0 ? side : nullptr;
    }
    /* A key lies beyond a pair only if its classes are set in both signatures. */
    const uint32_t classes = nacrei_signature_pair(hash);
    nacrei_cursor cursor = nacrei_cursor_begin(table, shape, hash);
    (void)nacrei_cursor_skip(table, hash, lane, &cursor); /* a path is longer */
    for (bool further = true; further;) {
        const bool beyond = nacrei_beyond_pair<NACREI_NEAR_KEPT>(table, cursor, classes);
        char *bucket_address = nacrei_bucket_address(cursor);
        const typename Width::bucket bucket = Width::load_bucket(bucket_address, true);
        const nacrei_scan<Width> scan = nacrei_scan_bucket<Width>(bucket, stored);
        if (scan.match >= 0) {
            *slot = nacrei_slot_of<Width>(bucket, scan.match);
            address = bucket_address + scan.match * Width::slot_bytes;
        }
        *found = __any_sync(group, scan.match >= 0);
        further =
            __all_sync(group, beyond) && !*found && nacrei_cursor_skip(table, hash, Lanes, &cursor);
    }
    return address;
}

#endif
