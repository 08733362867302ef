/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots: how a key and its value are laid out, and what an empty slot looks like.
 *
 *     widths (key, value)      slot     bytes of it                        slots in a bucket (32 B)
 *     (8,8)                    16 B     key 0-7, value 8-15                2
 *     (8,4)                    16 B     key 0-7, value 8-11, zero 12-15    2
 *     (4,8)                    16 B     key 0-3, zero 4-7, value 8-15      2
 *     (8,0)                     8 B     key                                4
 *     (4,4)                     8 B     key 0-3, value 4-7                 4
 *     (4,0)                     4 B     key                                8
 *
 * A slot stores its key XOR a constant, so that zeroed memory is empty, and the user's key that
 * would look empty is a rare one. A slot is empty when its stored key is below the number of empty
 * patterns:
 *
 * - with values there is one empty pattern, 0, and the value half of an empty slot holds the
 *   overflow signature of its bucket (signature.h);
 * - in sets there are 32, and the pattern itself is what that value half would hold.
 *
 * A user's key whose stored form would be an empty pattern is a *side key*. It lives in a side slot
 * of its own, number = that pattern, where it is stored as the first non-empty pattern.
 */
#ifndef NACRE_CORE_SLOT_H
#define NACRE_CORE_SLOT_H

#include "nacre/core/inline.h"

#define NACREI_BUCKET_BYTES   32
#define NACREI_SIDE_SLOTS_MAX 32

/*
 * An arbitrary number without structure, unlike any key that a program counts up to or marks with.
 */
#define NACREI_KEY_XOR 0xB5297A4D3C9E61F3u

NACREI_INLINE uint32_t nacrei_slot_bytes(uint32_t key_bytes, uint32_t value_bytes)
{
    if (value_bytes == 0) {
        return key_bytes;
    }
    return key_bytes == 4 && value_bytes == 4 ? 8u : 16u;
}

NACREI_INLINE uint32_t nacrei_slots_per_bucket(uint32_t key_bytes, uint32_t value_bytes)
{
    return NACREI_BUCKET_BYTES / nacrei_slot_bytes(key_bytes, value_bytes);
}

/* Where the value begins in a slot. */
NACREI_INLINE uint32_t nacrei_slot_value_offset(uint32_t key_bytes, uint32_t value_bytes)
{
    return nacrei_slot_bytes(key_bytes, value_bytes) == 8 ? 4u : 8u;
}

/*
 * Stored keys below this are empty; also the number of side slots, and what a side key is stored
 * as.
 */
NACREI_INLINE uint32_t nacrei_empty_patterns(uint32_t value_bytes)
{
    return value_bytes == 0 ? 32u : 1u;
}

/* User's key to stored key; its own inverse. Keys of 4 bytes come zero-extended and stay so. */
NACREI_INLINE uint64_t nacrei_key_store(uint64_t key, uint32_t key_bytes)
{
    uint64_t stored = key ^ NACREI_KEY_XOR;
    return key_bytes == 4 ? (uint32_t)stored : stored;
}

#endif
