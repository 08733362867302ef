/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk along a key's path: finding the key, and making a place for one that is not there. It
 * goes by pairs of buckets, the second of which costs nothing once the first has been read. The
 * kernels look at the home pair by themselves and come here for the rest.
 */
#ifndef NACRE_LIB_CPU_SEARCH_H
#define NACRE_LIB_CPU_SEARCH_H

#include "lib/cpu/pair.h"

/* Pairs of a path in one submap. */
#define NACREI_CPU_PAIRS_MAX (nacrei_probe_limit(NACREI_CPU_BUCKET_MASK) / 2)

typedef struct nacrei_cpu_walk {
    nacrei_cpu_submap submap; /* where the walk is now: the key's own, or the stash */
    nacrei_cpu_submap stash;
    uint64_t hash;
    uint32_t bucket; /* one of the pair where the walk is now */
    uint32_t step;
    uint32_t pairs_past;
    uint32_t locked;
    unsigned char *hole;         /* an empty slot of the first pair that has one; NULL: none yet */
    pthread_mutex_t *stash_lock; /* taken at the stash; NULL: nobody else is about */
} nacrei_cpu_walk;

static inline void nacrei_cpu_walk_enter(nacrei_cpu_walk *walk, nacrei_cpu_submap submap)
{
    nacrei_probe probe = nacrei_probe_begin(walk->hash, NACREI_CPU_BUCKET_MASK);
    walk->submap = submap;
    walk->bucket = probe.bucket;
    walk->step = probe.step;
    walk->pairs_past = 0;
}

static inline nacrei_cpu_walk nacrei_cpu_walk_begin(const nacrei_cpu_table *table, uint64_t hash,
                                                    pthread_mutex_t *stash_lock)
{
    nacrei_cpu_walk walk = {
        .stash = nacrei_cpu_stash(table),
        .hash = hash,
        .stash_lock = stash_lock,
    };
    nacrei_cpu_walk_enter(&walk, nacrei_cpu_submap_of(table, hash));
    return walk;
}

/* To be called when the slot that a walk led to has been used. */
static inline void nacrei_cpu_walk_end(nacrei_cpu_walk *walk)
{
    if (walk->locked) {
        pthread_mutex_unlock(walk->stash_lock);
    }
}

/* Is the walk beyond the last bucket of its path? */
static inline int nacrei_cpu_walk_over(const nacrei_cpu_walk *walk)
{
    return walk->pairs_past == NACREI_CPU_PAIRS_MAX;
}

/* On to the next pair, from the last one of the submap to the stash. 0: the path has ended. */
static inline int nacrei_cpu_walk_next(nacrei_cpu_walk *walk)
{
    walk->bucket = (walk->bucket + walk->step) & NACREI_CPU_BUCKET_MASK;
    walk->pairs_past++;
    if (__builtin_expect(!nacrei_cpu_walk_over(walk), 1)) {
        return 1;
    }
    if (walk->submap.buckets == walk->stash.buckets) {
        return 0;
    }
    if (walk->stash_lock != NULL) {
        pthread_mutex_lock(walk->stash_lock);
        walk->locked = 1;
    }
    nacrei_cpu_walk_enter(walk, walk->stash);
    return 1;
}

/* Notes an empty slot of the first pair that has one. */
NACREI_KERNEL void nacrei_cpu_walk_note_hole(nacrei_cpu_walk *walk, nacrei_pair pair,
                                             uint32_t key_bytes, uint32_t value_bytes)
{
    if (walk->hole == NULL && pair.holes != 0) {
        unsigned char *line = nacrei_pair_line(nacrei_submap_bucket(walk->submap, walk->bucket));
        walk->hole = nacrei_pair_slot(line, pair.holes, key_bytes, value_bytes);
    }
}

/* The slot that holds the key; NULL: it is not in the table. The walk stays where it ended. */
NACREI_KERNEL unsigned char *nacrei_cpu_walk_find(nacrei_cpu_walk *walk, uint64_t stored,
                                                  uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t classes = nacrei_signature_pair(walk->hash);
    do {
        unsigned char *line = nacrei_pair_line(nacrei_submap_bucket(walk->submap, walk->bucket));
        nacrei_pair pair = nacrei_pair_read(line, stored, classes, key_bytes, value_bytes);
        if (pair.match != 0) {
            return nacrei_pair_slot(line, pair.match, key_bytes, value_bytes);
        }
        nacrei_cpu_walk_note_hole(walk, pair, key_bytes, value_bytes);
        if (pair.stops != 0 ||
            !nacrei_pair_passed(*nacrei_submap_pair_signatures(walk->submap, walk->bucket),
                                walk->hash)) {
            return NULL;
        }
    } while (nacrei_cpu_walk_next(walk));
    return NULL;
}

/*
 * A place for the key that the walk did not find: in the first pair of the path that has one. Pairs
 * before it are full, and get the key's bits. NULL: the path has no empty slot.
 */
NACREI_KERNEL unsigned char *nacrei_cpu_walk_claim(nacrei_cpu_walk *walk, uint32_t key_bytes,
                                                   uint32_t value_bytes)
{
    uint32_t classes = nacrei_signature_pair(walk->hash);
    while (walk->hole == NULL) {
        if (nacrei_cpu_walk_over(walk)) {
            return NULL;
        }
        unsigned char *line = nacrei_pair_line(nacrei_submap_bucket(walk->submap, walk->bucket));
        nacrei_cpu_walk_note_hole(walk, nacrei_pair_read(line, 0, classes, key_bytes, value_bytes),
                                  key_bytes, value_bytes);
        if (walk->hole == NULL) {
            nacrei_submap_pass_pair(walk->submap, walk->bucket, walk->hash);
            nacrei_cpu_walk_next(walk);
        }
    }
    return walk->hole;
}

static inline int nacrei_cpu_in_stash(const nacrei_cpu_table *table, const unsigned char *slot)
{
    /* As numbers: addresses below the stash wrap around to great differences. */
    return (uintptr_t)slot - (uintptr_t)nacrei_cpu_stash(table).buckets < NACREI_CPU_IMAGE_BYTES;
}

#endif
