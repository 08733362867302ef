/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups: find, contains, and assign, which is a lookup that writes. One thread per key; a lookup reads one
   submap, and in most cases one bucket of it. */
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "device/table.cuh"

namespace {

template <typename Width, unsigned Operation>
__global__ void __launch_bounds__(NACREI_BATCH_THREADS)
    lookup_kernel(const nacrei_table table, const nacrei_elements elements)
{
    typedef typename Width::value_type value_type;
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
        typename Width::slot_type slot;
        nacrei_place place = nacrei_locate<Width>(
            table, shape, nacrei_hash(key, table.seed),
            (typename Width::key_type)nacrei_key_store(key, Width::key_bytes), &slot);
        bool found = place.address != nullptr;
        if constexpr (Operation == NACREI_CONTAINS) {
            __stcs((unsigned char *)elements.contained + index, (unsigned char)found);
        } else if constexpr (Operation == NACREI_FIND) {
            if (found) {
                nacrei_element_value_out<Width>(elements, index, Width::value_of(slot));
            } else if (elements.has_missing_value) {
                nacrei_element_value_out<Width>(elements, index,
                                                (value_type)elements.missing_value);
            }
        } else if (found) {
            nacrei_store_relaxed(Width::value_address(place.address),
                                 __ldcs((const value_type *)elements.values + index));
        }
        constexpr uint32_t done =
            Operation == NACREI_ASSIGN ? NACRE_OUTCOME_ASSIGNED : NACRE_OUTCOME_FOUND;
        nacrei_element_outcome(elements, index, found ? done : NACRE_OUTCOME_MISSING);
        sums.done += found;
    }
    if (elements.counts != nullptr) {
        nacrei_block_end(table, elements, sums, 1, false, 0);
    }
}

template <typename Width, unsigned Operation>
cudaError_t launch(const nacrei_gpu *gpu, const nacrei_table *table,
                   const nacrei_elements *elements, cudaStream_t stream)
{
    lookup_kernel<Width, Operation>
        <<<nacrei_batch_blocks(gpu->multiprocessors, elements->count), NACREI_BATCH_THREADS, 0,
           stream>>>(*table, *elements);
    return cudaPeekAtLastError();
}

} // namespace

template <typename Width>
cudaError_t nacrei_lookup(const nacrei_gpu *gpu, const nacrei_table *table,
                          const nacrei_elements *elements, uint32_t operation,
                          cudaStream_t stream)
{
    if (operation == NACREI_CONTAINS) {
        return launch<Width, NACREI_CONTAINS>(gpu, table, elements, stream);
    }
    if constexpr (Width::value_bytes != 0) {
        return operation == NACREI_FIND
                   ? launch<Width, NACREI_FIND>(gpu, table, elements, stream)
                   : launch<Width, NACREI_ASSIGN>(gpu, table, elements, stream);
    }
    return cudaErrorInvalidValue;
}

template <typename Width> cudaError_t nacrei_lookup_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(lookup_kernel<Width, NACREI_CONTAINS>, &error);
    if constexpr (Width::value_bytes != 0) {
        nacrei_prepare(lookup_kernel<Width, NACREI_FIND>, &error);
        nacrei_prepare(lookup_kernel<Width, NACREI_ASSIGN>, &error);
    }
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                                          \
    template cudaError_t nacrei_lookup<nacrei_width<key_bytes, value_bytes>>(                      \
        const nacrei_gpu *, const nacrei_table *, const nacrei_elements *, uint32_t,               \
        cudaStream_t);                                                                             \
    template cudaError_t nacrei_lookup_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
