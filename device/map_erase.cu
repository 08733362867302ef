/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Erasure: the slot of a key becomes empty at once, stamped with its bucket's signature, in one compare-and-swap:
 * other threads of the batch that read the bucket see the key or a true empty slot, and of several that erase
 * one key exactly one succeeds. Erasure runs beside nothing else, so nobody changes values or fills holes.
 */
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "device/table.cuh"

namespace {

template <typename Width>
__global__ void __launch_bounds__(NACREI_BATCH_THREADS)
    erase_kernel(const nacrei_table table, const nacrei_elements elements)
{
    typedef typename Width::slot_type slot_type;
    const nacrei_shape shape = nacrei_shape_of(table);
    const uint64_t count = nacrei_elements_count(elements);
    const uint64_t stride = (uint64_t)gridDim.x * NACREI_BATCH_THREADS;
    nacrei_sums sums = {0, 0, 0, 0};
    for (uint64_t index = (uint64_t)blockIdx.x * NACREI_BATCH_THREADS + threadIdx.x;
         index < elements.count; index += stride) {
        if (index >= count || !nacrei_element_in_mask(elements, index)) {
            nacrei_element_outcome(elements, index, NACRE_OUTCOME_SKIPPED);
            sums.skipped++;
            continue;
        }
        typename Width::key_type key = nacrei_element_key<Width>(elements, index);
        slot_type slot;
        nacrei_place place = nacrei_locate<Width>(
            table, shape, nacrei_hash(key, table.seed),
            (typename Width::key_type)nacrei_key_store(key, Width::key_bytes), &slot);
        bool erased = false;
        if (place.address != nullptr) {
            uint32_t signature =
                place.submap == nullptr /* a side slot */
                    ? 0
                    : nacrei_signature_load(table, place.submap, place.bucket);
            erased = nacrei_same_slot(
                nacrei_swap_slot(place.address, slot, Width::make_empty(signature)), slot);
        }
        nacrei_element_outcome(elements, index,
                               erased ? NACRE_OUTCOME_ERASED : NACRE_OUTCOME_MISSING);
        sums.delta += erased;
    }
    sums.done = sums.delta;
    nacrei_block_end(table, elements, sums, -1, false, 0);
}

} // namespace

template <typename Width>
cudaError_t nacrei_erase(const nacrei_gpu *gpu, const nacrei_table *table,
                         const nacrei_elements *elements, cudaStream_t stream)
{
    erase_kernel<Width><<<nacrei_batch_blocks(gpu->multiprocessors, elements->count),
                          NACREI_BATCH_THREADS, 0, stream>>>(*table, *elements);
    return cudaPeekAtLastError();
}

template <typename Width> cudaError_t nacrei_erase_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(erase_kernel<Width>, &error);
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                                          \
    template cudaError_t nacrei_erase<nacrei_width<key_bytes, value_bytes>>(                       \
        const nacrei_gpu *, const nacrei_table *, const nacrei_elements *, cudaStream_t);          \
    template cudaError_t nacrei_erase_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
