/* SPDX-License-Identifier: Apache-2.0 */
/* Erasure: one thread per key (nacre/cuda/erase.cuh). */
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "nacre/cuda/erase.cuh"

namespace
{

template <typename Width>
__global__ void __launch_bounds__(NACREI_UPDATE_THREADS)
    erase_kernel(const nacrei_table table, const nacrei_elements elements)
{
    nacrei_kernel_begin();
    const uint64_t index = nacrei_element_index<NACREI_UPDATE_THREADS>();
    const bool takes_part =
        index < nacrei_elements_count(elements) && nacrei_element_in_mask(elements, index);
    bool erased = false;
    if (takes_part) {
        const typename Width::key_type key = nacrei_element_key<Width>(elements, index);
        erased = nacrei_erase_key<Width>(
            table, nacrei_shape_of(table), nacrei_hash(key, table.seed),
            (typename Width::key_type)nacrei_key_store(key, Width::key_bytes));
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
    return nacrei_launch_batch(erase_kernel<Width>, table, elements, NACREI_UPDATE_THREADS,
                               NACREI_UPDATE_THREADS, stream);
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
