/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operations that change a map do to one key: the four insertions, assign and erase. No
 * other thread touches the key's part of the table meanwhile (partition.c), so that slots need no
 * atomics.
 */
#ifndef NACRE_LIB_CPU_UPDATE_KEY_H
#define NACRE_LIB_CPU_UPDATE_KEY_H

#include "lib/cpu/kernels.h"
#include "lib/cpu/pair.h"
#include "lib/cpu/search.h"
#include "nacre/core/reduction.h"

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
 * A key of an insertion whose home pair is full: on to the first pair of its path that holds it or
 * has a hole. 0: it takes the whole walk. Bits are left on the way, before it is known whether the
 * key is new: if it is not, they are there already.
 */
NACREI_KERNEL int nacrei_cpu_update_on(nacrei_cpu_run *run, const nacrei_batch *batch,
                                       uint64_t element, uint64_t stored, uint64_t hash,
                                       uint32_t operation, uint32_t key_bytes, uint32_t value_bytes)
{
    nacrei_cpu_submap submap = nacrei_cpu_submap_of(&run->map->table, hash);
    nacrei_probe probe = nacrei_probe_begin(hash, NACREI_CPU_BUCKET_MASK);
    uint32_t classes = nacrei_signature_pair(hash), is_new = 0, bucket = probe.bucket;
    unsigned char *line = nacrei_pair_line(nacrei_submap_bucket(submap, bucket));
    nacrei_pair pair = nacrei_pair_read(line, stored, classes, key_bytes, value_bytes);
    if ((pair.match | pair.holes) != 0 || run->room == 0 ||
        stored < nacrei_empty_patterns(value_bytes)) {
        return 0;
    }
    for (uint32_t pairs = 1; (pair.match | pair.holes) == 0; pairs++) {
        if (pairs == NACREI_CPU_PAIRS_MAX) {
            return 0;
        }
        is_new |= nacrei_submap_pass_pair(submap, bucket, hash) ^ 1u;
        bucket = (bucket + probe.step) & NACREI_CPU_BUCKET_MASK;
        line = nacrei_pair_line(nacrei_submap_bucket(submap, bucket));
        pair = nacrei_pair_read(line, stored, classes, key_bytes, value_bytes);
    }
    if (pair.match != 0) {
        nacrei_cpu_update_slot(run, batch, element, submap,
                               nacrei_pair_slot(line, pair.match, key_bytes, value_bytes),
                               operation, key_bytes, value_bytes);
        return 1;
    }
    if (((pair.stops != 0) | is_new) == 0) {
        return 0;
    }
    uint64_t value = nacrei_cpu_inserted(run, batch, element, operation, value_bytes);
    nacrei_slot_set(nacrei_pair_slot(line, pair.holes, key_bytes, value_bytes), stored, value,
                    key_bytes, value_bytes);
    return 1;
}

/* A key for which its pair of buckets is not enough. 0: the run stops before it. */
NACREI_KERNEL int nacrei_cpu_update_else(nacrei_cpu_run *run, uint64_t element, uint64_t stored,
                                         uint64_t hash, uint32_t operation, uint32_t key_bytes,
                                         uint32_t value_bytes)
{
    if (stored < nacrei_empty_patterns(value_bytes)) {
        return nacrei_cpu_side(run, element, (uint32_t)stored, operation, value_bytes);
    }
    return nacrei_cpu_update_far(run, element, stored, hash, operation, key_bytes, value_bytes);
}

#endif
