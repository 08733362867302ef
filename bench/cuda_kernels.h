/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the suite, as C functions that launch them; pointers are device memory. Limits: copy
 * bandwidth, random reads of 32 bytes, random 64-bit compare-and-swaps. Workload, naive forms of
 * compaction, views: as in side.h.
 */
#ifndef NACRE_BENCH_CUDA_KERNELS_H
#define NACRE_BENCH_CUDA_KERNELS_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#include <nacre/nacre.h>

#include "workload.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first half of the table onto the second. */
void bench_cuda_copy(void *table, uint64_t bytes, cudaStream_t stream);
/* A read for each of `count` keys; out [count]. */
void bench_cuda_read(const void *table, uint64_t bytes, const uint64_t *keys, uint64_t *out,
                     uint64_t count, cudaStream_t stream);
/* A compare-and-swap of 0 against the key for each, in a 16-byte slot each. */
void bench_cuda_swap(void *table, uint64_t bytes, const uint64_t *keys, uint64_t count,
                     cudaStream_t stream);

/* *result, zeroed beforehand, gets what is counted or added up. */
void bench_cuda_make(const bench_keys *keys, void *keys_out, void *values, uint32_t value_bytes,
                     uint64_t count, cudaStream_t stream);
void bench_cuda_wrong(const bench_keys *keys, const void *answers, uint32_t value_bytes,
                      uint64_t missing, uint64_t count, uint64_t *result, cudaStream_t stream);
void bench_cuda_wrong_pairs(const void *keys, uint32_t key_bytes, const void *values,
                            uint32_t value_bytes, uint64_t count, uint64_t *result,
                            cudaStream_t stream);
void bench_cuda_wrong_matches(const bench_keys *keys, uint64_t count, const void *indices,
                              const void *values, uint32_t value_bytes, uint64_t matches,
                              uint64_t *result, cudaStream_t stream);
void bench_cuda_sum(const void *array, uint32_t bytes, const uint8_t *flags, uint64_t high,
                    uint64_t count, uint64_t *result, cudaStream_t stream);
void bench_cuda_flag(uint8_t *flags, double share, uint64_t count, cudaStream_t stream);
/* seen [range], zeroed beforehand, gets a 1 for each number that occurs. */
void bench_cuda_mark(const bench_keys *keys, uint64_t count, uint8_t *seen, cudaStream_t stream);

/* *needed, zeroed beforehand, ends up as the number of items kept. */
void bench_cuda_naive(int per_warp, const uint64_t *items, const uint8_t *flags, uint64_t count,
                      uint64_t *out, uint64_t *needed, cudaStream_t stream);

/* cuda_view.cu; a view from its beginning to its end. */
nacre_status bench_cuda_view_find(nacre_map *map, const uint64_t *keys, uint64_t count,
                                  uint64_t *values_out, nacre_error *error, cudaStream_t stream);
nacre_status bench_cuda_view_insert(nacre_map *map, const uint64_t *keys, const uint64_t *values,
                                    uint64_t count, nacre_error *error, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
