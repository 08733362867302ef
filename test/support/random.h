/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of the tests: splitmix64, one state per user, the same on every machine. */
#ifndef NACRE_TEST_RANDOM_H
#define NACRE_TEST_RANDOM_H

#include <stdint.h>

/* A bijection of 64 bits: distinct inputs give distinct outputs. Nothing of the library's is in
   it. */
static inline uint64_t test_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* The same for 32 bits. */
static inline uint32_t test_mix32(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    return x ^ (x >> 16);
}

static inline uint64_t test_random(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    return test_mix(*state);
}

/* 0 .. bound - 1; the tiny bias of the remainder does not matter here. */
static inline uint64_t test_random_below(uint64_t *state, uint64_t bound)
{
    return test_random(state) % bound;
}

#endif
