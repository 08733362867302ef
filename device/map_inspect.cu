/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspection: one pass over all slots that counts keys and probe lengths and checks the invariants
 * of the table, for nacre_map_check and nacre_map_statistics_get; and lookups of random keys, for
 * the pairs read on a miss.
 */
#include "device/kernels_internal.cuh"
#include "nacre/cuda/table.cuh"

namespace
{

constexpr unsigned inspect_threads = 256;
constexpr unsigned missing_lookups = 1u << 16; /* sampled: a mean within half a percent */

typedef unsigned long long counter;

__device__ void tell_broken(nacrei_inspection *inspection, uint32_t what, uint64_t submap,
                            uint64_t slot)
{
    /* Relaxed: the first to claim the report fills it; it is read after the kernel. */
    if (atomicCAS(&inspection->broken, (uint32_t)NACREI_BROKEN_NOTHING, what) ==
        NACREI_BROKEN_NOTHING) {
        inspection->broken_submap = submap;
        inspection->broken_slot = slot;
    }
}

/*
 * Looks at one slot of submap `number`; returns the length of its key's path in pairs, 0 for an
 * empty slot.
 */
template <typename Width>
__device__ uint32_t inspect_slot(const nacrei_table &table, const nacrei_shape &shape,
                                 uint64_t number, char *submap, uint64_t index,
                                 nacrei_inspection *inspection)
{
    char *address = submap + index * Width::slot_bytes;
    const uint32_t bucket = (uint32_t)(index / Width::slots);
    typename Width::slot_type slot = Width::load(address);
    if (Width::is_empty(slot)) {
        if ((Width::signature_of_empty(slot) & ~NACREI_SIGNATURE_NEIGHBOUR) !=
            nacrei_signature_load<false>(table, submap, bucket)) {
            tell_broken(inspection, NACREI_BROKEN_SIGNATURE, number, index);
        }
        return 0;
    }
    const typename Width::key_type stored = Width::key_of(slot);
    const uint64_t hash = nacrei_hash(nacrei_key_store(stored, Width::key_bytes), table.seed);
    if (number != 0 && number != nacrei_submap_of(hash, shape.submap_count, shape.half)) {
        tell_broken(inspection, NACREI_BROKEN_SUBMAP, number, index);
    }
    typename Width::slot_type found;
    nacrei_place place = nacrei_locate<Width, NACREI_NEAR_KEPT>(table, shape, hash, stored, &found);
    if (place.address != address) {
        tell_broken(inspection, NACREI_BROKEN_PLACE, number, index);
    }
    return (place.path_buckets + 1) / 2;
}

template <typename Width>
__global__ void __launch_bounds__(inspect_threads)
    inspect_kernel(const nacrei_table table, nacrei_inspection *inspection)
{
    __shared__ counter lengths[16], keys, stash_keys, hit_pairs, miss_pairs;
    __shared__ uint32_t longest;
    if (threadIdx.x < 16) {
        lengths[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) {
        keys = stash_keys = hit_pairs = miss_pairs = 0;
        longest = 0;
    }
    __syncthreads();
    const nacrei_shape shape = nacrei_shape_of(table);
    const uint64_t slots = ((uint64_t)table.bucket_mask + 1) * Width::slots;
    for (uint64_t number = blockIdx.x; number <= shape.submap_count; number += gridDim.x) {
        char *submap = nacrei_submap_address(table, number);
        for (uint64_t index = threadIdx.x; index < slots; index += inspect_threads) {
            uint32_t length = inspect_slot<Width>(table, shape, number, submap, index, inspection);
            if (length != 0) {
                atomicAdd(&lengths[length - 1 < 15 ? length - 1 : 15], 1ull);
                atomicAdd(&keys, 1ull);
                atomicAdd(&hit_pairs, (counter)length);
                atomicAdd(&stash_keys, (counter)(number == 0));
                atomicMax(&longest, length);
            }
        }
    }
    if (blockIdx.x == 0 && threadIdx.x < Width::empty_patterns) {
        const typename Width::slot_type side =
            Width::load(nacrei_side_address<Width>(table, (typename Width::key_type)threadIdx.x));
        if (!Width::is_empty(side)) {
            if (Width::key_of(side) != Width::empty_patterns) {
                tell_broken(inspection, NACREI_BROKEN_SIDE, 0, threadIdx.x);
            }
            atomicAdd(&lengths[0], 1ull);
            atomicAdd(&keys, 1ull);
            atomicAdd(&hit_pairs, 1ull);
            atomicMax(&longest, 1u);
        }
    }
    for (uint64_t i = (uint64_t)blockIdx.x * inspect_threads + threadIdx.x; i < missing_lookups;
         i += (uint64_t)gridDim.x * inspect_threads) {
        /* Any hash will do: it stands for a key that is not there. */
        const uint64_t hash = nacrei_hash(i, ~table.seed);
        const typename Width::key_type stored =
            (typename Width::key_type)hash | Width::empty_patterns;
        typename Width::slot_type slot;
        const nacrei_place place =
            nacrei_locate<Width, NACREI_NEAR_KEPT>(table, shape, hash, stored, &slot);
        atomicAdd(&miss_pairs, (counter)((place.path_buckets + 1) / 2));
    }
    __syncthreads();
    if (threadIdx.x < 16) {
        atomicAdd((counter *)&inspection->probe_lengths[threadIdx.x], lengths[threadIdx.x]);
    }
    if (threadIdx.x == 0) {
        atomicAdd((counter *)&inspection->keys, keys);
        atomicAdd((counter *)&inspection->stash_keys, stash_keys);
        atomicAdd((counter *)&inspection->hit_pairs, hit_pairs);
        atomicAdd((counter *)&inspection->missing_pairs, miss_pairs);
        atomicMax(&inspection->probe_length_max, longest);
        if (blockIdx.x == 0) {
            inspection->missing_lookups = missing_lookups;
        }
    }
}

} // namespace

template <typename Width>
cudaError_t nacrei_inspect(const nacrei_gpu *gpu, const nacrei_table *table,
                           nacrei_inspection *inspection, cudaStream_t stream)
{
    cudaError_t error = cudaMemsetAsync(inspection, 0, sizeof *inspection, stream);
    if (error != cudaSuccess) {
        return error;
    }
    return nacrei_launch(inspect_kernel<Width>, gpu->multiprocessors * 8, inspect_threads, 0,
                         stream, *table, inspection);
}

template <typename Width>
cudaError_t nacrei_inspect_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(inspect_kernel<Width>, &error);
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                             \
    template cudaError_t nacrei_inspect<nacrei_width<key_bytes, value_bytes>>(        \
        const nacrei_gpu *, const nacrei_table *, nacrei_inspection *, cudaStream_t); \
    template cudaError_t nacrei_inspect_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
