/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find and contains. Memory decides: a lookup is an access to a table that does not fit into the
 * caches, so that many have to be under way at a time. Keys go through in groups:
 *
 *     prepare      hash the keys of a group and fetch their home buckets
 *     first_look   one group later: compare with the home bucket. Nearly all are done by then; the others
 *                  wait, and the signatures that their path depends on are fetched
 *     go_on        once per group: each key that waits looks at its pair of buckets and is done, or moves on
 *                  to the next pair and fetches that
 *
 * Whether a key is found in its home, in which slot, and whether it has to wait, nobody can
 * predict; a branch on that costs more than all the rest. So first_look has none: it computes the
 * answer of a key that is not found as well, and go_on overwrites that if need be.
 */
#ifndef NACRE_LIB_CPU_KERNEL_FIND_H
#define NACRE_LIB_CPU_KERNEL_FIND_H

#include "lib/cpu/kernels.h"
#include "lib/cpu/search.h"

/*
 * Keys of a group. While one is compared the next is on its way, into L2: more fit on the way
 * there.
 */
#ifndef NACREI_FIND_GROUP
#define NACREI_FIND_GROUP 32u
#define NACREI_FIND_HINT  2
#endif
#ifndef NACREI_FIND_AHEAD
#define NACREI_FIND_AHEAD 256u
#endif

/* Keys that may wait; when there are more, they go on until there are not. */
#ifndef NACREI_FIND_WAITING
#define NACREI_FIND_WAITING 64u
#endif

typedef struct nacrei_find_waiting {
    uint64_t element;
    uint64_t hash;
    unsigned char *submap;
    uint32_t pair;
    uint32_t pairs_past;
} nacrei_find_waiting;

/*
 * A batch of lookups. Copies of what it needs, so that no store to an output makes the compiler
 * read it anew.
 */
typedef struct nacrei_finder {
    const nacrei_cpu_table *table;
    const char *keys;
    char *values;
    uint8_t *contained;
    uint8_t *outcomes;
    uint64_t missing_value;
    uint32_t has_missing_value;
    uint64_t base;
    const uint32_t *list;
} nacrei_finder;

/* Where the keys of a group are looked for. */
typedef struct nacrei_find_group {
    uint64_t hash[NACREI_FIND_GROUP];
    unsigned char *submap[NACREI_FIND_GROUP];
} nacrei_find_group;

NACREI_KERNEL uint64_t nacrei_find_element(nacrei_finder finder, uint64_t position)
{
    return finder.base + (finder.list != NULL ? finder.list[position] : position);
}

NACREI_KERNEL uint64_t nacrei_find_stored(nacrei_finder finder, uint64_t element,
                                          uint32_t key_bytes)
{
    return nacrei_key_store(nacrei_load(finder.keys + element * key_bytes, key_bytes), key_bytes);
}

/* What a missing key leaves in its place of values_out. */
NACREI_KERNEL uint64_t nacrei_find_missing_value(nacrei_finder finder, uint64_t element,
                                                 uint32_t operation, uint32_t value_bytes)
{
    if (operation == NACREI_CONTAINS || finder.has_missing_value) {
        return finder.missing_value;
    }
    return nacrei_load(finder.values + element * value_bytes, value_bytes);
}

NACREI_KERNEL void nacrei_find_tell(nacrei_finder finder, uint64_t element, uint32_t found,
                                    uint64_t value, uint32_t operation, uint32_t value_bytes)
{
    if (operation == NACREI_CONTAINS) {
        finder.contained[element] = (uint8_t)found;
    } else {
        nacrei_store(finder.values + element * value_bytes, value, value_bytes);
    }
    if (finder.outcomes != NULL) {
        finder.outcomes[element] = (uint8_t)(NACRE_OUTCOME_MISSING -
                                             found * (NACRE_OUTCOME_MISSING - NACRE_OUTCOME_FOUND));
    }
}

/* A side key is answered at once. */
static __attribute__((noinline)) uint32_t nacrei_find_side(const nacrei_cpu_map *map,
                                                           const nacrei_finder *finder,
                                                           uint64_t element, uint64_t side,
                                                           uint32_t operation, uint32_t value_bytes)
{
    uint32_t found = map->side_present[side];
    uint64_t value = found ? map->side_values[side]
                           : nacrei_find_missing_value(*finder, element, operation, value_bytes);
    nacrei_find_tell(*finder, element, found, value, operation, value_bytes);
    return found;
}

/* Fetches what comes of the arrays: beside so many random accesses the hardware does not do it. */
NACREI_KERNEL void nacrei_find_fetch(nacrei_finder finder, uint64_t position, uint32_t operation,
                                     uint32_t key_bytes, uint32_t value_bytes)
{
    uint64_t ahead = finder.base + position + NACREI_FIND_AHEAD;
    for (uint32_t line = 0; line < NACREI_FIND_GROUP * key_bytes; line += 64) {
        __builtin_prefetch(finder.keys + ahead * key_bytes + line);
    }
    if (operation == NACREI_FIND) {
        for (uint32_t line = 0; line < NACREI_FIND_GROUP * value_bytes; line += 64) {
            __builtin_prefetch(finder.values + ahead * value_bytes + line, 1);
        }
    }
}

/* Prepares the keys at `count` positions. */
NACREI_KERNEL void nacrei_find_prepare(nacrei_finder finder, nacrei_find_group *group,
                                       uint64_t position, uint32_t count, uint32_t key_bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t element = nacrei_find_element(finder, position + i);
        uint64_t key = nacrei_load(finder.keys + element * key_bytes, key_bytes);
        uint64_t hash = nacrei_hash(key, finder.table->seed);
        unsigned char *submap = nacrei_cpu_submap_of(finder.table, hash);
        __builtin_prefetch(nacrei_submap_bucket(submap, (uint32_t)hash & NACREI_CPU_BUCKET_MASK), 0,
                           NACREI_FIND_HINT);
        group->hash[i] = hash;
        group->submap[i] = submap;
    }
}

/*
 * Compares the keys of a group with their home buckets. Returns how many were found; those that
 * have to go on are appended to `waiting`.
 */
NACREI_KERNEL uint64_t nacrei_find_first_look(const nacrei_cpu_map *map, nacrei_finder finder,
                                              const nacrei_find_group *group, uint64_t position,
                                              uint32_t count, nacrei_find_waiting *waiting,
                                              uint32_t *waiting_count, uint32_t operation,
                                              uint32_t key_bytes, uint32_t value_bytes)
{
    uint8_t late[NACREI_FIND_GROUP];
    uint32_t late_count = 0;
    uint64_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t element = nacrei_find_element(finder, position + i), hash = group->hash[i];
        uint64_t stored = nacrei_find_stored(finder, element, key_bytes);
        if (__builtin_expect(stored < nacrei_empty_patterns(value_bytes), 0)) {
            done += nacrei_find_side(map, &finder, element, stored, operation, value_bytes);
            continue;
        }
        const unsigned char *home =
            nacrei_submap_bucket(group->submap[i], (uint32_t)hash & NACREI_CPU_BUCKET_MASK);
        uint64_t value = nacrei_find_missing_value(finder, element, operation, value_bytes);
        const unsigned char *neighbour =
            nacrei_submap_bucket(group->submap[i], ((uint32_t)hash & NACREI_CPU_BUCKET_MASK) ^ 1u);
        uint32_t found = nacrei_bucket_take(home, stored, &value, key_bytes, value_bytes) |
                         nacrei_bucket_take(neighbour, stored, &value, key_bytes, value_bytes);
        uint32_t signature = nacrei_bucket_signature(home, key_bytes, value_bytes);
        nacrei_find_tell(finder, element, found, value, operation, value_bytes);
        done += found;
        late[late_count] = (uint8_t)i;
        late_count += !found & ((signature & nacrei_signature_bit(hash)) != 0);
    }
    for (uint32_t i = 0; i < late_count; i++) {
        nacrei_find_waiting *entry = &waiting[(*waiting_count)++];
        entry->element = nacrei_find_element(finder, position + late[i]);
        entry->hash = group->hash[late[i]];
        entry->submap = group->submap[late[i]];
        entry->pair = ((uint32_t)entry->hash & NACREI_CPU_BUCKET_MASK) / 2;
        entry->pairs_past = 0;
        __builtin_prefetch(nacrei_submap_pair_signatures(entry->submap, 2 * entry->pair));
    }
    return done;
}

/* At the end of the path: from the submap to the stash, from there nowhere. */
static __attribute__((noinline)) uint32_t nacrei_find_turn(const nacrei_cpu_table *table,
                                                           nacrei_find_waiting *entry)
{
    uint32_t goes_on = entry->submap != nacrei_cpu_stash(table);
    entry->submap = nacrei_cpu_stash(table);
    entry->pair = ((uint32_t)entry->hash & NACREI_CPU_BUCKET_MASK) / 2;
    entry->pairs_past = 0;
    return goes_on;
}

/* One step for each key that waits. Returns how many were found. */
NACREI_KERNEL uint64_t nacrei_find_go_on(nacrei_finder finder, nacrei_find_waiting *waiting,
                                         uint32_t *waiting_count, uint32_t operation,
                                         uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t left = 0;
    uint64_t done = 0;
    for (uint32_t i = 0; i < *waiting_count; i++) {
        nacrei_find_waiting entry = waiting[i];
        const unsigned char *pair = nacrei_submap_bucket(entry.submap, 2 * entry.pair);
        uint64_t stored = nacrei_find_stored(finder, entry.element, key_bytes);
        uint64_t value = nacrei_find_missing_value(finder, entry.element, operation, value_bytes);
        uint32_t found =
            nacrei_bucket_take(pair, stored, &value, key_bytes, value_bytes) |
            nacrei_bucket_take(pair + NACREI_BUCKET_BYTES, stored, &value, key_bytes, value_bytes);
        nacrei_find_tell(finder, entry.element, found, value, operation, value_bytes);
        done += found;
        uint32_t both = nacrei_signature_bit(entry.hash) * 0x11u;
        uint32_t goes_on =
            !found &
            ((*nacrei_submap_pair_signatures(entry.submap, 2 * entry.pair) & both) == both);
        nacrei_probe probe = nacrei_probe_begin(entry.hash, NACREI_CPU_BUCKET_MASK);
        entry.pair = (entry.pair + probe.step / 2) & (NACREI_CPU_BUCKET_MASK / 2);
        entry.pairs_past++;
        if (__builtin_expect(entry.pairs_past == nacrei_probe_limit(NACREI_CPU_BUCKET_MASK) / 2,
                             0)) {
            goes_on &= nacrei_find_turn(finder.table, &entry);
        }
        waiting[left] = entry;
        left += goes_on;
    }
    for (uint32_t i = 0; i < left; i++) {
        const nacrei_find_waiting *entry = &waiting[i];
        __builtin_prefetch(nacrei_submap_bucket(entry->submap, 2 * entry->pair));
        __builtin_prefetch(nacrei_submap_pair_signatures(entry->submap, 2 * entry->pair));
    }
    *waiting_count = left;
    return done;
}

NACREI_KERNEL uint64_t nacrei_cpu_find(nacrei_cpu_run *run, uint64_t begin, uint64_t end,
                                       uint32_t operation, uint32_t key_bytes, uint32_t value_bytes)
{
    const nacrei_batch *batch = run->batch;
    const nacrei_finder finder = {
        .table = &run->map->table,
        .keys = batch->keys,
        .values = batch->values_out,
        .contained = batch->contained,
        .outcomes = batch->options.outcomes,
        .missing_value = batch->missing_value,
        .has_missing_value = batch->options.missing_value != NULL,
        .base = run->base,
        .list = run->list,
    };
    nacrei_find_group groups[2];
    nacrei_find_waiting waiting[NACREI_FIND_WAITING + NACREI_FIND_GROUP];
    uint32_t waiting_count = 0, now = 0, last_count = 0;
    uint64_t done = 0;
    for (uint64_t position = begin; position < end + NACREI_FIND_GROUP;
         position += NACREI_FIND_GROUP) {
        uint64_t left = position < end ? end - position : 0;
        uint32_t count = left < NACREI_FIND_GROUP ? (uint32_t)left : NACREI_FIND_GROUP;
        nacrei_find_fetch(finder, position, operation, key_bytes, value_bytes);
        nacrei_find_prepare(finder, &groups[now], position, count, key_bytes);
        while (waiting_count > NACREI_FIND_WAITING) {
            done += nacrei_find_go_on(finder, waiting, &waiting_count, operation, key_bytes,
                                      value_bytes);
        }
        now ^= 1;
        done += nacrei_find_first_look(run->map, finder, &groups[now], position - NACREI_FIND_GROUP,
                                       last_count, waiting, &waiting_count, operation, key_bytes,
                                       value_bytes);
        last_count = count;
    }
    while (waiting_count > 0) {
        done +=
            nacrei_find_go_on(finder, waiting, &waiting_count, operation, key_bytes, value_bytes);
    }
    run->done += done;
    return end;
}

#endif
