/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim: finding a key or a slot for it. Here an insertion happens.
 *
 * One thread per key. It walks the key's path until it finds the key or knows that it is not there,
 * and remembers the first hole; then it claims that hole with one compare-and-swap of the whole
 * slot, against what it had read there. (In two steps, slot.cuh, it is the key's word that is
 * swapped.) Where another key was faster it walks again: somebody else has got on. All insertions
 * claim the first free slot of a path, so that equal new keys of a batch meet at one slot, and the
 * second one finds the first there.
 *
 * A metered insertion (one that may not fit) takes a ticket from its meter before it claims. A
 * ticket is gone for good when the key is published, and given back when the slot or the key turns
 * out to be taken; a thread without a ticket walks again while others are undecided, and reports
 * FULL only when the meter says that every ticket is gone for good. A thread's ticket is taken, and
 * gone or given back, within one walk, and the loop has one way out, at its end, with nothing to do
 * behind it: lanes that did their counting there, while others of the warp walked on, made the warp
 * hang.
 *
 *     take()         tries to take a ticket; never waits for one
 *     give_back()    not needed after all
 *     count()        the key is there, and the ticket gone for good: whoever sees that and acquires
 *                    it sees the key
 */
#ifndef NACRE_CUDA_CLAIM_CUH
#define NACRE_CUDA_CLAIM_CUH

#include "nacre/cuda/table.cuh"
#include "nacre/types.h"

enum nacrei_ticket { NACREI_TICKET_TAKEN, NACREI_TICKET_NONE_NOW, NACREI_TICKET_NONE_EVER };

/* The meter of an insertion that fits for certain. */
struct nacrei_no_meter {
    static constexpr bool metered = false;
    __device__ __forceinline__ nacrei_ticket take() const
    {
        return NACREI_TICKET_TAKEN;
    }
    __device__ __forceinline__ void give_back() const
    {
    }
    __device__ __forceinline__ void count() const
    {
    }
    __device__ __forceinline__ void end(bool) const
    {
    }
};

template <typename Width>
struct nacrei_found {
    char *address;
    typename Width::slot_type slot; /* as read, where found; in two steps the value is not true */
    uint32_t outcome;               /* FOUND, INSERTED or FULL */
};

/* What a walk along a path has come to. */
template <typename Width>
struct nacrei_walk {
    char *address; /* of the key, or of the first hole; NULL: neither */
    typename Width::slot_type slot;
    bool found;
    uint32_t pairs_passed; /* before the first hole */
};

/*
 * Walks the path of a key. On the way to the first hole it reads no signatures: it goes on past
 * full buckets whatever they say, and the hole tells whether the key may lie beyond it.
 */
template <typename Width>
__device__ __forceinline__ nacrei_walk<Width>
nacrei_walk_path(const nacrei_table &table, const nacrei_shape &shape, uint64_t hash,
                 typename Width::key_type stored, bool near)
{
    nacrei_walk<Width> walk;
    walk.address = nullptr;
    walk.found = false;
    walk.pairs_passed = 0;
    nacrei_cursor cursor = nacrei_cursor_begin(table, shape, hash);
    bool goes_on;
    do {
        char *address = nacrei_bucket_address(cursor);
        const typename Width::bucket bucket = Width::load_bucket(address, near);
        const nacrei_scan<Width> scan = nacrei_scan_bucket<Width>(bucket, stored);
        const bool second = (cursor.probe.length & 1) != 0;
        if (scan.match >= 0) {
            walk.address = address + scan.match * Width::slot_bytes;
            walk.slot = nacrei_slot_of<Width>(bucket, scan.match);
            walk.found = true;
            break;
        }
        if (scan.hole >= 0 && (walk.address == nullptr || !Width::two_step)) {
            if (walk.address == nullptr) {
                walk.address = address + scan.hole * Width::slot_bytes;
                walk.slot = nacrei_slot_of<Width>(bucket, scan.hole);
            }
            goes_on = nacrei_hole_sends_on(scan.signature, cursor, hash);
        } else if (walk.address == nullptr) {
            walk.pairs_passed += second;
            goes_on = true;
        } else {
            const uint32_t classes = nacrei_signature_pair(hash);
            goes_on = !second || (near ? nacrei_beyond_pair<NACREI_NEAR>(table, cursor, classes)
                                       : nacrei_beyond_pair<NACREI_FAR>(table, cursor, classes));
        }
    } while (goes_on && nacrei_cursor_next(table, hash, &cursor));
    return walk;
}

/*
 * Tells lookups that a key lies beyond the first pairs of its path, all full.
 *
 * Relaxed: within this batch nobody relies on the bits, since who has seen no hole goes on
 * regardless, and who has seen one would have found a key beyond it there; lookups of a view beside
 * insertions walk likewise. Later batches are ordered by the kernel boundary.
 */
__device__ __forceinline__ void nacrei_pass_pairs(const nacrei_table &table,
                                                  const nacrei_shape &shape, uint64_t hash,
                                                  uint32_t pairs)
{
    nacrei_cursor cursor = nacrei_cursor_begin(table, shape, hash);
    for (; pairs != 0; pairs--) {
        const uint32_t bucket = cursor.probe.bucket;
        atomicOr(nacrei_signature_address(table, cursor.submap, bucket),
                 nacrei_signature_pair(hash) << nacrei_signature_shift(bucket & ~1u));
        (void)nacrei_cursor_skip(table, hash, 2, &cursor);
    }
}

/*
 * Claims a hole, as it was read; returns what was there: the hole, if the slot is the caller's now.
 * In two steps the value is there when the kernel ends.
 */
template <typename Width>
__device__ __forceinline__ typename Width::slot_type
nacrei_claim_slot(char *address, typename Width::slot_type hole, typename Width::slot_type desired)
{
    if constexpr (Width::two_step) {
        const uint64_t was = nacrei_swap_slot(address, hole.key, desired.key);
        if (was != hole.key) {
            return nacrei_slot16{was, 0};
        }
        nacrei_store_relaxed(Width::value_address(address), Width::value_of(desired));
        return hole;
    } else {
        return nacrei_swap_slot(address, hole, desired);
    }
}

/* Finds the key or inserts it with `value`. `stored` is the key as slots hold it. */
template <typename Width, typename Meter>
__device__ __forceinline__ nacrei_found<Width>
nacrei_find_or_claim(const nacrei_table &table, const nacrei_shape &shape, uint64_t hash,
                     typename Width::key_type stored, typename Width::value_type value, Meter meter)
{
    typedef typename Width::slot_type slot_type;
    nacrei_found<Width> result;
    bool refused = false;
    bool near = true; /* the first walk; again only at device scope, or it would see the same */
    char *side = nullptr;
    if (stored < Width::empty_patterns) {
        side = nacrei_side_address<Width>(table, stored);
        stored = Width::empty_patterns;
    }
    for (;;) {
        nacrei_walk<Width> walk;
        if (side == nullptr) {
            walk = nacrei_walk_path<Width>(table, shape, hash, stored, near);
        } else {
            walk.pairs_passed = 0;
            walk.address = side;
            walk.slot = Width::load(side);
            walk.found = !Width::is_empty(walk.slot);
        }
        near = false;
        result.address = walk.address;
        result.slot = walk.slot;
        result.outcome = walk.found ? NACRE_OUTCOME_FOUND : NACRE_OUTCOME_FULL;
        uint32_t done = walk.found || walk.address == nullptr || refused;
        if (!done) {
            const nacrei_ticket ticket = meter.take();
            if (ticket == NACREI_TICKET_TAKEN) {
                nacrei_pass_pairs(table, shape, hash, walk.pairs_passed);
                const slot_type was =
                    nacrei_claim_slot<Width>(walk.address, walk.slot, Width::make(stored, value));
                if (nacrei_same_slot(was, walk.slot)) {
                    result.outcome = NACRE_OUTCOME_INSERTED;
                    done = 1;
                    meter.count();
                } else {
                    meter.give_back();
                    if (Width::key_of(was) == stored) {
                        result.slot = was;
                        result.outcome = NACRE_OUTCOME_FOUND;
                        done = 1;
                    }
                }
            } else {
                /* Walk once more: the last ticket may have gone, or be going, to an equal key. */
                refused = ticket == NACREI_TICKET_NONE_EVER;
                __threadfence(); /* acquires what was counted */
            }
        }
        if (Meter::metered) {
            asm volatile("" : "+r"(done)); /* the one way out, which all lanes come to */
        }
        if (done) {
            return result;
        }
    }
}

#endif
