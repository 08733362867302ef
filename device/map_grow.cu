/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth and maintenance: rebuilding submaps; and clearing.
 *
 * One block rebuilds one submap: it reads the slots, places the keys into an image in shared
 * memory, and streams the image out, over the old submap or, for those keys that move when it
 * splits, to its new neighbour. No random access to memory at all, no second copy of the table.
 * Keys are placed home first: every key tries its home bucket before any key goes further, so that
 * a rebuilt submap is as good as new, or better. Placement cannot fail: a path visits every bucket
 * of an image, which has as many slots as the submap had.
 */
#include "device/kernels_internal.cuh"
#include "device/occupancy.cuh"
#include "nacre/cuda/claim.cuh"
#include "nacre/cuda/table.cuh"

namespace
{

constexpr unsigned buckets_max = 2048;

/*
 * Threads of a block, and blocks that share a multiprocessor: while one waits for memory, or for
 * its longest path, the others get on.
 */
constexpr unsigned rebuild_threads = 512;
constexpr unsigned rebuild_blocks = 2;

/* Vectors of 16 bytes that a thread holds of the submap. */
constexpr unsigned vectors_held = buckets_max * 2 / rebuild_threads;

/* Slots whose atomics are under way together. */
constexpr unsigned slots_ahead = 4;

template <typename Width>
constexpr unsigned slots_of_vector = 16 / Width::slot_bytes;

/*
 * A submap being built, in shared memory. Behind the image, which has the submap's layout, come the
 * numbers of keys that each bucket was given, two to a word, and the guests that wait.
 */
struct workshop {
    char *image;
    uint32_t *signatures;
    uint32_t *given;
    char *guests;
    unsigned *guest_count;
};

__host__ __device__ constexpr unsigned given_bytes(unsigned buckets)
{
    return buckets * 2u;
}

/* Room for a quarter of the slots: that many keys of a full submap are guests. */
__host__ __device__ constexpr unsigned guests_bytes(unsigned buckets)
{
    return buckets * NACREI_BUCKET_BYTES / 4;
}

__host__ __device__ static inline unsigned workshop_bytes(unsigned buckets)
{
    return (unsigned)nacrei_submap_bytes(buckets) + given_bytes(buckets) + guests_bytes(buckets);
}

__device__ __forceinline__ workshop workshop_at(char *shared, unsigned buckets,
                                                unsigned *guest_count)
{
    workshop shop;
    shop.guest_count = guest_count;
    shop.image = shared;
    shop.signatures = (uint32_t *)(shared + buckets * NACREI_BUCKET_BYTES);
    shop.given = (uint32_t *)(shared + nacrei_submap_bytes(buckets));
    shop.guests = (char *)shop.given + given_bytes(buckets);
    return shop;
}

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

template <typename Width>
__device__ __forceinline__ uint64_t hash_of_slot(const nacrei_table &table,
                                                 typename Width::slot_type slot)
{
    return nacrei_hash(nacrei_key_store(Width::key_of(slot), Width::key_bytes), table.seed);
}

/*
 * Gives a bucket one more key; returns how many it had been given. Relaxed, in shared memory: each
 * gets a number of its own, and no more keys than there are keys pass a bucket, so that the halves
 * of a word do not meet.
 */
__device__ __forceinline__ unsigned give(const workshop &shop, unsigned bucket)
{
    return atomicAdd(&shop.given[bucket / 2], 1u << bucket % 2 * 16) >> bucket % 2 * 16 & 0xffff;
}

template <typename Width>
__device__ __forceinline__ void put(const workshop &shop, unsigned bucket, unsigned place,
                                    typename Width::slot_type slot)
{
    char *address = shop.image + bucket * NACREI_BUCKET_BYTES + place * Width::slot_bytes;
    if constexpr (Width::slot_bytes == 16) {
        *(ulonglong2 *)address = make_ulonglong2(slot.key, slot.value);
    } else {
        *(typename Width::slot_type *)address = slot;
    }
}

/* Places a key whose home bucket is full, and sets the signature bits of the buckets passed. */
template <typename Width>
__device__ __forceinline__ void place_further(const nacrei_table &table, const workshop &shop,
                                              uint64_t hash, typename Width::slot_type slot)
{
    nacrei_probe probe = nacrei_probe_begin(hash, table.bucket_mask);
    unsigned place;
    do {
        /* Relaxed, in shared memory; read after the barrier. */
        atomicOr(&shop.signatures[nacrei_signature_word(probe.bucket)],
                 nacrei_signature_bit(hash, probe.bucket) << nacrei_signature_shift(probe.bucket));
        nacrei_probe_next(&probe, table.bucket_mask);
        place = give(shop, probe.bucket);
    } while (place >= Width::slots);
    put<Width>(shop, probe.bucket, place, slot);
}

/* Writes the image out, each empty slot stamped with its bucket's signature. */
template <typename Width>
__device__ __forceinline__ void write_image(const nacrei_table &table, const workshop &shop,
                                            char *submap)
{
    const unsigned buckets = table.bucket_mask + 1;
    typedef typename Width::slot_type slot_type;
    for (unsigned i = threadIdx.x; i < buckets * 2; i += rebuild_threads) {
        const unsigned bucket = i / 2;
        union {
            uint4 vector;
            slot_type slot[slots_of_vector<Width>];
        } content;
        content.vector = ((const uint4 *)shop.image)[i];
        const uint32_t signature =
            shop.signatures[nacrei_signature_word(bucket)] >> nacrei_signature_shift(bucket) &
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
    for (unsigned i = threadIdx.x; i < buckets / NACREI_SIGNATURES_PER_WORD; i += rebuild_threads) {
        out[i] = shop.signatures[i];
    }
}

/*
 * Puts into the image those of the held keys for which `half`, a bit of the submap number, is as
 * `upper` says; half 0: all. Keys that find their home full are guests: they wait until all others
 * are home.
 */
template <typename Width>
__device__ __forceinline__ void build_image(const nacrei_table &table,
                                            const nacrei_slot16 (&held)[vectors_held],
                                            uint64_t half, bool upper, const workshop &shop)
{
    typedef typename Width::slot_type slot_type;
    constexpr unsigned per_vector = slots_of_vector<Width>;
    constexpr uint32_t nowhere = ~0u;
    const unsigned buckets = table.bucket_mask + 1;
    const unsigned guests_max = guests_bytes(buckets) / Width::slot_bytes;
    for (unsigned i = threadIdx.x; i < (table.submap_bytes + given_bytes(buckets)) / 16;
         i += rebuild_threads) {
        ((uint4 *)shop.image)[i] = make_uint4(0, 0, 0, 0);
    }
    if (threadIdx.x == 0) {
        *shop.guest_count = 0;
    }
    __syncthreads();
#pragma unroll
    for (unsigned first = 0; first < vectors_held * per_vector; first += slots_ahead) {
        uint32_t homes[slots_ahead]; /* the bucket, and above it the place there */
#pragma unroll
        for (unsigned k = 0; k < slots_ahead; k++) {
            const slot_type slot =
                slot_of_vector<Width>(held[(first + k) / per_vector], (first + k) % per_vector);
            const uint64_t hash = hash_of_slot<Width>(table, slot);
            const bool here =
                half == 0 || ((hash >> NACREI_HASH_SUBMAP_SHIFT & half) != 0) == upper;
            homes[k] = nowhere;
            if (here && !Width::is_empty(slot)) {
                const unsigned home = nacrei_probe_begin(hash, table.bucket_mask).bucket;
                homes[k] = home | give(shop, home) << 16;
            }
        }
#pragma unroll
        for (unsigned k = 0; k < slots_ahead; k++) {
            const slot_type slot =
                slot_of_vector<Width>(held[(first + k) / per_vector], (first + k) % per_vector);
            if (homes[k] == nowhere) {
                continue;
            }
            if (homes[k] >> 16 < Width::slots) {
                put<Width>(shop, homes[k] & 0xffff, homes[k] >> 16, slot);
                continue;
            }
            const unsigned guest = atomicAdd(shop.guest_count, 1u); /* relaxed, in shared memory */
            if (guest < guests_max) {
                ((slot_type *)shop.guests)[guest] = slot;
            } else {
                place_further<Width>(table, shop, hash_of_slot<Width>(table, slot), slot);
            }
        }
    }
    __syncthreads();
    const unsigned waiting = *shop.guest_count < guests_max ? *shop.guest_count : guests_max;
    for (unsigned g = threadIdx.x; g < waiting; g += rebuild_threads) {
        const slot_type slot = ((const slot_type *)shop.guests)[g];
        place_further<Width>(table, shop, hash_of_slot<Width>(table, slot), slot);
    }
    __syncthreads();
}

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
    const unsigned vectors = (table.bucket_mask + 1) * 2;
    const uint64_t number = first + blockIdx.x;
    char *submap = nacrei_submap_address(table, 1 + number - half);
    nacrei_slot16 held[vectors_held];
#pragma unroll
    for (unsigned v = 0; v < vectors_held; v++) {
        const unsigned i = threadIdx.x + v * rebuild_threads;
        const ulonglong2 vector =
            i < vectors ? __ldcg((const ulonglong2 *)submap + i) : make_ulonglong2(0, 0);
        held[v] = nacrei_slot16{vector.x, vector.y};
    }
    if (half != 0) {
        build_image<Width>(table, held, half, true, shop);
        write_image<Width>(table, shop, nacrei_submap_address(table, 1 + number));
        __syncthreads();
    }
    build_image<Width>(table, held, half, false, shop);
    write_image<Width>(table, shop, submap);
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
    template cudaError_t nacrei_grow_prepare<nacrei_width<key_bytes, value_bytes>>( \
        const nacrei_gpu *);
NACREI_WIDTHS(NACREI_INSTANTIATE)
