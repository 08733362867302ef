/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rebuilding a submap: into its two successors when the table grows, or into itself, to undo what
 * erasing and inserting did to placement and signatures. Home first: every key tries its home pair
 * before any key goes further, so that as many as possible are found at the first look.
 *
 * A submap takes all its keys again in any order, because a path visits every bucket.
 */
#ifndef NACRE_LIB_CPU_REBUILD_H
#define NACRE_LIB_CPU_REBUILD_H

#include "lib/cpu/kernels.h"
#include "lib/cpu/layout.h"

/* Which of the two images a hash goes to. */
NACREI_KERNEL uint32_t nacrei_rebuild_image(const nacrei_cpu_rebuild *rebuild, uint64_t hash)
{
    return (uint32_t)(hash >> rebuild->split_bit) & rebuild->halves;
}

NACREI_KERNEL uint64_t nacrei_rebuild_hash(const unsigned char *slot, uint64_t seed,
                                           uint32_t key_bytes, uint32_t value_bytes)
{
    uint64_t stored = nacrei_slot_key(slot, key_bytes, value_bytes);
    return nacrei_hash(nacrei_key_store(stored, key_bytes), seed);
}

/* Slots that are hashed at a time: a plain loop, which the compiler can do several at a time. */
#define NACREI_REBUILD_BLOCK 64u

/*
 * Copies the keys that find room in their pair; notes the others in scratch->guests and returns
 * their number. Nobody can predict which slots are empty and which pairs full: what has no place is
 * written astray.
 */
NACREI_KERNEL uint32_t nacrei_rebuild_homes(nacrei_cpu_scratch *scratch,
                                            const nacrei_cpu_rebuild *rebuild, uint64_t seed,
                                            uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    uint32_t per_pair = 2 * NACREI_BUCKET_BYTES / slot_bytes, guests = 0;
    const nacrei_cpu_rebuild to = *rebuild;
    for (uint32_t at = 0; at < NACREI_CPU_IMAGE_BYTES / slot_bytes; at += NACREI_REBUILD_BLOCK) {
        const unsigned char *block = scratch->saved + (size_t)at * slot_bytes;
        uint64_t hashes[NACREI_REBUILD_BLOCK];
        /*
         * Submaps are rebuilt in turn, and the next lies behind this one, but for a segment's last.
         */
        uintptr_t ahead = NACREI_CPU_IMAGE_BYTES + (uintptr_t)at * slot_bytes;
        for (uint32_t line = 0; line < NACREI_REBUILD_BLOCK * slot_bytes; line += 64) {
            __builtin_prefetch((const void *)((uintptr_t)to.to[0].buckets + ahead + line), 1, 2);
            __builtin_prefetch((const void *)((uintptr_t)to.to[1].buckets + ahead + line), 1, 2);
        }
        for (uint32_t i = 0; i < NACREI_REBUILD_BLOCK; i++) {
            hashes[i] = nacrei_rebuild_hash(block + i * slot_bytes, seed, key_bytes, value_bytes);
        }
        for (uint32_t i = 0; i < NACREI_REBUILD_BLOCK; i++) {
            const unsigned char *from = block + i * slot_bytes;
            uint32_t taken =
                nacrei_slot_key(from, key_bytes, value_bytes) >= nacrei_empty_patterns(value_bytes);
            uint32_t image = nacrei_rebuild_image(&to, hashes[i]);
            uint32_t pair = ((uint32_t)hashes[i] & NACREI_CPU_BUCKET_MASK) / 2;
            uint8_t *filled = &scratch->filled[image][pair];
            uint32_t before = *filled, fits = taken & (before < per_pair);
            uintptr_t hole =
                (uintptr_t)(nacrei_submap_bucket(to.to[image], 2 * pair) + before * slot_bytes);
            uintptr_t mask = -(uintptr_t)fits;
            hole = (hole & mask) | ((uintptr_t)scratch->astray & ~mask);
            memcpy((void *)hole, from, slot_bytes);
            *filled = (uint8_t)(before + fits);
            scratch->guests[guests] = (uint16_t)(at + i);
            guests += taken & ~fits;
        }
    }
    return guests;
}

/* Puts a key whose pair is full into the first of its path that is not; those left get its bits. */
NACREI_KERNEL void nacrei_rebuild_guest(nacrei_cpu_scratch *scratch,
                                        const nacrei_cpu_rebuild *rebuild,
                                        const unsigned char *from, uint64_t hash,
                                        uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    uint32_t image = nacrei_rebuild_image(rebuild, hash);
    uint8_t *filled;
    nacrei_probe probe = nacrei_probe_begin(hash, NACREI_CPU_BUCKET_MASK);
    do {
        nacrei_submap_pass_pair(rebuild->to[image], probe.bucket, hash);
        nacrei_probe_skip(&probe, 2, NACREI_CPU_BUCKET_MASK);
        filled = &scratch->filled[image][probe.bucket / 2];
    } while (*filled == 2 * NACREI_BUCKET_BYTES / slot_bytes);
    memcpy(nacrei_submap_bucket(rebuild->to[image], probe.bucket & ~1u) + *filled * slot_bytes,
           from, slot_bytes);
    ++*filled;
}

/*
 * Rebuilds to[0] into to[0] and to[1]: a key goes by bit `split_bit` of its hash. Signatures start
 * empty, and a pair that was passed stays full, so that every empty slot is all zero.
 */
NACREI_KERNEL void nacrei_rebuild(nacrei_cpu_scratch *scratch, const nacrei_cpu_rebuild *rebuild,
                                  uint64_t seed, uint32_t key_bytes, uint32_t value_bytes)
{
    memcpy(scratch->saved, rebuild->to[0].buckets, NACREI_CPU_IMAGE_BYTES);
    memset(rebuild->to[0].buckets, 0, NACREI_CPU_IMAGE_BYTES);
    memset(rebuild->to[0].signatures, 0, NACREI_CPU_SIGNATURE_BYTES);
    memset(scratch->filled, 0, sizeof scratch->filled);
    uint32_t guests = nacrei_rebuild_homes(scratch, rebuild, seed, key_bytes, value_bytes);
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    for (uint32_t i = 0; i < guests; i++) {
        const unsigned char *from = scratch->saved + (size_t)scratch->guests[i] * slot_bytes;
        nacrei_rebuild_guest(scratch, rebuild, from,
                             nacrei_rebuild_hash(from, seed, key_bytes, value_bytes), key_bytes,
                             value_bytes);
    }
}

#endif
