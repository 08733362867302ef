/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table: memory (table.c), growth (grow.c), shrinking (shrink.c). All: under the map's lock for
 * writing.
 */
#ifndef NACRE_LIB_CPU_TABLE_H
#define NACRE_LIB_CPU_TABLE_H

#include "lib/cpu/map.h"

/* Bytes of a map with so many submaps, the stash and the map itself included. */
uint64_t nacrei_cpu_table_bytes(uint64_t submap_count);

/* Bytes of the map's own struct, in whole pages. */
uint64_t nacrei_cpu_map_struct_bytes(void);

/* Keys that the map takes without growing. */
uint64_t nacrei_cpu_table_capacity(const nacrei_cpu_map *map);

/*
 * Memory for `submap_count` submaps in all, zero where it is new. All or nothing. 0: refused, by
 * the allocator or by memory_limit_bytes.
 */
int nacrei_cpu_table_allocate(nacrei_cpu_map *map, uint64_t submap_count);

/* The same as far as it goes: returns the submaps for which there is memory, `submap_count` or
 * fewer. */
uint64_t nacrei_cpu_table_allocate_some(nacrei_cpu_map *map, uint64_t submap_count);

/* Releases the segments beyond the last submap; then what is left of the memory, too. */
void nacrei_cpu_table_trim(nacrei_cpu_map *map);
void nacrei_cpu_table_release(nacrei_cpu_map *map);

/*
 * Memory for the length of a call that may insert `keys` new keys, from the device's allocator and
 * counted with the map's. NULL: refused, or memory_limit_bytes has no room for it and the keys.
 */
void *nacrei_cpu_table_borrow(nacrei_cpu_map *map, uint64_t keys, uint64_t bytes);
void nacrei_cpu_table_return(nacrei_cpu_map *map, void *memory, uint64_t bytes);

void nacrei_cpu_table_set_count(nacrei_cpu_table *table, uint64_t submap_count);

/* Makes the table empty. */
void nacrei_cpu_table_clear(nacrei_cpu_map *map);

/*
 * Splits submaps until there are `submap_count`, or as many as there is memory for. `pool`: taken
 * by the caller, or NULL. 0: there was no memory for a single one.
 */
int nacrei_cpu_table_grow(nacrei_cpu_map *map, uint64_t submap_count, nacrei_pool *pool);

/* Rebuilds submaps in turn, as many as the keys erased since the last one call for. */
void nacrei_cpu_table_maintain(nacrei_cpu_map *map);

/* Rebuilds every submap. */
void nacrei_cpu_table_maintain_all(nacrei_cpu_map *map);

/*
 * Merges submaps until there are as few as a new map that took the keys would have, or the next two
 * do not fit into one, and gives up reserved room.
 */
void nacrei_cpu_table_shrink(nacrei_cpu_map *map);

#endif
