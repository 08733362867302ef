/* SPDX-License-Identifier: Apache-2.0 */
/* When a batch makes the table grow, and by how much. */
#include "lib/cpu/batch.h"
#include "lib/cpu/table.h"

/* More room does not help keys that find no place at a load below this: they are made to collide.
 */
#define GROWTH_LOAD_MIN 0.25

/* The table grows by one part in so many: few enough pauses, and little ahead of need. */
#define GROWTH_SHARE 32u

uint64_t nacrei_cpu_room(const nacrei_cpu_map *map)
{
    uint64_t capacity = nacrei_cpu_table_capacity(map);
    return capacity > map->size ? capacity - map->size : 0;
}

/*
 * Where memory is refused the submaps that there are take as many keys as if those had been
 * reserved. Returns 0 where they do already.
 */
static int fill_up(nacrei_cpu_map *map)
{
    const nacre_map_config *config = &map->head.config;
    const uint64_t most = nacrei_table_capacity_reserved(
        map->table.submap_count, nacrei_cpu_submap_slots(config), config->load_max);
    if (most <= map->reserved_keys) {
        return 0;
    }
    map->reserved_keys = most;
    return 1;
}

/* By so many submaps, or as many as there is memory for; 0: none. */
static int grow_by(nacrei_cpu_job *job, uint64_t more)
{
    while (more != 0 &&
           !nacrei_cpu_table_grow(job->map, job->map->table.submap_count + more, job->pool)) {
        more /= 2;
    }
    return more != 0;
}

/* Would more submaps help keys that find no place? */
static int too_sparse(const nacrei_cpu_map *map)
{
    uint64_t slots = map->table.submap_count * nacrei_cpu_submap_slots(&map->head.config);
    return (double)map->size < GROWTH_LOAD_MIN * (double)slots;
}

void nacrei_cpu_make_room(nacrei_cpu_job *job, uint32_t for_place)
{
    nacrei_cpu_map *map = job->map;
    if (for_place && (map->head.config.growth != NACRE_GROWTH_WAIT || too_sparse(map))) {
        job->refuse_place = 1;
        return;
    }
    if (map->head.config.growth != NACRE_GROWTH_WAIT) {
        job->refuse_room = 1;
        return;
    }
    const uint64_t share = map->table.half / GROWTH_SHARE;
    if (!grow_by(job, share > 0 ? share : 1) && (for_place || !fill_up(map))) {
        job->refuse_room = job->refuse_place = job->memory_refused = 1;
    }
}

void nacrei_cpu_grow_deferred(nacrei_cpu_job *job)
{
    nacrei_cpu_map *map = job->map;
    const nacre_map_config *config = &map->head.config;
    uint64_t count = map->table.submap_count, least = count + (count + 7) / 8;
    uint64_t target = nacrei_table_submaps(map->size + map->refused_keys,
                                           nacrei_cpu_submap_slots(config), config->load_max);
    target = target < least ? least : target;
    /* Refused elements may be one key many times: growth follows keys, so no more than the double.
     */
    target = target > 2 * count ? 2 * count : target;
    map->refused_keys = 0;
    if (too_sparse(map) && nacrei_cpu_room(map) != 0) {
        return; /* they found no place, and would find none */
    }
    job->memory_refused = !grow_by(job, target - count) && !fill_up(map);
}
