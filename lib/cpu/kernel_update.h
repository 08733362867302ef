/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that change a map: the four insertions, assign and erase. One thread goes through
 * its elements in order, and no other touches the submaps that it owns; so slots need no atomics.
 */
#ifndef NACRE_LIB_CPU_KERNEL_UPDATE_H
#define NACRE_LIB_CPU_KERNEL_UPDATE_H

#include "lib/cpu/kernels.h"
#include "lib/cpu/search.h"
#include "nacre/core/reduction.h"

/* Elements hashed and prefetched before they are done; 16 to 64 were measured to be alike. */
#define NACREI_UPDATE_AHEAD 32u

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

NACREI_KERNEL void nacrei_cpu_tell(const nacrei_batch *batch, uint64_t element, uint8_t outcome)
{
    if (batch->options.outcomes != NULL) {
        batch->options.outcomes[element] = outcome;
    }
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
NACREI_KERNEL uint64_t nacrei_cpu_present(nacrei_cpu_run *run, uint64_t element, uint64_t old,
                                          uint32_t operation, uint32_t value_bytes)
{
    const nacrei_batch *batch = run->batch;
    run->done++;
    switch (operation) {
    case NACREI_INSERT:
        nacrei_cpu_tell(batch, element, NACRE_OUTCOME_FOUND);
        return old;
    case NACREI_FIND_OR_INSERT:
        nacrei_store((char *)batch->values_out + element * value_bytes, old, value_bytes);
        nacrei_cpu_tell(batch, element, NACRE_OUTCOME_FOUND);
        return old;
    case NACREI_INSERT_OR_APPLY:
        nacrei_cpu_tell(batch, element, NACRE_OUTCOME_ASSIGNED);
        return nacrei_reduce(old, nacrei_cpu_own_value(batch, element, value_bytes),
                             batch->reduction, batch->type);
    case NACREI_ERASE:
        nacrei_cpu_tell(batch, element, NACRE_OUTCOME_ERASED);
        run->erased++;
        return old;
    default:
        nacrei_cpu_tell(batch, element, NACRE_OUTCOME_ASSIGNED);
        return nacrei_cpu_own_value(batch, element, value_bytes);
    }
}

/* The key is new and goes in. Tells the outcome and returns its value. */
NACREI_KERNEL uint64_t nacrei_cpu_inserted(nacrei_cpu_run *run, uint64_t element,
                                           uint32_t operation, uint32_t value_bytes)
{
    const nacrei_batch *batch = run->batch;
    uint64_t value = nacrei_cpu_own_value(batch, element, value_bytes);
    if (operation == NACREI_FIND_OR_INSERT) {
        nacrei_store((char *)batch->values_out + element * value_bytes, value, value_bytes);
    }
    nacrei_cpu_tell(batch, element, NACRE_OUTCOME_INSERTED);
    run->done++;
    run->inserted++;
    run->room--;
    return value;
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
        nacrei_store((char *)batch->values_out + element * value_bytes, batch->missing_value,
                     value_bytes);
    }
    nacrei_cpu_tell(batch, element, NACRE_OUTCOME_FULL);
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
        map->side_values[side] =
            nacrei_cpu_present(run, element, map->side_values[side], operation, value_bytes);
        map->side_present[side] = operation != NACREI_ERASE;
        return 1;
    }
    if (!nacrei_cpu_inserts(operation)) {
        nacrei_cpu_tell(run->batch, element, NACRE_OUTCOME_MISSING);
        return 1;
    }
    if (!nacrei_cpu_has_room(run)) {
        return nacrei_cpu_full(run, element, run->refuse_room, value_bytes);
    }
    map->side_values[side] = nacrei_cpu_inserted(run, element, operation, value_bytes);
    map->side_present[side] = 1;
    return 1;
}

/* The key is in `slot`. */
NACREI_KERNEL void nacrei_cpu_update_slot(nacrei_cpu_run *run, uint64_t element,
                                          unsigned char *submap, unsigned char *slot,
                                          uint32_t operation, uint32_t key_bytes,
                                          uint32_t value_bytes)
{
    uint64_t old = nacrei_slot_value(slot, key_bytes, value_bytes);
    uint64_t value = nacrei_cpu_present(run, element, old, operation, value_bytes);
    if (operation == NACREI_ERASE) {
        uint32_t bucket = (uint32_t)(slot - submap) / NACREI_BUCKET_BYTES;
        nacrei_slot_empty(slot, nacrei_submap_signature(submap, bucket), key_bytes, value_bytes);
    } else if (operation != NACREI_INSERT && operation != NACREI_FIND_OR_INSERT) {
        nacrei_slot_set_value(slot, value, key_bytes, value_bytes);
    }
}

/* One element by the whole walk. 0: the run stops before it. */
NACREI_KERNEL int nacrei_cpu_update_far(nacrei_cpu_run *run, uint64_t element, uint64_t stored,
                                        uint64_t hash, unsigned char *submap, uint32_t operation,
                                        uint32_t key_bytes, uint32_t value_bytes)
{
    nacrei_cpu_map *map = run->map;
    int done = 1;
    nacrei_cpu_walk walk = nacrei_cpu_walk_begin(&map->table, submap, hash, run->stash_lock);
    unsigned char *slot = nacrei_cpu_walk_find(&walk, stored, key_bytes, value_bytes);
    if (slot != NULL) {
        nacrei_cpu_update_slot(run, element, walk.submap, slot, operation, key_bytes, value_bytes);
        if (operation == NACREI_ERASE && walk.submap == walk.stash) {
            map->stash_keys--;
        }
    } else if (!nacrei_cpu_inserts(operation)) {
        nacrei_cpu_tell(run->batch, element, NACRE_OUTCOME_MISSING);
    } else if (!nacrei_cpu_has_room(run)) {
        done = nacrei_cpu_full(run, element, run->refuse_room, value_bytes);
    } else if ((slot = nacrei_cpu_walk_claim(&walk, key_bytes, value_bytes)) == NULL) {
        run->stopped_for_place = !run->refuse_place;
        done = nacrei_cpu_full(run, element, run->refuse_place, value_bytes);
    } else {
        uint64_t value = nacrei_cpu_inserted(run, element, operation, value_bytes);
        nacrei_slot_set(slot, stored, value, key_bytes, value_bytes);
        if (nacrei_cpu_in_stash(&map->table, slot)) {
            map->stash_keys++;
        }
    }
    nacrei_cpu_walk_end(&walk);
    return done;
}

/* A new key into an empty slot of its own submap, for which there is room. */
NACREI_KERNEL void nacrei_cpu_update_hole(nacrei_cpu_run *run, uint64_t element, uint64_t stored,
                                          unsigned char *hole, uint32_t operation,
                                          uint32_t key_bytes, uint32_t value_bytes)
{
    uint64_t value = nacrei_cpu_inserted(run, element, operation, value_bytes);
    nacrei_slot_set(hole, stored, value, key_bytes, value_bytes);
}

/*
 * One element by the pair of buckets that it calls home, as most go: the key is there, or it is new
 * and its first hole is there. Everything else by the whole walk. 0: the run stops before it.
 */
NACREI_KERNEL int nacrei_cpu_update_near(nacrei_cpu_run *run, uint64_t element, uint64_t stored,
                                         uint64_t hash, unsigned char *submap, uint32_t operation,
                                         uint32_t key_bytes, uint32_t value_bytes)
{
    const uint32_t bucket = (uint32_t)hash & NACREI_CPU_BUCKET_MASK;
    const uint32_t bit = nacrei_signature_bit(hash);
    const int may_insert = nacrei_cpu_inserts(operation) && run->room != 0;
    unsigned char *home = nacrei_submap_bucket(submap, bucket);
    unsigned char *slot = nacrei_bucket_match(home, stored, key_bytes, value_bytes);
    if (slot != NULL) {
        nacrei_cpu_update_slot(run, element, submap, slot, operation, key_bytes, value_bytes);
        return 1;
    }
    unsigned char *hole = nacrei_bucket_hole(home, key_bytes, value_bytes);
    if (hole != NULL) {
        if (may_insert && (nacrei_hole_signature(hole, key_bytes, value_bytes) & bit) == 0) {
            nacrei_cpu_update_hole(run, element, stored, hole, operation, key_bytes, value_bytes);
            return 1;
        }
    } else if (may_insert) {
        unsigned char *next = nacrei_submap_bucket(submap, bucket ^ 1u);
        slot = nacrei_bucket_match(next, stored, key_bytes, value_bytes);
        if (slot != NULL) {
            nacrei_cpu_update_slot(run, element, submap, slot, operation, key_bytes, value_bytes);
            return 1;
        }
        hole = nacrei_bucket_hole(next, key_bytes, value_bytes);
        if (hole != NULL && (nacrei_hole_signature(hole, key_bytes, value_bytes) & bit) == 0) {
            nacrei_submap_pass(submap, bucket, bit);
            nacrei_cpu_update_hole(run, element, stored, hole, operation, key_bytes, value_bytes);
            return 1;
        }
    }
    return nacrei_cpu_update_far(run, element, stored, hash, submap, operation, key_bytes,
                                 value_bytes);
}

/* An element on its way: hashed, and its buckets asked for. */
typedef struct nacrei_cpu_ahead {
    uint64_t element;
    uint64_t stored;
    uint64_t hash;
    unsigned char *submap; /* NULL: a side key */
} nacrei_cpu_ahead;

NACREI_KERNEL nacrei_cpu_ahead nacrei_cpu_look_ahead(const nacrei_cpu_run *run, uint64_t position,
                                                     uint32_t key_bytes, uint32_t value_bytes)
{
    const nacrei_cpu_table *table = &run->map->table;
    nacrei_cpu_ahead ahead;
    ahead.element = nacrei_run_element(run, position);
    const uint64_t key =
        nacrei_load((const char *)run->batch->keys + ahead.element * key_bytes, key_bytes);
    ahead.stored = nacrei_key_store(key, key_bytes);
    ahead.hash = nacrei_hash(key, table->seed);
    ahead.submap = NULL;
    if (ahead.stored >= nacrei_empty_patterns(value_bytes)) {
        ahead.submap = nacrei_cpu_submap_of(table, ahead.hash);
        const uint32_t bucket = (uint32_t)ahead.hash & NACREI_CPU_BUCKET_MASK;
        __builtin_prefetch(nacrei_submap_bucket(ahead.submap, bucket), 1);
        __builtin_prefetch(nacrei_submap_pair_signatures(ahead.submap, bucket), 1);
    }
    return ahead;
}

/* Halfway: the pair has come, and where it is full the next one of the path is asked for. */
NACREI_KERNEL void nacrei_cpu_look_further(const nacrei_cpu_ahead *ahead, uint32_t key_bytes,
                                           uint32_t value_bytes)
{
    if (ahead->submap == NULL) {
        return;
    }
    const uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    nacrei_probe probe = nacrei_probe_begin(ahead->hash, NACREI_CPU_BUCKET_MASK);
    const unsigned char *pair = nacrei_submap_bucket(ahead->submap, probe.bucket & ~1u);
    uint32_t full = 1; /* computed, not branched on: nobody can predict it */
    for (uint32_t at = 0; at < 2 * NACREI_BUCKET_BYTES; at += slot_bytes) {
        full &= nacrei_slot_key(pair + at, key_bytes, value_bytes) >=
                nacrei_empty_patterns(value_bytes);
    }
    nacrei_probe_next(&probe, NACREI_CPU_BUCKET_MASK);
    nacrei_probe_next(&probe, NACREI_CPU_BUCKET_MASK);
    const unsigned char *next = nacrei_submap_bucket(ahead->submap, probe.bucket);
    __builtin_prefetch(full ? next : pair, 1);
}

/*
 * Elements in order, each looked at NACREI_UPDATE_AHEAD elements before it is done, and again
 * halfway: by then its buckets have come from memory. The table does not grow inside of a run, so
 * that addresses hold.
 */
NACREI_KERNEL uint64_t nacrei_cpu_update(nacrei_cpu_run *run, uint64_t begin, uint64_t end,
                                         uint32_t operation, uint32_t key_bytes,
                                         uint32_t value_bytes)
{
    nacrei_cpu_ahead ahead[NACREI_UPDATE_AHEAD];
    uint64_t asked = begin, further = begin;
    for (uint64_t position = begin; position < end; position++) {
        for (; asked < end && asked < position + NACREI_UPDATE_AHEAD; asked++) {
            ahead[asked % NACREI_UPDATE_AHEAD] =
                nacrei_cpu_look_ahead(run, asked, key_bytes, value_bytes);
        }
        for (; further < asked && further < position + NACREI_UPDATE_AHEAD / 2; further++) {
            nacrei_cpu_look_further(&ahead[further % NACREI_UPDATE_AHEAD], key_bytes, value_bytes);
        }
        const nacrei_cpu_ahead now = ahead[position % NACREI_UPDATE_AHEAD];
        const int done =
            now.submap == NULL
                ? nacrei_cpu_side(run, now.element, (uint32_t)now.stored, operation, value_bytes)
                : nacrei_cpu_update_near(run, now.element, now.stored, now.hash, now.submap,
                                         operation, key_bytes, value_bytes);
        if (!done) {
            return position;
        }
    }
    return end;
}

#endif
