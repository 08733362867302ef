/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel files give to kernels.cu, which puts them into one table per width. */
#ifndef NACRE_DEVICE_KERNELS_INTERNAL_CUH
#define NACRE_DEVICE_KERNELS_INTERNAL_CUH

#include "device/kernels.h"
#include "lib/backend.h"
#include "nacre/cuda/slot.cuh"

template <typename Type>
struct nacrei_as {
    typedef Type type; /* keeps a parameter from being deduced */
};

/*
 * Launches a kernel and returns the launch's own error: the last error of the thread may be one
 * that the program left behind.
 */
template <typename... Parameters>
static inline cudaError_t nacrei_launch(void (*kernel)(Parameters...), uint32_t blocks,
                                        uint32_t threads, uint32_t shared_bytes,
                                        cudaStream_t stream,
                                        typename nacrei_as<Parameters>::type... parameters)
{
    void *addresses[] = {(void *)&parameters...};
    return cudaLaunchKernel((const void *)kernel, dim3(blocks), dim3(threads), addresses,
                            shared_bytes, stream);
}

/* Loads a kernel now: a lazy load would wait, and break a capture. Keeps the first error. */
template <typename Kernel>
static inline void nacrei_prepare(Kernel kernel, cudaError_t *error)
{
    cudaFuncAttributes attributes;
    cudaError_t result = cudaFuncGetAttributes(&attributes, (const void *)kernel);
    if (*error == cudaSuccess) {
        *error = result;
    }
}

template <typename Width>
cudaError_t nacrei_insert_prepare(void);
template <typename Width>
cudaError_t nacrei_insert(const nacrei_table *table, const nacrei_elements *elements,
                          uint32_t operation, uint32_t metered, cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_apply_prepare(nacrei_code *code);
template <typename Width>
cudaError_t nacrei_apply(const nacrei_table *table, const nacrei_elements *elements,
                         cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_lookup_prepare(void);
template <typename Width>
cudaError_t nacrei_lookup(const nacrei_table *table, const nacrei_elements *elements,
                          uint32_t operation, cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_probe_batch(const nacrei_table *table, const nacrei_elements *elements,
                               uint64_t sample_mask, uint32_t *bits, cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_erase_prepare(void);
template <typename Width>
cudaError_t nacrei_erase(const nacrei_table *table, const nacrei_elements *elements,
                         cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_partition_prepare(void);
template <typename Width>
cudaError_t nacrei_partition_batch(const nacrei_gpu *gpu, const nacrei_table *table,
                                   const nacrei_elements *elements, const nacrei_partition *to,
                                   cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_grow_prepare(const nacrei_gpu *gpu);
template <typename Width>
cudaError_t nacrei_split(const nacrei_table *table, uint64_t submaps_now, uint64_t submaps,
                         cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_fullest_pair(const nacrei_table *table, uint64_t first, uint64_t submaps,
                                uint32_t *fullest, cudaStream_t stream);
template <typename Width>
cudaError_t nacrei_merge(const nacrei_table *table, uint64_t first, uint64_t submaps,
                         cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_end_growth(const nacrei_table *table, uint64_t submaps, uint64_t capacity_keys,
                              cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_maintain(const nacrei_table *table, uint64_t first, uint64_t count,
                            cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_retrieve_prepare(void);
template <typename Width>
cudaError_t nacrei_retrieve(const nacrei_slot_walk *walk, const nacrei_target *target,
                            const nacrei_compact_launch *launch);

template <typename Width>
cudaError_t nacrei_erase_if_prepare(void);
template <typename Width>
cudaError_t nacrei_erase_if(const nacrei_gpu *gpu, const nacrei_slot_walk *walk,
                            const nacrei_elements *elements, cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_match_prepare(void);
template <typename Width>
cudaError_t nacrei_match(const nacrei_table *table, const nacrei_elements *elements,
                         const nacrei_matches *matches, cudaStream_t stream);

template <typename Width>
cudaError_t nacrei_inspect_prepare(void);
template <typename Width>
cudaError_t nacrei_inspect(const nacrei_gpu *gpu, const nacrei_table *table,
                           nacrei_inspection *inspection, cudaStream_t stream);

cudaError_t nacrei_view_prepare(void);
cudaError_t nacrei_clear_prepare(void);
cudaError_t nacrei_clear(const nacrei_gpu *gpu, const nacrei_table *table, cudaStream_t stream);

#endif
