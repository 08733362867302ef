/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retrieval of everything: a block takes a tile of slots in registers, counts the occupied ones by
 * ballot, makes one reservation in the output for all of them, and writes them there. The
 * reservation counter is the caller's `needed`, which ends up as the number of keys.
 */
#include "device/kernels_internal.cuh"
#include "nacre/cuda/table.cuh"

namespace
{

constexpr unsigned tile_threads = 256;
constexpr unsigned tile_vectors = 4; /* per thread, 16 bytes each: four loads in flight */
constexpr unsigned tile_bytes = tile_threads * tile_vectors * 16;

template <typename Width>
__device__ __forceinline__ void write_out(void *keys_out, void *values_out, uint64_t place,
                                          uint64_t capacity, typename Width::key_type stored,
                                          typename Width::value_type value)
{
    if (place >= capacity) {
        return;
    }
    if (keys_out != nullptr) {
        __stcs((typename Width::key_type *)keys_out + place,
               (typename Width::key_type)nacrei_key_store(stored, Width::key_bytes));
    }
    if constexpr (Width::value_bytes != 0) {
        if (values_out != nullptr) {
            __stcs((typename Width::value_type *)values_out + place, value);
        }
    }
}

template <typename Width>
__global__ void __launch_bounds__(tile_threads)
    retrieve_kernel(const nacrei_table table, void *keys_out, void *values_out, uint64_t capacity,
                    unsigned long long *needed)
{
    typedef typename Width::slot_type slot_type;
    constexpr unsigned slots = 16 / Width::slot_bytes;
    __shared__ uint32_t of_warp[tile_threads / 32];
    __shared__ uint64_t first_of_tile;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t below = (1u << lane) - 1;
    const uint64_t submap_slot_bytes = ((uint64_t)table.bucket_mask + 1) * NACREI_BUCKET_BYTES;
    const uint64_t tiles_of_submap = (submap_slot_bytes + tile_bytes - 1) / tile_bytes;
    const uint64_t tiles = (table.control->submap_count + 1) * tiles_of_submap;

    for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const char *submap = nacrei_submap_address(table, tile / tiles_of_submap);
        const uint64_t begin = tile % tiles_of_submap * tile_bytes;
        union {
            ulonglong2 vector;
            slot_type slot[slots];
        } content[tile_vectors];
        uint32_t rank[tile_vectors][slots];
        uint32_t kept = 0;
#pragma unroll
        for (unsigned v = 0; v < tile_vectors; v++) {
            const uint64_t at = begin + ((uint64_t)(warp * tile_vectors + v) * 32 + lane) * 16;
            const nacrei_slot16 vector =
                at < submap_slot_bytes ? nacrei_load16<true>(submap + at) : nacrei_slot16{0, 0};
            content[v].vector = make_ulonglong2(vector.key, vector.value);
        }
#pragma unroll
        for (unsigned v = 0; v < tile_vectors; v++) {
#pragma unroll
            for (unsigned j = 0; j < slots; j++) {
                const uint32_t occupied = __ballot_sync(~0u, !Width::is_empty(content[v].slot[j]));
                rank[v][j] = kept + __popc(occupied & below);
                kept += __popc(occupied);
            }
        }
        if (lane == 0) {
            of_warp[warp] = kept;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            uint32_t sum = 0;
            for (unsigned w = 0; w < tile_threads / 32; w++) {
                const uint32_t count = of_warp[w];
                of_warp[w] = sum;
                sum += count;
            }
            /* Relaxed: places are only numbers; one atomic per tile. */
            first_of_tile = sum != 0 ? atomicAdd(needed, (unsigned long long)sum) : 0;
        }
        __syncthreads();
        const uint64_t first = first_of_tile + of_warp[warp];
        if (keys_out != nullptr || values_out != nullptr) {
#pragma unroll
            for (unsigned v = 0; v < tile_vectors; v++) {
#pragma unroll
                for (unsigned j = 0; j < slots; j++) {
                    const slot_type slot = content[v].slot[j];
                    if (!Width::is_empty(slot)) {
                        write_out<Width>(keys_out, values_out, first + rank[v][j], capacity,
                                         Width::key_of(slot), Width::value_of(slot));
                    }
                }
            }
        }
        __syncthreads(); /* before the next round writes of_warp and first_of_tile */
    }
    if (blockIdx.x == 0 && threadIdx.x < Width::empty_patterns) {
        const slot_type slot =
            Width::load(nacrei_side_address<Width>(table, (typename Width::key_type)threadIdx.x));
        if (!Width::is_empty(slot)) {
            write_out<Width>(keys_out, values_out, atomicAdd(needed, 1ull), capacity,
                             (typename Width::key_type)threadIdx.x, Width::value_of(slot));
        }
    }
}

} // namespace

template <typename Width>
cudaError_t nacrei_retrieve(const nacrei_gpu *gpu, const nacrei_table *table, void *keys_out,
                            void *values_out, uint64_t capacity, uint64_t *needed,
                            cudaStream_t stream)
{
    cudaError_t error = cudaMemsetAsync(needed, 0, sizeof *needed, stream);
    if (error != cudaSuccess) {
        return error;
    }
    return nacrei_launch(retrieve_kernel<Width>, gpu->multiprocessors * 8, tile_threads, 0, stream,
                         *table, keys_out, values_out, capacity, (unsigned long long *)needed);
}

template <typename Width>
cudaError_t nacrei_retrieve_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(retrieve_kernel<Width>, &error);
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                               \
    template cudaError_t nacrei_retrieve<nacrei_width<key_bytes, value_bytes>>(         \
        const nacrei_gpu *, const nacrei_table *, void *, void *, uint64_t, uint64_t *, \
        cudaStream_t);                                                                  \
    template cudaError_t nacrei_retrieve_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
