/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches by the threads of a warp together, each for a key of its own: how large batches look for
 * their keys.
 *
 * Four threads read a pair of buckets, 16 bytes each, in one request of 64 bytes. That costs the
 * memory no more than one of 32 bytes, where two such requests cost half as much again: the
 * neighbour of a bucket comes for nothing.
 */
#ifndef NACRE_DEVICE_PAIRS_CUH
#define NACRE_DEVICE_PAIRS_CUH

#include "nacre/cuda/table.cuh"

/* What a pair of buckets says about the key of a thread. */
template <typename Width>
struct nacrei_pair_scan {
    bool met;           /* the key is there */
    bool hole;          /* or else a hole, the first on the key's path */
    uint32_t offset;    /* of the key, or the hole, in the pair */
    uint32_t signature; /* in the hole */
    typename Width::value_type value;
};

template <typename Width>
__device__ __forceinline__ char *nacrei_pair_address(const nacrei_cursor &cursor)
{
    return cursor.submap + (uint64_t)(cursor.probe.bucket & ~1u) * NACREI_BUCKET_BYTES;
}

/*
 * Looks at a pair of buckets for each thread of the warp whose bit is set in `looks`; all its
 * threads call it. Each four look at the pairs of their keys in turn, with the loads for all of
 * them under way at once. `second`: the path begins with the second bucket. Values: tell the value.
 */
template <typename Width, bool Values>
__device__ __forceinline__ nacrei_pair_scan<Width>
nacrei_scan_pairs(uint32_t looks, const char *pair, uint32_t second,
                  typename Width::key_type stored)
{
    constexpr int slots = 16 / (int)Width::slot_bytes;
    const uint32_t lane = threadIdx.x % 32, quarter = lane % 4, quad = lane - quarter;
    nacrei_pair_scan<Width> result = {false, false, 0, 0, 0};
    nacrei_slot16 quarters[4];
    const uint64_t where = (uint64_t)pair | second; /* the address of a pair is even */
    uint32_t seconds = 0;
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
        const uint64_t its = __shfl_sync(~0u, (unsigned long long)where, (int)(quad + j));
        seconds |= ((uint32_t)its & 1) << j;
        if (looks >> (quad + j) & 1) {
            quarters[j] = nacrei_load16_once((const char *)(its & ~(uint64_t)1) + quarter * 16);
        }
    }
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
        if ((looks & (0x11111111u << j)) == 0) {
            continue;
        }
        const bool looked = looks >> (quad + j) & 1;
        const auto its_key = __shfl_sync(~0u, stored, (int)(quad + j));
        /* Its first half is the quarter; the second is not looked at. */
        const typename Width::bucket bucket = Width::unpack(quarters[j], quarters[j]);
        typename Width::slot_type slot = bucket.slot[0];
        bool match = false, hole = false;
        uint32_t told = 0; /* the offset of the key or the hole; above it the hole's signature */
#pragma unroll
        for (int i = slots - 1; i >= 0; i--) {
            if (Width::is_empty(bucket.slot[i])) {
                hole = true;
                told = Width::signature_of_empty(bucket.slot[i]) << 8 |
                       (quarter * 16 + (uint32_t)i * Width::slot_bytes);
            }
        }
#pragma unroll
        for (int i = slots - 1; i >= 0; i--) {
            if (Width::key_of(bucket.slot[i]) == its_key) {
                match = true;
                slot = bucket.slot[i];
                told = quarter * 16 + (uint32_t)i * Width::slot_bytes;
            }
        }
        const uint32_t met = __ballot_sync(~0u, looked && match) >> quad & 15;
        const uint32_t holes = __ballot_sync(~0u, looked && hole) >> quad & 15;
        const uint32_t near_holes = holes & ((seconds >> j & 1) != 0 ? 12 : 3);
        const uint32_t among = met != 0 ? met : near_holes != 0 ? near_holes : holes;
        const int from = (int)(among != 0 ? quad + (uint32_t)__ffs((int)among) - 1 : lane);
        told = __shfl_sync(~0u, told, from);
        typename Width::value_type value = 0;
        if constexpr (Values) {
            value = __shfl_sync(~0u, Width::value_of(slot), from);
        }
        if (quarter == j) {
            result.met = met != 0;
            result.hole = holes != 0;
            result.offset = told & 63;
            result.signature = told >> 8;
            result.value = value;
        }
    }
    return result;
}

/* Whether the key may lie beyond a pair without it, as far as the pair tells. */
template <typename Width>
__device__ __forceinline__ bool nacrei_pair_sends_on(const nacrei_pair_scan<Width> &scan,
                                                     uint64_t hash)
{
    const uint32_t bucket = scan.offset / NACREI_BUCKET_BYTES;
    return !scan.hole || (scan.signature & nacrei_signature_bit(hash, bucket)) != 0;
}

/*
 * Where the keys of a warp lie, one a thread, if it takes part: the first pair of each is looked
 * at, and those keys that this does not settle are looked for by Lanes threads each, several at a
 * time. For so many keys that not all can have lanes from the start, and not so many that the memory's
 * rate counts more than the longest path. All threads of the warp call it; each gets the address
 * and the slot of its own key.
 *
 * `alone`: a thread looks at the first bucket of its key itself, where time counts and requests do
 * not. Values: the slot's value is wanted.
 */
template <typename Width, unsigned Lanes, bool Values>
__device__ __forceinline__ char *
nacrei_locate_in_warp(const nacrei_table &table, const nacrei_shape &shape, bool takes_part,
                      bool alone, uint64_t hash, typename Width::key_type stored,
                      typename Width::slot_type *slot)
{
    constexpr uint32_t groups = 32 / Lanes;
    const uint32_t lane = threadIdx.x % 32;
    const nacrei_cursor cursor = nacrei_cursor_begin(table, shape, hash);
    char *address = nullptr;
    bool open = takes_part;
    if (takes_part && stored < Width::empty_patterns) {
        char *side = nacrei_side_address<Width>(table, stored);
        *slot = Width::load(side);
        address = Width::is_empty(*slot) ? nullptr : side;
        open = false;
    }
    if (!alone) {
        char *pair = nacrei_pair_address<Width>(cursor);
        const nacrei_pair_scan<Width> scan = nacrei_scan_pairs<Width, Values>(
            __ballot_sync(~0u, open), pair, cursor.probe.bucket & 1, stored);
        if (open && scan.met) {
            *slot = Width::make(stored, scan.value);
            address = pair + scan.offset;
        }
        open = open && !scan.met && nacrei_pair_sends_on<Width>(scan, hash);
    } else if (open) {
        char *bucket_address = nacrei_bucket_address(cursor);
        const typename Width::bucket bucket = Width::load_bucket(bucket_address, true);
        const nacrei_scan<Width> scan = nacrei_scan_bucket<Width>(bucket, stored);
        if (scan.match >= 0) {
            *slot = nacrei_slot_of<Width>(bucket, scan.match);
            address = bucket_address + scan.match * Width::slot_bytes;
        }
        open =
            scan.match < 0 && (scan.hole < 0 || nacrei_hole_sends_on(scan.signature, cursor, hash));
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
