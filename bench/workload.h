/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keys of a case are, element by element: written once, computed by the host and on the
 * GPU. A key is an invertible mix of a number, so that keys have no pattern and numbers without
 * repetition give keys without repetition; the mixes are not the library's hash. A key's value
 * follows from the key, so that every answer can be judged.
 */
#ifndef NACRE_BENCH_WORKLOAD_H
#define NACRE_BENCH_WORKLOAD_H

#include <math.h>
#include <stdint.h>

#include "nacre/core/inline.h"

enum {
    BENCH_IN_ORDER, /* each number once, as counted */
    BENCH_SHUFFLED, /* each number once, in an order that has nothing to do with the first */
    BENCH_UNIFORM,  /* drawn with repetition, all alike */
    BENCH_ZIPF,     /* ... number k about as often as 1 / (k + 1)^skew */
    BENCH_GAUSSIAN  /* ... around the middle, standard deviation skew * range */
};

/* An array of keys. */
typedef struct bench_keys {
    uint32_t kind;
    uint32_t key_bytes;
    uint64_t first; /* numbers first .. first + range - 1 */
    uint64_t range;
    double skew;
    double absent_rate; /* share of keys that nobody ever inserts */
} bench_keys;

/* Bijections of 64 and of 32 bits. */
NACREI_INLINE uint64_t bench_mix64(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xFF51AFD7ED558CCDu;
    x ^= x >> 33;
    x *= 0xC4CEB9FE1A85EC53u;
    return x ^ x >> 33;
}

NACREI_INLINE uint32_t bench_mix32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x85EBCA6Bu;
    x ^= x >> 13;
    x *= 0xC2B2AE35u;
    return x ^ x >> 16;
}

/* A random number in [0, 1) for an element; `salt` tells draws apart. */
NACREI_INLINE double bench_draw(uint64_t i, uint64_t salt)
{
    return (double)(bench_mix64(i * 0x9E3779B97F4A7C15u + salt) >> 11) * 0x1p-53;
}

/* A bijection of 0 .. range - 1: of the next power of two, repeated until in range. */
NACREI_INLINE uint64_t bench_shuffle(uint64_t x, uint64_t range)
{
    uint32_t bits = 2;
    while ((uint64_t)1 << bits < range) {
        bits++;
    }
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    do {
        x = (x * 0x9E3779B97F4A7C15u + 0x632BE5AB) & mask;
        x ^= x >> (bits / 2 + 1);
        x = x * 0xD6E8FEB86659FD93u & mask;
        x ^= x >> (bits / 2 + 1);
    } while (x >= range);
    return x;
}

/* The inverse of the integral of 1 / x^skew, which is close to Zipf's law and needs no table. */
NACREI_INLINE uint64_t bench_zipf(double u, double skew, uint64_t range)
{
    const double end = (double)range + 1, power = 1 - skew;
    double x = fabs(power) < 1e-9 ? pow(end, u) : pow(1 + u * (pow(end, power) - 1), 1 / power);
    uint64_t number = (uint64_t)x - 1;
    return number < range ? number : range - 1;
}

NACREI_INLINE uint64_t bench_gaussian(double u, double v, double skew, uint64_t range)
{
    double normal = sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
    return (uint64_t)fabs((double)range * (0.5 + skew * normal)) % range;
}

/* Number of element i of `keys`, less `first`. */
NACREI_INLINE uint64_t bench_number(const bench_keys *keys, uint64_t i)
{
    switch (keys->kind) {
    case BENCH_IN_ORDER:
        return i;
    case BENCH_SHUFFLED:
        return bench_shuffle(i, keys->range);
    case BENCH_ZIPF:
        return bench_zipf(bench_draw(i, 1), keys->skew, keys->range);
    case BENCH_GAUSSIAN:
        return bench_gaussian(bench_draw(i, 1), bench_draw(i, 2), keys->skew, keys->range);
    default:
        return (uint64_t)(bench_draw(i, 1) * (double)keys->range);
    }
}

NACREI_INLINE int bench_is_absent(const bench_keys *keys, uint64_t i)
{
    return keys->absent_rate > 0 && bench_draw(i, 3) < keys->absent_rate;
}

/* Element i as a key; numbers of absent keys begin where no inserted one ever comes. */
NACREI_INLINE uint64_t bench_key(const bench_keys *keys, uint64_t i)
{
    uint64_t number = keys->first + bench_number(keys, i);
    if (keys->key_bytes == 4) {
        number += (uint64_t)bench_is_absent(keys, i) << 31;
        return bench_mix32((uint32_t)number);
    }
    number += (uint64_t)bench_is_absent(keys, i) << 40;
    return bench_mix64(number);
}

/* `bytes` of the number at `array`[i]; of 16 a digest of 8. */
NACREI_INLINE uint64_t bench_load(const void *array, uint32_t bytes, uint64_t i)
{
    const uint64_t *words = (const uint64_t *)array;
    return bytes == 1    ? ((const uint8_t *)array)[i]
           : bytes == 2  ? ((const uint16_t *)array)[i]
           : bytes == 4  ? ((const uint32_t *)array)[i]
           : bytes == 16 ? words[2 * i] + bench_mix64(words[2 * i + 1])
                         : words[i];
}

NACREI_INLINE void bench_store(void *array, uint32_t bytes, uint64_t i, uint64_t value)
{
    if (bytes == 4) {
        ((uint32_t *)array)[i] = (uint32_t)value;
    } else {
        ((uint64_t *)array)[i] = value;
    }
}

NACREI_INLINE uint64_t bench_value(uint64_t key, uint32_t value_bytes)
{
    uint64_t value = bench_mix64(key + 1);
    return value_bytes == 4 ? (uint32_t)value : value;
}

/* Is item i of an array kept, where a share of them is? */
NACREI_INLINE int bench_is_kept(uint64_t i, double share)
{
    return bench_draw(i, 4) < share;
}

/* Is (index, value) a pair of nacre_map_match's, for lookups of `keys`? */
NACREI_INLINE int bench_is_match(const bench_keys *keys, uint64_t count, uint64_t index,
                                 uint64_t value, uint32_t value_bytes)
{
    return index < count && !bench_is_absent(keys, index) &&
           value == bench_value(bench_key(keys, index), value_bytes);
}

/* What a lookup of element i answers: value_bytes 1 is the byte of nacre_map_contains. */
NACREI_INLINE uint64_t bench_answer(const bench_keys *keys, uint64_t i, uint32_t value_bytes,
                                    uint64_t missing)
{
    int absent = bench_is_absent(keys, i);
    if (value_bytes == 1) {
        return !absent;
    }
    return absent ? missing : bench_value(bench_key(keys, i), value_bytes);
}

#endif
