/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse of nacrei_hash, to build keys that have the hash one wants. */
#ifndef NACRE_TEST_HASH_INVERSE_H
#define NACRE_TEST_HASH_INVERSE_H

#include <stdint.h>

/* The inverse of an odd number modulo 2^64: each round doubles the bits that are right. */
static inline uint64_t test_inverse_odd(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 6; i++) {
        x *= 2 - odd * x;
    }
    return x;
}

static inline uint64_t test_hash_inverse(uint64_t hash, uint64_t seed)
{
    uint64_t x = hash ^ (hash >> 32);
    x *= test_inverse_odd(0xD6E8FEB86659FD93u);
    x -= (seed << 32) | (seed >> 32);
    x ^= (x >> 29) ^ (x >> 58);
    x *= test_inverse_odd(0x9E3779B97F4A7C15u);
    x ^= x >> 32;
    return x ^ seed;
}

#endif
