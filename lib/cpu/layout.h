/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access to slots, buckets and signatures. Every function takes the widths of key and value: as
 * constants in the kernels, where all that depends on them is decided by the compiler, and as
 * variables where speed does not matter.
 *
 * The three layouts with 16-byte slots (core/slot.h) are one here, 8-byte key and 8-byte value:
 * what the narrower ones leave unused is zero.
 */
#ifndef NACRE_LIB_CPU_LAYOUT_H
#define NACRE_LIB_CPU_LAYOUT_H

#include <stdint.h>
#include <string.h>

#include "lib/cpu/map.h"
#include "nacre/core/probe.h"
#include "nacre/core/signature.h"
#include "nacre/core/slot.h"

/* 1 where the kernels are compiled for AVX-512 (kernels_avx512.c). */
#ifndef NACREI_AVX512
#define NACREI_AVX512 0
#endif

/* Not a hint: a kernel is fast because the widths in it are constants. */
#define NACREI_KERNEL static inline __attribute__((always_inline))

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "slots are read across the border of key and padding: little-endian machines only"
#endif

/* One number of 4 or 8 bytes, zero-extended; any alignment. 0 bytes: 0. */
NACREI_KERNEL uint64_t nacrei_load(const void *from, uint32_t bytes)
{
    if (bytes == 8) {
        uint64_t number;
        memcpy(&number, from, sizeof number);
        return number;
    }
    if (bytes == 4) {
        uint32_t number;
        memcpy(&number, from, sizeof number);
        return number;
    }
    return 0;
}

NACREI_KERNEL void nacrei_store(void *to, uint64_t number, uint32_t bytes)
{
    if (bytes == 8) {
        memcpy(to, &number, sizeof number);
    } else if (bytes == 4) {
        uint32_t low = (uint32_t)number;
        memcpy(to, &low, sizeof low);
    }
}

/* Bytes of the key and of the value as they lie in a slot, padding included. */
NACREI_KERNEL uint32_t nacrei_slot_key_bytes(uint32_t key_bytes, uint32_t value_bytes)
{
    return nacrei_slot_bytes(key_bytes, value_bytes) == 16 ? 8u : key_bytes;
}

NACREI_KERNEL uint32_t nacrei_slot_value_bytes(uint32_t key_bytes, uint32_t value_bytes)
{
    return nacrei_slot_bytes(key_bytes, value_bytes) == 16 ? 8u : value_bytes;
}

NACREI_KERNEL uint64_t nacrei_slot_key(const unsigned char *slot, uint32_t key_bytes,
                                       uint32_t value_bytes)
{
    return nacrei_load(slot, nacrei_slot_key_bytes(key_bytes, value_bytes));
}

NACREI_KERNEL uint64_t nacrei_slot_value(const unsigned char *slot, uint32_t key_bytes,
                                         uint32_t value_bytes)
{
    return nacrei_load(slot + nacrei_slot_value_offset(key_bytes, value_bytes),
                       nacrei_slot_value_bytes(key_bytes, value_bytes));
}

NACREI_KERNEL void nacrei_slot_set_value(unsigned char *slot, uint64_t value, uint32_t key_bytes,
                                         uint32_t value_bytes)
{
    nacrei_store(slot + nacrei_slot_value_offset(key_bytes, value_bytes), value,
                 nacrei_slot_value_bytes(key_bytes, value_bytes));
}

NACREI_KERNEL void nacrei_slot_set(unsigned char *slot, uint64_t stored, uint64_t value,
                                   uint32_t key_bytes, uint32_t value_bytes)
{
    nacrei_store(slot, stored, nacrei_slot_key_bytes(key_bytes, value_bytes));
    nacrei_slot_set_value(slot, value, key_bytes, value_bytes);
}

/* The signature that an empty slot carries. */
NACREI_KERNEL uint64_t nacrei_hole_signature(const unsigned char *slot, uint32_t key_bytes,
                                             uint32_t value_bytes)
{
    return value_bytes == 0 ? nacrei_slot_key(slot, key_bytes, value_bytes)
                            : nacrei_slot_value(slot, key_bytes, value_bytes);
}

/* Empties a slot of a bucket with this signature. */
NACREI_KERNEL void nacrei_slot_empty(unsigned char *slot, uint32_t signature, uint32_t key_bytes,
                                     uint32_t value_bytes)
{
    if (value_bytes == 0) {
        nacrei_slot_set(slot, signature, 0, key_bytes, value_bytes);
    } else {
        nacrei_slot_set(slot, 0, signature, key_bytes, value_bytes);
    }
}

/* The slot of a bucket that holds a key; NULL: none does. */
NACREI_KERNEL unsigned char *nacrei_bucket_match(unsigned char *bucket, uint64_t stored,
                                                 uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    for (uint32_t at = 0; at < NACREI_BUCKET_BYTES; at += slot_bytes) {
        if (nacrei_slot_key(bucket + at, key_bytes, value_bytes) == stored) {
            return bucket + at;
        }
    }
    return NULL;
}

static inline unsigned char *nacrei_submap_bucket(nacrei_cpu_submap submap, uint32_t bucket)
{
    return submap.buckets + (size_t)bucket * NACREI_BUCKET_BYTES;
}

/* The signature of a bucket, from the array. */
static inline uint32_t nacrei_submap_signature(nacrei_cpu_submap submap, uint32_t bucket)
{
    const unsigned char *word = submap.signatures + nacrei_signature_word(bucket) * 4u;
    return (uint32_t)nacrei_load(word, 4) >> nacrei_signature_shift(bucket) & NACREI_SIGNATURE_MASK;
}

/* The signatures of a bucket and its neighbour, which share a byte. */
static inline const unsigned char *nacrei_submap_pair_signatures(nacrei_cpu_submap submap,
                                                                 uint32_t bucket)
{
    return submap.signatures + bucket / 2u;
}

/* Does this byte send keys of the hash's classes past the pair? */
static inline uint32_t nacrei_pair_passed(unsigned char pair_signatures, uint64_t hash)
{
    uint32_t both = nacrei_signature_pair(hash);
    return (pair_signatures & both) == both;
}

/*
 * Tells later lookups that a key with this hash went past both buckets of a pair, which are full.
 * Returns whether that had been told before.
 */
static inline uint32_t nacrei_submap_pass_pair(nacrei_cpu_submap submap, uint32_t bucket,
                                               uint64_t hash)
{
    unsigned char *signatures = submap.signatures + bucket / 2u;
    uint32_t passed = nacrei_pair_passed(*signatures, hash);
    *signatures = (unsigned char)(*signatures | nacrei_signature_pair(hash));
    return passed;
}

#endif
