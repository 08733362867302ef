/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups: keys are not looked up one by one but a group at a time, so that the memory of all of
 * them is on its way before the first is needed.
 */
#ifndef NACRE_LIB_CPU_GROUP_H
#define NACRE_LIB_CPU_GROUP_H

#include "lib/cpu/kernels.h"
#include "lib/cpu/layout.h"

#if NACREI_AVX512
#include <immintrin.h>
#endif

/* Keys of a group: enough to keep memory busy while the group before is worked on. */
#define NACREI_GROUP 32u

/*
 * Home buckets are fetched into L2, because more accesses can be under way there than into L1;
 * without AVX-512 the wait for L2 afterwards costs more than that gains.
 */
#define NACREI_GROUP_HINT (NACREI_AVX512 ? 2 : 3)

/* How far ahead the arrays of the caller are fetched, in elements. */
#define NACREI_GROUP_AHEAD 256u

typedef struct nacrei_group {
    uint64_t position; /* of the first key */
    uint32_t count;
    uint64_t stored[NACREI_GROUP];
    uint64_t hash[NACREI_GROUP];
    uint64_t home[NACREI_GROUP]; /* addresses of home buckets */
} nacrei_group;

/* Which elements a kernel takes into its groups. */
typedef struct nacrei_group_source {
    const char *keys;
    uint64_t base;
    const uint32_t *list; /* NULL: all from `base` on */
} nacrei_group_source;

NACREI_KERNEL uint64_t nacrei_element(nacrei_group_source source, uint64_t position)
{
    return source.base + (source.list != NULL ? source.list[position] : position);
}

NACREI_KERNEL void nacrei_group_fetch_home(const nacrei_group *group, uint32_t i)
{
    __builtin_prefetch((const void *)(uintptr_t)group->home[i], 0, NACREI_GROUP_HINT);
}

/* Fetches an array of the caller's: beside so many random accesses the hardware does not do it. */
NACREI_KERNEL void nacrei_group_fetch(const void *array, uint64_t element, uint32_t bytes)
{
    const char *ahead = (const char *)array + (element + NACREI_GROUP_AHEAD) * bytes;
    for (uint32_t line = 0; line < NACREI_GROUP * bytes; line += 64) {
        __builtin_prefetch(ahead + line);
    }
}

/* The same for the elements that a kernel goes through up to position `end`. */
NACREI_KERNEL void nacrei_group_fetch_listed(const void *array, nacrei_group_source source,
                                             uint64_t position, uint64_t end, uint32_t bytes)
{
    if (source.list == NULL) {
        nacrei_group_fetch(array, source.base + position, bytes);
        return;
    }
    position += NACREI_GROUP_AHEAD;
    for (uint32_t i = 0; i < NACREI_GROUP && position + i < end; i++) {
        __builtin_prefetch((const char *)array + nacrei_element(source, position + i) * bytes);
    }
}

#if NACREI_AVX512

/* The home buckets of eight hashes (nacrei_cpu_submap_of and nacrei_submap_bucket). */
NACREI_KERNEL void nacrei_homes(const nacrei_cpu_table *table, const uint64_t *hash, uint64_t *home)
{
    const __m512i one = _mm512_set1_epi64(1);
    __m512i half = _mm512_set1_epi64((long long)table->half);
    __m512i count = _mm512_set1_epi64((long long)table->submap_count);
    __m512i number_mask = _mm512_sub_epi64(_mm512_slli_epi64(half, 1), one);
    __m512i hashes = _mm512_loadu_si512(hash);
    __m512i number =
        _mm512_and_si512(_mm512_srli_epi64(hashes, NACREI_HASH_SUBMAP_SHIFT), number_mask);
    __mmask8 unborn = _mm512_cmpge_epu64_mask(number, count);
    number = _mm512_add_epi64(_mm512_mask_sub_epi64(number, unborn, number, half), one);
    /* nacrei_cpu_segment_of */
    __m512i shifted = _mm512_add_epi64(number, _mm512_set1_epi64(4));
    __m512i exponent = _mm512_sub_epi64(_mm512_set1_epi64(61), _mm512_lzcnt_epi64(shifted));
    __m512i segment =
        _mm512_add_epi64(_mm512_slli_epi64(exponent, 2), _mm512_srlv_epi64(shifted, exponent));
    segment = _mm512_sub_epi64(segment, _mm512_set1_epi64(4));
    __m512i origin = _mm512_i64gather_epi64(_mm512_slli_epi64(segment, 1),
                                            (const long long *)&table->segments[0].buckets, 8);
    __m512i image = _mm512_slli_epi64(number, NACREI_CPU_IMAGE_SHIFT);
    __m512i bucket = _mm512_slli_epi64(
        _mm512_and_si512(hashes, _mm512_set1_epi64(NACREI_CPU_BUCKET_MASK)), NACREI_BUCKET_SHIFT);
    _mm512_storeu_si512(home, _mm512_add_epi64(_mm512_add_epi64(origin, image), bucket));
}
#define NACREI_HOMES 8u

#else

NACREI_KERNEL void nacrei_homes(const nacrei_cpu_table *table, const uint64_t *hash, uint64_t *home)
{
    nacrei_cpu_submap submap = nacrei_cpu_submap_of(table, *hash);
    *home = (uintptr_t)nacrei_submap_bucket(submap, (uint32_t)*hash & NACREI_CPU_BUCKET_MASK);
}
#define NACREI_HOMES 1u

#endif

/*
 * Hashes the keys of `count` positions. Plain loops over arrays, which the compiler can do several
 * at a time. A group that is not full is filled up with the key at `begin`, the first of all: so
 * whoever goes through the whole group touches no bucket that does not belong to this thread.
 */
NACREI_KERNEL void nacrei_group_prepare(nacrei_group *group, const nacrei_cpu_table *table,
                                        nacrei_group_source source, uint64_t begin,
                                        uint64_t position, uint32_t count, uint32_t key_bytes)
{
    uint64_t keys[NACREI_GROUP], seed = table->seed;
    group->position = position;
    group->count = count;
    if (source.list == NULL && count == NACREI_GROUP) {
        const char *from = source.keys + (source.base + position) * key_bytes;
        for (uint32_t i = 0; i < NACREI_GROUP; i++) {
            keys[i] = nacrei_load(from + i * key_bytes, key_bytes);
        }
    } else {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t element = nacrei_element(source, position + i);
            keys[i] = nacrei_load(source.keys + element * key_bytes, key_bytes);
        }
        uint64_t filler = nacrei_element(source, begin);
        for (uint32_t i = count; i < NACREI_GROUP; i++) {
            keys[i] = nacrei_load(source.keys + filler * key_bytes, key_bytes);
        }
    }
    for (uint32_t i = 0; i < NACREI_GROUP; i++) {
        group->stored[i] = nacrei_key_store(keys[i], key_bytes);
        group->hash[i] = nacrei_hash(keys[i], seed);
    }
    for (uint32_t i = 0; i < NACREI_GROUP; i += NACREI_HOMES) {
        nacrei_homes(table, &group->hash[i], &group->home[i]);
    }
}

#endif
