/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe path of a key: home bucket, its neighbour in the same 64 bytes, then a new pair by
 * double hashing, and so on; never outside the submap. The step between pairs is odd, hence coprime
 * to their number, a power of two: a path visits every bucket before it repeats one. The CPU takes
 * the two buckets of a pair as one, in no order.
 *
 * After nacrei_probe_limit buckets the path goes on in the stash, a submap shared by all, from the
 * same home with the same step, and ends after as many buckets there. A lookup comes so far only
 * where the signatures of the whole path send it on, so that an empty stash costs nothing.
 *
 *     nacrei_probe probe = nacrei_probe_begin(hash, bucket_mask);
 *     for (;;) {
 *         ... look at probe.bucket ...
 *         nacrei_probe_next(&probe, bucket_mask);
 *     }
 */
#ifndef NACRE_CORE_PROBE_H
#define NACRE_CORE_PROBE_H

#include "nacre/core/hash.h"
#include "nacre/core/inline.h"

typedef struct nacrei_probe {
    uint32_t bucket; /* where the path is now, inside the submap */
    uint32_t step;   /* even: twice the odd step in pairs */
    uint32_t length; /* buckets gone past so far */
} nacrei_probe;

NACREI_INLINE nacrei_probe nacrei_probe_begin(uint64_t hash, uint32_t bucket_mask)
{
    nacrei_probe probe;
    probe.bucket = (uint32_t)hash & bucket_mask;
    probe.step = (((uint32_t)(hash >> NACREI_HASH_STEP_SHIFT) << 2) | 2u) & bucket_mask;
    probe.length = 0;
    return probe;
}

NACREI_INLINE void nacrei_probe_next(nacrei_probe *probe, uint32_t bucket_mask)
{
    probe->length++;
    probe->bucket = (probe->length & 1u) != 0 ? probe->bucket ^ 1u
                                              : (probe->bucket + probe->step) & bucket_mask;
}

/* nacrei_probe_next, `count` times. */
NACREI_INLINE void nacrei_probe_skip(nacrei_probe *probe, uint32_t count, uint32_t bucket_mask)
{
    const uint32_t pairs = (probe->length + count) / 2u - probe->length / 2u;
    const uint32_t turns = count - pairs;
    probe->length += count;
    probe->bucket = ((probe->bucket ^ (turns & 1u)) + pairs * probe->step) & bucket_mask;
}

/*
 * Buckets of a path in one submap: all of them. So a submap's keys can always be placed in it anew,
 * and only a submap without any free slot sends keys to the stash.
 */
NACREI_INLINE uint32_t nacrei_probe_limit(uint32_t bucket_mask)
{
    return bucket_mask + 1u;
}

#endif
