/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find and contains. Memory decides: a lookup is an access to a table that does not fit into the caches,
 * so that many have to be under way at a time. Keys go through in groups:
 *
 *     prepare      hash the keys of a group and fetch their home buckets
 *     first_look   one group later: compare with the home bucket. Nearly all are done by then; the others
 *                  wait, and their signatures are fetched
 *     go_on        once per group: each key that waits looks at its pair of buckets and is done, or moves on
 *                  to the next pair and fetches that
 *
 * A key that is not found yet counts as missing until it is: go_on overwrites that answer. So no branch
 * asks whether a key is to wait, which nobody could predict.
 */
#ifndef NACRE_LIB_CPU_KERNEL_FIND_H
#define NACRE_LIB_CPU_KERNEL_FIND_H

#include "lib/cpu/kernels.h"
#include "lib/cpu/search.h"

/* Keys of a group. Twice as many accesses are under way as a core can have, 16 of them, in its first cache. */
#define NACREI_FIND_GROUP 32u

/* Keys that may wait; when there are more, they go on until there are not. */
#define NACREI_FIND_WAITING (4u * NACREI_FIND_GROUP)

typedef struct nacrei_find_group {
    uint32_t count;
    uint64_t element[NACREI_FIND_GROUP];
    uint64_t stored[NACREI_FIND_GROUP];
    uint64_t hash[NACREI_FIND_GROUP];
    unsigned char *submap[NACREI_FIND_GROUP];
} nacrei_find_group;

typedef struct nacrei_find_waiting {
    uint64_t element;
    uint64_t stored;
    uint64_t hash;
    unsigned char *submap;
    uint32_t pair;
    uint32_t pairs_past;
} nacrei_find_waiting;

typedef struct nacrei_finder {
    const nacrei_cpu_map *map;
    const nacrei_batch *batch;
    uint64_t done;
    uint32_t waiting_count;
    nacrei_find_waiting waiting[NACREI_FIND_WAITING + NACREI_FIND_GROUP];
} nacrei_finder;

NACREI_KERNEL void nacrei_find_tell(nacrei_finder *finder, uint64_t element, uint64_t value,
                                    uint32_t operation, uint32_t value_bytes)
{
    const nacrei_batch *batch = finder->batch;
    if (operation == NACREI_CONTAINS) {
        batch->contained[element] = 1;
    } else {
        nacrei_store((char *)batch->values_out + element * value_bytes, value, value_bytes);
    }
    if (batch->options.outcomes != NULL) {
        batch->options.outcomes[element] = NACRE_OUTCOME_FOUND;
    }
    finder->done++;
}

NACREI_KERNEL void nacrei_find_tell_missing(nacrei_finder *finder, uint64_t element,
                                            uint32_t operation, uint32_t value_bytes)
{
    const nacrei_batch *batch = finder->batch;
    if (operation == NACREI_CONTAINS) {
        batch->contained[element] = 0;
    } else if (batch->options.missing_value != NULL) {
        nacrei_store((char *)batch->values_out + element * value_bytes, batch->missing_value,
                     value_bytes);
    }
    if (batch->options.outcomes != NULL) {
        batch->options.outcomes[element] = NACRE_OUTCOME_MISSING;
    }
}

NACREI_KERNEL void nacrei_find_prepare(nacrei_finder *finder, nacrei_find_group *group,
                                       const nacrei_cpu_run *run, uint64_t begin, uint64_t end,
                                       uint32_t operation, uint32_t key_bytes,
                                       uint32_t value_bytes)
{
    const nacrei_cpu_table *table = &finder->map->table;
    uint32_t count = 0;
    for (uint64_t position = begin; position < end; position++) {
        uint64_t element = nacrei_run_element(run, position);
        uint64_t key =
            nacrei_load((const char *)finder->batch->keys + element * key_bytes, key_bytes);
        uint64_t stored = nacrei_key_store(key, key_bytes);
        if (__builtin_expect(stored < nacrei_empty_patterns(value_bytes), 0)) {
            if (finder->map->side_present[stored]) {
                nacrei_find_tell(finder, element, finder->map->side_values[stored], operation,
                                 value_bytes);
            } else {
                nacrei_find_tell_missing(finder, element, operation, value_bytes);
            }
            continue;
        }
        uint64_t hash = nacrei_hash(key, table->seed);
        unsigned char *submap = nacrei_cpu_submap_of(table, hash);
        __builtin_prefetch(
            nacrei_submap_bucket(submap, (uint32_t)hash & NACREI_CPU_BUCKET_MASK));
        group->element[count] = element;
        group->stored[count] = stored;
        group->hash[count] = hash;
        group->submap[count] = submap;
        count++;
    }
    group->count = count;
}

NACREI_KERNEL void nacrei_find_first_look(nacrei_finder *finder, const nacrei_find_group *group,
                                          uint32_t operation, uint32_t key_bytes,
                                          uint32_t value_bytes)
{
    uint32_t waiting = finder->waiting_count;
    for (uint32_t i = 0; i < group->count; i++) {
        uint64_t hash = group->hash[i];
        uint32_t bucket = (uint32_t)hash & NACREI_CPU_BUCKET_MASK;
        unsigned char *home = nacrei_submap_bucket(group->submap[i], bucket);
        unsigned char *slot =
            nacrei_bucket_match(home, group->stored[i], key_bytes, value_bytes);
        if (slot != NULL) {
            nacrei_find_tell(finder, group->element[i],
                             nacrei_slot_value(slot, key_bytes, value_bytes), operation,
                             value_bytes);
            continue;
        }
        nacrei_find_tell_missing(finder, group->element[i], operation, value_bytes);
        nacrei_find_waiting *entry = &finder->waiting[waiting];
        entry->element = group->element[i];
        entry->stored = group->stored[i];
        entry->hash = hash;
        entry->submap = group->submap[i];
        entry->pair = bucket / 2;
        entry->pairs_past = 0;
        waiting += (nacrei_bucket_signature(home, key_bytes, value_bytes) &
                    nacrei_signature_bit(hash)) != 0;
    }
    for (uint32_t i = finder->waiting_count; i < waiting; i++) {
        const nacrei_find_waiting *entry = &finder->waiting[i];
        __builtin_prefetch(nacrei_submap_pair_signatures(entry->submap, 2 * entry->pair));
    }
    finder->waiting_count = waiting;
}

/* To the next pair of the path. 0: it has ended. */
NACREI_KERNEL int nacrei_find_move_on(const nacrei_finder *finder, nacrei_find_waiting *entry)
{
    nacrei_probe probe = nacrei_probe_begin(entry->hash, NACREI_CPU_BUCKET_MASK);
    entry->pair = (entry->pair + probe.step / 2) & (NACREI_CPU_BUCKET_MASK / 2);
    entry->pairs_past++;
    if (__builtin_expect(entry->pairs_past < nacrei_probe_limit(NACREI_CPU_BUCKET_MASK) / 2, 1)) {
        return 1;
    }
    unsigned char *stash = nacrei_cpu_stash(&finder->map->table);
    if (entry->submap == stash) {
        return 0;
    }
    entry->submap = stash;
    entry->pair = probe.bucket / 2;
    entry->pairs_past = 0;
    return 1;
}

NACREI_KERNEL void nacrei_find_go_on(nacrei_finder *finder, uint32_t operation, uint32_t key_bytes,
                                     uint32_t value_bytes)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < finder->waiting_count; i++) {
        nacrei_find_waiting entry = finder->waiting[i];
        unsigned char *pair = nacrei_submap_bucket(entry.submap, 2 * entry.pair);
        unsigned char *slot = nacrei_pair_match(pair, entry.stored, key_bytes, value_bytes);
        if (slot != NULL) {
            nacrei_find_tell(finder, entry.element, nacrei_slot_value(slot, key_bytes, value_bytes),
                             operation, value_bytes);
            continue;
        }
        uint32_t both = nacrei_signature_bit(entry.hash) * 0x11u;
        if ((*nacrei_submap_pair_signatures(entry.submap, 2 * entry.pair) & both) == both &&
            nacrei_find_move_on(finder, &entry)) {
            __builtin_prefetch(nacrei_submap_bucket(entry.submap, 2 * entry.pair));
            __builtin_prefetch(nacrei_submap_pair_signatures(entry.submap, 2 * entry.pair));
            finder->waiting[left++] = entry;
        }
    }
    finder->waiting_count = left;
}

NACREI_KERNEL uint64_t nacrei_cpu_find(nacrei_cpu_run *run, uint64_t begin, uint64_t end,
                                       uint32_t operation, uint32_t key_bytes,
                                       uint32_t value_bytes)
{
    nacrei_finder finder;
    nacrei_find_group groups[2];
    finder.map = run->map;
    finder.batch = run->batch;
    finder.done = 0;
    finder.waiting_count = 0;
    groups[1].count = 0;
    uint32_t now = 0;
    for (uint64_t position = begin; position < end; position += NACREI_FIND_GROUP) {
        uint64_t left = end - position;
        uint64_t group_end = position + (left < NACREI_FIND_GROUP ? left : NACREI_FIND_GROUP);
        nacrei_find_prepare(&finder, &groups[now], run, position, group_end, operation, key_bytes,
                            value_bytes);
        do {
            nacrei_find_go_on(&finder, operation, key_bytes, value_bytes);
        } while (finder.waiting_count > NACREI_FIND_WAITING);
        now ^= 1;
        nacrei_find_first_look(&finder, &groups[now], operation, key_bytes, value_bytes);
    }
    nacrei_find_first_look(&finder, &groups[now ^ 1], operation, key_bytes, value_bytes);
    while (finder.waiting_count > 0) {
        nacrei_find_go_on(&finder, operation, key_bytes, value_bytes);
    }
    run->done += finder.done;
    return end;
}

#endif
