/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of arrays. Items alone come in vectors of 16 bytes: the first begins at the last
 * multiple of 16 that is not behind the array, and what lies outside is left out. Items with
 * values come one by one, neighbours to neighbours. Tiles inside of the arrays, with flags aligned
 * like the items, are loaded without a branch, so that all loads are under way together; others
 * element by element.
 */
#ifndef NACRE_DEVICE_COMPACT_ARRAY_SOURCE_CUH
#define NACRE_DEVICE_COMPACT_ARRAY_SOURCE_CUH

#include "device/compact/stable.cuh"
#include "nacre/types.h"

template <unsigned Bytes>
struct nacrei_number;
template <>
struct nacrei_number<1> {
    typedef uint8_t type;
};
template <>
struct nacrei_number<2> {
    typedef uint16_t type;
};
template <>
struct nacrei_number<4> {
    typedef uint32_t type;
};
template <>
struct nacrei_number<8> {
    typedef unsigned long long type;
};
template <>
struct nacrei_number<16> {
    typedef ulonglong2 type;
};

__device__ __forceinline__ uint64_t nacrei_arrays_count(const nacrei_arrays &arrays)
{
    if (arrays.count_device == nullptr) {
        return arrays.count;
    }
    const uint64_t count = *arrays.count_device;
    return count < arrays.count ? count : arrays.count;
}

/* Does the mask keep element i? */
__device__ __forceinline__ bool nacrei_in_mask(const nacrei_arrays &arrays, uint64_t i)
{
    const uint64_t place = arrays.mask_offset + i;
    const uint8_t *mask = (const uint8_t *)arrays.mask;
    if (arrays.mask_kind == NACRE_MASK_BITS) {
        return (mask[place / 8] >> (place % 8) & 1) != 0;
    }
    return arrays.mask_kind == NACRE_MASK_NONE || (mask[place] & arrays.mask_bits) != 0;
}

template <typename Item>
__device__ __forceinline__ uint64_t nacrei_item_number(Item item)
{
    if constexpr (sizeof(Item) == 16) {
        return 0; /* has no condition */
    } else {
        return (uint64_t)item;
    }
}

template <unsigned ItemBytes, unsigned ValueBytes>
struct nacrei_array_source {
    static constexpr bool has_second = ValueBytes != 0;
    static constexpr unsigned elements = has_second ? 1 : 16 / ItemBytes;
    typedef nacrei_arrays parameters;
    typedef typename nacrei_number<ItemBytes>::type first_type;
    typedef typename nacrei_number<has_second ? ValueBytes : 4>::type second_type;

    struct pair {
        first_type first;
        second_type second;
    };
    template <bool Pairs, typename Dummy = void>
    struct content {
        typedef pair type;
    };
    template <typename Dummy>
    struct content<false, Dummy> {
        typedef ulonglong2 type;
    };
    typedef typename content<has_second>::type vector;
    template <bool Pairs, typename Dummy = void>
    struct element_choice {
        typedef pair type;
    };
    template <typename Dummy>
    struct element_choice<false, Dummy> {
        typedef first_type type;
    };
    typedef typename element_choice<has_second>::type element_type;

    const nacrei_arrays &from;
    uint64_t start; /* the tile's first vector of this thread; 32 vectors on is the next */
    uint64_t count;
    uint32_t shift; /* elements of the first vector that lie before the array */
    bool inside;    /* the whole tile lies in the arrays */

    static __device__ __forceinline__ uint32_t shift_of(const nacrei_arrays &from)
    {
        return has_second ? 0 : (uint32_t)((uintptr_t)from.items % 16 / ItemBytes);
    }

    static __device__ __forceinline__ uint64_t tiles(const nacrei_arrays &from, unsigned vectors)
    {
        const uint64_t of_tile = (uint64_t)vectors * elements * NACREI_COMPACT_THREADS;
        const uint64_t count = nacrei_arrays_count(from);
        return count == 0 ? 0 : (count + shift_of(from) + of_tile - 1) / of_tile;
    }

    __device__ __forceinline__ nacrei_array_source(const nacrei_arrays &arrays, uint64_t tile,
                                                   unsigned vectors)
        : from(arrays), count(nacrei_arrays_count(arrays)), shift(shift_of(arrays))
    {
        const uint64_t of_tile = (uint64_t)vectors * NACREI_COMPACT_THREADS;
        start = tile * of_tile + threadIdx.x / 32 * vectors * 32 + threadIdx.x % 32;
        inside =
            tile * of_tile * elements >= shift && (tile + 1) * of_tile * elements <= count + shift;
    }

    /* The index of the first element of a vector; wraps around where it lies before the array. */
    __device__ __forceinline__ uint64_t index_of(unsigned v) const
    {
        return (start + v * 32) * elements - shift;
    }

    static __device__ __forceinline__ element_type element_of(const vector &vector, unsigned j)
    {
        if constexpr (has_second || ItemBytes == 16) {
            return vector;
        } else {
            const unsigned long long half = j < elements / 2 ? vector.x : vector.y;
            return (first_type)(half >> (j % (elements / 2) * 8 * (ItemBytes % 16)));
        }
    }

    static __device__ __forceinline__ first_type first_of(const element_type &element)
    {
        if constexpr (has_second) {
            return element.first;
        } else {
            return element;
        }
    }

    static __device__ __forceinline__ second_type second_of(const element_type &element)
    {
        if constexpr (has_second) {
            return element.second;
        } else {
            return 0;
        }
    }

    /* A vector, element by element; what lies outside of the array is zero. */
    __device__ vector load_pieces(unsigned v) const
    {
        const first_type *items = (const first_type *)from.items;
        const uint64_t index = index_of(v);
        if constexpr (has_second || ItemBytes == 16) {
            vector result{};
            if (index < count) {
                if constexpr (has_second) {
                    result = vector{items[index], ((const second_type *)from.values)[index]};
                } else {
                    result = items[index];
                }
            }
            return result;
        } else {
            unsigned long long halves[2] = {0, 0};
#pragma unroll 1
            for (unsigned j = 0; j < elements; j++) {
                if (index + j < count) {
                    const unsigned at = j % (elements / 2) * 8 * ItemBytes;
                    const unsigned long long bits = (unsigned long long)items[index + j] << at;
                    halves[0] |= j < elements / 2 ? bits : 0;
                    halves[1] |= j < elements / 2 ? 0 : bits;
                }
            }
            return make_ulonglong2(halves[0], halves[1]);
        }
    }

    __device__ __forceinline__ vector load_whole(unsigned v) const
    {
        const uint64_t index = index_of(v);
        if constexpr (has_second) {
            return vector{__ldcs((const first_type *)from.items + index),
                          __ldcs((const second_type *)from.values + index)};
        } else {
            return __ldcs((const ulonglong2 *)((const first_type *)from.items + index));
        }
    }

    /*
     * The mask's bits of all vectors of a tile inside of the arrays. Loads first, in each case:
     * they are under way together.
     */
    template <unsigned V>
    __device__ __forceinline__ nacrei_keep<V * elements> mask_whole() const
    {
        typedef nacrei_keep<V * elements> keep_type;
        constexpr uint32_t every = (1u << elements) - 1;
        const uint64_t place = from.mask_offset + index_of(0);
        const uint8_t *mask = (const uint8_t *)from.mask;
        keep_type keep = 0;
        if (from.mask_kind == NACRE_MASK_NONE) {
            keep = (keep_type) ~(uint64_t)0 >> (sizeof(keep_type) * 8 - V * elements);
        } else if (from.mask_kind == NACRE_MASK_BITS) {
            constexpr unsigned most = elements == 1 ? 1 : (elements + 6) / 8 + 1;
            uint8_t bytes[V][most];
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                const uint64_t at = place + v * 32 * elements;
#pragma unroll
                for (unsigned b = 0; b < most; b++) {
                    bytes[v][b] =
                        at / 8 + b <= (at + elements - 1) / 8 ? __ldcs(mask + at / 8 + b) : 0;
                }
            }
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                uint32_t word = 0;
#pragma unroll
                for (unsigned b = 0; b < most; b++) {
                    word |= (uint32_t)bytes[v][b] << 8 * b;
                }
                word = word >> ((place + v * 32 * elements) % 8) & every;
                keep |= (keep_type)word << (v * elements);
            }
        } else if ((uintptr_t)(mask + place) % elements == 0) {
            typedef typename nacrei_number<elements>::type flags_type;
            flags_type flags[V];
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                flags[v] = __ldcs((const flags_type *)(mask + place + v * 32 * elements));
            }
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
#pragma unroll
                for (unsigned j = 0; j < elements; j++) {
                    const bool set = (flag_of(flags[v], j) & from.mask_bits) != 0;
                    keep |= set ? (keep_type)1 << (v * elements + j) : 0;
                }
            }
        } else {
#pragma unroll 8
            for (unsigned i = 0; i < V * elements; i++) {
                const uint8_t flag =
                    __ldcs(mask + place + i / elements * 32 * elements + i % elements);
                keep |= (flag & from.mask_bits) != 0 ? (keep_type)1 << i : 0;
            }
        }
        return keep;
    }

    template <typename Flags>
    static __device__ __forceinline__ uint32_t flag_of(const Flags &flags, unsigned j)
    {
        if constexpr (sizeof(Flags) == 16) {
            return (uint32_t)((j < 8 ? flags.x : flags.y) >> (8 * (j % 8)));
        } else {
            return (uint32_t)(flags >> (8 * j));
        }
    }

    /* The same for any tile, element by element. */
    template <unsigned V>
    __device__ __forceinline__ nacrei_keep<V * elements> mask_pieces() const
    {
        typedef nacrei_keep<V * elements> keep_type;
        keep_type keep = 0;
#pragma unroll 1
        for (unsigned i = 0; i < V * elements; i++) {
            const uint64_t index = index_of(i / elements) + i % elements;
            if (index < count && nacrei_in_mask(from, index)) {
                keep |= (keep_type)1 << i;
            }
        }
        return keep;
    }

    /* The vectors of a tile. */
    template <unsigned V>
    __device__ __forceinline__ void load(vector (&content)[V]) const
    {
        if (inside) {
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                content[v] = load_whole(v);
            }
        } else {
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                content[v] = load_pieces(v);
            }
        }
    }

    /* The same into shared memory, 32 lanes' vectors one after another. */
    template <unsigned V>
    __device__ __forceinline__ void park(vector *to) const
    {
        if (!inside) {
#pragma unroll 1
            for (unsigned v = 0; v < V; v++) {
                to[v * 32] = load_pieces(v);
            }
            return;
        }
#pragma unroll
        for (unsigned v = 0; v < V; v++) {
            if constexpr (has_second) {
                nacrei_copy_async<ItemBytes>(&to[v * 32].first,
                                             (const first_type *)from.items + index_of(v));
                nacrei_copy_async<ValueBytes>(&to[v * 32].second,
                                              (const second_type *)from.values + index_of(v));
            } else {
                nacrei_copy_async<16>(&to[v * 32], (const first_type *)from.items + index_of(v));
            }
        }
    }

    /*
     * A bit for each element of a tile that is in the arrays, in the mask, and meets the condition;
     * `content` gives its vectors.
     */
    template <unsigned V, unsigned Unroll = V, typename Content>
    __device__ __forceinline__ nacrei_keep<V * elements> keep(const Content &content) const
    {
        typedef nacrei_keep<V * elements> keep_type;
        keep_type keep = inside ? mask_whole<V>() : mask_pieces<V>();
        if (from.condition.mask != 0 || from.condition.low != 0) {
#pragma unroll Unroll
            for (unsigned v = 0; v < V; v++) {
                const vector vector = content(v);
#pragma unroll
                for (unsigned j = 0; j < elements; j++) {
                    const first_type item = first_of(element_of(vector, j));
                    keep &= ~(nacrei_condition_holds(&from.condition, nacrei_item_number(item))
                                  ? 0
                                  : (keep_type)1 << (v * elements + j));
                }
            }
        }
        return keep;
    }

    /* One element by itself, for DEVICE_SELECT. */
    static __device__ __forceinline__ bool element(const nacrei_arrays &from, uint64_t index,
                                                   first_type *first, second_type *)
    {
        if (index >= nacrei_arrays_count(from)) {
            return false;
        }
        *first = ((const first_type *)from.items)[index];
        return nacrei_in_mask(from, index) &&
               nacrei_condition_holds(&from.condition, nacrei_item_number(*first));
    }
};

#endif
