/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cpu/map.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/cpu/kernels.h"
#include "lib/cpu/table.h"

/* No machine addresses more. */
#define BYTES_MAX ((uint64_t)1 << 56)

/* Submaps that take `keys` keys without growing. */
static uint64_t submaps_for(const nacre_map_config *config, uint64_t keys)
{
    return nacrei_table_submaps_reserved(keys, nacrei_cpu_submap_slots(config), config->load_max);
}

/* CAPACITY: `keys` keys take more bytes than can be, as far as it is known at once. */
static nacre_status check_bytes(const nacre_device *device, const nacre_map_config *config,
                                const char *call, const char *parameter, uint64_t keys,
                                uint64_t bytes, nacre_error *error)
{
    /* The system gives out more memory than there is and ends the program when it is used. */
    const uint64_t machine =
        device->allocator.allocate == NULL
            ? (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE)
            : UINT64_MAX;
    const uint64_t limit = config->memory_limit_bytes;
    const uint32_t limited = limit != 0 && limit < machine;
    const uint64_t most = limited ? limit : machine;
    if (bytes <= most) {
        return NACRE_OK;
    }
    return nacrei_fail_capacity(error, call, parameter, keys, most,
                                limited ? "memory_limit_bytes" : "the memory of this machine");
}

static nacre_status fail_refused(nacre_error *error, const char *call, const char *parameter,
                                 uint64_t keys)
{
    return nacrei_fail(error, NACRE_ERROR_OUT_OF_MEMORY, ENOMEM,
                       "%s: %s is %llu; memory for them was refused", call, parameter,
                       (unsigned long long)keys);
}

uint64_t nacrei_cpu_map_estimate(const nacre_device *device, const nacre_map_config *config,
                                 uint64_t keys)
{
    (void)device;
    const uint64_t slots = nacrei_cpu_submap_slots(config), submaps = submaps_for(config, keys);
    if (nacrei_table_capacity_reserved(submaps, slots, config->load_max) < keys ||
        submaps > BYTES_MAX / NACREI_CPU_SUBMAP_BYTES) {
        return UINT64_MAX;
    }
    return nacrei_cpu_table_bytes(submaps);
}

static void init_locks(nacrei_cpu_map *map)
{
    nacrei_cpu_lock_init(&map->lock);
    pthread_mutex_init(&map->stash_lock, NULL);
    pthread_mutex_init(&map->shown_lock, NULL);
}

static void destroy_locks(nacrei_cpu_map *map)
{
    pthread_mutex_destroy(&map->shown_lock);
    pthread_mutex_destroy(&map->stash_lock);
    nacrei_cpu_lock_destroy(&map->lock);
}

nacre_status nacrei_cpu_map_create(nacre_device *device, const nacre_map_config *config,
                                   nacre_map **result, nacre_error *error)
{
    static const char call[] = "nacre_map_create", parameter[] = "capacity_keys";
    uint64_t struct_bytes = nacrei_cpu_map_struct_bytes(), keys = config->capacity_keys;
    uint64_t submaps = submaps_for(config, keys);
    *result = NULL;
    nacre_status status =
        check_bytes(device, config, call, parameter, keys, nacrei_cpu_table_bytes(submaps), error);
    if (status != NACRE_OK) {
        return status;
    }
    nacrei_cpu_map *map = nacrei_cpu_pages_allocate(device, struct_bytes);
    if (map != NULL) {
        map->head.device = device;
        map->head.config = *config;
        map->kernels = nacrei_cpu_kernels_for(config->key_bytes, config->value_bytes);
        map->memory_bytes = struct_bytes;
        map->reserved_keys = keys;
        map->layout = 1;
        map->table.seed = config->seed;
        map->table.submap_count = submaps;
        map->table.half = nacrei_floor_power(submaps);
        if (nacrei_cpu_table_allocate(map, submaps)) {
            init_locks(map);
            nacrei_cpu_map_show(map, 0);
            *result = &map->head;
            return NACRE_OK;
        }
        nacrei_cpu_pages_release(device, map, struct_bytes);
    }
    return fail_refused(error, call, parameter, keys);
}

void nacrei_cpu_map_destroy(nacre_map *base)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    const nacre_device *device = map->head.device;
    nacrei_cpu_table_release(map);
    destroy_locks(map);
    nacrei_cpu_pages_release(device, map, nacrei_cpu_map_struct_bytes());
}

nacre_status nacrei_cpu_map_clear(nacre_map *base, nacre_error *error, nacre_stream stream)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    (void)error;
    (void)stream;
    nacrei_cpu_lock_to_change(&map->lock);
    nacrei_cpu_table_clear(map);
    nacrei_cpu_map_show(map, 0);
    nacrei_cpu_unlock(&map->lock);
    return NACRE_OK;
}

nacre_status nacrei_cpu_map_maintain(nacre_map *base, nacre_error *error, nacre_stream stream)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    (void)error;
    (void)stream;
    nacrei_cpu_lock_to_change(&map->lock);
    nacrei_cpu_table_maintain_all(map);
    nacrei_cpu_map_show(map, 0);
    nacrei_cpu_unlock(&map->lock);
    return NACRE_OK;
}

nacre_status nacrei_cpu_map_shrink(nacre_map *base, nacre_error *error, nacre_stream stream)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    (void)error;
    (void)stream;
    nacrei_cpu_lock_to_change(&map->lock);
    nacrei_cpu_table_shrink(map);
    nacrei_cpu_map_show(map, 0);
    nacrei_cpu_unlock(&map->lock);
    return NACRE_OK;
}

/* Room for `keys` keys, under the lock. */
static nacre_status reserve(nacrei_cpu_map *map, uint64_t keys, nacre_error *error)
{
    static const char call[] = "nacre_map_reserve", parameter[] = "keys";
    const nacre_map_config *config = &map->head.config;
    if (keys <= map->reserved_keys) {
        return NACRE_OK;
    }
    uint64_t submaps = submaps_for(config, keys);
    nacre_status status = check_bytes(map->head.device, config, call, parameter, keys,
                                      nacrei_cpu_table_bytes(submaps), error);
    if (status != NACRE_OK) {
        return status;
    }
    if (!nacrei_cpu_table_allocate(map, submaps)) {
        return fail_refused(error, call, parameter, keys);
    }
    if (submaps > map->table.submap_count) {
        nacrei_pool *pool = ((nacrei_cpu_device *)map->head.device)->pool;
        int taken = map->size >= NACREI_CPU_LARGE_BATCH && pool != NULL &&
                    nacrei_pool_take(pool) == NACREI_POOL_TAKEN;
        nacrei_cpu_table_grow(map, submaps, taken ? pool : NULL);
        if (taken) {
            nacrei_pool_give(pool);
        }
    }
    map->reserved_keys = keys;
    map->refused_keys = 0; /* as after growth for them */
    return NACRE_OK;
}

nacre_status nacrei_cpu_map_reserve(nacre_map *base, uint64_t keys, nacre_error *error,
                                    nacre_stream stream)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    (void)stream;
    nacrei_cpu_lock_to_change(&map->lock);
    nacre_status status = reserve(map, keys, error);
    nacrei_cpu_map_show(map, 0);
    nacrei_cpu_unlock(&map->lock);
    return status;
}

void nacrei_cpu_map_show(nacrei_cpu_map *map, uint32_t faults)
{
    pthread_mutex_lock(&map->shown_lock);
    map->shown.size = map->size;
    map->shown.submap_count = map->table.submap_count;
    map->shown.capacity_keys = nacrei_cpu_table_capacity(map);
    map->shown.memory_bytes = map->memory_bytes;
    map->shown.memory_peak_bytes = map->memory_peak_bytes;
    map->shown.growths = map->growths;
    map->shown.layout = map->layout;
    map->shown.faults |= faults;
    pthread_mutex_unlock(&map->shown_lock);
}

void nacrei_cpu_map_info(nacre_map *base, nacre_map_info *info)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    pthread_mutex_lock(&map->shown_lock);
    nacrei_cpu_shown shown = map->shown;
    pthread_mutex_unlock(&map->shown_lock);
    info->capacity_keys = shown.capacity_keys;
    info->capacity_slots = shown.submap_count * nacrei_cpu_submap_slots(&map->head.config);
    info->submaps = shown.submap_count;
    info->memory_bytes = shown.memory_bytes;
    info->memory_peak_bytes = shown.memory_peak_bytes;
    info->size_last_known = shown.size;
    info->load = (double)shown.size / (double)info->capacity_slots;
    info->growths = shown.growths;
    info->layout = shown.layout;
    info->walk_slots = nacrei_cpu_walk_slots(&map->head.config, shown.submap_count);
    info->faults = shown.faults;
    info->reserved = 0;
}

nacre_status nacrei_cpu_map_size(nacre_map *base, uint64_t *size, nacre_error *error,
                                 nacre_stream stream)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    (void)error;
    (void)stream;
    nacrei_cpu_lock_to_read(&map->lock);
    *size = map->size;
    nacrei_cpu_unlock(&map->lock);
    return NACRE_OK;
}

uint32_t nacrei_cpu_map_faults(nacre_map *base, uint32_t clear)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    pthread_mutex_lock(&map->shown_lock);
    uint32_t faults = map->shown.faults;
    if (clear) {
        map->shown.faults = 0;
    }
    pthread_mutex_unlock(&map->shown_lock);
    return faults;
}
