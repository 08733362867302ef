/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/check.h"

#include <inttypes.h>
#include <stdio.h>

nacre_status nacrei_bad_number(const nacrei_call *call, const char *parameter, uint64_t value,
                               const char *allowed)
{
    return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0, "%s: %s is %" PRIu64 "; allowed: %s",
                       call->name, parameter, value, allowed);
}

nacre_status nacrei_bad_pointer(const nacrei_call *call, const char *parameter, const void *value,
                                const char *allowed)
{
    if (value == NULL) {
        return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0, "%s: %s is NULL; allowed: %s",
                           call->name, parameter, allowed);
    }
    return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0,
                       "%s: %s is 0x%" PRIxPTR "; allowed: %s", call->name, parameter,
                       (uintptr_t)value, allowed);
}

nacre_status nacrei_check_range(const nacrei_call *call, const char *parameter, uint64_t value,
                                uint64_t last, const char *allowed)
{
    return value <= last ? NACRE_OK : nacrei_bad_number(call, parameter, value, allowed);
}

nacre_status nacrei_check_reserved(const nacrei_call *call, const char *parameter, uint64_t value)
{
    return nacrei_check_range(call, parameter, value, 0, "0, because the field is reserved");
}

nacre_status nacrei_check_count(const nacrei_call *call, const char *parameter, uint64_t count)
{
    return nacrei_check_range(call, parameter, count, NACREI_COUNT_MAX, "up to 2^60");
}

nacre_status nacrei_check_keys(const nacrei_call *call, const char *parameter, uint64_t keys)
{
    if (keys <= (uint64_t)1 << 63) {
        return NACRE_OK;
    }
    return nacrei_fail(call->error, NACRE_ERROR_CAPACITY, 0,
                       "%s: %s is %" PRIu64 "; allowed: up to 2^63, and as many as memory can hold",
                       call->name, parameter, keys);
}

static nacre_status check_alignment(const nacrei_call *call, const char *parameter,
                                    const void *pointer, uint32_t alignment)
{
    if ((uintptr_t)pointer % alignment == 0) {
        return NACRE_OK;
    }
    char allowed[32];
    snprintf(allowed, sizeof allowed, "a multiple of %u", (unsigned)alignment);
    return nacrei_bad_pointer(call, parameter, pointer, allowed);
}

nacre_status nacrei_check_host(const nacrei_call *call, const char *parameter, const void *pointer,
                               uint32_t alignment)
{
    if (pointer == NULL) {
        return nacrei_bad_pointer(call, parameter, NULL, "not NULL");
    }
    return check_alignment(call, parameter, pointer, alignment);
}

nacre_status nacrei_check_memory(const nacrei_call *call, const char *parameter,
                                 const void *pointer, uint32_t alignment)
{
    NACREI_TRY(check_alignment(call, parameter, pointer, alignment));
    if (pointer == NULL || call->device->checks == 0) {
        return NACRE_OK;
    }
    const char *reason = call->device->backend->memory_unreachable(call->device, pointer);
    if (reason == NULL) {
        return NACRE_OK;
    }
    return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0,
                       "%s: %s is 0x%" PRIxPTR " (%s); allowed: memory that the device reaches",
                       call->name, parameter, (uintptr_t)pointer, reason);
}

nacre_status nacrei_check_array(const nacrei_call *call, const char *parameter, const void *pointer,
                                uint32_t alignment)
{
    if (pointer == NULL) {
        return nacrei_bad_pointer(call, parameter, NULL, "not NULL");
    }
    return nacrei_check_memory(call, parameter, pointer, alignment);
}

nacre_status nacrei_check_stream(const nacrei_call *call, nacre_stream stream)
{
    if (stream != NULL && call->device->backend->kind == NACRE_BACKEND_CPU) {
        return nacrei_bad_pointer(call, "stream", stream, "NULL, because the device is the CPU");
    }
    return NACRE_OK;
}

nacre_status nacrei_check_device(nacrei_call *call, const nacre_device *device)
{
    NACREI_TRY(nacrei_check_host(call, "device", device, 1));
    /* A const device does not change for its user; the backend's locks and lists do. */
    call->device = (nacre_device *)device;
    return NACRE_OK;
}

nacre_status nacrei_check_map(nacrei_call *call, const nacre_map *map)
{
    NACREI_TRY(nacrei_check_host(call, "map", map, 1));
    call->device = map->device;
    /* Nor does a const map: but who reads one takes locks and counts what has finished. */
    call->map = (nacre_map *)map;
    return NACRE_OK;
}
