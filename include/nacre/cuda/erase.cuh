/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Erasure: the slot of a key becomes empty at once, stamped with its bucket's signature (and where
 * the bucket was full, that keys may have gone on to the neighbour), in one compare-and-swap: other
 * threads that read the bucket see the key or a true empty slot, and of several that erase one key
 * exactly one succeeds. Erasure runs beside lookups and erasures only, so nobody changes values or
 * fills holes.
 *
 * In two steps (slot.cuh) the key's word goes first, so that no lookup takes the signature for the
 * value; the searches of such a batch read signatures from their array.
 */
#ifndef NACRE_CUDA_ERASE_CUH
#define NACRE_CUDA_ERASE_CUH

#include "nacre/cuda/table.cuh"

/* True if this thread has erased the key. `stored` is the key as slots hold it. */
template <typename Width>
__device__ __forceinline__ bool nacrei_erase_key(const nacrei_table &table,
                                                 const nacrei_shape &shape, uint64_t hash,
                                                 typename Width::key_type stored)
{
    typename Width::slot_type slot;
    const nacrei_place place = nacrei_locate<Width, NACREI_NEAR>(table, shape, hash, stored, &slot);
    if (place.address == nullptr) {
        return false;
    }
    uint32_t signature = place.signature;
    if (signature == NACREI_SIGNATURE_UNTOLD) {
        signature = nacrei_signature_load<true>(table, place.submap, place.bucket) |
                    NACREI_SIGNATURE_NEIGHBOUR;
    }
    const typename Width::slot_type empty = Width::make_empty(signature);
    if constexpr (Width::two_step) {
        if (nacrei_swap_slot(place.address, slot.key, empty.key) != slot.key) {
            return false;
        }
        nacrei_store_relaxed(Width::value_address(place.address), Width::value_of(empty));
        return true;
    } else {
        return nacrei_same_slot(nacrei_swap_slot(place.address, slot, empty), slot);
    }
}

#endif
