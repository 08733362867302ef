/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Erasure: the slot of a key becomes empty at once, stamped with its bucket's signature, in one
 * compare-and-swap: other threads of the batch that read the bucket see the key or a true empty
 * slot, and of several that erase one key exactly one succeeds. Erasure runs beside nothing else,
 * so nobody changes values or fills holes.
 */
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "device/table.cuh"

namespace
{

template <typename Width>
__global__ void __launch_bounds__(NACREI_UPDATE_THREADS)
    erase_kernel(const nacrei_table table, const nacrei_elements elements)
{
    typedef typename Width::slot_type slot_type;
    const uint64_t index = nacrei_element_index<NACREI_UPDATE_THREADS>();
    const bool takes_part =
        index < nacrei_elements_count(elements) && nacrei_element_in_mask(elements, index);
    bool erased = false;
    if (takes_part) {
        const typename Width::key_type key = nacrei_element_key<Width>(elements, index);
        slot_type slot;
        const nacrei_place place = nacrei_locate<Width, NACREI_NEAR>(
            table, nacrei_shape_of(table), nacrei_hash(key, table.seed),
            (typename Width::key_type)nacrei_key_store(key, Width::key_bytes), &slot);
        if (place.address != nullptr) {
            uint32_t signature = place.signature;
            if (signature == NACREI_SIGNATURE_UNTOLD) {
                signature = nacrei_signature_load<true>(table, place.submap, place.bucket);
            }
            erased = nacrei_same_slot(
                nacrei_swap_slot(place.address, slot, Width::make_empty(signature)), slot);
        }
    }
    if (index < elements.count) {
        nacrei_element_outcome(elements, index,
                               !takes_part ? NACRE_OUTCOME_SKIPPED
                               : erased    ? NACRE_OUTCOME_ERASED
                                           : NACRE_OUTCOME_MISSING);
    }
    const nacrei_sums sums = {erased, erased, 0, !takes_part && index < elements.count};
    nacrei_block_end(table, elements, sums, -1, false, false);
}

} // namespace

template <typename Width>
cudaError_t nacrei_erase(const nacrei_table *table, const nacrei_elements *elements,
                         cudaStream_t stream)
{
    return nacrei_launch(erase_kernel<Width>,
                         nacrei_batch_blocks(elements->count, NACREI_UPDATE_THREADS),
                         NACREI_UPDATE_THREADS, 0, stream, *table, *elements);
}

template <typename Width>
cudaError_t nacrei_erase_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(erase_kernel<Width>, &error);
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                    \
    template cudaError_t nacrei_erase<nacrei_width<key_bytes, value_bytes>>( \
        const nacrei_table *, const nacrei_elements *, cudaStream_t);        \
    template cudaError_t nacrei_erase_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
