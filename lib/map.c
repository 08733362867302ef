/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a map and what it tells about itself; batch calls are in map_batch.c. */
#include <inttypes.h>

#include "lib/check.h"
#include "lib/device.h"
#include "lib/map_config.h"
#include "lib/structs.h"

void nacre_map_info_init(nacre_map_info *info, uint32_t struct_size)
{
    static const nacre_map_info empty;
    nacrei_struct_init(info, struct_size, &empty, sizeof empty);
}

void nacre_map_statistics_init(nacre_map_statistics *statistics, uint32_t struct_size)
{
    static const nacre_map_statistics empty;
    nacrei_struct_init(statistics, struct_size, &empty, sizeof empty);
}

/* Bytes of a map with room for `keys`; CAPACITY where no machine has so many. */
static nacre_status estimate(const nacrei_call *call, const nacre_map_config *config,
                             const char *parameter, uint64_t keys, uint64_t *bytes)
{
    NACREI_TRY(nacrei_check_keys(call, parameter, keys));
    *bytes = call->device->backend->map_estimate(call->device, config, keys);
    if (*bytes == UINT64_MAX) {
        return nacrei_fail(call->error, NACRE_ERROR_CAPACITY, 0,
                           "%s: %s is %" PRIu64 "; allowed: as many as some memory can hold",
                           call->name, parameter, keys);
    }
    return NACRE_OK;
}

nacre_status nacre_map_estimate(const nacre_device *device, const nacre_map_config *config,
                                uint64_t keys, uint64_t *bytes)
{
    NACREI_CALL(call, "nacre_map_estimate", NULL);
    nacre_map_config complete;
    NACREI_TRY(nacrei_map_config_read(&call, config, &complete));
    NACREI_TRY(nacrei_check_device(&call, device));
    NACREI_TRY(nacrei_check_host(&call, "bytes", bytes, 8));
    NACREI_TRY(nacrei_map_config_check(&call, &complete));
    /* A map never has less room than it is created with. */
    uint64_t result;
    if (keys >= complete.capacity_keys) {
        NACREI_TRY(estimate(&call, &complete, "keys", keys, &result));
    } else {
        NACREI_TRY(estimate(&call, &complete, "capacity_keys", complete.capacity_keys, &result));
    }
    *bytes = result;
    return NACRE_OK;
}

nacre_status nacre_map_create(nacre_device *device, const nacre_map_config *config, nacre_map **map)
{
    NACREI_CALL(call, "nacre_map_create", NULL);
    nacrei_clear_output(map, sizeof *map);
    nacre_map_config complete;
    NACREI_TRY(nacrei_map_config_read(&call, config, &complete));
    NACREI_TRY(nacrei_check_device(&call, device));
    NACREI_TRY(nacrei_check_host(&call, "map", map, sizeof *map));
    NACREI_TRY(nacrei_map_config_check(&call, &complete));
    uint64_t bytes;
    NACREI_TRY(estimate(&call, &complete, "capacity_keys", complete.capacity_keys, &bytes));
    if (complete.memory_limit_bytes != 0 && bytes > complete.memory_limit_bytes) {
        return nacrei_fail(call.error, NACRE_ERROR_CAPACITY, 0,
                           "%s: memory_limit_bytes is %" PRIu64
                           "; allowed: 0 (no limit), or %" PRIu64
                           " and more for capacity_keys %" PRIu64,
                           call.name, complete.memory_limit_bytes, bytes, complete.capacity_keys);
    }

    nacre_map *created = NULL;
    nacrei_device_retain(device);
    nacre_status status = device->backend->map_create(device, &complete, &created, call.error);
    if (status != NACRE_OK) {
        nacrei_device_release(device);
        return status;
    }
    *map = created;
    return NACRE_OK;
}

void nacre_map_destroy(nacre_map *map)
{
    if (map == NULL) {
        return;
    }
    nacre_device *device = map->device;
    device->backend->map_destroy(map);
    nacrei_device_release(device);
}

nacre_status nacre_map_clear(nacre_map *map, nacre_error *error, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_clear", error);
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    return call.device->backend->map_clear(call.map, error, stream);
}

nacre_status nacre_map_maintain(nacre_map *map, nacre_error *error, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_maintain", error);
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    return call.device->backend->map_maintain(call.map, error, stream);
}

nacre_status nacre_map_shrink(nacre_map *map, nacre_error *error, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_shrink", error);
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    return call.device->backend->map_shrink(call.map, error, stream);
}

nacre_status nacre_map_reserve(nacre_map *map, uint64_t keys, nacre_error *error,
                               nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_reserve", error);
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    /* The limit is the backend's to check: only it knows what the map holds already. */
    uint64_t bytes;
    NACREI_TRY(estimate(&call, &map->config, "keys", keys, &bytes));
    return call.device->backend->map_reserve(call.map, keys, error, stream);
}

nacre_status nacre_map_info_get(const nacre_map *map, nacre_map_info *info, nacre_error *error)
{
    NACREI_CALL(call, "nacre_map_info_get", error);
    nacre_map_info filled = {0};
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_host(&call, "info", info, 8));
    NACREI_TRY(nacrei_struct_read(&call, "nacre_map_info", info, &filled, sizeof filled, NULL));
    filled.key_bytes = call.map->config.key_bytes;
    filled.value_bytes = call.map->config.value_bytes;
    filled.growth = call.map->config.growth;
    call.device->backend->map_info(call.map, &filled);
    nacrei_struct_write(info, &filled, sizeof filled);
    return NACRE_OK;
}

nacre_status nacre_map_size(const nacre_map *map, uint64_t *size, nacre_error *error,
                            nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_size", error);
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_host(&call, "size", size, 8));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    return call.device->backend->map_size(call.map, size, error, stream);
}

nacre_status nacre_map_size_async(const nacre_map *map, uint64_t *size_device, nacre_error *error,
                                  nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_size_async", error);
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_array(&call, "size_device", size_device, 8));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    return call.device->backend->map_size_async(call.map, size_device, error, stream);
}

nacre_status nacre_map_faults(nacre_map *map, uint32_t *bits, uint32_t clear, nacre_error *error)
{
    NACREI_CALL(call, "nacre_map_faults", error);
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_host(&call, "bits", bits, 4));
    *bits = call.device->backend->map_faults(call.map, clear != 0);
    return NACRE_OK;
}

nacre_status nacre_map_statistics_get(const nacre_map *map, nacre_map_statistics *statistics,
                                      nacre_error *error, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_statistics_get", error);
    nacre_map_statistics filled = {0};
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_host(&call, "statistics", statistics, 8));
    NACREI_TRY(nacrei_struct_read(&call, "nacre_map_statistics", statistics, &filled, sizeof filled,
                                  NULL));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    NACREI_TRY(call.device->backend->map_statistics(call.map, &filled, error, stream));
    nacrei_struct_write(statistics, &filled, sizeof filled);
    return NACRE_OK;
}

nacre_status nacre_map_check(const nacre_map *map, nacre_error *error, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_check", error);
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    return call.device->backend->map_check(call.map, error, stream);
}
