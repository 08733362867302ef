/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Match: a lookup of one key per thread, whose hits are written densely: each block reserves room
 * for its own once. Indices of a block come together, so that a gather by them is near to
 * sequential.
 */
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "nacre/cuda/table.cuh"

namespace
{

template <typename Width>
__global__ void __launch_bounds__(NACREI_UPDATE_THREADS)
    match_kernel(const nacrei_table table, const nacrei_elements elements,
                 const nacrei_matches matches)
{
    typedef typename Width::value_type value_type;
    __shared__ uint32_t of_warp[NACREI_UPDATE_THREADS / 32];
    __shared__ uint64_t first;
    nacrei_kernel_begin();
    const uint64_t index = nacrei_element_index<NACREI_UPDATE_THREADS>();
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool takes_part =
        index < nacrei_elements_count(elements) && nacrei_element_in_mask(elements, index);
    bool found = false;
    typename Width::slot_type slot{};
    if (takes_part) {
        const typename Width::key_type key = nacrei_element_key<Width>(elements, index);
        found = nacrei_locate<Width, NACREI_NEAR_KEPT>(
                    table, nacrei_shape_of(table), nacrei_hash(key, table.seed),
                    (typename Width::key_type)nacrei_key_store(key, Width::key_bytes), &slot)
                    .address != nullptr;
    }
    const uint32_t votes = __ballot_sync(~0u, found);
    if (lane == 0) {
        of_warp[warp] = (uint32_t)__popc(votes);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t sum = 0;
        for (unsigned w = 0; w < NACREI_UPDATE_THREADS / 32; w++) {
            const uint32_t count = of_warp[w];
            of_warp[w] = sum;
            sum += count;
        }
        /* Relaxed: places are only numbers. */
        first =
            sum != 0 ? atomicAdd((unsigned long long *)matches.needed, (unsigned long long)sum) : 0;
    }
    __syncthreads();
    const uint64_t place = first + of_warp[warp] + (uint32_t)__popc(votes & ((1u << lane) - 1));
    if (found && place < matches.capacity) {
        if (matches.indices != nullptr && matches.index_bytes == 4) {
            __stcs((uint32_t *)matches.indices + place, (uint32_t)(elements.first + index));
        } else if (matches.indices != nullptr) {
            __stcs((unsigned long long *)matches.indices + place,
                   (unsigned long long)(elements.first + index));
        }
        if constexpr (Width::value_bytes != 0) {
            if (matches.values != nullptr) {
                __stcs((value_type *)matches.values + place, Width::value_of(slot));
            }
        }
    }
    if (index < elements.count) {
        nacrei_element_outcome(elements, index,
                               !takes_part ? NACRE_OUTCOME_SKIPPED
                               : found     ? NACRE_OUTCOME_FOUND
                                           : NACRE_OUTCOME_MISSING);
    }
    if (elements.counts != nullptr) {
        const nacrei_sums sums = {0, found, 0, !takes_part && index < elements.count};
        nacrei_block_end(table, elements, sums, 1, false, false);
    }
}

} // namespace

template <typename Width>
cudaError_t nacrei_match(const nacrei_table *table, const nacrei_elements *elements,
                         const nacrei_matches *matches, cudaStream_t stream)
{
    return nacrei_launch_batch(match_kernel<Width>, table, elements, NACREI_UPDATE_THREADS,
                               NACREI_UPDATE_THREADS, stream, *matches);
}

template <typename Width>
cudaError_t nacrei_match_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(match_kernel<Width>, &error);
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                                     \
    template cudaError_t nacrei_match<nacrei_width<key_bytes, value_bytes>>(                  \
        const nacrei_table *, const nacrei_elements *, const nacrei_matches *, cudaStream_t); \
    template cudaError_t nacrei_match_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
