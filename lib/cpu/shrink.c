/* SPDX-License-Identifier: Apache-2.0 */
/* Merging submaps: the last one into that of which it was split off, and so on. */
#include <string.h>

#include "lib/cpu/layout.h"
#include "lib/cpu/table.h"

/* Does this slot hold a key? */
static int is_taken(const nacrei_cpu_map *map, const unsigned char *slot)
{
    const nacre_map_config *config = &map->head.config;
    return nacrei_slot_key(slot, config->key_bytes, config->value_bytes) >=
           nacrei_empty_patterns(config->value_bytes);
}

static uint32_t count_keys(const nacrei_cpu_map *map, nacrei_cpu_submap submap, uint32_t slot_bytes)
{
    uint32_t keys = 0;
    for (uint32_t at = 0; at < NACREI_CPU_IMAGE_BYTES; at += slot_bytes) {
        keys += (uint32_t)is_taken(map, submap.buckets + at);
    }
    return keys;
}

/* Moves the keys of a submap into empty slots of another, any of them, and leaves it as new. */
static void pour(const nacrei_cpu_map *map, nacrei_cpu_submap from, nacrei_cpu_submap to,
                 uint32_t slot_bytes)
{
    unsigned char *hole = to.buckets;
    for (uint32_t at = 0; at < NACREI_CPU_IMAGE_BYTES; at += slot_bytes) {
        if (is_taken(map, from.buckets + at)) {
            while (is_taken(map, hole)) {
                hole += slot_bytes;
            }
            memcpy(hole, from.buckets + at, slot_bytes);
        }
    }
    memset(from.buckets, 0, NACREI_CPU_IMAGE_BYTES);
    memset(from.signatures, 0, NACREI_CPU_SIGNATURE_BYTES);
}

/*
 * Undoes the last split, but for the places of keys: the submap has to be rebuilt. 0: the keys of
 * the two do not fit into one.
 */
static int merge_last(nacrei_cpu_map *map)
{
    const nacre_map_config *config = &map->head.config;
    const uint32_t slot_bytes = nacrei_slot_bytes(config->key_bytes, config->value_bytes);
    const uint64_t last = map->table.submap_count;
    nacrei_cpu_submap from = nacrei_cpu_submap_at(&map->table, last);
    nacrei_cpu_submap to = nacrei_cpu_submap_at(&map->table, last - nacrei_floor_power(last - 1));
    if (count_keys(map, from, slot_bytes) + count_keys(map, to, slot_bytes) >
        nacrei_cpu_submap_slots(config)) {
        return 0;
    }
    pour(map, from, to, slot_bytes);
    nacrei_cpu_table_set_count(&map->table, last - 1);
    return 1;
}

/* The submaps of a new map that took the keys. */
static uint64_t least_submaps(const nacrei_cpu_map *map)
{
    const nacre_map_config *config = &map->head.config;
    const uint64_t slots = nacrei_cpu_submap_slots(config);
    return config->growth == NACRE_GROWTH_FIXED
               ? nacrei_table_submaps_reserved(map->size, slots, config->load_max)
               : nacrei_table_submaps(map->size, slots, config->load_max);
}

void nacrei_cpu_table_shrink(nacrei_cpu_map *map)
{
    const uint64_t before = map->table.submap_count, least = least_submaps(map);
    while (map->table.submap_count > least && merge_last(map)) {
    }
    if (map->table.submap_count < before) {
        nacrei_cpu_table_maintain_all(map);
    }
    nacrei_cpu_table_trim(map);
    /* Keys that are there fit, though reserved room may have taken more than growth would have. */
    map->reserved_keys = map->size;
    map->refused_keys = 0; /* those that are given again are counted again */
}
