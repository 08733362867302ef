/* SPDX-License-Identifier: Apache-2.0 */
#include "device/region.h"

#include <stdlib.h>
#include <string.h>

/*
 * More than is needed is mapped at once, by this share of what there is: a mapping costs 50 us,
 * whatever its size, and peak memory during growth stays within 1.10 of the memory after it.
 */
#define SPARE_SHARE 32

/*
 * Mapped at a time: as much as there is, at most, so that a map can give back most of what it was
 * created with, since a piece goes as a whole.
 */
#define PIECE_BYTES_MAX ((uint64_t)1 << 30)

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

void nacrei_region_open(nacrei_cuda_device *device, nacrei_region *region, uint64_t submap_bytes,
                        uint64_t bytes_max)
{
    memset(region, 0, sizeof *region);
    region->submap_bytes = submap_bytes;
    const nacrei_ranges *ranges = &device->ranges;
    CUdeviceptr address = 0;
    if (!ranges->usable) {
        return;
    }
    uint64_t bytes = round_up(bytes_max, ranges->granularity_bytes);
    if (ranges->reserve(&address, (size_t)bytes, 0, 0, 0) == CUDA_SUCCESS) {
        region->base = (char *)(uintptr_t)address;
        region->reserved_bytes = bytes;
    }
}

static uint64_t segments_bytes(uint64_t submap_bytes, uint64_t submaps, uint32_t *segments)
{
    uint64_t bytes = 0, next = 0;
    *segments = 0;
    while (next < submaps) {
        nacrei_segment_place place = nacrei_segment_of(next);
        bytes += place.count * submap_bytes;
        next = place.first + place.count;
        *segments = place.segment + 1;
    }
    return bytes;
}

uint64_t nacrei_region_bytes(const nacrei_cuda_device *device, uint64_t submap_bytes,
                             uint64_t submaps)
{
    uint32_t segments;
    return device->ranges.usable
               ? round_up(submaps * submap_bytes, device->ranges.granularity_bytes)
               : segments_bytes(submap_bytes, submaps, &segments);
}

/* To be mapped next, at most. */
static uint64_t piece_bytes_max(const nacrei_cuda_device *device, const nacrei_region *region)
{
    const uint64_t granularity = device->ranges.granularity_bytes;
    const uint64_t most = region->bytes > granularity ? region->bytes : granularity;
    return most < PIECE_BYTES_MAX ? most : PIECE_BYTES_MAX;
}

/* Room for one more end. */
static int reserve_end(nacrei_region *region)
{
    if (region->end_count < region->ends_allocated) {
        return 1;
    }
    const uint32_t more = 2 * region->ends_allocated + 16;
    uint64_t *ends = realloc(region->ends, more * sizeof *ends);
    if (ends != NULL) {
        region->ends = ends;
        region->ends_allocated = more;
    }
    return ends != NULL;
}

/* Unmaps the last pieces, as long as `bytes` and more are left. */
static void unmap_to(nacrei_cuda_device *device, nacrei_region *region, uint64_t bytes)
{
    while (region->end_count > 0) {
        const uint32_t last = region->end_count - 1;
        const uint64_t begin = last > 0 ? region->ends[last - 1] : 0;
        if (begin < bytes) {
            break;
        }
        nacrei_ranges_unmap(&device->ranges, region->base + begin, region->bytes - begin);
        region->bytes = begin;
        region->end_count--;
    }
}

static cudaError_t map_to(nacrei_cuda_device *device, nacrei_region *region, uint64_t bytes)
{
    const uint64_t before = region->bytes;
    while (region->bytes < bytes) {
        const uint64_t left = bytes - region->bytes;
        const uint64_t most = piece_bytes_max(device, region), piece = left < most ? left : most;
        const cudaError_t result =
            reserve_end(region)
                ? nacrei_ranges_map(&device->ranges, region->base + region->bytes, piece)
                : cudaErrorMemoryAllocation;
        if (result != cudaSuccess) {
            unmap_to(device, region, before);
            return result;
        }
        region->bytes += piece;
        region->ends[region->end_count++] = region->bytes;
    }
    return cudaSuccess;
}

static cudaError_t ensure_range(nacrei_cuda_device *device, nacrei_region *region, uint64_t submaps,
                                uint64_t bytes_max)
{
    const uint64_t granularity = device->ranges.granularity_bytes;
    uint64_t needed = round_up(submaps * region->submap_bytes, granularity);
    if (needed <= region->bytes) {
        return cudaSuccess;
    }
    if (needed > bytes_max || needed > region->reserved_bytes) {
        return cudaErrorMemoryAllocation;
    }
    uint64_t ample = region->bytes + round_up(region->bytes / SPARE_SHARE, granularity);
    if (ample > needed && ample <= bytes_max && ample <= region->reserved_bytes &&
        map_to(device, region, ample) == cudaSuccess) {
        return cudaSuccess;
    }
    cudaError_t result = map_to(device, region, needed);
    if (result == cudaErrorMemoryAllocation && nacrei_cuda_trim(device)) {
        result = map_to(device, region, needed);
    }
    return result;
}

static void release_segments(nacrei_cuda_device *device, nacrei_region *region, uint32_t from)
{
    while (region->segment_count > from) {
        uint32_t segment = --region->segment_count;
        uint64_t bytes = ((uint64_t)1 << segment / 4) * region->submap_bytes;
        nacrei_cuda_release(device, region->segments[segment], bytes, NACRE_SPACE_DEVICE);
        region->segments[segment] = NULL;
        region->bytes -= bytes;
    }
}

static cudaError_t ensure_segments(nacrei_cuda_device *device, nacrei_region *region,
                                   uint64_t submaps, uint64_t bytes_max)
{
    uint32_t segments;
    const uint32_t before = region->segment_count;
    if (segments_bytes(region->submap_bytes, submaps, &segments) > bytes_max && segments > before) {
        return cudaErrorMemoryAllocation;
    }
    while (region->segment_count < segments) {
        void *pointer;
        uint64_t bytes = ((uint64_t)1 << region->segment_count / 4) * region->submap_bytes;
        cudaError_t result = nacrei_cuda_allocate(device, bytes, NACRE_SPACE_DEVICE, &pointer);
        if (result != cudaSuccess) {
            release_segments(device, region, before);
            return result;
        }
        region->segments[region->segment_count++] = (char *)pointer;
        region->bytes += bytes;
    }
    return cudaSuccess;
}

cudaError_t nacrei_region_ensure(nacrei_cuda_device *device, nacrei_region *region,
                                 uint64_t submaps, uint64_t bytes_max)
{
    return region->base != NULL ? ensure_range(device, region, submaps, bytes_max)
                                : ensure_segments(device, region, submaps, bytes_max);
}

void nacrei_region_shrink(nacrei_cuda_device *device, nacrei_region *region, uint64_t submaps)
{
    if (region->base != NULL) {
        unmap_to(device, region, submaps * region->submap_bytes);
    } else {
        uint32_t segments;
        (void)segments_bytes(region->submap_bytes, submaps, &segments);
        release_segments(device, region, segments);
    }
}

void nacrei_region_close(nacrei_cuda_device *device, nacrei_region *region)
{
    if (region->base != NULL) {
        unmap_to(device, region, 0);
        device->ranges.free((CUdeviceptr)(uintptr_t)region->base, (size_t)region->reserved_bytes);
        region->base = NULL;
    }
    free(region->ends);
    region->ends = NULL;
    release_segments(device, region, 0);
}
