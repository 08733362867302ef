/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash: one seeded bijection of 64 bits, cut into fields that share no bit.
 *
 *     bits  0 .. 10   home bucket in the submap (bit 0: which half of a 64-byte pair)
 *     bits 11 .. 19   step from pair to pair
 *     bits 20 .. 23   classes, for overflow signatures
 *     bits 24 .. 63   submap
 *
 * A bijection, because then the hash of a key is its identity: no two keys share all fields. The
 * submap takes its bits from 24 upwards, so that a growing table exposes one more bit at a time.
 */
#ifndef NACRE_CORE_HASH_H
#define NACRE_CORE_HASH_H

#include "nacre/core/inline.h"

#define NACREI_HASH_STEP_SHIFT   11
#define NACREI_HASH_CLASS_SHIFT  20
#define NACREI_HASH_SUBMAP_SHIFT 24

/*
 * Two rounds of xor-shift and odd multiplication. The multipliers are those of Fibonacci hashing
 * (2^64 divided by the golden ratio) and of Mueller's 64-bit mix; every step can be undone, so the
 * whole is a bijection for each seed. The seed goes in before the first multiplication and, turned,
 * between the rounds, so that it does not merely permute the keys.
 */
NACREI_INLINE uint64_t nacrei_hash(uint64_t key, uint64_t seed)
{
    uint64_t x = key ^ seed;
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15u;
    x ^= x >> 29;
    x += (seed << 32) | (seed >> 32);
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    return x;
}

#endif
