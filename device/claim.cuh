/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claim: finding a key or a slot for it. Here an insertion happens.
 *
 * One thread per key. It walks the key's path until it finds the key or knows that it is not there, and
 * remembers the first hole; then it claims that hole with one compare-and-swap of the whole slot, against what
 * it had read there. Where the hole was taken meanwhile it goes on slot by slot: all insertions claim the first
 * free slot of a path, so that equal new keys of a batch meet, and the second one finds the first.
 *
 * Metered insertions (a batch that may not fit) take a ticket before they claim. A ticket is taken for good when
 * the key is published, and given back when the key turns out to be there already; a thread without a ticket
 * waits while others are undecided, and reports FULL only when the map holds as many keys as it may.
 */
#ifndef NACRE_DEVICE_CLAIM_CUH
#define NACRE_DEVICE_CLAIM_CUH

#include "device/table.cuh"
#include "nacre/types.h"

/* A ticket for one new key, or false: the map holds as many as it may. */
static __device__ __noinline__ bool nacrei_take_ticket(nacrei_control *control)
{
    unsigned long long *taken = (unsigned long long *)&control->taken;
    const uint64_t capacity = control->capacity_keys;
    for (;;) {
        /* Keys only grow in number during an insertion: once full, full for the whole batch. */
        if (nacrei_load_relaxed(&control->size) >= capacity) {
            return false;
        }
        if (nacrei_load_relaxed(&control->taken) < capacity) {
            if (atomicAdd(taken, 1ull) < capacity) {
                return true;
            }
            atomicAdd(taken, ~0ull);
        }
        __nanosleep(100); /* somebody holds a ticket undecided, and never waits for us */
    }
}

template <typename Width> struct nacrei_found {
    char *address;
    typename Width::slot_type slot; /* as read */
    uint32_t outcome;               /* FOUND, INSERTED or FULL */
};

/*
 * Finds the key or inserts it with `value`.
 *
 * `stored` is the key as slots hold it. The search sets the signature bit of each full bucket that it goes past
 * without having seen a hole: from then on the key's place, wherever it will be, lies beyond.
 */
template <typename Width, bool Metered>
__device__ __forceinline__ nacrei_found<Width>
nacrei_find_or_claim(const nacrei_table &table, const nacrei_shape &shape, uint64_t hash,
              typename Width::key_type stored, typename Width::value_type value)
{
    typedef typename Width::slot_type slot_type;
    nacrei_found<Width> result;
    uint32_t bit = nacrei_signature_bit(hash);
    bool refused = false;
    nacrei_cursor hole;
    slot_type expected;
    unsigned hole_index;
    char *address;
    char *side = nullptr;
    if (stored < Width::empty_patterns) {
        side = nacrei_side_address<Width>(table, stored);
        stored = Width::empty_patterns;
    }

search:
    address = side;
    if (side != nullptr) {
        hole_index = 0;
        expected = Width::load(address);
        if (!Width::is_empty(expected)) {
            result.address = address;
            result.slot = expected;
            result.outcome = NACRE_OUTCOME_FOUND;
            return result;
        }
    } else {
        nacrei_cursor cursor = nacrei_cursor_begin(table, shape, hash);
        do {
            char *at = nacrei_bucket_address(cursor);
            typename Width::bucket bucket = Width::load_bucket(at);
            int empty = -1;
#pragma unroll
            for (int i = (int)Width::slots - 1; i >= 0; i--) {
                if (Width::key_of(bucket.slot[i]) == stored) {
                    result.address = at + i * Width::slot_bytes;
                    result.slot = bucket.slot[i];
                    result.outcome = NACRE_OUTCOME_FOUND;
                    return result;
                }
                if (Width::is_empty(bucket.slot[i])) {
                    empty = i;
                }
            }
            uint32_t signature;
            if (empty >= 0) {
                slot_type first = bucket.slot[0];
#pragma unroll
                for (int i = 1; i < (int)Width::slots; i++) {
                    if (i == empty) {
                        first = bucket.slot[i];
                    }
                }
                signature = Width::signature_of_empty(first);
                if (address == nullptr) {
                    address = at + empty * Width::slot_bytes;
                    hole = cursor;
                    hole_index = (unsigned)empty;
                    expected = first;
                }
            } else {
                signature = nacrei_signature_load(table, cursor.submap, cursor.probe.bucket);
                if ((signature & bit) == 0 && address == nullptr) {
                    nacrei_signature_set(table, cursor.submap, cursor.probe.bucket, bit);
                    signature |= bit;
                }
            }
            if ((signature & bit) == 0) {
                break;
            }
        } while (nacrei_cursor_next(table, hash, &cursor));
    }
    if (address == nullptr || refused) {
        result.outcome = NACRE_OUTCOME_FULL;
        return result;
    }
    if (Metered) {
        if (!nacrei_take_ticket(table.control)) {
            refused = true; /* look once more: the last ticket may have gone to an equal key */
            goto search;
        }
    }

    for (;;) {
        if (Width::is_empty(expected)) {
            slot_type was = nacrei_swap_slot(address, expected, Width::make(stored, value));
            if (nacrei_same_slot(was, expected)) {
                if (Metered) {
                    __threadfence(); /* the key before the count that makes others look again */
                    atomicAdd((unsigned long long *)&table.control->size, 1ull);
                }
                result.address = address;
                result.outcome = NACRE_OUTCOME_INSERTED;
                return result;
            }
            expected = was;
            continue;
        }
        if (Width::key_of(expected) == stored) {
            result.address = address;
            result.slot = expected;
            result.outcome = NACRE_OUTCOME_FOUND;
            break;
        }
        if (++hole_index < Width::slots) {
            address += Width::slot_bytes;
        } else {
            nacrei_signature_set(table, hole.submap, hole.probe.bucket, bit);
            if (!nacrei_cursor_next(table, hash, &hole)) {
                result.outcome = NACRE_OUTCOME_FULL;
                break;
            }
            hole_index = 0;
            address = nacrei_bucket_address(hole);
        }
        expected = Width::load(address);
    }
    if (Metered) { /* the ticket is not needed */
        atomicAdd((unsigned long long *)&table.control->taken, ~0ull);
    }
    return result;
}

#endif
