/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From shared memory to the output. What a tile keeps lies dense in shared memory, and goes out in
 * aligned vectors of 16 bytes; stores straight from registers touch lines in pieces (0.96 of the
 * copy bandwidth at load 0.9, staged 0.99).
 *
 * Elements are staged whole, which takes one store each, and does not need their place. One pass
 * then reads a group, of which the narrower parts fill a vector, and writes the vectors of both
 * parts.
 */
#ifndef NACRE_DEVICE_COMPACT_STAGE_CUH
#define NACRE_DEVICE_COMPACT_STAGE_CUH

#include "device/compact/compact.h"

template <typename Type>
__device__ __forceinline__ void nacrei_stream_out(Type *to, Type value)
{
    __stcs(to, value);
}

template <typename Source>
static constexpr uint32_t nacrei_group = 16 / (Source::has_second &&
                                                       sizeof(typename Source::second_type) <
                                                           sizeof(typename Source::first_type)
                                                   ? sizeof(typename Source::second_type)
                                                   : sizeof(typename Source::first_type));

/* Elements or their parts that fill vectors of 16 bytes. */
template <typename Type, uint32_t Count>
union nacrei_vectors {
    Type item[Count];
    uint32_t word[Count * sizeof(Type) / 4];
    ulonglong2 vector[Count * sizeof(Type) / 16];

    /* From shared memory, where they are only aligned as one is. */
    __device__ __forceinline__ void read(const Type *from)
    {
        if constexpr (sizeof(Type) >= 4) {
#pragma unroll
            for (uint32_t i = 0; i < Count; i++) {
                item[i] = from[i];
            }
        } else {
            const uint32_t shift = (uint32_t)((uintptr_t)from % 4);
            const uint32_t *words = (const uint32_t *)((const char *)from - shift);
            uint32_t low = words[0];
#pragma unroll
            for (uint32_t i = 0; i < Count * sizeof(Type) / 4; i++) {
                const bool needed = i + 1 < Count * sizeof(Type) / 4 || shift != 0;
                const uint32_t high = needed ? words[i + 1] : 0;
                word[i] = __funnelshift_r(low, high, shift * 8);
                low = high;
            }
        }
    }

    __device__ __forceinline__ void write(Type *to) const
    {
#pragma unroll
        for (uint32_t k = 0; k < Count * sizeof(Type) / 16; k++) {
            __stcs((ulonglong2 *)to + k, vector[k]);
        }
    }
};

/*
 * Writes `count` elements from `staged` to their places, which begin at `first`. So many threads
 * share the work.
 */
template <typename Source, uint32_t Threads>
__device__ __forceinline__ void nacrei_write_staged(const nacrei_target &target,
                                                    const typename Source::element_type *staged,
                                                    uint64_t first, uint32_t count, uint32_t thread)
{
    typedef typename Source::first_type first_type;
    typedef typename Source::second_type second_type;
    constexpr uint32_t group = nacrei_group<Source>;
    first_type *first_out = (first_type *)target.first + first;
    second_type *second_out = (second_type *)target.second + first;
    const auto one_by_one = [&](uint32_t from, uint32_t to) {
#pragma unroll 1
        for (uint32_t i = from + thread; i < to; i += Threads) {
            const typename Source::element_type element = staged[i];
            if (target.first != nullptr) {
                nacrei_stream_out(first_out + i, Source::first_of(element));
            }
            if constexpr (Source::has_second) {
                if (target.second != nullptr) {
                    nacrei_stream_out(second_out + i, Source::second_of(element));
                }
            }
        }
    };
    /* Whole groups begin where the first part is aligned; none where the second then is not. */
    uint32_t whole = -(uint32_t)((uintptr_t)first_out / sizeof(first_type)) % group;
    if (whole > count || (Source::has_second && (uintptr_t)(second_out + whole) % 16 != 0)) {
        whole = count;
    }
    const uint32_t rest = whole + (count - whole) / group * group;
    one_by_one(0, whole);
#pragma unroll 1
    for (uint32_t at = whole + thread * group; at < rest; at += Threads * group) {
        nacrei_vectors<typename Source::element_type, group> elements;
        elements.read(staged + at);
        if constexpr (Source::has_second) {
            nacrei_vectors<first_type, group> firsts;
            nacrei_vectors<second_type, group> seconds;
#pragma unroll
            for (uint32_t i = 0; i < group; i++) {
                firsts.item[i] = Source::first_of(elements.item[i]);
                seconds.item[i] = Source::second_of(elements.item[i]);
            }
            if (target.first != nullptr) {
                firsts.write(first_out + at);
            }
            if (target.second != nullptr) {
                seconds.write(second_out + at);
            }
        } else if (target.first != nullptr) {
            elements.write(first_out + at);
        }
    }
    one_by_one(rest, count);
}

#endif
