/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that change a map, on the elements of one thread (update_key.h is one key).
 *
 * Keys that their home pair of buckets settles are done as soon as it is there; the others, the far
 * keys, two groups later, when what they need is there, too. That keeps the order of equal keys:
 * what the first of them finds at the pair the next finds, too, unless it is there by then; and far
 * keys keep their order. Room goes to new keys in the order of the elements: a key is settled early
 * only if there is room for all far keys before it.
 */
#ifndef NACRE_LIB_CPU_KERNEL_UPDATE_H
#define NACRE_LIB_CPU_KERNEL_UPDATE_H

#include "lib/cpu/group.h"
#include "lib/cpu/update_key.h"

/*
 * Groups on their way: one is hashed and fetched, one is looked at, for far keys of one the third
 * pair is fetched, and those of one are done.
 */
#define NACREI_UPDATE_STAGES 4u

_Static_assert(NACREI_CPU_LATE_MAX == 2 * NACREI_GROUP, "far keys of two groups may be put off");

/* A group of keys on its way. */
typedef struct nacrei_update_group {
    nacrei_group group;
    uint32_t far_count;
    uint8_t far[NACREI_GROUP];
} nacrei_update_group;

/*
 * Does the keys of a group that are settled by their pair of buckets, and notes the others. At most
 * `room` keys go in. Nobody can predict which new keys find a hole: what has none is written
 * astray.
 */
NACREI_KERNEL void nacrei_cpu_update_near(nacrei_cpu_run *run, const nacrei_batch *batch,
                                          nacrei_group_source source, nacrei_update_group *at,
                                          uint64_t room, uint32_t operation, uint32_t key_bytes,
                                          uint32_t value_bytes)
{
    const nacrei_group *group = &at->group;
    uint32_t far_count = 0, inserted = 0;
    _Alignas(16) unsigned char astray[16];
    for (uint32_t i = 0; i < group->count; i++) {
        uint64_t element = nacrei_element(source, group->position + i);
        uint64_t stored = group->stored[i], hash = group->hash[i];
        unsigned char *line = nacrei_pair_line((unsigned char *)(uintptr_t)group->home[i]);
        uint32_t in_slots = stored >= nacrei_empty_patterns(value_bytes);
        nacrei_pair pair =
            nacrei_pair_read(line, stored, nacrei_signature_pair(hash), key_bytes, value_bytes);
        if (pair.match != 0 && in_slots) {
            nacrei_cpu_update_slot(run, batch, element,
                                   nacrei_cpu_submap_of(&run->map->table, hash),
                                   nacrei_pair_slot(line, pair.match, key_bytes, value_bytes),
                                   operation, key_bytes, value_bytes);
            continue;
        }
        at->far[far_count] = (uint8_t)i;
        if (!nacrei_cpu_inserts(operation)) {
            uint32_t missing = in_slots & (pair.stops != 0);
            if (missing) {
                nacrei_cpu_tell(run, batch, element, NACRE_OUTCOME_MISSING);
            }
            far_count += missing ^ 1u;
            continue;
        }
        uint32_t fits = in_slots & (pair.stops != 0) & (inserted + far_count < room);
        uintptr_t hole =
            (uintptr_t)nacrei_pair_slot(line, pair.holes | 1u << 15, key_bytes, value_bytes);
        uintptr_t mask = -(uintptr_t)fits;
        hole = (hole & mask) | ((uintptr_t)astray & ~mask);
        uint64_t value = nacrei_cpu_own_value(batch, element, value_bytes);
        nacrei_slot_set((unsigned char *)hole, stored, value, key_bytes, value_bytes);
        if (operation == NACREI_FIND_OR_INSERT && fits) {
            nacrei_cpu_give(run, batch, element, value, value_bytes);
        }
        nacrei_cpu_tell(run, batch, element, NACRE_OUTCOME_INSERTED); /* of a far key: for now */
        far_count += fits ^ 1u;
        inserted += fits;
    }
    at->far_count = far_count;
    run->done += inserted;
    run->inserted += inserted;
    run->room -= inserted;
}

/* The pair after that of a bucket on the path of a key. */
NACREI_KERNEL uint32_t nacrei_cpu_next_pair(uint64_t hash, uint32_t bucket)
{
    return (bucket + nacrei_probe_begin(hash, NACREI_CPU_BUCKET_MASK).step) &
           NACREI_CPU_BUCKET_MASK;
}

/* Fetches the signatures that far keys will ask or change, and their second pairs. */
NACREI_KERNEL void nacrei_cpu_update_fetch(const nacrei_cpu_table *table,
                                           const nacrei_update_group *at)
{
    for (uint32_t i = 0; i < at->far_count; i++) {
        uint64_t hash = at->group.hash[at->far[i]];
        nacrei_cpu_submap submap = nacrei_cpu_submap_of(table, hash);
        uint32_t home = (uint32_t)hash & NACREI_CPU_BUCKET_MASK;
        __builtin_prefetch(nacrei_submap_pair_signatures(submap, home), 1);
        __builtin_prefetch(nacrei_submap_bucket(submap, nacrei_cpu_next_pair(hash, home)), 1);
    }
}

/* Looks at the second pairs of far keys, and fetches the third where need be. */
NACREI_KERNEL void nacrei_cpu_update_fetch_on(const nacrei_cpu_table *table,
                                              const nacrei_update_group *at, uint32_t key_bytes,
                                              uint32_t value_bytes)
{
    for (uint32_t i = 0; i < at->far_count; i++) {
        uint64_t stored = at->group.stored[at->far[i]], hash = at->group.hash[at->far[i]];
        nacrei_cpu_submap submap = nacrei_cpu_submap_of(table, hash);
        uint32_t second = nacrei_cpu_next_pair(hash, (uint32_t)hash & NACREI_CPU_BUCKET_MASK);
        unsigned char *line = nacrei_pair_line(nacrei_submap_bucket(submap, second));
        nacrei_pair pair =
            nacrei_pair_read(line, stored, nacrei_signature_pair(hash), key_bytes, value_bytes);
        uintptr_t third =
            (uintptr_t)nacrei_submap_bucket(submap, nacrei_cpu_next_pair(hash, second));
        uintptr_t mask = -(uintptr_t)((pair.match | pair.stops) == 0);
        __builtin_prefetch((const void *)((third & mask) | ((uintptr_t)line & ~mask)), 1);
        __builtin_prefetch(nacrei_submap_pair_signatures(submap, second), 1);
    }
}

/* Does the far keys of a group. 0: the run stops before one; that and those after it are left. */
NACREI_KERNEL int nacrei_cpu_update_far_keys(nacrei_cpu_run *run, const nacrei_batch *batch,
                                             nacrei_group_source source, nacrei_update_group *at,
                                             uint32_t operation, uint32_t key_bytes,
                                             uint32_t value_bytes)
{
    const nacrei_group *group = &at->group;
    for (uint32_t i = 0; i < at->far_count; i++) {
        uint32_t far = at->far[i];
        uint64_t element = nacrei_element(source, group->position + far);
        uint64_t stored = group->stored[far], hash = group->hash[far];
        if (nacrei_cpu_inserts(operation) &&
            nacrei_cpu_update_on(run, batch, element, stored, hash, operation, key_bytes,
                                 value_bytes)) {
            continue;
        }
        if (!nacrei_cpu_update_else(run, element, stored, hash, operation, key_bytes,
                                    value_bytes)) {
            at->far_count -= i;
            memmove(at->far, at->far + i, at->far_count);
            return 0;
        }
    }
    at->far_count = 0;
    return 1;
}

/* Puts off the far keys of a group. */
NACREI_KERNEL void nacrei_cpu_put_off(nacrei_cpu_late *late, const nacrei_update_group *at)
{
    for (uint32_t i = 0; i < at->far_count; i++) {
        late->positions[late->count++] = (uint32_t)at->group.position + at->far[i];
    }
}

/* Does what was put off. 0: the run stops again; the rest is left. */
NACREI_KERNEL int nacrei_cpu_update_late(nacrei_cpu_run *run, nacrei_group_source source,
                                         uint32_t operation, uint32_t key_bytes,
                                         uint32_t value_bytes)
{
    nacrei_cpu_late *late = run->late;
    for (uint32_t i = 0; i < late->count; i++) {
        uint64_t element = nacrei_element(source, late->positions[i]);
        uint64_t key = nacrei_load(source.keys + element * key_bytes, key_bytes);
        uint64_t hash = nacrei_hash(key, run->map->table.seed);
        if (!nacrei_cpu_update_else(run, element, nacrei_key_store(key, key_bytes), hash, operation,
                                    key_bytes, value_bytes)) {
            late->count -= i;
            memmove(late->positions, late->positions + i, late->count * sizeof(uint32_t));
            return 0;
        }
    }
    late->count = 0;
    return 1;
}

/* New keys that may be settled early: there is room for them besides that for far keys. */
NACREI_KERNEL uint64_t nacrei_cpu_early_room(nacrei_cpu_run *run, uint64_t far_count)
{
    if (run->room < far_count + NACREI_GROUP && run->more_room != NULL) {
        run->room += nacrei_cpu_more_room(run->more_room);
    }
    return run->room > far_count ? run->room - far_count : 0;
}

NACREI_KERNEL uint64_t nacrei_cpu_update(nacrei_cpu_run *run, uint64_t begin, uint64_t end,
                                         uint32_t operation, uint32_t key_bytes,
                                         uint32_t value_bytes)
{
    /* A copy whose address stays here, so that no store makes the compiler read it anew. */
    const nacrei_batch batch = *run->batch;
    const nacrei_cpu_table *table = &run->map->table;
    const nacrei_group_source source = {batch.keys, run->base, run->list};
    if (!nacrei_cpu_update_late(run, source, operation, key_bytes, value_bytes)) {
        return begin;
    }
    if (begin == end) {
        return end;
    }
    nacrei_update_group groups[NACREI_UPDATE_STAGES];
    for (uint32_t i = 0; i < NACREI_UPDATE_STAGES; i++) {
        groups[i].group.count = groups[i].far_count = 0;
    }
    uint64_t ahead = (NACREI_UPDATE_STAGES - 1) * NACREI_GROUP;
    uint32_t turn = 0;
    for (uint64_t position = begin; position < end + ahead; position += NACREI_GROUP, turn++) {
        uint64_t left = position < end ? end - position : 0;
        nacrei_update_group *stage[NACREI_UPDATE_STAGES];
        for (uint32_t i = 0; i < NACREI_UPDATE_STAGES; i++) {
            stage[i] = &groups[(turn - i) % NACREI_UPDATE_STAGES];
        }
        if (!nacrei_cpu_update_far_keys(run, &batch, source, stage[3], operation, key_bytes,
                                        value_bytes)) {
            nacrei_cpu_put_off(run->late, stage[3]);
            nacrei_cpu_put_off(run->late, stage[2]);
            return position - NACREI_GROUP < end ? position - NACREI_GROUP : end;
        }
        nacrei_group_fetch_listed(batch.keys, source, position, end, key_bytes);
        if (batch.values != NULL) {
            nacrei_group_fetch_listed(batch.values, source, position, end, value_bytes);
        }
        nacrei_group_prepare(&stage[0]->group, table, source, begin, position,
                             left < NACREI_GROUP ? (uint32_t)left : NACREI_GROUP, key_bytes);
        for (uint32_t i = 0; i < NACREI_GROUP; i++) {
            nacrei_group_fetch_home(&stage[0]->group, i);
        }
        if (!run->dense) {
            nacrei_cpu_update_fetch_on(table, stage[2], key_bytes, value_bytes);
        }
        uint64_t room =
            nacrei_cpu_inserts(operation) ? nacrei_cpu_early_room(run, stage[2]->far_count) : 0;
        nacrei_cpu_update_near(run, &batch, source, stage[1], room, operation, key_bytes,
                               value_bytes);
        if (!run->dense) {
            nacrei_cpu_update_fetch(table, stage[1]);
        }
    }
    return end;
}

#endif
