/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's entry in the seam. */
#include "lib/backend.h"

#include "lib/cpu/compact.h"
#include "lib/cpu/device.h"
#include "lib/cpu/kernels.h"
#include "lib/cpu/map.h"

static uint32_t supports(uint32_t key_bytes, uint32_t value_bytes)
{
    return nacrei_cpu_kernels_for(key_bytes, value_bytes) != NULL;
}

const nacrei_backend nacrei_cpu_backend = {
    .kind = NACRE_BACKEND_CPU,
    .name = "cpu",
    .supports = supports,
    .device_open = nacrei_cpu_device_open,
    .device_free = nacrei_cpu_device_free,
    .stream_create = nacrei_cpu_stream_create,
    .stream_destroy = nacrei_cpu_stream_destroy,
    .stream_wait = nacrei_cpu_stream_wait,
    .memory_allocate = nacrei_cpu_memory_allocate,
    .memory_release = nacrei_cpu_memory_release,
    .memory_copy = nacrei_cpu_memory_copy,
    .memory_fill = nacrei_cpu_memory_fill,
    .memory_unreachable = nacrei_cpu_memory_unreachable,
    .map_estimate = nacrei_cpu_map_estimate,
    .map_create = nacrei_cpu_map_create,
    .map_destroy = nacrei_cpu_map_destroy,
    .map_clear = nacrei_cpu_map_clear,
    .map_reserve = nacrei_cpu_map_reserve,
    .map_maintain = nacrei_cpu_map_maintain,
    .map_shrink = nacrei_cpu_map_shrink,
    .map_info = nacrei_cpu_map_info,
    .map_size = nacrei_cpu_map_size,
    .map_size_async = nacrei_cpu_map_size, /* nothing is ever unfinished */
    .map_faults = nacrei_cpu_map_faults,
    .map_statistics = nacrei_cpu_map_statistics,
    .map_check = nacrei_cpu_map_check,
    .map_batch = nacrei_cpu_map_batch,
    .map_match = nacrei_cpu_map_match,
    .map_retrieve = nacrei_cpu_map_retrieve,
    .map_erase_if = nacrei_cpu_map_erase_if,
    .compact = nacrei_cpu_compact,
    .compact_workspace = nacrei_cpu_compact_workspace,
};
