/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partition: the keys and values of a large batch, copied in the order of where in the table they
 * belong. Memory serves an access in a region of the table that the L2 cache holds several times as
 * fast as one anywhere, so that an update of elements in this order gains more than the copy costs
 * (partition.h says when).
 *
 * Two passes: the elements of each bin are counted, then blocks take tiles of elements, sort each
 * by bin in shared memory, reserve its places in all bins by an atomic each, and write it out in
 * runs. Between them a block finds out where the bins begin. Inside a bin the order is any. A batch
 * in which some key is so frequent that its bin stands out is copied in its own order: brought
 * together, its equal keys would wait for one slot.
 */
#include <cub/block/block_scan.cuh>

#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "device/occupancy.cuh"
#include "nacre/cuda/table.cuh"

namespace
{

constexpr unsigned threads = 256, items = 8, tile = threads * items;
static_assert(NACREI_BINS_MAX == threads, "a thread keeps the counters of a bin");

/* Blocks that share a multiprocessor: one writes while another waits for its elements. */
constexpr unsigned scatter_blocks = 3;

template <typename Width>
__device__ __forceinline__ uint32_t bin_of(const nacrei_table &table, const nacrei_shape &shape,
                                           const nacrei_partition &to, typename Width::key_type key)
{
    const uint64_t hash = nacrei_hash(key, table.seed);
    const uint64_t number = nacrei_submap_of(hash, shape.submap_count, shape.half) - 1;
    return (uint32_t)(number * to.bins_per_submap >> NACREI_BIN_SHIFT);
}

template <typename Width>
__global__ void __launch_bounds__(threads)
    count_kernel(const nacrei_table table, const nacrei_elements elements,
                 const nacrei_partition to)
{
    __shared__ uint32_t counts[NACREI_BINS_MAX];
    nacrei_kernel_begin();
    const nacrei_shape shape = nacrei_shape_of(table);
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint64_t i = nacrei_element_index<threads>(); i < elements.count;
         i += (uint64_t)gridDim.x * threads) {
        const typename Width::key_type key = ((const typename Width::key_type *)elements.keys)[i];
        atomicAdd(&counts[bin_of<Width>(table, shape, to, key)], 1u); /* relaxed, as all here */
    }
    __syncthreads();
    if (counts[threadIdx.x] != 0) {
        atomicAdd((unsigned long long *)&to.bins->count[threadIdx.x],
                  (unsigned long long)counts[threadIdx.x]);
    }
}

/*
 * Whether this thread's bin has an eighth more elements than different keys would give it. Where
 * linear hashing has not split a submap yet it gets twice as many as others.
 */
__device__ __forceinline__ bool stands_out(const nacrei_shape &shape, const nacrei_partition &to,
                                           uint64_t elements, uint64_t in_bin)
{
    const uint64_t bin = threadIdx.x;
    /* The bin's submaps are begin .. end - 1, those not split shape.submap_count - half .. half. */
    const uint64_t round_up = to.bins_per_submap - 1;
    uint64_t begin = ((bin << NACREI_BIN_SHIFT) + round_up) / to.bins_per_submap;
    uint64_t end = ((bin + 1 << NACREI_BIN_SHIFT) + round_up) / to.bins_per_submap;
    begin = begin < shape.submap_count ? begin : shape.submap_count;
    end = end < shape.submap_count ? end : shape.submap_count;
    const uint64_t unsplit = shape.submap_count - shape.half;
    const uint64_t from = begin > unsplit ? begin : unsplit;
    const uint64_t until = end < shape.half ? end : shape.half;
    const uint64_t shares = end - begin + (until > from ? until - from : 0);
    const double expected = (double)elements * (double)shares / (double)(2 * shape.half);
    return (double)in_bin > expected * 1.125 + 4096;
}

/* Where the bins begin, and whether one stands out; a thread for each. */
__global__ void __launch_bounds__(threads)
    begin_kernel(const nacrei_table table, const nacrei_elements elements,
                 const nacrei_partition to)
{
    typedef nacrei_wrapped::cub::BlockScan<unsigned long long, threads> scan_type;
    __shared__ typename scan_type::TempStorage scan;
    nacrei_kernel_begin();
    const uint64_t count = to.bins->count[threadIdx.x];
    unsigned long long begin;
    scan_type(scan).ExclusiveSum((unsigned long long)count, begin);
    to.bins->next[threadIdx.x].place = begin;
    const bool unsorted =
        __syncthreads_or(stands_out(nacrei_shape_of(table), to, elements.count, count)) != 0;
    if (threadIdx.x == 0) {
        to.bins->unsorted = unsorted;
    }
}

/* Writes a tile, whose first element is `begin`, in the order in which it came. */
template <typename Width>
__device__ __forceinline__ void write_unsorted(const nacrei_partition &to, uint64_t begin,
                                               uint32_t count, bool has_values,
                                               const typename Width::key_type (&key)[items],
                                               const typename Width::value_type (&value)[items])
{
#pragma unroll
    for (unsigned k = 0; k < items; k++) {
        const uint32_t i = k * threads + threadIdx.x;
        if (i < count) {
            ((typename Width::key_type *)to.keys)[begin + i] = key[k];
            if (has_values) {
                ((typename Width::value_type *)to.values)[begin + i] = value[k];
            }
        }
    }
}

template <typename Width>
__global__ void __launch_bounds__(threads, nacrei_blocks_that_fit(threads, scatter_blocks))
    scatter_kernel(const nacrei_table table, const nacrei_elements elements,
                   const nacrei_partition to)
{
    typedef typename Width::key_type key_type;
    typedef typename Width::value_type value_type;
    typedef nacrei_wrapped::cub::BlockScan<uint32_t, threads> scan_type;
    __shared__ key_type keys[tile];
    __shared__ value_type values[Width::value_bytes != 0 ? tile : 1];
    __shared__ uint8_t bins[tile];
    __shared__ uint32_t counts[NACREI_BINS_MAX], firsts[NACREI_BINS_MAX];
    __shared__ uint64_t places[NACREI_BINS_MAX]; /* in the output, of the tile's element 0 */
    __shared__ typename scan_type::TempStorage scan;
    nacrei_kernel_begin();
    const nacrei_shape shape = nacrei_shape_of(table);
    const bool has_values = Width::value_bytes != 0 && elements.values != nullptr;
    const uint64_t begin = (uint64_t)blockIdx.x * tile;
    const uint32_t count =
        elements.count - begin < tile ? (uint32_t)(elements.count - begin) : tile;
    key_type key[items];
    value_type value[items];
    uint32_t place[items]; /* the bin, and above it the number among the tile's elements there */
    counts[threadIdx.x] = 0;
#pragma unroll
    for (unsigned k = 0; k < items; k++) {
        const uint32_t i = k * threads + threadIdx.x;
        if (i < count) {
            key[k] = nacrei_element_key<Width>(elements, begin + i);
            if (has_values) {
                value[k] = __ldcs((const value_type *)elements.values + begin + i);
            }
        }
    }
    if (to.bins->unsorted != 0) {
        write_unsorted<Width>(to, begin, count, has_values, key, value);
        return;
    }
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < items; k++) {
        if (k * threads + threadIdx.x < count) {
            const uint32_t bin = bin_of<Width>(table, shape, to, key[k]);
            place[k] = bin | atomicAdd(&counts[bin], 1u) << 16;
        }
    }
    __syncthreads();
    const uint32_t mine = counts[threadIdx.x];
    uint64_t next = 0;
    if (mine != 0) {
        next = atomicAdd((unsigned long long *)&to.bins->next[threadIdx.x].place,
                         (unsigned long long)mine);
    }
    uint32_t first;
    scan_type(scan).ExclusiveSum(mine, first);
    firsts[threadIdx.x] = first;
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < items; k++) {
        if (k * threads + threadIdx.x < count) {
            const uint32_t bin = place[k] & 0xffff, at = firsts[bin] + (place[k] >> 16);
            keys[at] = key[k];
            bins[at] = (uint8_t)bin;
            if (has_values) {
                values[at] = value[k];
            }
        }
    }
    places[threadIdx.x] = next - first; /* last: nobody waits for the atomic before */
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < count; i += threads) {
        const uint64_t out = places[bins[i]] + i;
        ((key_type *)to.keys)[out] = keys[i];
        if (has_values) {
            ((value_type *)to.values)[out] = values[i];
        }
    }
}

} // namespace

template <typename Width>
cudaError_t nacrei_partition_batch(const nacrei_gpu *gpu, const nacrei_table *table,
                                   const nacrei_elements *elements, const nacrei_partition *to,
                                   cudaStream_t stream)
{
    /* Blocks that count take many tiles each: they end with an atomic for each bin. */
    const uint64_t counters = gpu->multiprocessors * 8;
    const uint64_t share = (elements->count + counters - 1) / counters;
    cudaError_t error = cudaMemsetAsync(to->bins, 0, sizeof to->bins->count, stream);
    if (error == cudaSuccess) {
        error = nacrei_launch_batch(count_kernel<Width>, table, elements, threads,
                                    share > tile ? share : tile, stream, *to);
    }
    if (error == cudaSuccess) {
        error = nacrei_launch_batch(begin_kernel, table, elements, threads, elements->count, stream,
                                    *to);
    }
    if (error == cudaSuccess) {
        error =
            nacrei_launch_batch(scatter_kernel<Width>, table, elements, threads, tile, stream, *to);
    }
    return error;
}

template <typename Width>
cudaError_t nacrei_partition_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(count_kernel<Width>, &error);
    nacrei_prepare(begin_kernel, &error);
    nacrei_prepare(scatter_kernel<Width>, &error);
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                              \
    template cudaError_t nacrei_partition_batch<nacrei_width<key_bytes, value_bytes>>( \
        const nacrei_gpu *, const nacrei_table *, const nacrei_elements *,             \
        const nacrei_partition *, cudaStream_t);                                       \
    template cudaError_t nacrei_partition_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
