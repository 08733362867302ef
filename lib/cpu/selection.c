/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on selected keys of a map. Keys come in the order of slots: the stash's, the submaps', then
 * the side slots. With threads, each takes a range of submaps twice: to count, which tells where in
 * the output the range begins, and to write.
 */
#include <string.h>

#include "lib/cpu/batch.h"
#include "lib/cpu/layout.h"
#include "lib/cpu/table.h"
#include "lib/selection.h"

/* Ranges of submaps; more than threads, so that none waits long for another. */
#define PARTS_MAX 64u

/* A call on its way. Slots are numbered as a cursor walks. */
typedef struct walk {
    nacrei_cpu_map *map;
    const nacrei_selection *selection;
    uint64_t first, last;               /* slots */
    uint64_t submap_first, submap_last; /* whose slots are in the range, wholly or in part */
    uint32_t parts;
    uint32_t writes;
    uint64_t found[PARTS_MAX];
    uint64_t start[PARTS_MAX];
} walk;

static nacre_status walk_begin(walk *walk, nacrei_cpu_map *map, const nacrei_selection *selection,
                               nacre_error *error)
{
    const uint64_t slots = nacrei_cpu_submap_slots(&map->head.config);
    const uint64_t all = nacrei_cpu_walk_slots(&map->head.config, map->table.submap_count);
    nacre_status status = nacrei_selection_check(selection, map->layout, error);
    if (status != NACRE_OK) {
        return status;
    }
    memset(walk, 0, sizeof *walk);
    walk->map = map;
    walk->selection = selection;
    nacrei_selection_range(selection, all, &walk->first, &walk->last);
    walk->submap_first = walk->first / slots;
    walk->submap_last = (walk->last + slots - 1) / slots;
    if (walk->submap_last > map->table.submap_count + 1) {
        walk->submap_last = map->table.submap_count + 1;
    }
    if (walk->submap_first > walk->submap_last) {
        walk->submap_first = walk->submap_last;
    }
    return NACRE_OK;
}

/* The slots of a submap that are in the range: *first .. *last - 1. */
static void slots_of(const walk *walk, uint64_t number, uint32_t *first, uint32_t *last)
{
    const uint64_t slots = nacrei_cpu_submap_slots(&walk->map->head.config);
    const uint64_t begin = number * slots, end = begin + slots;
    *first = walk->first > begin ? (uint32_t)(walk->first - begin) : 0;
    *last = walk->last < end ? (uint32_t)(walk->last - begin) : (uint32_t)slots;
}

/* Copies selected keys of submaps from .. to - 1 to place `at` of the output on; their number. */
static uint64_t copy_submaps(const walk *walk, uint64_t from, uint64_t to, uint64_t at,
                             uint32_t writes)
{
    const nacrei_cpu_map *map = walk->map;
    const nacrei_selection *selection = walk->selection;
    const uint32_t key_bytes = map->head.config.key_bytes;
    const uint32_t value_bytes = map->head.config.value_bytes;
    const uint64_t begin = at;
    for (uint64_t number = from; number < to; number++) {
        uint32_t first, last;
        slots_of(walk, number, &first, &last);
        const uint64_t room = at < selection->capacity ? selection->capacity - at : 0;
        char *keys = writes && room > 0 ? selection->keys_out : NULL;
        char *values = writes && room > 0 ? selection->values_out : NULL;
        at += map->kernels->copy_out(nacrei_cpu_submap_at(&map->table, number), selection, first,
                                     last, keys != NULL ? keys + at * key_bytes : NULL,
                                     values != NULL ? values + at * value_bytes : NULL, room);
    }
    return at - begin;
}

static void copy_part(void *context, uint32_t part)
{
    walk *walk = context;
    const uint64_t submaps = walk->submap_last - walk->submap_first;
    const uint64_t from = walk->submap_first + submaps * part / walk->parts;
    const uint64_t to = walk->submap_first + submaps * (part + 1) / walk->parts;
    walk->found[part] = copy_submaps(walk, from, to, walk->start[part], walk->writes);
}

/* Is the side key selected? */
static int side_selected(const walk *walk, uint32_t side)
{
    const nacrei_cpu_map *map = walk->map;
    const uint64_t slot =
        (map->table.submap_count + 1) * nacrei_cpu_submap_slots(&map->head.config) + side;
    const uint64_t field = walk->selection->field == NACRE_FIELD_VALUE
                               ? map->side_values[side]
                               : nacrei_key_store(side, map->head.config.key_bytes);
    return map->side_present[side] && slot >= walk->first && slot < walk->last &&
           nacrei_condition_holds(&walk->selection->condition, field);
}

static uint64_t copy_side_keys(const walk *walk, uint64_t at)
{
    const nacrei_cpu_map *map = walk->map;
    const nacrei_selection *selection = walk->selection;
    const uint32_t key_bytes = map->head.config.key_bytes;
    const uint32_t value_bytes = map->head.config.value_bytes;
    for (uint32_t side = 0; side < NACREI_SIDE_SLOTS_MAX; side++) {
        if (!side_selected(walk, side)) {
            continue;
        }
        if (at < selection->capacity && selection->keys_out != NULL) {
            nacrei_store((char *)selection->keys_out + at * key_bytes,
                         nacrei_key_store(side, key_bytes), key_bytes);
        }
        if (at < selection->capacity && selection->values_out != NULL) {
            nacrei_store((char *)selection->values_out + at * value_bytes, map->side_values[side],
                         value_bytes);
        }
        at++;
    }
    return at;
}

/* With the pool's threads: counts, then writes. */
static uint64_t copy_parted(walk *walk, nacrei_pool *pool)
{
    uint64_t sum = 0;
    const uint64_t submaps = walk->submap_last - walk->submap_first;
    walk->parts = submaps < PARTS_MAX ? (uint32_t)submaps : PARTS_MAX;
    nacrei_pool_run(pool, copy_part, walk, walk->parts);
    for (uint32_t part = 0; part < walk->parts; part++) {
        walk->start[part] = sum;
        sum += walk->found[part];
    }
    if (walk->selection->keys_out != NULL || walk->selection->values_out != NULL) {
        walk->writes = 1;
        nacrei_pool_run(pool, copy_part, walk, walk->parts);
    }
    return sum;
}

nacre_status nacrei_cpu_map_retrieve(nacre_map *base, const nacrei_selection *selection,
                                     nacre_error *error)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    nacrei_pool *pool = ((nacrei_cpu_device *)map->head.device)->pool;
    walk walk;
    nacrei_cpu_lock_to_read(&map->lock);
    nacre_status status = walk_begin(&walk, map, selection, error);
    if (status == NACRE_OK) {
        const uint64_t submaps = walk.submap_last - walk.submap_first;
        const int large =
            submaps * nacrei_cpu_submap_slots(&map->head.config) >= NACREI_CPU_LARGE_BATCH;
        uint64_t found;
        if (large && pool != NULL && nacrei_pool_take(pool) == NACREI_POOL_TAKEN) {
            found = copy_parted(&walk, pool);
            nacrei_pool_give(pool);
        } else {
            found = copy_submaps(&walk, walk.submap_first, walk.submap_last, 0, 1);
        }
        *selection->needed = copy_side_keys(&walk, found);
    }
    nacrei_cpu_unlock(&map->lock);
    return status;
}

nacre_status nacrei_cpu_map_erase_if(nacre_map *base, const nacrei_selection *selection,
                                     nacre_error *error)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    walk walk;
    uint64_t erased = 0;
    nacrei_cpu_lock_to_change(&map->lock);
    nacre_status status = walk_begin(&walk, map, selection, error);
    if (status == NACRE_OK) {
        for (uint64_t number = walk.submap_first; number < walk.submap_last; number++) {
            uint32_t first, last;
            slots_of(&walk, number, &first, &last);
            const uint64_t here = map->kernels->erase_selected(
                nacrei_cpu_submap_at(&map->table, number), selection, first, last);
            map->stash_keys -= number == 0 ? here : 0;
            erased += here;
        }
        for (uint32_t side = 0; side < NACREI_SIDE_SLOTS_MAX; side++) {
            if (side_selected(&walk, side)) {
                map->side_present[side] = 0;
                erased++;
            }
        }
        map->size -= erased;
        map->erased_keys += erased;
        if (selection->layout == 0) { /* else a cursor is on its way */
            nacrei_cpu_table_maintain(map);
        }
        nacrei_cpu_map_show(map, 0);
    }
    nacrei_cpu_unlock(&map->lock);
    if (status == NACRE_OK && selection->counts != NULL) {
        const nacre_counts counts = {.done = erased};
        *selection->counts = counts;
    }
    return status;
}
