/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two neighbouring buckets, one cache line, looked at as a whole: which slots hold the key, which
 * are empty, and whether an empty one says that the key is not further on. One bit per slot of the
 * line, and no branch, because nobody can predict the answers.
 *
 * With AVX-512 (kernels_avx512.c) the line is one register. Where a lookup waits for memory, the
 * work beside it adds to its time: the fewer instructions the better.
 */
#ifndef NACRE_LIB_CPU_PAIR_H
#define NACRE_LIB_CPU_PAIR_H

#include "lib/cpu/layout.h"

#if NACREI_AVX512
#include <immintrin.h>
#endif

typedef struct nacrei_pair {
    uint32_t match; /* slots that hold the key */
    uint32_t holes; /* empty slots */
    uint32_t stops; /* empty slots that say: no key of its class went past the pair */
} nacrei_pair;

#if NACREI_AVX512

/* The classes of a key, nacrei_signature_pair(), beside the slots of each bucket. */
NACREI_KERNEL __m512i nacrei_pair_classes64(uint32_t classes)
{
    return _mm512_mask_set1_epi64(_mm512_set1_epi64(classes), 0xf0u,
                                  classes >> NACREI_SIGNATURE_BITS);
}

NACREI_KERNEL __m512i nacrei_pair_classes32(uint32_t classes)
{
    return _mm512_mask_set1_epi32(_mm512_set1_epi32((int)classes), 0xff00u,
                                  (int)(classes >> NACREI_SIGNATURE_BITS));
}

NACREI_KERNEL nacrei_pair nacrei_pair_read(const unsigned char *line, uint64_t stored,
                                           uint32_t classes, uint32_t key_bytes,
                                           uint32_t value_bytes)
{
    nacrei_pair pair;
    __m512i slots = _mm512_loadu_si512(line);
    if (nacrei_slot_key_bytes(key_bytes, value_bytes) == 8 && value_bytes != 0) {
        /* key, value, key, value, ...: one lane each */
        uint32_t keys = 0x55u;
        uint32_t match = _mm512_cmpeq_epi64_mask(slots, _mm512_set1_epi64((long long)stored));
        uint32_t holes = _mm512_testn_epi64_mask(slots, slots);
        uint32_t passed = _mm512_test_epi64_mask(slots, nacrei_pair_classes64(classes));
        pair.match = match & keys;
        pair.holes = holes & keys;
        pair.stops = pair.holes & ~(passed >> 1);
    } else if (value_bytes != 0) {
        uint32_t keys = 0x5555u;
        uint32_t match = _mm512_cmpeq_epi32_mask(slots, _mm512_set1_epi32((int)stored));
        uint32_t holes = _mm512_testn_epi32_mask(slots, slots);
        uint32_t passed = _mm512_test_epi32_mask(slots, nacrei_pair_classes32(classes));
        pair.match = match & keys;
        pair.holes = holes & keys;
        pair.stops = pair.holes & ~(passed >> 1);
    } else if (key_bytes == 8) {
        __m512i patterns = _mm512_set1_epi64(nacrei_empty_patterns(0));
        uint32_t passed = _mm512_test_epi64_mask(slots, nacrei_pair_classes64(classes));
        pair.match = _mm512_cmpeq_epi64_mask(slots, _mm512_set1_epi64((long long)stored));
        pair.holes = _mm512_cmplt_epu64_mask(slots, patterns);
        pair.stops = pair.holes & ~passed;
    } else {
        __m512i patterns = _mm512_set1_epi32((int)nacrei_empty_patterns(0));
        uint32_t passed = _mm512_test_epi32_mask(slots, nacrei_pair_classes32(classes));
        pair.match = _mm512_cmpeq_epi32_mask(slots, _mm512_set1_epi32((int)stored));
        pair.holes = _mm512_cmplt_epu32_mask(slots, patterns);
        pair.stops = pair.holes & ~passed;
    }
    return pair;
}

/* Bits of a mask per slot: with a lane for the value, the key's lane is the slot's bit. */
NACREI_KERNEL uint32_t nacrei_pair_bits(uint32_t value_bytes)
{
    return value_bytes != 0 ? 2u : 1u;
}

#else

NACREI_KERNEL nacrei_pair nacrei_pair_read(const unsigned char *line, uint64_t stored,
                                           uint32_t classes, uint32_t key_bytes,
                                           uint32_t value_bytes)
{
    nacrei_pair pair = {0, 0, 0};
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    for (uint32_t i = 0; i < 2 * NACREI_BUCKET_BYTES / slot_bytes; i++) {
        const unsigned char *slot = line + i * slot_bytes;
        uint64_t key = nacrei_slot_key(slot, key_bytes, value_bytes);
        uint32_t signature = (uint32_t)nacrei_hole_signature(slot, key_bytes, value_bytes);
        uint32_t hole = key < nacrei_empty_patterns(value_bytes);
        pair.match |= (uint32_t)(key == stored) << i;
        pair.holes |= hole << i;
        uint32_t in_second = i >= NACREI_BUCKET_BYTES / slot_bytes;
        uint32_t class_bit = in_second ? classes >> NACREI_SIGNATURE_BITS : classes;
        pair.stops |= (hole & ((signature & class_bit) == 0)) << i;
    }
    return pair;
}

NACREI_KERNEL uint32_t nacrei_pair_bits(uint32_t value_bytes)
{
    (void)value_bytes;
    return 1;
}

#endif

/* The slot of the lowest bit of a mask that is not 0. */
NACREI_KERNEL unsigned char *nacrei_pair_slot(unsigned char *line, uint32_t mask,
                                              uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t bit_bytes = nacrei_slot_bytes(key_bytes, value_bytes) / nacrei_pair_bits(value_bytes);
    return line + (uint32_t)__builtin_ctz(mask) * bit_bytes;
}

/* The value in the slot of the lowest bit of a mask; `other` where the mask is 0. */
NACREI_KERNEL uint64_t nacrei_pair_value(const unsigned char *line, uint32_t mask, uint64_t other,
                                         uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t bits = nacrei_pair_bits(value_bytes);
    uint32_t bit_bytes = nacrei_slot_bytes(key_bytes, value_bytes) / bits;
    uint32_t last = 2 * NACREI_BUCKET_BYTES / bit_bytes - bits; /* read where the mask is 0 */
    uint32_t bit = (uint32_t)__builtin_ctz(mask | 1u << last);
    uint64_t value = nacrei_slot_value(line + bit * bit_bytes, key_bytes, value_bytes);
    return mask != 0 ? value : other;
}

/* The line of a bucket. */
static inline unsigned char *nacrei_pair_line(unsigned char *bucket)
{
    return (unsigned char *)((uintptr_t)bucket & ~(uintptr_t)(2 * NACREI_BUCKET_BYTES - 1));
}

#endif
