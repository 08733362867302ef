/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of a map as elements: those of all submaps, the stash first, and the side slots, in one
 * launch. A tile lies in one submap; the last holds the side slots. Slots that an insertion may
 * fill at the same time are read whole, by relaxed loads; the stable form runs beside nothing and
 * need not.
 */
#ifndef NACRE_DEVICE_COMPACT_MAP_SOURCE_CUH
#define NACRE_DEVICE_COMPACT_MAP_SOURCE_CUH

#include "device/compact/stable.cuh"
#include "device/compact/walk.h"
#include "nacre/cuda/table.cuh"

template <typename Width>
struct nacrei_map_source {
    static constexpr bool has_second = Width::value_bytes != 0;
    static constexpr unsigned elements = 16 / Width::slot_bytes;
    typedef nacrei_slot_walk parameters;
    typedef typename Width::key_type first_type;
    typedef typename Width::value_type second_type;
    typedef typename Width::slot_type slot_type;
    typedef slot_type element_type;

    struct alignas(16) vector {
        slot_type slot[elements];
    };

    const nacrei_slot_walk &walk;
    char *submap;   /* NULL: the tile of the side slots */
    uint64_t slot;  /* number of the submap's first slot, as a cursor walks */
    uint64_t first; /* of the submap: where this thread's first vector lies, in bytes */
    uint32_t slot_bytes_of_submap;
    bool inside; /* the whole tile lies in a submap */

    static __device__ __forceinline__ uint64_t submaps(const nacrei_slot_walk &walk)
    {
        return nacrei_shape_of(walk.table).submap_count + 1;
    }

    static __device__ __forceinline__ first_type key_of(const slot_type &slot)
    {
        return (first_type)nacrei_key_store(Width::key_of(slot), Width::key_bytes);
    }

    /* The host knows, but for a captured walk, which is one over everything. */
    static __device__ __forceinline__ uint64_t tiles(const nacrei_slot_walk &walk, unsigned)
    {
        return walk.table.submap_count != 0 ? walk.tiles.count
                                            : (submaps(walk) << walk.tiles.submap_shift) + 1;
    }

    __device__ __forceinline__ nacrei_map_source(const nacrei_slot_walk &of, uint64_t tile,
                                                 unsigned vectors)
        : walk(of)
    {
        tile += of.tiles.first;
        const uint64_t number = tile >> of.tiles.submap_shift;
        slot_bytes_of_submap = (of.table.bucket_mask + 1) * NACREI_BUCKET_BYTES;
        submap = number < submaps(of) ? nacrei_submap_address(of.table, number) : nullptr;
        inside = submap != nullptr && slot_bytes_of_submap >= vectors * NACREI_COMPACT_THREADS * 16;
        slot = number << of.tiles.slots_shift;
        first = ((tile & (((uint64_t)1 << of.tiles.submap_shift) - 1)) *
                 (vectors * NACREI_COMPACT_THREADS * 16)) +
                (threadIdx.x / 32 * vectors * 32 + threadIdx.x % 32) * 16;
    }

    /* Of a set the key as the caller knows it, which goes out as it is. */
    static __device__ __forceinline__ element_type element_of(const vector &vector, unsigned j)
    {
        if constexpr (has_second) {
            return vector.slot[j];
        } else {
            return key_of(vector.slot[j]);
        }
    }

    static __device__ __forceinline__ first_type first_of(const element_type &element)
    {
        if constexpr (has_second) {
            return key_of(element);
        } else {
            return element;
        }
    }

    static __device__ __forceinline__ second_type second_of(const element_type &element)
    {
        return Width::value_of(element);
    }

    /*
     * Of the tile of side slots: slot i is the first element of thread i's first vector. It is read
     * once, because an insertion may fill it at any time. A side key is its pattern, which looks
     * empty: where the slot is empty another key stands here.
     */
    __device__ __forceinline__ bool is_side(unsigned v) const
    {
        return v == 0 && threadIdx.x < Width::empty_patterns;
    }

    __device__ __forceinline__ vector load_side(unsigned v) const
    {
        vector result{};
        if (is_side(v)) {
            const first_type pattern = (first_type)threadIdx.x;
            const slot_type side = Width::load(nacrei_side_address<Width>(walk.table, pattern));
            const first_type key =
                Width::is_empty(side) ? (first_type)Width::empty_patterns : pattern;
            result.slot[0] = Width::make(key, Width::value_of(side));
        }
        return result;
    }

    static __device__ __forceinline__ vector vector_at(const char *address)
    {
        vector result;
        const nacrei_slot16 whole = nacrei_load16<true>(address);
        if constexpr (Width::slot_bytes == 16) {
            result.slot[0] = whole;
        } else if constexpr (Width::slot_bytes == 8) {
            result.slot[0] = whole.key;
            result.slot[1] = whole.value;
        } else {
            result.slot[0] = (uint32_t)whole.key;
            result.slot[1] = (uint32_t)(whole.key >> 32);
            result.slot[2] = (uint32_t)whole.value;
            result.slot[3] = (uint32_t)(whole.value >> 32);
        }
        return result;
    }

    /* Where it may lie outside; what does is empty. */
    __device__ vector load_one(unsigned v) const
    {
        const uint64_t at = first + v * 32 * 16;
        if (submap == nullptr) {
            return load_side(v);
        }
        return at < slot_bytes_of_submap ? vector_at(submap + at) : vector{};
    }

    /* The vectors of a tile. */
    template <unsigned V>
    __device__ __forceinline__ void load(vector (&content)[V]) const
    {
        if (inside) {
            const char *address = submap + first;
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                content[v] = vector_at(address + v * 32 * 16);
            }
        } else {
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                content[v] = load_one(v);
            }
        }
    }

    /* The same into shared memory, a warp's vectors of 32 lanes one after another. */
    template <unsigned V>
    __device__ __forceinline__ void park(vector *to) const
    {
        if (inside) {
            const char *address = submap + first;
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                nacrei_copy_async<16>(&to[v * 32], address + v * 32 * 16);
            }
        } else {
#pragma unroll 1
            for (unsigned v = 0; v < V; v++) {
                to[v * 32] = load_one(v);
            }
        }
    }

    /* Is element j of a vector, which lies in a slot that is taken, selected? */
    __device__ __forceinline__ bool selected(unsigned v, const vector &vector, unsigned j) const
    {
        const uint64_t number = submap == nullptr
                                    ? slot + threadIdx.x
                                    : slot + (first + v * 32 * 16) / Width::slot_bytes + j;
        const uint64_t field = walk.field == NACRE_FIELD_VALUE
                                   ? (uint64_t)Width::value_of(vector.slot[j])
                                   : (uint64_t)key_of(vector.slot[j]);
        return number >= walk.first && number < walk.last &&
               nacrei_condition_holds(&walk.condition, field);
    }

    /* A bit for each element of a tile that is taken and selected; `content` gives its vectors. */
    template <unsigned V, unsigned Unroll = V, typename Content>
    __device__ __forceinline__ nacrei_keep<V * elements> keep(const Content &content) const
    {
        typedef nacrei_keep<V * elements> keep_type;
        keep_type keep = 0;
#pragma unroll
        for (unsigned v = 0; v < V; v++) {
            const vector vector = content(v);
#pragma unroll
            for (unsigned j = 0; j < elements; j++) {
                keep |= Width::is_empty(vector.slot[j]) ? 0 : (keep_type)1 << (v * elements + j);
            }
        }
        if (submap == nullptr) {
            keep = is_side(0) && (keep & 1) == 0;
        }
        if (!walk.everything) {
#pragma unroll Unroll
            for (unsigned v = 0; v < V; v++) {
                const vector vector = content(v);
#pragma unroll
                for (unsigned j = 0; j < elements; j++) {
                    keep &= ~(selected(v, vector, j) ? 0 : (keep_type)1 << (v * elements + j));
                }
            }
        }
        return keep;
    }

    /* One element by itself, by its number among those of the walk, for DEVICE_SELECT. */
    static __device__ __forceinline__ bool element(const nacrei_slot_walk &walk, uint64_t index,
                                                   first_type *key, second_type *value)
    {
        const uint64_t number = walk.first + index, count = submaps(walk);
        const uint64_t slots =
            ((uint64_t)walk.table.bucket_mask + 1) * NACREI_BUCKET_BYTES / Width::slot_bytes;
        slot_type slot;
        first_type stored;
        if (number < count * slots) {
            slot = Width::load(nacrei_submap_address(walk.table, number / slots) +
                               number % slots * Width::slot_bytes);
            stored = Width::key_of(slot);
        } else {
            stored = (first_type)(number - count * slots);
            if (stored >= Width::empty_patterns) {
                return false;
            }
            slot = Width::load(nacrei_side_address<Width>(walk.table, stored));
        }
        *key = (first_type)nacrei_key_store(stored, Width::key_bytes);
        *value = Width::value_of(slot);
        const uint64_t field = walk.field == NACRE_FIELD_VALUE ? (uint64_t)*value : (uint64_t)*key;
        return !Width::is_empty(slot) && nacrei_condition_holds(&walk.condition, field);
    }
};

#endif
