/* SPDX-License-Identifier: Apache-2.0 */
/* A program's own kernels, which look up and insert through a view, one key a thread. */
#include "cuda_kernels.h"
#include "nacre/cuda/map_view.cuh"

typedef nacre_map_view<8, 8, NACRE_ACCESS_READ> reader;
typedef nacre_map_view<8, 8, NACRE_ACCESS_INSERT> writer;

static const int threads = 256;

static unsigned one_each(uint64_t count)
{
    return (unsigned)((count + threads - 1) / threads);
}

static __global__ void find(const reader view, const uint64_t *keys, uint64_t count,
                            uint64_t *values_out)
{
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i < count) {
        view.find(keys[i], &values_out[i]);
    }
}

static __global__ void insert(const writer view, const uint64_t *keys, const uint64_t *values,
                              uint64_t count)
{
#if !NACREI_TWO_STEP /* else it does not compile, and the view is UNSUPPORTED */
    const uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i < count) {
        view.insert(keys[i], values[i]);
    }
#endif
}

nacre_status bench_cuda_view_find(nacre_map *map, const uint64_t *keys, uint64_t count,
                                  uint64_t *values_out, nacre_error *error, cudaStream_t stream)
{
    reader view;
    nacre_status status = view.begin(map, 0, error, stream);
    if (status == NACRE_OK) {
        find<<<one_each(count), threads, 0, stream>>>(view, keys, count, values_out);
        status = view.end(map, error, stream);
    }
    return status;
}

nacre_status bench_cuda_view_insert(nacre_map *map, const uint64_t *keys, const uint64_t *values,
                                    uint64_t count, nacre_error *error, cudaStream_t stream)
{
    writer view;
    nacre_status status = view.begin(map, count, error, stream);
    if (status == NACRE_OK) {
        insert<<<one_each(count), threads, 0, stream>>>(view, keys, values, count);
        status = view.end(map, error, stream);
    }
    return status;
}
