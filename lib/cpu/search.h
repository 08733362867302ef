/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk along a key's path: finding the key, and making a place for one that is not there. The
 * kernels look at the home bucket by themselves and come here for the rest.
 */
#ifndef NACRE_LIB_CPU_SEARCH_H
#define NACRE_LIB_CPU_SEARCH_H

#include "lib/cpu/layout.h"

typedef struct nacrei_cpu_walk {
    unsigned char *stash;
    unsigned char *submap; /* where the walk is now: the key's own, or the stash */
    unsigned char *hole;   /* the first empty slot seen; NULL: none yet */
    nacrei_probe probe;
    uint64_t hash;
    pthread_mutex_t *stash_lock; /* taken at the stash; NULL: nobody else is about */
    uint32_t locked;
} nacrei_cpu_walk;

static inline nacrei_cpu_walk nacrei_cpu_walk_begin(const nacrei_cpu_table *table,
                                                    unsigned char *submap, uint64_t hash,
                                                    pthread_mutex_t *stash_lock)
{
    nacrei_cpu_walk walk = {
        .stash = nacrei_cpu_stash(table),
        .submap = submap,
        .probe = nacrei_probe_begin(hash, NACREI_CPU_BUCKET_MASK),
        .hash = hash,
        .stash_lock = stash_lock,
    };
    return walk;
}

/* To be called when the slot that a walk led to has been used. */
static inline void nacrei_cpu_walk_end(nacrei_cpu_walk *walk)
{
    if (walk->locked) {
        pthread_mutex_unlock(walk->stash_lock);
    }
}

/* On to the next bucket, from the last one of the submap to the stash. 0: the path has ended. */
static inline int nacrei_cpu_walk_next(nacrei_cpu_walk *walk)
{
    nacrei_probe_next(&walk->probe, NACREI_CPU_BUCKET_MASK);
    if (walk->probe.length < nacrei_probe_limit(NACREI_CPU_BUCKET_MASK)) {
        return 1;
    }
    if (walk->submap == walk->stash) {
        return 0;
    }
    if (walk->stash_lock != NULL) {
        pthread_mutex_lock(walk->stash_lock);
        walk->locked = 1;
    }
    walk->submap = walk->stash;
    walk->probe = nacrei_probe_begin(walk->hash, NACREI_CPU_BUCKET_MASK);
    return 1;
}

/* The slot that holds the key; NULL: it is not in the table. The walk stays where it ended. */
NACREI_KERNEL unsigned char *nacrei_cpu_walk_find(nacrei_cpu_walk *walk, uint64_t stored,
                                                  uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t bit = nacrei_signature_bit(walk->hash);
    do {
        unsigned char *bucket = nacrei_submap_bucket(walk->submap, walk->probe.bucket);
        unsigned char *slot = nacrei_bucket_match(bucket, stored, key_bytes, value_bytes);
        if (slot != NULL) {
            return slot;
        }
        if (walk->hole == NULL) {
            walk->hole = nacrei_bucket_hole(bucket, key_bytes, value_bytes);
        }
        if ((nacrei_submap_signature(walk->submap, walk->probe.bucket) & bit) == 0) {
            return NULL;
        }
    } while (nacrei_cpu_walk_next(walk));
    return NULL;
}

/*
 * A place for the key that the walk did not find: the first empty slot of the path, so that equal
 * new keys meet. Before it all buckets are full and have the key's bit set. NULL: the path has
 * none.
 */
NACREI_KERNEL unsigned char *nacrei_cpu_walk_claim(nacrei_cpu_walk *walk, uint32_t key_bytes,
                                                   uint32_t value_bytes)
{
    uint32_t bit = nacrei_signature_bit(walk->hash);
    uint32_t limit = nacrei_probe_limit(NACREI_CPU_BUCKET_MASK);
    if (walk->hole != NULL || walk->probe.length >= limit) {
        return walk->hole;
    }
    for (;;) {
        unsigned char *bucket = nacrei_submap_bucket(walk->submap, walk->probe.bucket);
        unsigned char *hole = nacrei_bucket_hole(bucket, key_bytes, value_bytes);
        if (hole != NULL) {
            return hole;
        }
        nacrei_submap_pass(walk->submap, walk->probe.bucket, bit);
        if (!nacrei_cpu_walk_next(walk)) {
            return NULL;
        }
    }
}

static inline int nacrei_cpu_in_stash(const nacrei_cpu_table *table, const unsigned char *slot)
{
    /* As numbers: addresses below the stash wrap around to great differences. */
    return (uintptr_t)slot - (uintptr_t)nacrei_cpu_stash(table) < NACREI_CPU_SUBMAP_BYTES;
}

#endif
