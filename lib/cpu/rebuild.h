/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rebuilding a submap: into its two successors when the table grows, or into itself, to undo what
 * erasing and inserting did to placement and signatures. Home first: every key tries its home
 * bucket before any key goes further, so that as many as possible are found at the first look.
 */
#ifndef NACRE_LIB_CPU_REBUILD_H
#define NACRE_LIB_CPU_REBUILD_H

#include "lib/cpu/layout.h"

/* Puts a key whose home is full further on. Not found a place on the whole path: 0. */
NACREI_KERNEL int nacrei_cpu_rebuild_guest(unsigned char *image, uint64_t hash,
                                           const unsigned char *from, uint32_t key_bytes,
                                           uint32_t value_bytes)
{
    uint32_t bit = nacrei_signature_bit(hash);
    nacrei_probe probe = nacrei_probe_begin(hash, NACREI_CPU_BUCKET_MASK);
    do {
        nacrei_submap_pass(image, probe.bucket, bit);
        nacrei_probe_next(&probe, NACREI_CPU_BUCKET_MASK);
        unsigned char *bucket = nacrei_submap_bucket(image, probe.bucket);
        unsigned char *hole = nacrei_bucket_hole(bucket, key_bytes, value_bytes);
        if (hole != NULL) {
            memcpy(hole, from, nacrei_slot_bytes(key_bytes, value_bytes));
            return 1;
        }
    } while (probe.length + 1 < nacrei_probe_limit(NACREI_CPU_BUCKET_MASK));
    return 0;
}

/*
 * Rebuilds images[0] into images[0] and images[1]: a key goes by bit `split_bit` of its hash. For a
 * rebuild into itself both are the same. Signatures start empty, and a bucket that was passed stays
 * full, so that every empty slot is all zero.
 *
 * Returns 1, or 0 if a key found no place: then images[0] has to be copied back from
 * scratch->saved.
 */
NACREI_KERNEL int nacrei_cpu_rebuild(nacrei_cpu_scratch *scratch, unsigned char *const images[2],
                                     uint32_t split_bit, uint64_t seed, uint32_t key_bytes,
                                     uint32_t value_bytes)
{
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    uint32_t slots = NACREI_CPU_SIGNATURES_OFFSET / slot_bytes;
    uint32_t guests = 0;
    memcpy(scratch->saved, images[0], NACREI_CPU_SUBMAP_BYTES);
    memset(images[0], 0, NACREI_CPU_SUBMAP_BYTES);
    memset(images[1], 0, NACREI_CPU_SUBMAP_BYTES);
    for (uint32_t i = 0; i < slots; i++) {
        const unsigned char *from = scratch->saved + (size_t)i * slot_bytes;
        uint64_t stored = nacrei_slot_key(from, key_bytes, value_bytes);
        if (stored < nacrei_empty_patterns(value_bytes)) {
            continue;
        }
        uint64_t hash = nacrei_hash(nacrei_key_store(stored, key_bytes), seed);
        unsigned char *home = nacrei_submap_bucket(images[hash >> split_bit & 1u],
                                                   (uint32_t)hash & NACREI_CPU_BUCKET_MASK);
        unsigned char *hole = nacrei_bucket_hole(home, key_bytes, value_bytes);
        if (hole != NULL) {
            memcpy(hole, from, slot_bytes);
        } else {
            scratch->guests[guests++] = (uint16_t)i;
        }
    }
    for (uint32_t i = 0; i < guests; i++) {
        const unsigned char *from = scratch->saved + (size_t)scratch->guests[i] * slot_bytes;
        uint64_t key = nacrei_key_store(nacrei_slot_key(from, key_bytes, value_bytes), key_bytes);
        uint64_t hash = nacrei_hash(key, seed);
        unsigned char *image = images[hash >> split_bit & 1u];
        if (!nacrei_cpu_rebuild_guest(image, hash, from, key_bytes, value_bytes)) {
            return 0;
        }
    }
    return 1;
}

#endif
