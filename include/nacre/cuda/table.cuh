/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table on the device: addresses, signatures, and the one lookup that find, contains, assign,
 * erase and the inspection share. Decisions are those of nacre/core/.
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

/* The word with the signatures of the bucket where a path stands, and of its neighbour. */
template <nacrei_scope Scope>
__device__ __forceinline__ uint32_t nacrei_pair_signatures(const nacrei_table &table,
                                                           const nacrei_cursor &cursor)
{
    const uint32_t *word = nacrei_signature_address(table, cursor.submap, cursor.probe.bucket);
    return Scope == NACREI_FAR    ? nacrei_load_relaxed(word)
           : Scope == NACREI_NEAR ? nacrei_load_near(word)
                                  : nacrei_load_near_kept(word);
}

template <bool Near>
__device__ __forceinline__ uint32_t nacrei_signature_load(const nacrei_table &table, char *submap,
                                                          uint32_t bucket)
{
    uint32_t *address = nacrei_signature_address(table, submap, bucket);
    uint32_t word = Near ? nacrei_load_near(address) : nacrei_load_relaxed(address);
    return word >> nacrei_signature_shift(bucket) & NACREI_SIGNATURE_MASK;
}

__device__ __forceinline__ void nacrei_signature_set(const nacrei_table &table, char *submap,
                                                     uint32_t bucket, uint32_t bit)
{
    /*
     * Relaxed: within this batch nobody relies on the bit, since who has seen no hole goes on
     * regardless, and who has seen one would have found a key beyond it there; later batches are
     * ordered by the kernel boundary.
     */
    atomicOr(nacrei_signature_address(table, submap, bucket),
             bit << nacrei_signature_shift(bucket));
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
 * One word holds the signatures of both buckets of a pair: it is read once. Lookups ask for it to
 * be kept; for operations that write to slots that was no gain. Those believe holes only where
 * slots change in one step.
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
    uint32_t signatures = 0; /* of the pair; read where a bucket of it is full */
    bool read = false;
    for (;;) {
        address = nacrei_bucket_address(cursor);
        bucket = Width::load_bucket(address, true);
        scan = nacrei_scan_bucket<Width>(bucket, stored);
        if (scan.match >= 0) {
            break;
        }
        read = read && (cursor.probe.length & 1) != 0;
        if (scan.hole < 0 || !holes_tell) {
            if (!read) {
                signatures = nacrei_pair_signatures<Scope>(table, cursor);
                read = true;
            }
            scan.signature = signatures >> nacrei_signature_shift(cursor.probe.bucket);
        }
        if ((scan.signature & nacrei_signature_bit(hash, cursor.probe.bucket)) == 0 ||
            !nacrei_cursor_next(table, hash, &cursor)) {
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
        const uint32_t signatures = nacrei_pair_signatures<NACREI_NEAR_KEPT>(table, cursor);
        char *bucket_address = nacrei_bucket_address(cursor);
        const typename Width::bucket bucket = Width::load_bucket(bucket_address, true);
        const nacrei_scan<Width> scan = nacrei_scan_bucket<Width>(bucket, stored);
        if (scan.match >= 0) {
            *slot = nacrei_slot_of<Width>(bucket, scan.match);
            address = bucket_address + scan.match * Width::slot_bytes;
        }
        const uint32_t shift = nacrei_signature_shift(cursor.probe.bucket & ~1u);
        const bool beyond = (signatures >> shift & classes) == classes;
        *found = __any_sync(group, scan.match >= 0);
        further =
            __all_sync(group, beyond) && !*found && nacrei_cursor_skip(table, hash, Lanes, &cursor);
    }
    return address;
}

/*
 * The same for the keys of a whole warp, one a thread, if it takes part: each thread reads the
 * first bucket of its own, and those keys that this does not settle are looked for by Lanes threads
 * each, several at a time. For so many keys that not all can have lanes from the start, and not so
 * many that the memory's rate counts more than the longest path. All threads of the warp call it;
 * each gets the address and the slot of its own key.
 */
template <typename Width, unsigned Lanes>
__device__ __forceinline__ char *
nacrei_locate_in_warp(const nacrei_table &table, const nacrei_shape &shape, bool takes_part,
                      uint64_t hash, typename Width::key_type stored,
                      typename Width::slot_type *slot)
{
    constexpr uint32_t groups = 32 / Lanes;
    const uint32_t lane = threadIdx.x % 32;
    char *address = nullptr;
    bool open = false;
    if (takes_part && stored < Width::empty_patterns) {
        char *side = nacrei_side_address<Width>(table, stored);
        *slot = Width::load(side);
        address = Width::is_empty(*slot) ? nullptr : side;
    } else if (takes_part) {
        const nacrei_cursor cursor = nacrei_cursor_begin(table, shape, hash);
        char *bucket_address = nacrei_bucket_address(cursor);
        const typename Width::bucket bucket = Width::load_bucket(bucket_address, true);
        const nacrei_scan<Width> scan = nacrei_scan_bucket<Width>(bucket, stored);
        if (scan.match >= 0) {
            *slot = nacrei_slot_of<Width>(bucket, scan.match);
            address = bucket_address + scan.match * Width::slot_bytes;
        } else {
            const uint32_t bit = nacrei_signature_bit(hash, cursor.probe.bucket);
            open = scan.hole < 0 || (scan.signature & bit) != 0;
        }
    }
    for (uint32_t left = __ballot_sync(~0u, open); left != 0;) {
        /* The first `groups` keys that are left; this thread's group takes the one of its rank. */
        uint32_t later = left, own = left;
#pragma unroll
        for (uint32_t group = 0; group < groups; group++) {
            later &= later - 1;
            own = group < lane / Lanes ? own & (own - 1) : own;
        }
        const int owner = own != 0 ? __ffs((int)own) - 1 : (int)lane;
        const uint64_t its_hash = __shfl_sync(~0u, hash, owner);
        const auto its_key = __shfl_sync(~0u, stored, owner);
        typename Width::slot_type its_slot = *slot;
        char *met = nullptr;
        bool found;
        if (own != 0) {
            met = nacrei_locate_by_lanes<Width, Lanes>(table, shape, its_hash, its_key, &its_slot,
                                                       &found);
        }
        /* Back to the owner, from the thread of its group that met the key. */
        const uint32_t group = (uint32_t)__popc(left & ((1u << lane) - 1));
        const bool looked_for = (left & ~later) >> lane & 1;
        const uint32_t met_by = __ballot_sync(~0u, met != nullptr);
        const uint32_t by = looked_for ? met_by >> group * Lanes & ((1u << Lanes) - 1) : 0;
        const int from = by != 0 ? (int)(group * Lanes) + __ffs((int)by) - 1 : (int)lane;
        met = (char *)__shfl_sync(~0u, (unsigned long long)met, from);
        its_slot = Width::shuffle(its_slot, from);
        if (by != 0) {
            address = met;
            *slot = its_slot;
        }
        left = later;
    }
    return address;
}

#endif
