/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth: splitting submaps, and clearing.
 *
 * One block splits one submap. It holds the submap's slots in registers, places the keys into the images of the
 * two successors in shared memory, and streams both out: no random access to memory at all, no second copy of
 * the table. Keys are placed home first: every key tries its home bucket before any key goes further, so that a
 * rebuilt submap is as good as new, or better. Placement cannot fail: a path visits every bucket of an image,
 * which has as many slots as the submap had.
 */
#include "device/claim.cuh"
#include "device/kernels_internal.cuh"
#include "device/table.cuh"

namespace {

constexpr unsigned split_threads = 1024;
constexpr unsigned buckets_max = 2048;
/* 16-byte vectors of a submap that a thread holds; buckets_max * 32 bytes in all. */
constexpr unsigned vectors_of_thread = buckets_max * NACREI_BUCKET_BYTES / 16 / split_threads;

template <typename Width> constexpr unsigned slots_of_vector = 16 / Width::slot_bytes;

template <typename Width>
__device__ __forceinline__ typename Width::slot_type slot_of_vector(const nacrei_slot16 &vector,
                                                                    unsigned index)
{
    if constexpr (Width::slot_bytes == 16) {
        return vector;
    } else if constexpr (Width::slot_bytes == 8) {
        return index == 0 ? vector.key : vector.value;
    } else {
        return (uint32_t)((index < 2 ? vector.key : vector.value) >> (index % 2 * 32));
    }
}

/* Puts a slot into the first free one of a bucket in shared memory; false where there is none. */
template <typename Width>
__device__ __forceinline__ bool place_in_bucket(char *bucket, typename Width::slot_type slot)
{
#pragma unroll
    for (unsigned i = 0; i < Width::slots; i++) {
        char *address = bucket + i * Width::slot_bytes;
        /* Relaxed, in shared memory: claims the key's word; the barrier before the image is read orders the rest. */
        if constexpr (Width::slot_bytes == 16) {
            volatile unsigned long long *words = (volatile unsigned long long *)address;
            if (words[0] == 0 &&
                atomicCAS((unsigned long long *)address, 0ull, (unsigned long long)slot.key) ==
                    0) {
                words[1] = slot.value;
                return true;
            }
        } else if constexpr (Width::slot_bytes == 8) {
            if (*(volatile unsigned long long *)address == 0 &&
                atomicCAS((unsigned long long *)address, 0ull, (unsigned long long)slot) == 0) {
                return true;
            }
        } else {
            if (*(volatile unsigned int *)address == 0 &&
                atomicCAS((unsigned int *)address, 0u, (unsigned int)slot) == 0) {
                return true;
            }
        }
    }
    return false;
}

template <typename Width>
__device__ __forceinline__ uint64_t hash_of_slot(const nacrei_table &table,
                                                 typename Width::slot_type slot)
{
    return nacrei_hash(nacrei_key_store(Width::key_of(slot), Width::key_bytes), table.seed);
}

/* Writes an image out, each empty slot stamped with its bucket's signature. */
template <typename Width>
__device__ __forceinline__ void write_image(const nacrei_table &table, const char *image,
                                            char *submap)
{
    const unsigned buckets = table.bucket_mask + 1;
    const uint32_t *signatures = (const uint32_t *)(image + buckets * NACREI_BUCKET_BYTES);
    typedef typename Width::slot_type slot_type;
    for (unsigned i = threadIdx.x; i < buckets * 2; i += split_threads) {
        const unsigned bucket = i / 2;
        union {
            uint4 vector;
            slot_type slot[slots_of_vector<Width>];
        } content;
        content.vector = ((const uint4 *)image)[i];
        const uint32_t signature = signatures[nacrei_signature_word(bucket)] >>
                                       nacrei_signature_shift(bucket) &
                                   NACREI_SIGNATURE_MASK;
#pragma unroll
        for (unsigned j = 0; j < slots_of_vector<Width>; j++) {
            if (Width::is_empty(content.slot[j])) {
                content.slot[j] = Width::make_empty(signature);
            }
        }
        __stcs((uint4 *)submap + i, content.vector);
    }
    uint32_t *out = (uint32_t *)(submap + (uint64_t)buckets * NACREI_BUCKET_BYTES);
    for (unsigned i = threadIdx.x; i < buckets / NACREI_SIGNATURES_PER_WORD; i += split_threads) {
        out[i] = signatures[i];
    }
}

/* Block b splits submap first + b - half into itself and first + b. Numbers count from 0, without the stash. */
template <typename Width>
__global__ void __launch_bounds__(split_threads)
    split_kernel(const nacrei_table table, uint64_t first, uint64_t half)
{
    extern __shared__ uint4 shared[];
    const unsigned buckets = table.bucket_mask + 1;
    const uint64_t upper = first + blockIdx.x;
    const uint64_t lower = upper - half;
    char *source = nacrei_submap_address(table, 1 + lower);
    char *images = (char *)shared;

    for (unsigned i = threadIdx.x; i < 2 * table.submap_bytes / 16; i += split_threads) {
        shared[i] = make_uint4(0, 0, 0, 0);
    }
    nacrei_slot16 vectors[vectors_of_thread];
#pragma unroll
    for (unsigned v = 0; v < vectors_of_thread; v++) {
        const unsigned i = v * split_threads + threadIdx.x;
        const ulonglong2 content =
            i < buckets * 2 ? __ldcs((const ulonglong2 *)source + i) : make_ulonglong2(0, 0);
        vectors[v].key = content.x;
        vectors[v].value = content.y;
    }
    __syncthreads();

    uint32_t homeless = 0; /* a bit per slot held */
#pragma unroll
    for (unsigned v = 0; v < vectors_of_thread; v++) {
#pragma unroll
        for (unsigned j = 0; j < slots_of_vector<Width>; j++) {
            const typename Width::slot_type slot = slot_of_vector<Width>(vectors[v], j);
            if (!Width::is_empty(slot)) {
                const uint64_t hash = hash_of_slot<Width>(table, slot);
                const bool goes_up = (hash >> NACREI_HASH_SUBMAP_SHIFT & half) != 0;
                const nacrei_probe probe = nacrei_probe_begin(hash, table.bucket_mask);
                char *bucket = images + (goes_up ? table.submap_bytes : 0u) +
                               probe.bucket * NACREI_BUCKET_BYTES;
                if (!place_in_bucket<Width>(bucket, slot)) {
                    homeless |= 1u << (v * slots_of_vector<Width> + j);
                }
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (unsigned v = 0; v < vectors_of_thread; v++) {
#pragma unroll
        for (unsigned j = 0; j < slots_of_vector<Width>; j++) {
            if ((homeless >> (v * slots_of_vector<Width> + j) & 1) != 0) {
                const typename Width::slot_type slot = slot_of_vector<Width>(vectors[v], j);
                const uint64_t hash = hash_of_slot<Width>(table, slot);
                const bool goes_up = (hash >> NACREI_HASH_SUBMAP_SHIFT & half) != 0;
                char *image = images + (goes_up ? table.submap_bytes : 0u);
                uint32_t *signatures = (uint32_t *)(image + buckets * NACREI_BUCKET_BYTES);
                nacrei_probe probe = nacrei_probe_begin(hash, table.bucket_mask);
                do {
                    /* Relaxed, in shared memory; read after the barrier. */
                    atomicOr(&signatures[nacrei_signature_word(probe.bucket)],
                             nacrei_signature_bit(hash)
                                 << nacrei_signature_shift(probe.bucket));
                    nacrei_probe_next(&probe, table.bucket_mask);
                } while (!place_in_bucket<Width>(image + probe.bucket * NACREI_BUCKET_BYTES, slot));
            }
        }
    }
    __syncthreads();
    write_image<Width>(table, images, source);
    write_image<Width>(table, images + table.submap_bytes,
                       nacrei_submap_address(table, 1 + upper));
}

/*
 * The end of a growth, by one block: publishes the new number of submaps, then takes the stash's keys out and
 * inserts them again. They find room: the stash itself has it.
 */
template <typename Width>
__global__ void __launch_bounds__(split_threads)
    empty_stash_kernel(const nacrei_table table, uint64_t submaps)
{
    const unsigned buckets = table.bucket_mask + 1;
    uint4 *stash = (uint4 *)nacrei_submap_address(table, 0);
    if (threadIdx.x == 0) {
        table.control->submap_count = submaps;
    }
    nacrei_slot16 vectors[vectors_of_thread];
    bool used = false;
#pragma unroll
    for (unsigned v = 0; v < vectors_of_thread; v++) {
        const unsigned i = v * split_threads + threadIdx.x;
        vectors[v] = {0, 0};
        if (i < buckets * 2) {
            const ulonglong2 content = ((const ulonglong2 *)stash)[i];
            vectors[v].key = content.x;
            vectors[v].value = content.y;
            used |= (content.x | content.y) != 0;
        }
    }
    if (!__syncthreads_or(used)) {
        return;
    }
    for (unsigned i = threadIdx.x; i < table.submap_bytes / 16; i += split_threads) {
        stash[i] = make_uint4(0, 0, 0, 0);
    }
    __threadfence(); /* zeros and submap_count before the block's insertions, which go by the L2 cache */
    __syncthreads();
    nacrei_shape shape;
    shape.submap_count = submaps;
    shape.half = nacrei_floor_power(submaps);
#pragma unroll 1
    for (unsigned v = 0; v < vectors_of_thread; v++) {
#pragma unroll 1
        for (unsigned j = 0; j < slots_of_vector<Width>; j++) {
            nacrei_slot16 vector = vectors[0];
#pragma unroll
            for (unsigned w = 1; w < vectors_of_thread; w++) {
                if (w == v) {
                    vector = vectors[w];
                }
            }
            const typename Width::slot_type slot = slot_of_vector<Width>(vector, j);
            if (!Width::is_empty(slot)) {
                nacrei_find_or_claim<Width, false>(table, shape, hash_of_slot<Width>(table, slot),
                                                   Width::key_of(slot), Width::value_of(slot));
            }
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
        }
    }
}

__global__ void set_capacity_kernel(nacrei_control *control, uint64_t capacity_keys)
{
    control->capacity_keys = capacity_keys;
}

uint32_t images_bytes(uint32_t buckets) { return 2 * (uint32_t)nacrei_submap_bytes(buckets); }

} // namespace

uint32_t nacrei_buckets_per_submap(const nacrei_gpu *gpu)
{
    uint32_t buckets = buckets_max;
    while (images_bytes(buckets) > gpu->shared_bytes_max) {
        buckets /= 2;
    }
    return buckets;
}

template <typename Width>
cudaError_t nacrei_grow(const nacrei_gpu *gpu, const nacrei_table *table, uint64_t submaps_now,
                        uint64_t submaps, cudaStream_t stream)
{
    (void)gpu;
    const uint32_t shared_bytes = images_bytes(table->bucket_mask + 1);
    while (submaps_now < submaps) {
        const uint64_t half = nacrei_floor_power(submaps_now);
        const uint64_t next = submaps < 2 * half ? submaps : 2 * half;
        split_kernel<Width><<<(uint32_t)(next - submaps_now), split_threads, shared_bytes, stream>>>(
            *table, submaps_now, half);
        submaps_now = next;
    }
    empty_stash_kernel<Width><<<1, split_threads, 0, stream>>>(*table, submaps);
    return cudaPeekAtLastError();
}

template <typename Width> cudaError_t nacrei_grow_prepare(const nacrei_gpu *gpu)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(empty_stash_kernel<Width>, &error);
    nacrei_prepare(split_kernel<Width>, &error);
    if (error == cudaSuccess) {
        error = cudaFuncSetAttribute((const void *)split_kernel<Width>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)images_bytes(nacrei_buckets_per_submap(gpu)));
    }
    return error;
}

cudaError_t nacrei_clear(const nacrei_gpu *gpu, const nacrei_table *table, cudaStream_t stream)
{
    clear_kernel<<<gpu->multiprocessors * 8, 256, 0, stream>>>(*table);
    return cudaPeekAtLastError();
}

cudaError_t nacrei_clear_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(clear_kernel, &error);
    nacrei_prepare(set_capacity_kernel, &error);
    return error;
}

cudaError_t nacrei_set_capacity(const nacrei_table *table, uint64_t capacity_keys,
                                cudaStream_t stream)
{
    set_capacity_kernel<<<1, 1, 0, stream>>>(table->control, capacity_keys);
    return cudaPeekAtLastError();
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                                          \
    template cudaError_t nacrei_grow<nacrei_width<key_bytes, value_bytes>>(                        \
        const nacrei_gpu *, const nacrei_table *, uint64_t, uint64_t, cudaStream_t);               \
    template cudaError_t nacrei_grow_prepare<nacrei_width<key_bytes, value_bytes>>(                \
        const nacrei_gpu *);
NACREI_WIDTHS(NACREI_INSTANTIATE)
