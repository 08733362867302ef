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

/* Selects: by condition and range; else everything. */
template <typename Width, bool Selects>
struct nacrei_map_source {
    static constexpr bool has_second = Width::value_bytes != 0;
    static constexpr unsigned elements = 16 / Width::slot_bytes;
    typedef nacrei_slot_walk parameters;
    typedef typename Width::key_type first_type;
    typedef typename Width::value_type second_type;
    typedef typename Width::slot_type slot_type;

    struct alignas(16) vector {
        slot_type slot[elements];
    };

    const nacrei_slot_walk &walk;
    char *submap;   /* NULL: the tile of the side slots */
    uint64_t slot;  /* number of the submap's first slot, as a cursor walks */
    uint64_t first; /* of the submap: where this thread's first vector lies, in bytes */
    uint32_t slot_bytes_of_submap;

    static __device__ __forceinline__ uint64_t submaps(const nacrei_slot_walk &walk)
    {
        return nacrei_shape_of(walk.table).submap_count + 1;
    }

    static __device__ __forceinline__ uint64_t tiles(const nacrei_slot_walk &walk, unsigned vectors)
    {
        const nacrei_walk_tiles tiles =
            nacrei_walk_tiles_of(&walk, submaps(walk), Width::slot_bytes, vectors);
        return tiles.count;
    }

    __device__ __forceinline__ nacrei_map_source(const nacrei_slot_walk &of, uint64_t tile,
                                                 unsigned vectors)
        : walk(of)
    {
        const uint64_t count = submaps(of);
        const nacrei_walk_tiles tiles =
            nacrei_walk_tiles_of(&of, count, Width::slot_bytes, vectors);
        tile += tiles.first;
        const uint64_t number = tile >> tiles.submap_shift;
        slot_bytes_of_submap = (of.table.bucket_mask + 1) * NACREI_BUCKET_BYTES;
        submap = number < count ? nacrei_submap_address(of.table, number) : nullptr;
        slot = number << tiles.slots_shift;
        first = ((tile & (((uint64_t)1 << tiles.submap_shift) - 1)) << tiles.bytes_shift) +
                (threadIdx.x / 32 * vectors * 32 + threadIdx.x % 32) * 16;
    }

    static __device__ __forceinline__ first_type first_of(const vector &vector, unsigned j)
    {
        return (first_type)nacrei_key_store(Width::key_of(vector.slot[j]), Width::key_bytes);
    }

    static __device__ __forceinline__ second_type second_of(const vector &vector, unsigned j)
    {
        return Width::value_of(vector.slot[j]);
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

    __device__ __forceinline__ vector load_one(unsigned v) const
    {
        vector result{};
        const uint64_t at = first + v * 32 * 16;
        if (submap == nullptr) {
            return load_side(v);
        }
        if (at < slot_bytes_of_submap) {
            const nacrei_slot16 whole = nacrei_load16<true>(submap + at);
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
        }
        return result;
    }

    /* Is element j of a vector, which lies in a slot that is taken, selected? */
    __device__ __forceinline__ bool selected(unsigned v, const vector &vector, unsigned j) const
    {
        if constexpr (!Selects) {
            return true;
        }
        const uint64_t number = submap == nullptr
                                    ? slot + threadIdx.x
                                    : slot + (first + v * 32 * 16) / Width::slot_bytes + j;
        const uint64_t field = walk.field == NACRE_FIELD_VALUE ? (uint64_t)second_of(vector, j)
                                                               : (uint64_t)first_of(vector, j);
        return number >= walk.first && number < walk.last &&
               nacrei_condition_holds(&walk.condition, field);
    }

    /* No mask. */
    template <unsigned V>
    __device__ __forceinline__ uint64_t masks() const
    {
        return ~(uint64_t)0 >> (64 - V * elements);
    }

    /* A bit for each element of a vector that is taken and selected. */
    __device__ __forceinline__ uint32_t meets(unsigned v, const vector &vector) const
    {
        uint32_t bits = 0;
        if (submap == nullptr) {
            return is_side(v) && Width::is_empty(vector.slot[0]) && selected(v, vector, 0);
        }
#pragma unroll
        for (unsigned j = 0; j < elements; j++) {
            bits |= (uint32_t)(!Width::is_empty(vector.slot[j]) && selected(v, vector, j)) << j;
        }
        return bits;
    }

    template <unsigned V>
    __device__ __forceinline__ uint64_t load(vector (&content)[V]) const
    {
        uint64_t keep = 0;
#pragma unroll
        for (unsigned v = 0; v < V; v++) {
            content[v] = load_one(v);
        }
#pragma unroll
        for (unsigned v = 0; v < V; v++) {
            keep |= (uint64_t)meets(v, content[v]) << (v * elements);
        }
        return keep;
    }

    __device__ __forceinline__ void park(unsigned v, vector *to) const
    {
        const uint64_t at = first + v * 32 * 16;
        if (submap != nullptr && at < slot_bytes_of_submap) {
            nacrei_copy_async<16>(to, submap + at);
        } else {
            *to = submap == nullptr ? load_side(v) : vector{};
        }
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
