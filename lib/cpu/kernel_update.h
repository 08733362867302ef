/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that change a map: the four insertions, assign and erase. One thread goes through
 * its elements in order, and no other touches their part of the table meanwhile (partition.c), so
 * that slots need no atomics.
 */
#ifndef NACRE_LIB_CPU_KERNEL_UPDATE_H
#define NACRE_LIB_CPU_KERNEL_UPDATE_H

#include "lib/cpu/group.h"
#include "lib/cpu/kernels.h"
#include "lib/cpu/pair.h"
#include "lib/cpu/search.h"
#include "nacre/core/reduction.h"

/*
 * Groups on their way: one is hashed and fetched, one is looked at, of one what lies beyond the
 * second pair is fetched, and one is done.
 */
#define NACREI_UPDATE_STAGES 4u

NACREI_KERNEL int nacrei_cpu_inserts(uint32_t operation)
{
    return operation == NACREI_INSERT || operation == NACREI_INSERT_OR_ASSIGN ||
           operation == NACREI_INSERT_OR_APPLY || operation == NACREI_FIND_OR_INSERT;
}

/* How many keys more may be taken from the room that the threads share. */
static __attribute__((noinline)) uint64_t nacrei_cpu_more_room(uint64_t *shared)
{
    /* Relaxed: only the number counts; the threads meet at the end of the job. */
    uint64_t room = __atomic_load_n(shared, __ATOMIC_RELAXED), taken;
    do {
        taken = room < 256 ? (room + 7) / 8 : 64;
    } while (!__atomic_compare_exchange_n(shared, &room, room - taken, 1, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return taken;
}

/* Is there room for one new key? */
NACREI_KERNEL int nacrei_cpu_has_room(nacrei_cpu_run *run)
{
    if (run->room == 0 && run->more_room != NULL) {
        run->room = nacrei_cpu_more_room(run->more_room);
    }
    return run->room != 0;
}

/* Where what is told of an element goes. */
NACREI_KERNEL uint64_t nacrei_cpu_output(const nacrei_cpu_run *run, uint64_t element)
{
    return run->outputs != NULL ? run->outputs[element] : element;
}

NACREI_KERNEL void nacrei_cpu_tell(const nacrei_cpu_run *run, const nacrei_batch *batch,
                                   uint64_t element, uint8_t outcome)
{
    if (batch->options.outcomes != NULL) {
        batch->options.outcomes[nacrei_cpu_output(run, element)] = outcome;
    }
}

NACREI_KERNEL void nacrei_cpu_give(const nacrei_cpu_run *run, const nacrei_batch *batch,
                                   uint64_t element, uint64_t value, uint32_t value_bytes)
{
    nacrei_store((char *)batch->values_out + nacrei_cpu_output(run, element) * value_bytes, value,
                 value_bytes);
}

NACREI_KERNEL uint64_t nacrei_cpu_own_value(const nacrei_batch *batch, uint64_t element,
                                            uint32_t value_bytes)
{
    if (batch->values != NULL) {
        return nacrei_load((const char *)batch->values + element * value_bytes, value_bytes);
    }
    return nacrei_type_one(batch->type);
}

/* The key is there with value `old`. Tells the outcome and returns the value it has from now on. */
NACREI_KERNEL uint64_t nacrei_cpu_present(nacrei_cpu_run *run, const nacrei_batch *batch,
                                          uint64_t element, uint64_t old, uint32_t operation,
                                          uint32_t value_bytes)
{
    run->done++;
    switch (operation) {
    case NACREI_INSERT:
        nacrei_cpu_tell(run, batch, element, NACRE_OUTCOME_FOUND);
        return old;
    case NACREI_FIND_OR_INSERT:
        nacrei_cpu_give(run, batch, element, old, value_bytes);
        nacrei_cpu_tell(run, batch, element, NACRE_OUTCOME_FOUND);
        return old;
    case NACREI_INSERT_OR_APPLY:
        nacrei_cpu_tell(run, batch, element, NACRE_OUTCOME_ASSIGNED);
        return nacrei_reduce(old, nacrei_cpu_own_value(batch, element, value_bytes),
                             batch->reduction, batch->type);
    case NACREI_ERASE:
        nacrei_cpu_tell(run, batch, element, NACRE_OUTCOME_ERASED);
        run->erased++;
        return old;
    default:
        nacrei_cpu_tell(run, batch, element, NACRE_OUTCOME_ASSIGNED);
        return nacrei_cpu_own_value(batch, element, value_bytes);
    }
}

/* The key is new and goes in. Tells the outcome and returns its value. */
NACREI_KERNEL uint64_t nacrei_cpu_inserted(nacrei_cpu_run *run, const nacrei_batch *batch,
                                           uint64_t element, uint32_t operation,
                                           uint32_t value_bytes)
{
    uint64_t value = nacrei_cpu_own_value(batch, element, value_bytes);
    if (operation == NACREI_FIND_OR_INSERT) {
        nacrei_cpu_give(run, batch, element, value, value_bytes);
    }
    nacrei_cpu_tell(run, batch, element, NACRE_OUTCOME_INSERTED);
    run->done++;
    run->inserted++;
    run->room--;
    return value;
}

/* The key is in `slot`, which belongs to `submap`. */
NACREI_KERNEL void nacrei_cpu_update_slot(nacrei_cpu_run *run, const nacrei_batch *batch,
                                          uint64_t element, nacrei_cpu_submap submap,
                                          unsigned char *slot, uint32_t operation,
                                          uint32_t key_bytes, uint32_t value_bytes)
{
    uint64_t old = nacrei_slot_value(slot, key_bytes, value_bytes);
    uint64_t value = nacrei_cpu_present(run, batch, element, old, operation, value_bytes);
    if (operation == NACREI_ERASE) {
        uint32_t bucket = (uint32_t)(slot - submap.buckets) / NACREI_BUCKET_BYTES;
        nacrei_slot_empty(slot, nacrei_submap_signature(submap, bucket), key_bytes, value_bytes);
    } else if (operation != NACREI_INSERT && operation != NACREI_FIND_OR_INSERT) {
        nacrei_slot_set_value(slot, value, key_bytes, value_bytes);
    }
}

/* The key found no room. 1: that was told; 0: the run stops before it. */
static __attribute__((noinline)) int nacrei_cpu_full(nacrei_cpu_run *run, uint64_t element,
                                                     uint32_t refuse, uint32_t value_bytes)
{
    const nacrei_batch *batch = run->batch;
    if (!refuse) {
        return 0;
    }
    if (batch->operation == NACREI_FIND_OR_INSERT && batch->options.missing_value != NULL) {
        nacrei_cpu_give(run, batch, element, batch->missing_value, value_bytes);
    }
    nacrei_cpu_tell(run, batch, element, NACRE_OUTCOME_FULL);
    run->refused++;
    return 1;
}

/* A side key: it has a slot of its own in the map. 0: the run stops before it. */
static __attribute__((noinline)) int nacrei_cpu_side(nacrei_cpu_run *run, uint64_t element,
                                                     uint32_t side, uint32_t operation,
                                                     uint32_t value_bytes)
{
    nacrei_cpu_map *map = run->map;
    if (map->side_present[side]) {
        map->side_values[side] = nacrei_cpu_present(run, run->batch, element,
                                                    map->side_values[side], operation, value_bytes);
        map->side_present[side] = operation != NACREI_ERASE;
    } else if (!nacrei_cpu_inserts(operation)) {
        nacrei_cpu_tell(run, run->batch, element, NACRE_OUTCOME_MISSING);
    } else if (!nacrei_cpu_has_room(run)) {
        return nacrei_cpu_full(run, element, run->refuse_room, value_bytes);
    } else {
        map->side_values[side] =
            nacrei_cpu_inserted(run, run->batch, element, operation, value_bytes);
        map->side_present[side] = 1;
    }
    return 1;
}

/* A key that is not settled by its pair of buckets: the whole walk. 0: the run stops before it. */
static __attribute__((noinline)) int nacrei_cpu_update_far(nacrei_cpu_run *run, uint64_t element,
                                                           uint64_t stored, uint64_t hash,
                                                           uint32_t operation, uint32_t key_bytes,
                                                           uint32_t value_bytes)
{
    nacrei_cpu_map *map = run->map;
    int done = 1;
    nacrei_cpu_walk walk = nacrei_cpu_walk_begin(&map->table, hash, run->stash_lock);
    unsigned char *slot = nacrei_cpu_walk_find(&walk, stored, key_bytes, value_bytes);
    if (slot != NULL) {
        nacrei_cpu_update_slot(run, run->batch, element, walk.submap, slot, operation, key_bytes,
                               value_bytes);
        if (operation == NACREI_ERASE && walk.submap.buckets == walk.stash.buckets) {
            map->stash_keys--;
        }
    } else if (!nacrei_cpu_inserts(operation)) {
        nacrei_cpu_tell(run, run->batch, element, NACRE_OUTCOME_MISSING);
    } else if (!nacrei_cpu_has_room(run)) {
        done = nacrei_cpu_full(run, element, run->refuse_room, value_bytes);
    } else if ((slot = nacrei_cpu_walk_claim(&walk, key_bytes, value_bytes)) == NULL) {
        run->stopped_for_place = !run->refuse_place;
        done = nacrei_cpu_full(run, element, run->refuse_place, value_bytes);
    } else {
        uint64_t value = nacrei_cpu_inserted(run, run->batch, element, operation, value_bytes);
        nacrei_slot_set(slot, stored, value, key_bytes, value_bytes);
        if (nacrei_cpu_in_stash(&map->table, slot)) {
            map->stash_keys++;
        }
    }
    nacrei_cpu_walk_end(&walk);
    return done;
}

/*
 * Where a new key goes if its pair of buckets settles that: home if it has a hole, else the
 * neighbour, and in either case only if no key of its class went past. NULL: it takes the whole
 * walk.
 */
NACREI_KERNEL unsigned char *nacrei_cpu_near_hole(unsigned char *home, nacrei_pair pair,
                                                  uint32_t key_bytes, uint32_t value_bytes,
                                                  uint32_t *home_full)
{
    uint32_t own = nacrei_pair_own(home, key_bytes, value_bytes);
    *home_full = (pair.holes & own) == 0;
    uint32_t stops = pair.stops & (*home_full ? UINT32_MAX : own);
    return stops == 0 ? NULL
                      : nacrei_pair_slot(nacrei_pair_line(home), stops, key_bytes, value_bytes);
}

/*
 * One key of a group, where that needs nothing but its pair of buckets. 0: it needs more, and
 * nothing was done.
 */
NACREI_KERNEL int nacrei_cpu_update_near(nacrei_cpu_run *run, const nacrei_batch *batch,
                                         const nacrei_group *group, uint32_t i, uint64_t element,
                                         uint32_t operation, uint32_t key_bytes,
                                         uint32_t value_bytes)
{
    const nacrei_cpu_table *table = &run->map->table;
    uint64_t stored = group->stored[i], hash = group->hash[i];
    uint32_t home_full;
    unsigned char *home = (unsigned char *)(uintptr_t)group->home[i];
    unsigned char *line = nacrei_pair_line(home);
    nacrei_pair pair =
        nacrei_pair_read(line, stored, nacrei_signature_pair(hash), key_bytes, value_bytes);
    if (__builtin_expect(stored < nacrei_empty_patterns(value_bytes), 0)) {
        return 0;
    }
    if (pair.match != 0) {
        nacrei_cpu_update_slot(run, batch, element, nacrei_cpu_submap_of(table, hash),
                               nacrei_pair_slot(line, pair.match, key_bytes, value_bytes),
                               operation, key_bytes, value_bytes);
        return 1;
    }
    if (!nacrei_cpu_inserts(operation)) {
        if (pair.stops != 0) {
            nacrei_cpu_tell(run, batch, element, NACRE_OUTCOME_MISSING);
        }
        return pair.stops != 0;
    }
    unsigned char *hole = nacrei_cpu_near_hole(home, pair, key_bytes, value_bytes, &home_full);
    if (hole == NULL || run->room == 0) {
        return 0;
    }
    if (home_full) {
        nacrei_submap_pass(nacrei_cpu_submap_of(table, hash),
                           (uint32_t)hash & NACREI_CPU_BUCKET_MASK, hash);
    }
    uint64_t value = nacrei_cpu_inserted(run, batch, element, operation, value_bytes);
    nacrei_slot_set(hole, stored, value, key_bytes, value_bytes);
    return 1;
}

/* One key of a group that needs more. 0: the run stops before it. */
NACREI_KERNEL int nacrei_cpu_update_else(nacrei_cpu_run *run, const nacrei_group *group, uint32_t i,
                                         uint64_t element, uint32_t operation, uint32_t key_bytes,
                                         uint32_t value_bytes)
{
    uint64_t stored = group->stored[i];
    if (stored < nacrei_empty_patterns(value_bytes)) {
        return nacrei_cpu_side(run, element, (uint32_t)stored, operation, value_bytes);
    }
    return nacrei_cpu_update_far(run, element, stored, group->hash[i], operation, key_bytes,
                                 value_bytes);
}

/* A group of keys on its way, and those of it that are not settled by their pair of buckets. */
typedef struct nacrei_update_group {
    nacrei_group group;
    uint32_t far_count;
    uint8_t far[NACREI_GROUP];
    uint16_t far_bucket[NACREI_GROUP]; /* the first bucket of the pair that is fetched */
} nacrei_update_group;

/* Fetches the next pair of a key's path, and the signatures that tell whether it goes there. */
NACREI_KERNEL void nacrei_cpu_update_fetch_far(const nacrei_cpu_table *table,
                                               nacrei_update_group *at, uint32_t i, uint64_t hash,
                                               uint32_t bucket)
{
    nacrei_cpu_submap submap = nacrei_cpu_submap_of(table, hash);
    uint32_t step = nacrei_probe_begin(hash, NACREI_CPU_BUCKET_MASK).step;
    uint32_t next = ((bucket ^ 1u) + step) & NACREI_CPU_BUCKET_MASK;
    __builtin_prefetch(nacrei_submap_pair_signatures(submap, bucket), 1);
    __builtin_prefetch(nacrei_submap_bucket(submap, next), 1);
    at->far_bucket[i] = (uint16_t)next;
}

/* Fetches the home buckets of a group. */
NACREI_KERNEL void nacrei_cpu_update_fetch_homes(const nacrei_group *next)
{
    for (uint32_t i = 0; i < NACREI_GROUP; i++) {
        nacrei_group_fetch_home(next, i);
    }
}

/* Fetches the home buckets of one group, and looks at those of another, which are there by now. */
NACREI_KERNEL void nacrei_cpu_update_fetch(const nacrei_cpu_table *table, const nacrei_group *next,
                                           nacrei_update_group *at, uint32_t operation,
                                           uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t far_count = 0, past_count = 0;
    uint8_t past[NACREI_GROUP];
    for (uint32_t i = 0; i < NACREI_GROUP; i++) {
        nacrei_group_fetch_home(next, i);
        unsigned char *home = (unsigned char *)(uintptr_t)at->group.home[i];
        uint32_t own = nacrei_pair_own(home, key_bytes, value_bytes);
        nacrei_pair pair =
            nacrei_pair_read(nacrei_pair_line(home), at->group.stored[i],
                             nacrei_signature_pair(at->group.hash[i]), key_bytes, value_bytes);
        at->far[far_count] = (uint8_t)i;
        far_count += (pair.match | pair.stops) == 0;
        past[past_count] = (uint8_t)i;
        past_count += (pair.match | (pair.holes & own)) == 0;
    }
    /* A key that goes past its home will leave its bit there. */
    for (uint32_t i = 0; nacrei_cpu_inserts(operation) && i < past_count; i++) {
        uint64_t hash = at->group.hash[past[i]];
        nacrei_cpu_submap submap = nacrei_cpu_submap_of(table, hash);
        __builtin_prefetch(
            nacrei_submap_pair_signatures(submap, (uint32_t)hash & NACREI_CPU_BUCKET_MASK), 1);
    }
    for (uint32_t i = 0; i < far_count; i++) {
        uint64_t hash = at->group.hash[at->far[i]];
        nacrei_cpu_update_fetch_far(table, at, i, hash, (uint32_t)hash & NACREI_CPU_BUCKET_MASK);
    }
    at->far_count = far_count;
}

/*
 * Looks at the pairs fetched last for the far keys of a group, and fetches the next where need be.
 */
NACREI_KERNEL void nacrei_cpu_update_fetch_on(const nacrei_cpu_table *table,
                                              nacrei_update_group *at, uint32_t key_bytes,
                                              uint32_t value_bytes)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < at->far_count; i++) {
        uint32_t far = at->far[i];
        uint64_t hash = at->group.hash[far];
        unsigned char *line = nacrei_pair_line(
            nacrei_submap_bucket(nacrei_cpu_submap_of(table, hash), at->far_bucket[i]));
        nacrei_pair pair = nacrei_pair_read(line, at->group.stored[far],
                                            nacrei_signature_pair(hash), key_bytes, value_bytes);
        at->far[left] = (uint8_t)far;
        at->far_bucket[left] = at->far_bucket[i];
        left += (pair.match | pair.stops) == 0;
    }
    at->far_count = left;
    for (uint32_t i = 0; i < left; i++) {
        nacrei_cpu_update_fetch_far(table, at, i, at->group.hash[at->far[i]], at->far_bucket[i]);
    }
}

NACREI_KERNEL uint64_t nacrei_cpu_update(nacrei_cpu_run *caller_run, uint64_t begin, uint64_t end,
                                         uint32_t operation, uint32_t key_bytes,
                                         uint32_t value_bytes)
{
    if (begin == end) {
        return end;
    }
    /* Copies whose address stays here, so that no store makes the compiler read them anew. */
    nacrei_cpu_run run = *caller_run;
    const nacrei_batch batch = *run.batch;
    const nacrei_cpu_table *table = &run.map->table;
    const nacrei_group_source source = {batch.keys, run.base, run.list};
    nacrei_update_group groups[NACREI_UPDATE_STAGES];
    for (uint32_t i = 0; i < NACREI_UPDATE_STAGES; i++) {
        nacrei_group_prepare(&groups[i].group, table, source, begin, begin, 0, key_bytes);
        groups[i].far_count = 0;
    }
    uint64_t ahead = (NACREI_UPDATE_STAGES - 1) * NACREI_GROUP;
    uint32_t turn = 0;
    for (uint64_t position = begin; position < end + ahead; position += NACREI_GROUP, turn++) {
        uint64_t left = position < end ? end - position : 0;
        nacrei_update_group *stage[NACREI_UPDATE_STAGES];
        for (uint32_t i = 0; i < NACREI_UPDATE_STAGES; i++) {
            stage[i] = &groups[(turn - i) % NACREI_UPDATE_STAGES];
        }
        nacrei_group_fetch_listed(batch.keys, source, position, end, key_bytes);
        if (batch.values != NULL) {
            nacrei_group_fetch_listed(batch.values, source, position, end, value_bytes);
        }
        nacrei_group_prepare(&stage[0]->group, table, source, begin, position,
                             left < NACREI_GROUP ? (uint32_t)left : NACREI_GROUP, key_bytes);
        if (run.dense) {
            nacrei_cpu_update_fetch_homes(&stage[0]->group);
        } else {
            nacrei_cpu_update_fetch_on(table, stage[2], key_bytes, value_bytes);
            nacrei_cpu_update_fetch(table, &stage[0]->group, stage[1], operation, key_bytes,
                                    value_bytes);
        }
        const nacrei_group *now = &stage[3]->group;
        for (uint32_t i = 0; i < now->count; i++) {
            uint64_t element = nacrei_element(source, now->position + i);
            if (nacrei_cpu_update_near(&run, &batch, now, i, element, operation, key_bytes,
                                       value_bytes)) {
                continue;
            }
            *caller_run = run;
            if (!nacrei_cpu_update_else(caller_run, now, i, element, operation, key_bytes,
                                        value_bytes)) {
                return now->position + i;
            }
            run = *caller_run;
        }
    }
    *caller_run = run;
    return end;
}

#endif
