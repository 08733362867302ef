/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth, maintenance, shrinking: rebuilding submaps; and clearing.
 *
 * One block rebuilds one submap: it reads the slots, places the keys into an image in shared
 * memory (image.cuh), and streams the image out, over the old submap or, for those keys that move
 * when it splits, to its new neighbour. No random access to memory at all, no second copy of the
 * table.
 */
#include "device/image.cuh"
#include "device/kernels_internal.cuh"
#include "nacre/cuda/claim.cuh"

namespace
{

/*
 * Rebuilds submaps, a block each. Where `half` is not 0 it splits: number first + b - half goes to
 * itself and to first + b, b = 0 .. blocks - 1. Else it makes number first + b anew. Numbers count
 * from 0, without the stash.
 */
template <typename Width>
__global__ void __launch_bounds__(rebuild_threads,
                                  nacrei_blocks_that_fit(rebuild_threads, rebuild_blocks))
    rebuild_kernel(const nacrei_table table, uint64_t first, uint64_t half)
{
    extern __shared__ uint4 shared[];
    __shared__ unsigned guest_count;
    const workshop shop = workshop_at((char *)shared, table.bucket_mask + 1, &guest_count);
    const uint64_t number = first + blockIdx.x;
    char *submap = nacrei_submap_address(table, 1 + number - half);
    nacrei_slot16 held[vectors_held];
    hold(table, submap, held);
    if (half != 0) {
        begin_image(table, shop);
        place_held<Width>(table, held, half, true, shop);
        end_image<Width>(table, shop);
        write_image(table, shop, nacrei_submap_address(table, 1 + number));
        __syncthreads();
    }
    begin_image(table, shop);
    place_held<Width>(table, held, half, false, shop);
    end_image<Width>(table, shop);
    write_image(table, shop, submap);
}

/* Splitting backwards: number first + b goes into first + b - half. Both fit into one submap. */
template <typename Width>
__global__ void __launch_bounds__(rebuild_threads,
                                  nacrei_blocks_that_fit(rebuild_threads, rebuild_blocks))
    merge_kernel(const nacrei_table table, uint64_t first, uint64_t half)
{
    extern __shared__ uint4 shared[];
    __shared__ unsigned guest_count;
    const workshop shop = workshop_at((char *)shared, table.bucket_mask + 1, &guest_count);
    const uint64_t number = first + blockIdx.x;
    char *submap = nacrei_submap_address(table, 1 + number - half);
    nacrei_slot16 held[vectors_held];
    hold(table, submap, held);
    begin_image(table, shop);
    place_held<Width>(table, held, 0, false, shop);
    hold(table, nacrei_submap_address(table, 1 + number), held);
    place_held<Width>(table, held, 0, false, shop);
    end_image<Width>(table, shop);
    write_image(table, shop, submap);
}

/* The most keys that number first + b and first + b - half have together. */
template <typename Width>
__global__ void __launch_bounds__(rebuild_threads)
    fullest_pair_kernel(const nacrei_table table, uint64_t first, uint64_t half, uint32_t *fullest)
{
    __shared__ unsigned keys;
    const unsigned slots = (table.bucket_mask + 1) * Width::slots;
    unsigned mine = 0;
    if (threadIdx.x == 0) {
        keys = 0;
    }
    __syncthreads();
    for (unsigned upper = 0; upper < 2; upper++) {
        const char *submap =
            nacrei_submap_address(table, 1 + first + blockIdx.x - (upper != 0 ? 0 : half));
        for (unsigned i = threadIdx.x; i < slots; i += rebuild_threads) {
            mine += !Width::is_empty(((const typename Width::slot_type *)submap)[i]);
        }
    }
    atomicAdd(&keys, mine); /* relaxed, as the one below: only counted */
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMax(fullest, keys);
    }
}

/*
 * The end of growth or maintenance, by one block: publishes the number of submaps and the capacity,
 * then takes the stash's keys, if it has any, out and inserts them again. They find room: the stash
 * itself has it.
 */
template <typename Width>
__global__ void __launch_bounds__(rebuild_threads)
    end_growth_kernel(const nacrei_table table, uint64_t submaps, uint64_t capacity_keys)
{
    extern __shared__ uint4 shared[];
    uint4 *stash = (uint4 *)nacrei_submap_address(table, 0);
    const unsigned vectors = (table.bucket_mask + 1) * 2;
    if (threadIdx.x == 0) {
        table.control->submap_count = submaps;
        table.control->capacity_keys = capacity_keys;
    }
    uint32_t used = 0;
#pragma unroll 8 /* loads that are under way together */
    for (unsigned i = threadIdx.x; i < vectors; i += rebuild_threads) {
        const uint4 vector = stash[i];
        used |= vector.x | vector.y | vector.z | vector.w;
    }
    if (!__syncthreads_or(used != 0)) {
        return;
    }
    for (unsigned i = threadIdx.x; i < vectors; i += rebuild_threads) {
        shared[i] = stash[i];
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < table.submap_bytes / 16; i += rebuild_threads) {
        stash[i] = make_uint4(0, 0, 0, 0);
    }
    __threadfence(); /* zeros and submap_count before the block's insertions */
    __syncthreads();
    nacrei_shape shape;
    shape.submap_count = submaps;
    shape.half = nacrei_floor_power(submaps);
    for (unsigned i = threadIdx.x; i < vectors * slots_of_vector<Width>; i += rebuild_threads) {
        const typename Width::slot_type slot = ((const typename Width::slot_type *)shared)[i];
        if (!Width::is_empty(slot)) {
            nacrei_find_or_claim<Width>(table, shape, hash_of_slot<Width>(table, slot),
                                        Width::key_of(slot), Width::value_of(slot),
                                        nacrei_no_meter());
        }
    }
}

__global__ void __launch_bounds__(256) clear_kernel(const nacrei_table table)
{
    const uint64_t submaps = table.control->submap_count;
    for (uint64_t number = blockIdx.x; number <= submaps; number += gridDim.x) {
        uint4 *submap = (uint4 *)nacrei_submap_address(table, number);
        for (unsigned i = threadIdx.x; i < table.submap_bytes / 16; i += 256) {
            __stcs(submap + i, make_uint4(0, 0, 0, 0));
        }
    }
    if (blockIdx.x == 0) {
        for (unsigned i = threadIdx.x; i < sizeof table.control->side / 16; i += 256) {
            ((uint4 *)table.control->side)[i] = make_uint4(0, 0, 0, 0);
        }
        if (threadIdx.x == 0) {
            table.control->size = 0;
            table.control->taken = 0;
            table.hints->size = 0;
        }
    }
}

} // namespace

uint32_t nacrei_buckets_per_submap(const nacrei_gpu *gpu)
{
    uint32_t buckets = buckets_max;
    while (workshop_bytes(buckets) > gpu->shared_bytes_max) {
        buckets /= 2;
    }
    return buckets;
}

template <typename Width>
static cudaError_t rebuild(const nacrei_table *table, uint64_t first, uint64_t half, uint64_t count,
                           cudaStream_t stream)
{
    return nacrei_launch(rebuild_kernel<Width>, (uint32_t)count, rebuild_threads,
                         workshop_bytes(table->bucket_mask + 1), stream, *table, first, half);
}

template <typename Width>
cudaError_t nacrei_split(const nacrei_table *table, uint64_t submaps_now, uint64_t submaps,
                         cudaStream_t stream)
{
    return rebuild<Width>(table, submaps_now, nacrei_floor_power(submaps_now),
                          submaps - submaps_now, stream);
}

template <typename Width>
cudaError_t nacrei_fullest_pair(const nacrei_table *table, uint64_t first, uint64_t submaps,
                                uint32_t *fullest, cudaStream_t stream)
{
    const cudaError_t error = cudaMemsetAsync(fullest, 0, sizeof *fullest, stream);
    return error != cudaSuccess
               ? error
               : nacrei_launch(fullest_pair_kernel<Width>, (uint32_t)(submaps - first),
                               rebuild_threads, 0, stream, *table, first,
                               nacrei_floor_power(submaps - 1), fullest);
}

template <typename Width>
cudaError_t nacrei_merge(const nacrei_table *table, uint64_t first, uint64_t submaps,
                         cudaStream_t stream)
{
    return nacrei_launch(merge_kernel<Width>, (uint32_t)(submaps - first), rebuild_threads,
                         workshop_bytes(table->bucket_mask + 1), stream, *table, first,
                         nacrei_floor_power(submaps - 1));
}

template <typename Width>
cudaError_t nacrei_end_growth(const nacrei_table *table, uint64_t submaps, uint64_t capacity_keys,
                              cudaStream_t stream)
{
    return nacrei_launch(end_growth_kernel<Width>, 1, rebuild_threads,
                         (table->bucket_mask + 1) * NACREI_BUCKET_BYTES, stream, *table, submaps,
                         capacity_keys);
}

template <typename Width>
cudaError_t nacrei_maintain(const nacrei_table *table, uint64_t first, uint64_t count,
                            cudaStream_t stream)
{
    return rebuild<Width>(table, first, 0, count, stream);
}

/* Loads a kernel and lets it have so much shared memory. Keeps the first error. */
template <typename Kernel>
static void prepare(Kernel kernel, unsigned shared_bytes, cudaError_t *error)
{
    nacrei_prepare(kernel, error);
    if (*error == cudaSuccess) {
        *error = cudaFuncSetAttribute(
            (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared_bytes);
    }
}

template <typename Width>
cudaError_t nacrei_grow_prepare(const nacrei_gpu *gpu)
{
    const uint32_t buckets = nacrei_buckets_per_submap(gpu);
    cudaError_t error = cudaSuccess;
    prepare(end_growth_kernel<Width>, buckets * NACREI_BUCKET_BYTES, &error);
    prepare(rebuild_kernel<Width>, workshop_bytes(buckets), &error);
    prepare(merge_kernel<Width>, workshop_bytes(buckets), &error);
    nacrei_prepare(fullest_pair_kernel<Width>, &error);
    return error;
}

cudaError_t nacrei_clear(const nacrei_gpu *gpu, const nacrei_table *table, cudaStream_t stream)
{
    return nacrei_launch(clear_kernel, gpu->multiprocessors * 8, 256, 0, stream, *table);
}

cudaError_t nacrei_clear_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(clear_kernel, &error);
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                           \
    template cudaError_t nacrei_split<nacrei_width<key_bytes, value_bytes>>(        \
        const nacrei_table *, uint64_t, uint64_t, cudaStream_t);                    \
    template cudaError_t nacrei_end_growth<nacrei_width<key_bytes, value_bytes>>(   \
        const nacrei_table *, uint64_t, uint64_t, cudaStream_t);                    \
    template cudaError_t nacrei_maintain<nacrei_width<key_bytes, value_bytes>>(     \
        const nacrei_table *, uint64_t, uint64_t, cudaStream_t);                    \
    template cudaError_t nacrei_fullest_pair<nacrei_width<key_bytes, value_bytes>>( \
        const nacrei_table *, uint64_t, uint64_t, uint32_t *, cudaStream_t);        \
    template cudaError_t nacrei_merge<nacrei_width<key_bytes, value_bytes>>(        \
        const nacrei_table *, uint64_t, uint64_t, cudaStream_t);                    \
    template cudaError_t nacrei_grow_prepare<nacrei_width<key_bytes, value_bytes>>( \
        const nacrei_gpu *);
NACREI_WIDTHS(NACREI_INSTANTIATE)
