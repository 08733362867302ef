/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Erasure of selected keys: a pass over all slots, those of a tile read at once. Runs beside
 * nothing else, so an emptied slot is a plain store, stamped with its bucket's signature, as if the
 * bucket had been full.
 */
#include "device/compact/map_source.cuh"
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"

namespace
{

template <typename Width>
__device__ __forceinline__ void empty_slot(const nacrei_slot_walk &walk,
                                           const nacrei_map_source<Width> &source, unsigned v,
                                           unsigned j)
{
    typedef typename Width::slot_type slot_type;
    if (source.submap == nullptr) {
        char *side = nacrei_side_address<Width>(walk.table, (typename Width::key_type)threadIdx.x);
        *(slot_type *)side = Width::make_empty(0);
        return;
    }
    const uint64_t at = source.first + v * 32 * 16 + j * Width::slot_bytes;
    const uint32_t signature = nacrei_signature_load<true>(walk.table, source.submap,
                                                           (uint32_t)(at / NACREI_BUCKET_BYTES));
    *(slot_type *)(source.submap + at) = Width::make_empty(signature | NACREI_SIGNATURE_NEIGHBOUR);
}

template <typename Width>
__global__ void __launch_bounds__(NACREI_COMPACT_THREADS)
    erase_if_kernel(const nacrei_slot_walk walk, const nacrei_elements elements)
{
    typedef nacrei_map_source<Width> source_type;
    constexpr unsigned V = NACREI_TILE_VECTORS, S = source_type::elements;
    typedef nacrei_keep<V * S> keep_type;
    __shared__ uint32_t of_warp[NACREI_COMPACT_THREADS / 32];
    const uint64_t tiles = source_type::tiles(walk, V);
    uint32_t erased = 0;
    for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const source_type source(walk, tile, V);
        typename source_type::vector content[V];
        source.template load<V>(content);
        const keep_type keep = source.template keep<V>([&](unsigned v) { return content[v]; });
        erased += nacrei_count_bits(keep);
#pragma unroll
        for (unsigned i = 0; i < V * S; i++) {
            if (keep >> i & 1) {
                empty_slot<Width>(walk, source, i / S, i % S);
            }
        }
    }
#pragma unroll
    for (unsigned step = 16; step > 0; step /= 2) {
        erased += __shfl_down_sync(~0u, erased, step);
    }
    if (threadIdx.x % 32 == 0) {
        of_warp[threadIdx.x / 32] = erased;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        nacrei_totals totals = {0, 0, 0, 0, 0};
        for (unsigned w = 0; w < NACREI_COMPACT_THREADS / 32; w++) {
            totals.delta += of_warp[w];
        }
        totals.done = totals.delta;
        nacrei_block_tell(walk.table, elements, totals, -1, false);
    }
}

} // namespace

template <typename Width>
cudaError_t nacrei_erase_if(const nacrei_gpu *gpu, const nacrei_slot_walk *given,
                            const nacrei_elements *elements, cudaStream_t stream)
{
    nacrei_slot_walk walk = *given;
    nacrei_walk_lay_out(&walk, Width::slot_bytes, NACREI_TILE_VECTORS);
    return nacrei_launch(erase_if_kernel<Width>, gpu->multiprocessors * 8, NACREI_COMPACT_THREADS,
                         0, stream, walk, *elements);
}

template <typename Width>
cudaError_t nacrei_erase_if_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(erase_if_kernel<Width>, &error);
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                                     \
    template cudaError_t nacrei_erase_if<nacrei_width<key_bytes, value_bytes>>(               \
        const nacrei_gpu *, const nacrei_slot_walk *, const nacrei_elements *, cudaStream_t); \
    template cudaError_t nacrei_erase_if_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
