/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A submap built anew by one block, in an image in shared memory, which is then streamed out. Keys
 * are placed home first: every key tries its home bucket before any key goes further, so that a
 * rebuilt submap is as good as new, or better. Placement cannot fail: a path visits every bucket of
 * an image, and there are no more keys than slots.
 */
#ifndef NACRE_DEVICE_IMAGE_CUH
#define NACRE_DEVICE_IMAGE_CUH

#include "device/occupancy.cuh"
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

/* Places a key whose home bucket is full, and sets the signature bits of the pairs passed. */
template <typename Width>
__device__ __forceinline__ void place_further(const nacrei_table &table, const workshop &shop,
                                              uint64_t hash, typename Width::slot_type slot)
{
    nacrei_probe probe = nacrei_probe_begin(hash, table.bucket_mask);
    unsigned place;
    do {
        if ((probe.length & 1) != 0) {
            /* Relaxed, in shared memory; read after the barrier. */
            atomicOr(&shop.signatures[nacrei_signature_word(probe.bucket)],
                     nacrei_signature_pair(hash) << nacrei_signature_shift(probe.bucket & ~1u));
        }
        nacrei_probe_next(&probe, table.bucket_mask);
        place = give(shop, probe.bucket);
    } while (place >= Width::slots);
    put<Width>(shop, probe.bucket, place, slot);
}

/* Writes the image out. No key went past a bucket that has an empty slot: those are all zero. */
__device__ __forceinline__ void write_image(const nacrei_table &table, const workshop &shop,
                                            char *submap)
{
    const unsigned buckets = table.bucket_mask + 1;
    for (unsigned i = threadIdx.x; i < buckets * 2; i += rebuild_threads) {
        __stcs((uint4 *)submap + i, ((const uint4 *)shop.image)[i]);
    }
    uint32_t *out = (uint32_t *)(submap + (uint64_t)buckets * NACREI_BUCKET_BYTES);
    for (unsigned i = threadIdx.x; i < buckets / NACREI_SIGNATURES_PER_WORD; i += rebuild_threads) {
        out[i] = shop.signatures[i];
    }
}

/* A thread's part of a submap. */
__device__ __forceinline__ void hold(const nacrei_table &table, const char *submap,
                                     nacrei_slot16 (&held)[vectors_held])
{
    const unsigned vectors = (table.bucket_mask + 1) * 2;
#pragma unroll
    for (unsigned v = 0; v < vectors_held; v++) {
        const unsigned i = threadIdx.x + v * rebuild_threads;
        const ulonglong2 vector =
            i < vectors ? __ldcg((const ulonglong2 *)submap + i) : make_ulonglong2(0, 0);
        held[v] = nacrei_slot16{vector.x, vector.y};
    }
}

/* An image without keys. */
__device__ __forceinline__ void begin_image(const nacrei_table &table, const workshop &shop)
{
    for (unsigned i = threadIdx.x;
         i < (table.submap_bytes + given_bytes(table.bucket_mask + 1)) / 16; i += rebuild_threads) {
        ((uint4 *)shop.image)[i] = make_uint4(0, 0, 0, 0);
    }
    if (threadIdx.x == 0) {
        *shop.guest_count = 0;
    }
    __syncthreads();
}

/*
 * Puts into the image those of the held keys for which `half`, a bit of the submap number, is as
 * `upper` says; half 0: all. Keys that find their home full are guests: they wait until all others
 * are home.
 */
template <typename Width>
__device__ __forceinline__ void place_held(const nacrei_table &table,
                                           const nacrei_slot16 (&held)[vectors_held], uint64_t half,
                                           bool upper, const workshop &shop)
{
    typedef typename Width::slot_type slot_type;
    constexpr unsigned per_vector = slots_of_vector<Width>;
    constexpr uint32_t nowhere = ~0u;
    const unsigned guests_max = guests_bytes(table.bucket_mask + 1) / Width::slot_bytes;
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
}

/* All keys are placed: the guests have their turn. */
template <typename Width>
__device__ __forceinline__ void end_image(const nacrei_table &table, const workshop &shop)
{
    typedef typename Width::slot_type slot_type;
    const unsigned guests_max = guests_bytes(table.bucket_mask + 1) / Width::slot_bytes;
    __syncthreads();
    const unsigned waiting = *shop.guest_count < guests_max ? *shop.guest_count : guests_max;
    for (unsigned g = threadIdx.x; g < waiting; g += rebuild_threads) {
        const slot_type slot = ((const slot_type *)shop.guests)[g];
        place_further<Width>(table, shop, hash_of_slot<Width>(table, slot), slot);
    }
    __syncthreads();
}

} // namespace

#endif
