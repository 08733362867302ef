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

    static __device__ __forceinline__ first_type first_of(const vector &vector, unsigned j)
    {
        if constexpr (has_second) {
            return vector.first;
        } else if constexpr (ItemBytes == 16) {
            return vector;
        } else {
            const unsigned long long half = j < elements / 2 ? vector.x : vector.y;
            return (first_type)(half >> (j % (elements / 2) * 8 * (ItemBytes % 16)));
        }
    }

    static __device__ __forceinline__ second_type second_of(const vector &vector, unsigned)
    {
        if constexpr (has_second) {
            return vector.second;
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
    __device__ __forceinline__ void mask_whole(uint32_t (&bits)[V]) const
    {
        constexpr uint32_t every = (1u << elements) - 1;
        const uint64_t place = from.mask_offset + index_of(0);
        const uint8_t *mask = (const uint8_t *)from.mask;
        if (from.mask_kind == NACRE_MASK_NONE) {
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                bits[v] = every;
            }
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
                bits[v] = word >> ((place + v * 32 * elements) % 8) & every;
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
                bits[v] = 0;
#pragma unroll
                for (unsigned j = 0; j < elements; j++) {
                    bits[v] |= (uint32_t)((flag_of(flags[v], j) & from.mask_bits) != 0) << j;
                }
            }
        } else {
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                bits[v] = mask_pieces(v);
            }
        }
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

    /* A bit for each element of a vector that is in the arrays and in the mask. */
    __device__ uint32_t mask_pieces(unsigned v) const
    {
        const uint64_t index = index_of(v);
        uint32_t bits = 0;
        for (unsigned j = 0; j < elements; j++) {
            if (index + j < count && nacrei_in_mask(from, index + j)) {
                bits |= 1u << j;
            }
        }
        return bits;
    }

    /* A bit for each element of a tile that is in the arrays and in the mask. */
    template <unsigned V>
    __device__ __forceinline__ uint64_t masks() const
    {
        uint32_t bits[V];
        uint64_t keep = 0;
        if (inside) {
            mask_whole<V>(bits);
        } else {
#pragma unroll
            for (unsigned v = 0; v < V; v++) {
                bits[v] = mask_pieces(v);
            }
        }
#pragma unroll
        for (unsigned v = 0; v < V; v++) {
            keep |= (uint64_t)bits[v] << (v * elements);
        }
        return keep;
    }

    /* A bit for each element of a vector that meets the condition. */
    __device__ __forceinline__ uint32_t meets(unsigned, const vector &vector) const
    {
        uint32_t bits = (1u << elements) - 1;
        if (from.condition.mask != 0 || from.condition.low != 0) {
#pragma unroll
            for (unsigned j = 0; j < elements; j++) {
                if (!nacrei_condition_holds(&from.condition,
                                            nacrei_item_number(first_of(vector, j)))) {
                    bits &= ~(1u << j);
                }
            }
        }
        return bits;
    }

    template <unsigned V>
    __device__ __forceinline__ uint64_t load(vector (&content)[V]) const
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
        uint64_t keep = masks<V>();
#pragma unroll
        for (unsigned v = 0; v < V; v++) {
            const uint64_t bits = (uint64_t)meets(v, content[v]) << (v * elements);
            keep &= bits | ~((uint64_t)((1u << elements) - 1) << (v * elements));
        }
        return keep;
    }

    __device__ __forceinline__ void park(unsigned v, vector *to) const
    {
        if (!inside) {
            *to = load_pieces(v);
        } else if constexpr (has_second) {
            nacrei_copy_async<ItemBytes>(&to->first, (const first_type *)from.items + index_of(v));
            nacrei_copy_async<ValueBytes>(&to->second,
                                          (const second_type *)from.values + index_of(v));
        } else {
            nacrei_copy_async<16>(to, (const first_type *)from.items + index_of(v));
        }
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
