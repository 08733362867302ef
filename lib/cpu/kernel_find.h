/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find and contains. Memory decides: a lookup is an access to a table that does not fit into the caches,
 * so that many have to be under way at a time. Keys go through in groups:
 *
 *     prepare      hash the keys of a group and fetch their home buckets
 *     first_look   one group later: compare with the home bucket. Nearly all are done by then; the others
 *                  wait, and the signatures that their path depends on are fetched
 *     go_on        once per group: each key that waits looks at its pair of buckets and is done, or moves on
 *                  to the next pair and fetches that
 *
 * Whether a key is found in its home, in which slot, and whether it has to wait, nobody can predict; a
 * branch on that costs more than all the rest. So first_look has none: it computes the answer of a key
 * that is not found as well, and go_on overwrites that if need be.
 */
#ifndef NACRE_LIB_CPU_KERNEL_FIND_H
#define NACRE_LIB_CPU_KERNEL_FIND_H

#include "lib/cpu/kernels.h"
#include "lib/cpu/search.h"

/* Keys of a group. While one is compared the next is on its way, into L2: more fit on the way there. */
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

/* A batch of lookups. Copies of what it needs, so that no store to an output makes the compiler read it anew. */
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

NACREI_KERNEL void nacrei_find_fetch_pair(const nacrei_find_waiting *entry)
{
    __builtin_prefetch(nacrei_submap_bucket(entry->submap, 2 * entry->pair));
    __builtin_prefetch(nacrei_submap_pair_signatures(entry->submap, 2 * entry->pair));
}

/* A group of keys: where each is looked for, and what came of it. */
typedef struct nacrei_find_group {
    uint64_t position;
    uint32_t count;
    uint32_t late_count;
    uint64_t stored[NACREI_FIND_GROUP];
    uint64_t hash[NACREI_FIND_GROUP];
    unsigned char *submap[NACREI_FIND_GROUP];
    unsigned char *home[NACREI_FIND_GROUP];
    uint64_t value[NACREI_FIND_GROUP];
    uint8_t found[NACREI_FIND_GROUP];
    uint8_t late[NACREI_FIND_GROUP]; /* those not found by the first look, and not known to be missing */
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

/*
 * Tells the answer for a key. Where a missing key leaves its output alone the value goes astray, which is
 * cheaper than not to store it.
 */
NACREI_KERNEL void nacrei_find_tell(nacrei_finder finder, uint64_t element, uint32_t found,
                                    uint64_t value, uint32_t operation, uint32_t value_bytes)
{
    if (operation == NACREI_CONTAINS) {
        finder.contained[element] = (uint8_t)found;
    } else {
        uint64_t astray;
        uintptr_t to = (uintptr_t)(finder.values + element * value_bytes);
        uintptr_t mask = -(uintptr_t)(found | finder.has_missing_value);
        to = (to & mask) | ((uintptr_t)&astray & ~mask);
        nacrei_store((void*)to, value, value_bytes);
    }
    if (finder.outcomes != NULL) {
        finder.outcomes[element] =
            (uint8_t)(NACRE_OUTCOME_MISSING -
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
    uint64_t value = found ? map->side_values[side] : finder->missing_value;
    nacrei_find_tell(*finder, element, found, value, operation, value_bytes);
    return found;
}

/* Fetches what comes of the arrays: beside so many random accesses the hardware does not do it. */
NACREI_KERNEL void nacrei_find_fetch(nacrei_finder finder, uint64_t position, int fetch_values,
                                     uint32_t key_bytes, uint32_t value_bytes)
{
    uint64_t ahead = finder.base + position + NACREI_FIND_AHEAD;
    for (uint32_t line = 0; line < NACREI_FIND_GROUP * key_bytes; line += 64) {
        __builtin_prefetch(finder.keys + ahead * key_bytes + line);
    }
    if (fetch_values) {
        for (uint32_t line = 0; line < NACREI_FIND_GROUP * value_bytes; line += 64) {
            __builtin_prefetch(finder.values + ahead * value_bytes + line, 1);
        }
    }
}

/* Hashes the keys of a group. */
NACREI_KERNEL void nacrei_find_prepare(nacrei_finder finder, nacrei_find_group *group,
                                       uint32_t key_bytes)
{
    for (uint32_t i = 0; i < group->count; i++) {
        uint64_t element = nacrei_find_element(finder, group->position + i);
        uint64_t key = nacrei_load(finder.keys + element * key_bytes, key_bytes);
        uint64_t hash = nacrei_hash(key, finder.table->seed);
        unsigned char *submap = nacrei_cpu_submap_of(finder.table, hash);
        group->stored[i] = nacrei_key_store(key, key_bytes);
        group->hash[i] = hash;
        group->submap[i] = submap;
        group->home[i] =
            nacrei_submap_bucket(submap, (uint32_t)hash & NACREI_CPU_BUCKET_MASK);
    }
}

/* Compares one key with its pair of buckets. Returns whether it is late. */
NACREI_KERNEL uint32_t nacrei_find_look(nacrei_find_group *group, uint32_t i,
                                        uint64_t missing_value, uint32_t key_bytes,
                                        uint32_t value_bytes)
{
    uint64_t stored = group->stored[i], value = missing_value;
    const unsigned char *home = group->home[i];
    const unsigned char *neighbour =
        (const unsigned char *)((uintptr_t)home ^ NACREI_BUCKET_BYTES);
    uint32_t signature = nacrei_bucket_signature(home, key_bytes, value_bytes);
    uint32_t found = nacrei_bucket_take(home, stored, &value, key_bytes, value_bytes) |
                     nacrei_bucket_take(neighbour, stored, &value, key_bytes, value_bytes);
    uint32_t passed = signature >> (group->hash[i] >> NACREI_HASH_CLASS_SHIFT & 3u) & 1u;
    group->value[i] = value;
    group->found[i] = (uint8_t)found;
    return ~found & passed;
}

/* Fetches the home buckets of one group, and compares those of another, which are there by now. */
NACREI_KERNEL void nacrei_find_first_look(nacrei_find_group *next, nacrei_find_group *group,
                                          uint64_t missing_value, uint32_t key_bytes,
                                          uint32_t value_bytes)
{
    uint32_t late_count = 0, i = 0;
    uint32_t common = next->count < group->count ? next->count : group->count;
    for (; i < common; i++) {
        __builtin_prefetch(next->home[i], 0, NACREI_FIND_HINT);
        group->late[late_count] = (uint8_t)i;
        late_count += nacrei_find_look(group, i, missing_value, key_bytes, value_bytes);
    }
    for (uint32_t j = i; j < next->count; j++) {
        __builtin_prefetch(next->home[j], 0, NACREI_FIND_HINT);
    }
    for (; i < group->count; i++) {
        group->late[late_count] = (uint8_t)i;
        late_count += nacrei_find_look(group, i, missing_value, key_bytes, value_bytes);
    }
    for (i = 0; i < late_count; i++) {
        uint32_t late = group->late[i];
        __builtin_prefetch(nacrei_submap_pair_signatures(
            group->submap[late], (uint32_t)group->hash[late] & NACREI_CPU_BUCKET_MASK));
    }
    group->late_count = late_count;
}

/* Tells the answers of a group. Returns how many keys were found. */
NACREI_KERNEL uint64_t nacrei_find_answer(nacrei_finder finder, const nacrei_find_group *group,
                                          uint32_t operation, uint32_t value_bytes)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        uint64_t element = nacrei_find_element(finder, group->position + i);
        nacrei_find_tell(finder, element, group->found[i], group->value[i], operation,
                         value_bytes);
        done += group->found[i];
    }
    return done;
}

/* Appends to `waiting` the late keys of a group that went past their pair, at the next one. */
NACREI_KERNEL void nacrei_find_second_look(nacrei_finder finder, const nacrei_find_group *group,
                                           nacrei_find_waiting *waiting, uint32_t *waiting_count)
{
    uint32_t before = *waiting_count, count = before;
    for (uint32_t i = 0; i < group->late_count; i++) {
        uint32_t late = group->late[i];
        uint64_t hash = group->hash[late];
        nacrei_probe probe = nacrei_probe_begin(hash, NACREI_CPU_BUCKET_MASK);
        uint32_t both = nacrei_signature_bit(hash) * 0x11u;
        nacrei_find_waiting *entry = &waiting[count];
        entry->element = nacrei_find_element(finder, group->position + late);
        entry->hash = hash;
        entry->submap = group->submap[late];
        entry->pair = ((probe.bucket + probe.step) & NACREI_CPU_BUCKET_MASK) / 2;
        entry->pairs_past = 1;
        count += (*nacrei_submap_pair_signatures(entry->submap, probe.bucket) & both) == both;
    }
    for (uint32_t i = before; i < count; i++) {
        nacrei_find_fetch_pair(&waiting[i]);
    }
    *waiting_count = count;
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
        uint64_t value = finder.missing_value;
        uint32_t found = nacrei_bucket_take(pair, stored, &value, key_bytes, value_bytes) |
                         nacrei_bucket_take(pair + NACREI_BUCKET_BYTES, stored, &value, key_bytes,
                                            value_bytes);
        nacrei_find_tell(finder, entry.element, found, value, operation, value_bytes);
        done += found;
        uint32_t both = nacrei_signature_bit(entry.hash) * 0x11u;
        uint32_t goes_on = !found & ((*nacrei_submap_pair_signatures(entry.submap, 2 * entry.pair) & both) == both);
        nacrei_probe probe = nacrei_probe_begin(entry.hash, NACREI_CPU_BUCKET_MASK);
        entry.pair = (entry.pair + probe.step / 2) & (NACREI_CPU_BUCKET_MASK / 2);
        entry.pairs_past++;
        if (__builtin_expect(entry.pairs_past == nacrei_probe_limit(NACREI_CPU_BUCKET_MASK) / 2, 0)) {
            goes_on &= nacrei_find_turn(finder.table, &entry);
        }
        waiting[left] = entry;
        left += goes_on;
    }
    for (uint32_t i = 0; i < left; i++) {
        nacrei_find_fetch_pair(&waiting[i]);
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
    nacrei_find_group groups[3];
    nacrei_find_waiting waiting[NACREI_FIND_WAITING + NACREI_FIND_GROUP];
    nacrei_find_group *next = &groups[0], *first = &groups[1], *second = &groups[2];
    uint32_t waiting_count = 0;
    uint64_t done = 0, done_before = 0;
    first->count = second->late_count = 0;
    for (uint64_t position = begin; position < end + 2 * NACREI_FIND_GROUP;
         position += NACREI_FIND_GROUP) {
        uint64_t left = position < end ? end - position : 0;
        nacrei_find_fetch(finder, position, operation == NACREI_FIND && (finder.has_missing_value | (done != done_before)), key_bytes, value_bytes);
        done_before = done;
        next->position = position;
        next->count = left < NACREI_FIND_GROUP ? (uint32_t)left : NACREI_FIND_GROUP;
        nacrei_find_prepare(finder, next, key_bytes);
        nacrei_find_second_look(finder, second, waiting, &waiting_count);
        while (waiting_count > NACREI_FIND_WAITING) {
            done += nacrei_find_go_on(finder, waiting, &waiting_count, operation, key_bytes,
                                      value_bytes);
        }
        nacrei_find_first_look(next, first, finder.missing_value, key_bytes, value_bytes);
        done += nacrei_find_answer(finder, first, operation, value_bytes);
        nacrei_find_group *free = second;
        second = first;
        first = next;
        next = free;
    }
    while (waiting_count > 0) {
        done += nacrei_find_go_on(finder, waiting, &waiting_count, operation, key_bytes,
                                  value_bytes);
    }
    run->done += done;
    return end;
}

#endif
