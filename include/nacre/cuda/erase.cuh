/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Erasure: the slot of a key becomes empty at once, stamped with its bucket's signature, in one
 * compare-and-swap: other threads that read the bucket see the key or a true empty slot, and of
 * several that erase one key exactly one succeeds. Erasure runs beside lookups and erasures only,
 * so nobody changes values or fills holes.
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
        signature = nacrei_signature_load<true>(table, place.submap, place.bucket);
    }
    return nacrei_same_slot(nacrei_swap_slot(place.address, slot, Width::make_empty(signature)),
                            slot);
}

#endif
