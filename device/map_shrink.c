/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shrinking: linear hashing backwards. The last submaps are merged into those that they were split
 * from, half of the table at a time at most, and only if the keys of each two fit into one; then
 * the memory beyond is given back. The table stays where it is, and so do captured batches.
 */
#include "device/call.h"
#include "device/map.h"

/* Merges submaps until there are `target`, or as far as their keys fit; waits. */
static nacre_status merge_to(nacrei_map_call *self, uint64_t target)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    while (map->submap_count > target) {
        const uint64_t half = nacrei_floor_power(map->submap_count - 1);
        const uint64_t first = target > half ? target : half;
        uint32_t fullest = 0;
        NACREI_CUDA(map->kernels->fullest_pair(&map->table, first, map->submap_count,
                                               &map->block->fullest, self->stream));
        NACREI_CUDA(cudaMemcpyAsync(&fullest, &map->block->fullest, sizeof fullest,
                                    cudaMemcpyDeviceToHost, self->stream));
        NACREI_CUDA(cudaStreamSynchronize(self->stream));
        if (fullest > map->submap_slots) {
            break;
        }
        NACREI_CUDA(map->kernels->merge(&map->table, first, map->submap_count, self->stream));
        map->submap_count = first;
    }
cleanup:
    return status;
}

/* In the order of the map, beside nothing. */
static nacre_status shrink(nacrei_map_call *self)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    const nacre_map_config *config = &map->head.config;
    const uint32_t fixed = config->growth == NACRE_GROWTH_FIXED;
    nacre_status status;
    uint64_t size = 0;
    NACREI_TRY(nacrei_map_size_read(self, &size)); /* behind all that conflicts */
    NACREI_TRY(nacrei_map_settle(self, 0));
    NACREI_TRY(merge_to(
        self, fixed ? nacrei_table_submaps_reserved(size, map->submap_slots, config->load_max)
                    : nacrei_table_submaps(size, map->submap_slots, config->load_max)));
    /* Keys that are there fit, though reserved room may have taken more than growth would have. */
    map->reserved_keys = size;
    map->capacity_keys = nacrei_map_capacity_of(map, map->submap_count);
    map->refused_unserved = 0;
    map->layout++;
    NACREI_CUDA(
        map->kernels->end_growth(&map->table, map->submap_count, map->capacity_keys, self->stream));
    NACREI_CUDA(cudaStreamSynchronize(self->stream));
    nacrei_region_shrink(device, &map->region, map->submap_count + 1);
    map->segments_told = map->region.segment_count;
    nacrei_map_count_memory(map);
cleanup:
    return status;
}

nacre_status nacrei_cuda_map_shrink(nacre_map *head, nacre_error *error, nacre_stream stream)
{
    nacrei_map_call self;
    nacre_status status = nacrei_map_call_begin(&self, head, "nacre_map_shrink", error, stream);
    if (status == NACRE_OK && self.capturing) {
        status = nacrei_cuda_fail_capturing(error, NACRE_ERROR_WOULD_WAIT, self.call);
    }
    if (status == NACRE_OK) {
        status = nacrei_map_order_begin(&self, NACREI_CLASS_EXCLUSIVE);
    }
    if (status == NACRE_OK) {
        status = shrink(&self);
        const nacre_status ended = nacrei_map_order_end(&self, NACREI_CLASS_EXCLUSIVE);
        status = status != NACRE_OK ? status : ended;
    }
    nacrei_map_call_end(&self);
    return status;
}
