/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cpu/table.h"

#include <string.h>

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + NACREI_CPU_PAGE_BYTES - 1) / NACREI_CPU_PAGE_BYTES * NACREI_CPU_PAGE_BYTES;
}

uint64_t nacrei_cpu_map_struct_bytes(void)
{
    return whole_pages(sizeof(nacrei_cpu_map));
}

static uint64_t segment_bytes(uint64_t first)
{
    return whole_pages(nacrei_segment_of(first).count * NACREI_CPU_SUBMAP_BYTES);
}

uint64_t nacrei_cpu_table_bytes(uint64_t submap_count)
{
    uint64_t bytes = nacrei_cpu_map_struct_bytes();
    for (uint64_t first = 0; first <= submap_count; first += nacrei_segment_of(first).count) {
        bytes += segment_bytes(first);
    }
    return bytes;
}

uint64_t nacrei_cpu_table_capacity(const nacrei_cpu_map *map)
{
    const nacre_map_config *config = &map->head.config;
    uint64_t slots = nacrei_cpu_submap_slots(config), count = map->table.submap_count;
    if (config->growth == NACRE_GROWTH_FIXED) {
        return map->reserved_keys;
    }
    uint64_t growing = nacrei_table_capacity(count, slots, config->load_max);
    uint64_t reserved = nacrei_table_capacity_reserved(count, slots, config->load_max);
    if (map->reserved_keys < reserved) {
        reserved = map->reserved_keys;
    }
    return growing > reserved ? growing : reserved;
}

/* The submaps that the allocated segments hold, the stash included. */
static uint64_t submaps_allocated(const nacrei_cpu_table *table)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < table->segment_count; i++) {
        first += nacrei_segment_of(first).count;
    }
    return first;
}

/* The map holds so many bytes more. */
static void hold(nacrei_cpu_map *map, uint64_t bytes)
{
    map->memory_bytes += bytes;
    if (map->memory_peak_bytes < map->memory_bytes) {
        map->memory_peak_bytes = map->memory_bytes;
    }
}

static int allocate_segment(nacrei_cpu_map *map)
{
    uint64_t first = submaps_allocated(&map->table), bytes = segment_bytes(first);
    uint64_t limit = map->head.config.memory_limit_bytes;
    if (map->table.segment_count == NACREI_SEGMENTS_MAX ||
        (limit != 0 && map->memory_bytes + bytes > limit)) {
        return 0;
    }
    void *memory = nacrei_cpu_pages_allocate(map->head.device, bytes);
    if (memory == NULL) {
        return 0;
    }
    uint64_t signatures = nacrei_segment_of(first).count * NACREI_CPU_SIGNATURE_BYTES;
    nacrei_cpu_segment *segment = &map->table.segments[map->table.segment_count++];
    segment->signatures = (uintptr_t)memory - (uintptr_t)(first * NACREI_CPU_SIGNATURE_BYTES);
    segment->buckets =
        (uintptr_t)memory + (uintptr_t)signatures - (uintptr_t)(first * NACREI_CPU_IMAGE_BYTES);
    hold(map, bytes);
    return 1;
}

static void release_last_segment(nacrei_cpu_map *map)
{
    nacrei_cpu_table *table = &map->table;
    table->segment_count--;
    uint64_t first = submaps_allocated(table), bytes = segment_bytes(first);
    void *memory = nacrei_cpu_submap_at(table, first).signatures;
    nacrei_cpu_pages_release(map->head.device, memory, bytes);
    map->memory_bytes -= bytes;
}

int nacrei_cpu_table_allocate(nacrei_cpu_map *map, uint64_t submap_count)
{
    uint32_t before = map->table.segment_count;
    while (submaps_allocated(&map->table) < submap_count + 1) {
        if (!allocate_segment(map)) {
            while (map->table.segment_count > before) {
                release_last_segment(map);
            }
            return 0;
        }
    }
    return 1;
}

void nacrei_cpu_table_trim(nacrei_cpu_map *map)
{
    const nacrei_segment_place last = nacrei_segment_of(map->table.submap_count);
    while (map->table.segment_count > last.segment + 1) {
        release_last_segment(map);
    }
}

void nacrei_cpu_table_release(nacrei_cpu_map *map)
{
    while (map->table.segment_count > 0) {
        release_last_segment(map);
    }
}

void *nacrei_cpu_table_borrow(nacrei_cpu_map *map, uint64_t keys, uint64_t bytes)
{
    const nacre_map_config *config = &map->head.config;
    uint64_t submaps =
        nacrei_table_submaps(map->size + keys, nacrei_cpu_submap_slots(config), config->load_max);
    submaps = submaps > map->table.submap_count ? submaps : map->table.submap_count;
    if (config->memory_limit_bytes != 0 &&
        nacrei_cpu_table_bytes(submaps) + bytes > config->memory_limit_bytes) {
        return NULL;
    }
    void *memory = NULL;
    if (nacrei_cpu_memory_allocate(map->head.device, bytes, NACRE_SPACE_HOST, &memory, NULL) ==
        NACRE_OK) {
        hold(map, bytes);
    }
    return memory;
}

void nacrei_cpu_table_return(nacrei_cpu_map *map, void *memory, uint64_t bytes)
{
    nacrei_cpu_memory_release(map->head.device, memory, bytes, NACRE_SPACE_HOST);
    map->memory_bytes -= bytes;
}

uint64_t nacrei_cpu_table_allocate_some(nacrei_cpu_map *map, uint64_t submap_count)
{
    while (submaps_allocated(&map->table) < submap_count + 1 && allocate_segment(map)) {
    }
    uint64_t allocated = submaps_allocated(&map->table) - 1;
    return allocated < submap_count ? allocated : submap_count;
}

void nacrei_cpu_table_set_count(nacrei_cpu_table *table, uint64_t submap_count)
{
    table->submap_count = submap_count;
    table->half = nacrei_floor_power(submap_count);
}

void nacrei_cpu_table_clear(nacrei_cpu_map *map)
{
    for (uint64_t number = 0; number <= map->table.submap_count; number++) {
        nacrei_cpu_submap submap = nacrei_cpu_submap_at(&map->table, number);
        memset(submap.buckets, 0, NACREI_CPU_IMAGE_BYTES);
        memset(submap.signatures, 0, NACREI_CPU_SIGNATURE_BYTES);
    }
    memset(map->side_present, 0, sizeof map->side_present);
    map->size = 0;
    map->stash_keys = 0;
    map->refused_keys = 0;
    map->erased_keys = 0;
}
