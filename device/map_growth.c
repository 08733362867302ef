/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth: memory is mapped by the host, at once; the splitting of submaps is enqueued on the stream
 * of the batch that needs the room, ordered against every other batch. Nothing here waits.
 */
#include <string.h>

#include "device/call.h"
#include "device/map.h"

uint64_t nacrei_map_capacity_of(const nacrei_cuda_map *map, uint64_t submaps)
{
    const double load_max = map->head.config.load_max;
    if (map->head.config.growth == NACRE_GROWTH_FIXED) {
        return map->reserved_keys;
    }
    const uint64_t growing = nacrei_table_capacity(submaps, map->submap_slots, load_max);
    const uint64_t most = nacrei_table_capacity_reserved(submaps, map->submap_slots, load_max);
    const uint64_t reserved = map->reserved_keys < most ? map->reserved_keys : most;
    return growing > reserved ? growing : reserved;
}

/* Of the table's memory; what is on loan counts within the limit. */
static uint64_t bytes_max(const nacrei_cuda_map *map)
{
    const uint64_t fixed = map->memory_bytes - map->region.bytes + nacrei_map_scratch_bytes(map);
    const uint64_t limit = map->head.config.memory_limit_bytes;
    return limit == 0 ? UINT64_MAX : limit > fixed ? limit - fixed : 0;
}

/* Submaps that one piece of growth adds, at least: 64 MiB of them. */
#define PIECE_SUBMAPS 1024

/* Memory for a piece of growth, and its splitting. *refused: no memory; nothing has changed. */
static nacre_status grow_piece(nacrei_map_call *self, uint64_t submaps, uint32_t *refused)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    cudaError_t result = nacrei_region_ensure(device, &map->region, submaps + 1, bytes_max(map));
    *refused = result == cudaErrorMemoryAllocation;
    if (*refused) {
        return NACRE_OK;
    }
    NACREI_CUDA(result);
    nacrei_map_count_memory(map);
    if (map->region.segment_count != map->segments_told) {
        /* From pageable memory: the call returns when it has been read. */
        NACREI_CUDA(cudaMemcpyAsync(map->table.control->segments, map->region.segments,
                                    sizeof map->region.segments, cudaMemcpyHostToDevice,
                                    self->stream));
        map->segments_told = map->region.segment_count;
    }
    while (map->submap_count < submaps) {
        const uint64_t doubled = 2 * nacrei_floor_power(map->submap_count);
        const uint64_t next = nacrei_least(submaps, doubled);
        NACREI_CUDA(map->kernels->split(&map->table, map->submap_count, next, self->stream));
        map->submap_count = next; /* at once: a later launch may fail */
    }
cleanup:
    return status;
}

/*
 * After the splits. `whole`: none failed. Where one did, the others have been done all the same,
 * and the device is told of them, or captured calls would look for keys in the wrong submaps.
 */
static nacre_status end_growth(nacrei_map_call *self, uint64_t submaps_before, uint32_t whole)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    if (whole) {
        map->capacity_keys = nacrei_map_capacity_of(map, map->submap_count);
        map->refused_unserved = 0;
    }
    map->growths += map->submap_count != submaps_before;
    map->layout += map->submap_count != submaps_before;
    NACREI_CUDA(
        map->kernels->end_growth(&map->table, map->submap_count, map->capacity_keys, self->stream));
    NACREI_TRY(nacrei_map_order_end(self, NACREI_CLASS_EXCLUSIVE));
cleanup:
    return status;
}

/*
 * Where memory is refused the submaps that there are take as many keys as if those had been
 * reserved. Returns 0 where they do already.
 */
static int fill_up(nacrei_cuda_map *map)
{
    const uint64_t most = nacrei_table_capacity_reserved(map->submap_count, map->submap_slots,
                                                         map->head.config.load_max);
    if (most <= map->reserved_keys) {
        return 0;
    }
    map->reserved_keys = most;
    return 1;
}

/*
 * Memory for so many submaps, and their splitting, on the stream. Piece by piece, what has memory
 * already first: while the device splits one, memory for the next is mapped. Where there is no
 * memory for all of it there may be for a part. *refused: for none; nothing has changed.
 */
static nacre_status grow_to(nacrei_map_call *self, uint64_t submaps, uint32_t *refused)
{
    nacrei_cuda_map *map = self->map;
    const uint64_t before = map->submap_count;
    uint64_t piece = before / 8 > PIECE_SUBMAPS ? before / 8 : PIECE_SUBMAPS;
    uint32_t none = 0;
    *refused = 0;
    nacre_status status = nacrei_map_order_begin(self, NACREI_CLASS_EXCLUSIVE);
    if (status != NACRE_OK) {
        return status;
    }
    while (status == NACRE_OK && map->submap_count < submaps && piece != 0) {
        const uint64_t backed = map->region.bytes / map->region.submap_bytes - 1;
        const uint64_t left = submaps - map->submap_count;
        const uint64_t now =
            nacrei_least(left, map->submap_count < backed ? backed - map->submap_count : piece);
        status = grow_piece(self, map->submap_count + now, &none);
        piece = none ? now / 2 : piece;
    }
    *refused = none && map->submap_count == before && !fill_up(map);
    const nacre_status ended = *refused ? nacrei_map_order_end(self, NACREI_CLASS_EXCLUSIVE)
                                        : end_growth(self, before, status == NACRE_OK);
    return status != NACRE_OK ? status : ended;
}

nacre_status nacrei_map_grow(nacrei_map_call *self, uint64_t keys, uint32_t *refused)
{
    nacrei_cuda_map *map = self->map;
    uint64_t submaps = nacrei_table_submaps(keys, map->submap_slots, map->head.config.load_max);
    if (submaps <= map->submap_count) {
        submaps =
            map->submap_count + 1; /* a submap and the stash are full: finer splitting helps */
    }
    if (submaps >= NACREI_SUBMAPS_MAX) {
        *refused = 1;
        return NACRE_OK;
    }
    return grow_to(self, submaps, refused);
}

nacre_status nacrei_map_back_submaps(nacrei_map_call *self, const char *parameter, uint64_t keys,
                                     uint64_t submaps)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    const uint64_t bytes = map->memory_bytes - map->region.bytes +
                           nacrei_region_bytes(device, map->region.submap_bytes, submaps + 1);
    const uint64_t limit = map->head.config.memory_limit_bytes, all = device->memory_total_bytes;
    const uint64_t most = limit != 0 && limit < all ? limit : all;
    if (bytes > most) {
        return nacrei_fail_capacity(error, call, parameter, keys, most,
                                    most == limit ? "memory_limit_bytes" : "the device's memory");
    }
    if (limit != 0 && nacrei_map_scratch_bytes(map) != 0) {
        NACREI_TRY(nacrei_map_settle(self, 0)); /* until it is given back */
    }
    const cudaError_t result =
        nacrei_region_ensure(device, &map->region, submaps + 1, bytes_max(map));
    if (result == cudaErrorMemoryAllocation) {
        return nacrei_fail(error, NACRE_ERROR_OUT_OF_MEMORY, 0,
                           "%s: %s is %llu; memory for them was refused", call, parameter,
                           (unsigned long long)keys);
    }
    NACREI_CUDA(result);
    nacrei_map_count_memory(map); /* an open view may refuse the rest */
cleanup:
    return status;
}

void nacrei_map_reserve_memory(nacrei_map_call *self, uint64_t submaps)
{
    nacrei_cuda_map *map = self->map;
    /* Segments would have to be told to the device; they are allocated when they are used. */
    if (map->region.base != NULL && nacrei_region_ensure(self->device, &map->region, submaps + 1,
                                                         bytes_max(map)) == cudaSuccess) {
        nacrei_map_count_memory(map);
    }
}

/*
 * Rebuilds `count` submaps, in turn, and takes the stash's keys back into them where there is room.
 */
static nacre_status rebuild(nacrei_map_call *self, uint64_t count)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    while (count != 0) {
        if (map->maintained >= map->submap_count) {
            map->maintained = 0;
        }
        const uint64_t left = map->submap_count - map->maintained;
        const uint64_t now = count < left ? count : left;
        NACREI_CUDA(map->kernels->maintain(&map->table, map->maintained, now, self->stream));
        map->maintained += now;
        count -= now;
    }
    NACREI_CUDA(
        map->kernels->end_growth(&map->table, map->submap_count, map->capacity_keys, self->stream));
cleanup:
    return status;
}

static nacre_status maintain(nacrei_map_call *self, uint64_t count)
{
    nacre_status status = nacrei_map_order_begin(self, NACREI_CLASS_EXCLUSIVE);
    if (status != NACRE_OK) {
        return status;
    }
    /* Keys move, and others wait for it, also where a later launch fails. */
    self->map->layout++;
    status = rebuild(self, count);
    const nacre_status ended = nacrei_map_order_end(self, NACREI_CLASS_EXCLUSIVE);
    return status != NACRE_OK ? status : ended;
}

nacre_status nacrei_map_maintain_worn(nacrei_map_call *self)
{
    nacrei_cuda_map *map = self->map;
    /* By the caller's order it would run beside what the caller does not know to order. */
    if (self->capturing || map->head.config.order == NACRE_ORDER_CALLER ||
        nacrei_map_views_open(map)) {
        return NACRE_OK;
    }
    nacrei_map_retire(map);
    /* At least as many as keep the GPU busy: each launch costs a few microseconds. */
    uint64_t least = self->device->gpu.multiprocessors;
    least = least < map->submap_count ? least : map->submap_count;
    if (map->worn_submaps < (double)least) {
        return NACRE_OK;
    }
    const uint64_t most = map->submap_count;
    const uint64_t count = map->worn_submaps < (double)most ? (uint64_t)map->worn_submaps : most;
    map->worn_submaps = count == most ? 0.0 : map->worn_submaps - (double)count;
    return maintain(self, count);
}

nacre_status nacrei_cuda_map_maintain(nacre_map *head, nacre_error *error, nacre_stream stream)
{
    nacrei_map_call self;
    nacre_status status = nacrei_map_call_begin(&self, head, "nacre_map_maintain", error, stream);
    if (status == NACRE_OK && self.capturing) {
        status = nacrei_cuda_fail_capturing(error, NACRE_ERROR_UNSUPPORTED, self.call);
    }
    if (status == NACRE_OK) {
        self.map->worn_submaps = 0.0;
        self.map->maintained = 0;
        status = maintain(&self, self.map->submap_count);
    }
    nacrei_map_call_end(&self);
    return status;
}

nacre_status nacrei_cuda_map_reserve(nacre_map *head, uint64_t keys, nacre_error *error,
                                     nacre_stream stream)
{
    static const char call[] = "nacre_map_reserve";
    nacrei_map_call self;
    nacre_status status = nacrei_map_call_begin(&self, head, call, error, stream);
    nacrei_cuda_map *map = self.map;
    uint32_t refused = 0;
    if (status != NACRE_OK || keys <= map->capacity_keys) {
        if (status == NACRE_OK && keys > map->reserved_keys) {
            map->reserved_keys = keys;
            map->refused_unserved = 0; /* as after growth */
        }
        goto cleanup;
    }
    if (self.capturing) {
        status = nacrei_fail(
            error, NACRE_ERROR_WOULD_WAIT, 0,
            "%s: keys is %llu; allowed: up to %llu, for which there is room, in a capture", call,
            (unsigned long long)keys, (unsigned long long)map->capacity_keys);
        goto cleanup;
    }
    const uint64_t before = map->reserved_keys;
    const uint64_t submaps =
        nacrei_table_submaps_reserved(keys, map->submap_slots, map->head.config.load_max);
    NACREI_TRY(nacrei_map_back_submaps(&self, "keys", keys, submaps));
    map->reserved_keys = keys;
    status = grow_to(&self, submaps, &refused);
    if (status != NACRE_OK) {
        map->reserved_keys = before;
    }
cleanup:
    nacrei_map_call_end(&self);
    return status;
}
