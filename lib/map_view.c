/* SPDX-License-Identifier: Apache-2.0 */
/* Views of a map for the program's own kernels. */
#include <inttypes.h>
#include <string.h>

#include "lib/check.h"

static nacre_status check_view(const nacrei_call *call, const void *view, uint64_t view_bytes)
{
    NACREI_TRY(nacrei_check_host(call, "view", view, 8));
    if (view_bytes != sizeof(nacrei_view)) {
        return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0,
                           "%s: view_bytes is %" PRIu64
                           "; allowed: %zu, as in the headers of this version",
                           call->name, view_bytes, sizeof(nacrei_view));
    }
    return NACRE_OK;
}

/* Kernels are compiled for one pair of widths. */
static nacre_status check_width(const nacrei_call *call, const char *parameter, uint32_t bytes,
                                uint32_t of_map)
{
    if (bytes != of_map) {
        return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0,
                           "%s: %s is %" PRIu32 "; allowed: %" PRIu32 ", as in the map", call->name,
                           parameter, bytes, of_map);
    }
    return NACRE_OK;
}

static nacre_status unsupported(const nacrei_call *call)
{
    return nacrei_fail(
        call->error, NACRE_ERROR_UNSUPPORTED, 0,
        "%s: the map's device is the CPU; allowed: CUDA, whose kernels views are for", call->name);
}

nacre_status nacre_map_view_begin(nacre_map *map, uint32_t access, uint64_t new_keys,
                                  uint32_t key_bytes, uint32_t value_bytes, void *view,
                                  uint64_t view_bytes, nacre_error *error, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_view_begin", error);
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_range(&call, "access", access, NACRE_ACCESS_ERASE,
                                  "0 (read), 1 (insert), 2 (erase)"));
    if (access != NACRE_ACCESS_INSERT && new_keys != 0) {
        return nacrei_bad_number(&call, "new_keys", new_keys,
                                 "0, because access is not 1 (insert)");
    }
    NACREI_TRY(nacrei_check_keys(&call, "new_keys", new_keys));
    NACREI_TRY(check_width(&call, "key_bytes", key_bytes, map->config.key_bytes));
    NACREI_TRY(check_width(&call, "value_bytes", value_bytes, map->config.value_bytes));
    NACREI_TRY(check_view(&call, view, view_bytes));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    if (call.device->backend->map_view_begin == NULL) {
        return unsupported(&call);
    }
    nacrei_view begun;
    NACREI_TRY(
        call.device->backend->map_view_begin(call.map, access, new_keys, &begun, error, stream));
    memcpy(view, &begun, sizeof begun);
    return NACRE_OK;
}

nacre_status nacre_map_view_end(nacre_map *map, void *view, uint64_t view_bytes, nacre_error *error,
                                nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_view_end", error);
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(check_view(&call, view, view_bytes));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    if (call.device->backend->map_view_end == NULL) {
        return unsupported(&call);
    }
    return call.device->backend->map_view_end(call.map, (nacrei_view *)view, error, stream);
}
