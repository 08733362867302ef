/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the suite: what bounds a map on a GPU, the workload, and compaction in its naive
 * forms.
 */
#include "cuda_kernels.h"

#include <cuda_runtime.h>

typedef unsigned long long u64;

static const int threads = 256;

/* A thread per element for what is measured; grid-stride where the elements are computed. */
static unsigned one_each(uint64_t count)
{
    return (unsigned)((count + threads - 1) / threads);
}

#define FOR_EACH(i, n)                                                          \
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < (n); \
         i += (uint64_t)gridDim.x * blockDim.x)

static const int blocks = 4096;

/* ---- limits --------------------------------------------------------------------------------- */

static __global__ void copy(const ulonglong2 *from, ulonglong2 *to, uint64_t n)
{
    FOR_EACH(i, n)
    {
        to[i] = from[i];
    }
}

static __global__ void random_reads(const ulonglong2 *table, uint64_t buckets, const uint64_t *keys,
                                    uint64_t *out, uint64_t n)
{
    FOR_EACH(i, n)
    {
        const ulonglong2 *bucket = table + 2 * __umul64hi(bench_mix64(keys[i]), buckets);
        ulonglong2 a = __ldg(bucket), b = __ldg(bucket + 1);
        out[i] = a.x ^ a.y ^ b.x ^ b.y;
    }
}

static __global__ void random_swaps(u64 *table, uint64_t slots, const uint64_t *keys, uint64_t n)
{
    FOR_EACH(i, n)
    {
        atomicCAS(table + 2 * __umul64hi(bench_mix64(keys[i]), slots), 0ull, (u64)keys[i]);
    }
}

void bench_cuda_copy(void *table, uint64_t bytes, cudaStream_t stream)
{
    uint64_t half = bytes / 2 / sizeof(ulonglong2);
    copy<<<one_each(half), threads, 0, stream>>>((const ulonglong2 *)table,
                                                 (ulonglong2 *)table + half, half);
}

void bench_cuda_read(const void *table, uint64_t bytes, const uint64_t *keys, uint64_t *out,
                     uint64_t count, cudaStream_t stream)
{
    random_reads<<<one_each(count), threads, 0, stream>>>((const ulonglong2 *)table, bytes / 32,
                                                          keys, out, count);
}

void bench_cuda_swap(void *table, uint64_t bytes, const uint64_t *keys, uint64_t count,
                     cudaStream_t stream)
{
    random_swaps<<<one_each(count), threads, 0, stream>>>((u64 *)table, bytes / 16, keys, count);
}

/* ---- workload ------------------------------------------------------------------------------- */

/* A block's counts in one atomic. */
static __device__ void add_up(uint64_t mine, uint64_t *result)
{
    __shared__ u64 total;
    if (threadIdx.x == 0) {
        total = 0;
    }
    __syncthreads();
    if (mine != 0) {
        atomicAdd(&total, (u64)mine);
    }
    __syncthreads();
    if (threadIdx.x == 0 && total != 0) {
        atomicAdd((u64 *)result, total);
    }
}

static __global__ void make(bench_keys keys, void *keys_out, void *values, uint32_t value_bytes,
                            uint64_t count)
{
    FOR_EACH(i, count)
    {
        uint64_t key = bench_key(&keys, i);
        bench_store(keys_out, keys.key_bytes, i, key);
        if (values != nullptr) {
            bench_store(values, value_bytes, i, bench_value(key, value_bytes));
        }
    }
}

static __global__ void wrong(bench_keys keys, const void *answers, uint32_t value_bytes,
                             uint64_t missing, uint64_t count, uint64_t *result)
{
    uint64_t mine = 0;
    FOR_EACH(i, count)
    {
        mine += bench_load(answers, value_bytes, i) != bench_answer(&keys, i, value_bytes, missing);
    }
    add_up(mine, result);
}

static __global__ void wrong_pairs(const void *keys, uint32_t key_bytes, const void *values,
                                   uint32_t value_bytes, uint64_t count, uint64_t *result)
{
    uint64_t mine = 0;
    FOR_EACH(i, count)
    {
        uint64_t key = bench_load(keys, key_bytes, i);
        mine += bench_load(values, value_bytes, i) != bench_value(key, value_bytes);
    }
    add_up(mine, result);
}

static __global__ void wrong_matches(bench_keys keys, uint64_t count, const void *indices,
                                     const void *values, uint32_t value_bytes, uint64_t matches,
                                     uint64_t *result)
{
    uint64_t mine = 0;
    FOR_EACH(i, matches)
    {
        mine += !bench_is_match(&keys, count, bench_load(indices, 4, i),
                                bench_load(values, value_bytes, i), value_bytes);
    }
    add_up(mine, result);
}

static __global__ void sum(const void *array, uint32_t bytes, const uint8_t *flags, uint64_t high,
                           uint64_t count, uint64_t *result)
{
    uint64_t mine = 0;
    FOR_EACH(i, count)
    {
        uint64_t number = bench_load(array, bytes, i);
        mine += number <= high && (flags == nullptr || flags[i] == 1) ? number : 0;
    }
    add_up(mine, result);
}

static __global__ void flag(uint8_t *flags, double share, uint64_t count)
{
    FOR_EACH(i, count)
    {
        flags[i] = (uint8_t)bench_is_kept(i, share);
    }
}

static __global__ void mark(bench_keys keys, uint64_t count, uint8_t *seen)
{
    FOR_EACH(i, count)
    {
        seen[bench_number(&keys, i)] = 1;
    }
}

void bench_cuda_make(const bench_keys *keys, void *keys_out, void *values, uint32_t value_bytes,
                     uint64_t count, cudaStream_t stream)
{
    make<<<blocks, threads, 0, stream>>>(*keys, keys_out, values, value_bytes, count);
}

void bench_cuda_wrong(const bench_keys *keys, const void *answers, uint32_t value_bytes,
                      uint64_t missing, uint64_t count, uint64_t *result, cudaStream_t stream)
{
    wrong<<<blocks, threads, 0, stream>>>(*keys, answers, value_bytes, missing, count, result);
}

void bench_cuda_wrong_pairs(const void *keys, uint32_t key_bytes, const void *values,
                            uint32_t value_bytes, uint64_t count, uint64_t *result,
                            cudaStream_t stream)
{
    wrong_pairs<<<blocks, threads, 0, stream>>>(keys, key_bytes, values, value_bytes, count,
                                                result);
}

void bench_cuda_wrong_matches(const bench_keys *keys, uint64_t count, const void *indices,
                              const void *values, uint32_t value_bytes, uint64_t matches,
                              uint64_t *result, cudaStream_t stream)
{
    wrong_matches<<<blocks, threads, 0, stream>>>(*keys, count, indices, values, value_bytes,
                                                  matches, result);
}

void bench_cuda_sum(const void *array, uint32_t bytes, const uint8_t *flags, uint64_t high,
                    uint64_t count, uint64_t *result, cudaStream_t stream)
{
    sum<<<blocks, threads, 0, stream>>>(array, bytes, flags, high, count, result);
}

void bench_cuda_flag(uint8_t *flags, double share, uint64_t count, cudaStream_t stream)
{
    flag<<<blocks, threads, 0, stream>>>(flags, share, count);
}

void bench_cuda_mark(const bench_keys *keys, uint64_t count, uint8_t *seen, cudaStream_t stream)
{
    mark<<<blocks, threads, 0, stream>>>(*keys, count, seen);
}

/* ---- compaction, naively --------------------------------------------------------------------- */

/* An atomic per item kept; in assembly, since the compiler would join them to one per warp. */
static __global__ void naive_per_item(const uint64_t *items, const uint8_t *flags, uint64_t count,
                                      uint64_t *out, uint64_t *needed)
{
    FOR_EACH(i, count)
    {
        if (flags[i] != 0) {
            u64 place;
            asm volatile("atom.global.add.u64 %0, [%1], 1;" : "=l"(place) : "l"(needed) : "memory");
            out[place] = items[i];
        }
    }
}

/* An atomic per warp that keeps something. */
static __global__ void naive_per_warp(const uint64_t *items, const uint8_t *flags, uint64_t count,
                                      uint64_t *out, uint64_t *needed)
{
    FOR_EACH(i, count)
    {
        const bool kept = flags[i] != 0;
        const unsigned here = __activemask(), votes = __ballot_sync(here, kept);
        const unsigned lane = threadIdx.x % 32, leader = votes != 0 ? __ffs((int)votes) - 1 : 0;
        u64 place = 0;
        if (votes != 0 && lane == leader) {
            place = atomicAdd((u64 *)needed, (u64)__popc(votes));
        }
        place = __shfl_sync(here, place, (int)leader);
        if (kept) {
            out[place + __popc(votes & ((1u << lane) - 1))] = items[i];
        }
    }
}

void bench_cuda_naive(int per_warp, const uint64_t *items, const uint8_t *flags, uint64_t count,
                      uint64_t *out, uint64_t *needed, cudaStream_t stream)
{
    auto kernel = per_warp ? naive_per_warp : naive_per_item;
    kernel<<<one_each(count), threads, 0, stream>>>(items, flags, count, out, needed);
}
