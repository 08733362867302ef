/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth and maintenance: rebuilding submaps; and clearing.
 *
 * One block rebuilds one submap at a time. It holds the submap's slots in registers, places the
 * keys into an image in shared memory (of the two successors, when it splits), and streams it out:
 * no random access to memory at all, no second copy of the table. Keys are placed home first: every
 * key tries its home bucket before any key goes further, so that a rebuilt submap is as good as
 * new, or better. Placement cannot fail: a path visits every bucket of an image, which has as many
 * slots as the submap had.
 */
#include "device/claim.cuh"
#include "device/kernels_internal.cuh"
#include "device/table.cuh"

namespace
{

constexpr unsigned buckets_max = 2048;

/*
 * Threads of a block. With two images a block has a multiprocessor's shared memory for itself; with
 * one there is room for two blocks, and while the longest path of one is still being walked the
 * other gets on.
 */
template <unsigned Images>
constexpr unsigned threads_of = Images == 2 ? 1024 : 512;

/* 16-byte vectors of a submap that a thread holds; buckets_max * 32 bytes in all. */
template <unsigned Images>
constexpr unsigned vectors_of = buckets_max *NACREI_BUCKET_BYTES / 16 / threads_of<Images>;

template <typename Width>
constexpr unsigned slots_of_vector = 16 / Width::slot_bytes;

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
        /*
         * Relaxed, in shared memory: claims the key's word; the barrier before the image is read
         * orders the rest.
         */
        if constexpr (Width::slot_bytes == 16) {
            volatile unsigned long long *words = (volatile unsigned long long *)address;
            if (words[0] == 0 &&
                atomicCAS((unsigned long long *)address, 0ull, (unsigned long long)slot.key) == 0) {
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

/* Where the image lies that a key goes to. */
template <unsigned Images>
__device__ __forceinline__ unsigned image_of(uint64_t hash, uint64_t half, unsigned image_bytes)
{
    return Images == 2 && (hash >> NACREI_HASH_SUBMAP_SHIFT & half) != 0 ? image_bytes : 0;
}

/* Places a key whose home bucket is full, and sets the signature bits of the buckets passed. */
template <typename Width>
__device__ __forceinline__ void place_further(const nacrei_table &table, char *image, uint64_t hash,
                                              typename Width::slot_type slot)
{
    uint32_t *signatures = (uint32_t *)(image + (table.bucket_mask + 1) * NACREI_BUCKET_BYTES);
    nacrei_probe probe = nacrei_probe_begin(hash, table.bucket_mask);
    do {
        /* Relaxed, in shared memory; read after the barrier. */
        atomicOr(&signatures[nacrei_signature_word(probe.bucket)],
                 nacrei_signature_bit(hash) << nacrei_signature_shift(probe.bucket));
        nacrei_probe_next(&probe, table.bucket_mask);
    } while (!place_in_bucket<Width>(image + probe.bucket * NACREI_BUCKET_BYTES, slot));
}

/* The slots of a submap, in registers. Read once: streaming loads. */
template <unsigned Images>
struct content {
    nacrei_slot16 vectors[vectors_of<Images>];
};

template <unsigned Images>
__device__ __forceinline__ void load_content(const nacrei_table &table, uint64_t number,
                                             content<Images> *held)
{
    const unsigned vectors = (table.bucket_mask + 1) * 2;
    const ulonglong2 *submap = (const ulonglong2 *)nacrei_submap_address(table, 1 + number);
#pragma unroll
    for (unsigned v = 0; v < vectors_of<Images>; v++) {
        const unsigned i = v * threads_of<Images> + threadIdx.x;
        const ulonglong2 vector = i < vectors ? __ldcs(submap + i) : make_ulonglong2(0, 0);
        held->vectors[v].key = vector.x;
        held->vectors[v].value = vector.y;
    }
}

/* Writes an image out, each empty slot stamped with its bucket's signature, and leaves zeros. */
template <typename Width, unsigned Images>
__device__ __forceinline__ void write_image(const nacrei_table &table, char *image, char *submap)
{
    const unsigned buckets = table.bucket_mask + 1;
    const uint32_t *signatures = (const uint32_t *)(image + buckets * NACREI_BUCKET_BYTES);
    typedef typename Width::slot_type slot_type;
    for (unsigned i = threadIdx.x; i < buckets * 2; i += threads_of<Images>) {
        const unsigned bucket = i / 2;
        union {
            uint4 vector;
            slot_type slot[slots_of_vector<Width>];
        } content;
        content.vector = ((const uint4 *)image)[i];
        ((uint4 *)image)[i] = make_uint4(0, 0, 0, 0);
        const uint32_t signature =
            signatures[nacrei_signature_word(bucket)] >> nacrei_signature_shift(bucket) &
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
    for (unsigned i = threadIdx.x; i < buckets / NACREI_SIGNATURES_PER_WORD;
         i += threads_of<Images>) {
        out[i] = signatures[i];
    }
}

/*
 * Rebuilds submaps. With two images it splits: number first + b - half goes to itself and to
 * first + b, b = 0 .. count - 1. With one it makes number first + b anew. Numbers count from 0,
 * without the stash. Blocks stay for several submaps, so that the loads of the next one overlap
 * the stores of this one.
 */
template <typename Width, unsigned Images>
__global__ void __launch_bounds__(threads_of<Images>)
    rebuild_kernel(const nacrei_table table, uint64_t first, uint64_t half, uint64_t count)
{
    extern __shared__ uint4 shared[];
    const unsigned buckets = table.bucket_mask + 1;
    const unsigned image_bytes = table.submap_bytes;
    char *images = (char *)shared;
    content<Images> held;

    for (unsigned i = threadIdx.x; i < Images * image_bytes / 16; i += threads_of<Images>) {
        shared[i] = make_uint4(0, 0, 0, 0);
    }
    uint64_t at = blockIdx.x;
    if (at < count) {
        load_content(table, first + at - half, &held);
    }
    __syncthreads();
    for (; at < count; at += gridDim.x) {
        /* Left from the submap before; only keys without a home write them. */
        for (unsigned i = threadIdx.x; i < Images * (buckets / NACREI_SIGNATURES_PER_WORD);
             i += threads_of<Images>) {
            const unsigned words = buckets / NACREI_SIGNATURES_PER_WORD;
            ((uint32_t *)(images + i / words * image_bytes +
                          buckets * NACREI_BUCKET_BYTES))[i % words] = 0;
        }
        uint32_t homeless = 0; /* a bit per slot held */
#pragma unroll
        for (unsigned v = 0; v < vectors_of<Images>; v++) {
#pragma unroll
            for (unsigned j = 0; j < slots_of_vector<Width>; j++) {
                const typename Width::slot_type slot = slot_of_vector<Width>(held.vectors[v], j);
                if (!Width::is_empty(slot)) {
                    const uint64_t hash = hash_of_slot<Width>(table, slot);
                    const nacrei_probe probe = nacrei_probe_begin(hash, table.bucket_mask);
                    char *image = images + image_of<Images>(hash, half, image_bytes);
                    if (!place_in_bucket<Width>(image + probe.bucket * NACREI_BUCKET_BYTES, slot)) {
                        homeless |= 1u << (v * slots_of_vector<Width> + j);
                    }
                }
            }
        }
        __syncthreads();
#pragma unroll
        for (unsigned v = 0; v < vectors_of<Images>; v++) {
#pragma unroll
            for (unsigned j = 0; j < slots_of_vector<Width>; j++) {
                if ((homeless >> (v * slots_of_vector<Width> + j) & 1) != 0) {
                    const typename Width::slot_type slot =
                        slot_of_vector<Width>(held.vectors[v], j);
                    const uint64_t hash = hash_of_slot<Width>(table, slot);
                    place_further<Width>(table, images + image_of<Images>(hash, half, image_bytes),
                                         hash, slot);
                }
            }
        }
        __syncthreads();
        const uint64_t upper = first + at;
        if (at + gridDim.x < count) {
            load_content(table, upper + gridDim.x - half, &held);
        }
        write_image<Width, Images>(table, images, nacrei_submap_address(table, 1 + upper - half));
        if constexpr (Images == 2) {
            write_image<Width, Images>(table, images + image_bytes,
                                       nacrei_submap_address(table, 1 + upper));
        }
        __syncthreads();
    }
}

/*
 * The end of a growth, by one block: publishes the new number of submaps, then takes the stash's
 * keys out and inserts them again. They find room: the stash itself has it.
 */
template <typename Width>
__global__ void __launch_bounds__(threads_of<2>)
    empty_stash_kernel(const nacrei_table table, uint64_t submaps)
{
    const unsigned buckets = table.bucket_mask + 1;
    uint4 *stash = (uint4 *)nacrei_submap_address(table, 0);
    if (threadIdx.x == 0) {
        table.control->submap_count = submaps;
    }
    nacrei_slot16 vectors[vectors_of<2>];
    bool used = false;
#pragma unroll
    for (unsigned v = 0; v < vectors_of<2>; v++) {
        const unsigned i = v * threads_of<2> + threadIdx.x;
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
    for (unsigned i = threadIdx.x; i < table.submap_bytes / 16; i += threads_of<2>) {
        stash[i] = make_uint4(0, 0, 0, 0);
    }
    __threadfence(); /* zeros and submap_count before the block's insertions */
    __syncthreads();
    nacrei_shape shape;
    shape.submap_count = submaps;
    shape.half = nacrei_floor_power(submaps);
#pragma unroll 1
    for (unsigned v = 0; v < vectors_of<2>; v++) {
#pragma unroll 1
        for (unsigned j = 0; j < slots_of_vector<Width>; j++) {
            nacrei_slot16 vector = vectors[0];
#pragma unroll
            for (unsigned w = 1; w < vectors_of<2>; w++) {
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
            table.hints->size = 0;
        }
    }
}

__global__ void set_capacity_kernel(nacrei_control *control, uint64_t capacity_keys)
{
    control->capacity_keys = capacity_keys;
}

} // namespace

uint32_t nacrei_buckets_per_submap(const nacrei_gpu *gpu)
{
    uint32_t buckets = buckets_max;
    while (2 * nacrei_submap_bytes(buckets) > gpu->shared_bytes_max) {
        buckets /= 2;
    }
    return buckets;
}

/* Blocks of a rebuild: as many as run at once. */
static uint32_t rebuild_blocks(uint32_t at_once, uint64_t count)
{
    return count < at_once ? (uint32_t)count : at_once;
}

template <typename Width>
cudaError_t nacrei_grow(const nacrei_gpu *gpu, const nacrei_table *table, uint64_t submaps_now,
                        uint64_t submaps, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    while (submaps_now < submaps && error == cudaSuccess) {
        const uint64_t half = nacrei_floor_power(submaps_now);
        const uint64_t next = submaps < 2 * half ? submaps : 2 * half;
        const uint64_t count = next - submaps_now;
        error = nacrei_launch(rebuild_kernel<Width, 2>, rebuild_blocks(gpu->multiprocessors, count),
                              threads_of<2>, 2 * table->submap_bytes, stream, *table, submaps_now,
                              half, count);
        submaps_now = next;
    }
    return error != cudaSuccess ? error
                                : nacrei_launch(empty_stash_kernel<Width>, 1, threads_of<2>, 0,
                                                stream, *table, submaps);
}

template <typename Width>
cudaError_t nacrei_maintain(const nacrei_gpu *gpu, const nacrei_table *table, uint64_t first,
                            uint64_t count, cudaStream_t stream)
{
    return nacrei_launch(rebuild_kernel<Width, 1>, rebuild_blocks(2 * gpu->multiprocessors, count),
                         threads_of<1>, table->submap_bytes, stream, *table, first, 0, count);
}

template <typename Width>
cudaError_t nacrei_grow_prepare(const nacrei_gpu *gpu)
{
    cudaError_t error = cudaSuccess;
    const int image_bytes = (int)nacrei_submap_bytes(nacrei_buckets_per_submap(gpu));
    nacrei_prepare(empty_stash_kernel<Width>, &error);
    nacrei_prepare(rebuild_kernel<Width, 1>, &error);
    nacrei_prepare(rebuild_kernel<Width, 2>, &error);
    if (error == cudaSuccess) {
        error = cudaFuncSetAttribute((const void *)rebuild_kernel<Width, 1>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, image_bytes);
    }
    if (error == cudaSuccess) {
        error = cudaFuncSetAttribute((const void *)rebuild_kernel<Width, 2>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, 2 * image_bytes);
    }
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
    nacrei_prepare(set_capacity_kernel, &error);
    return error;
}

cudaError_t nacrei_set_capacity(const nacrei_table *table, uint64_t capacity_keys,
                                cudaStream_t stream)
{
    return nacrei_launch(set_capacity_kernel, 1, 1, 0, stream, table->control, capacity_keys);
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                            \
    template cudaError_t nacrei_grow<nacrei_width<key_bytes, value_bytes>>(          \
        const nacrei_gpu *, const nacrei_table *, uint64_t, uint64_t, cudaStream_t); \
    template cudaError_t nacrei_maintain<nacrei_width<key_bytes, value_bytes>>(      \
        const nacrei_gpu *, const nacrei_table *, uint64_t, uint64_t, cudaStream_t); \
    template cudaError_t nacrei_grow_prepare<nacrei_width<key_bytes, value_bytes>>(  \
        const nacrei_gpu *);
NACREI_WIDTHS(NACREI_INSTANTIATE)
