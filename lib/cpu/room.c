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
    uint64_t more = map->table.half / GROWTH_SHARE;
    uint64_t wanted = map->table.submap_count + (more > 0 ? more : 1);
    if (!nacrei_cpu_table_grow(map, wanted, job->pool)) {
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
    job->memory_refused = !nacrei_cpu_table_grow(map, target, job->pool);
}
