/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a table. One range of addresses is reserved when a map is created, and memory is
 * mapped into it as the table grows: addresses of submaps are arithmetic, and stay what they are.
 * Where ranges cannot be had (a caller's allocator, an old driver) the table lies in segments
 * (nacre/core/table.h).
 */
#ifndef NACRE_DEVICE_REGION_H
#define NACRE_DEVICE_REGION_H

#include "device/device.h"

typedef struct nacrei_region {
    char *base;              /* NULL: segments */
    uint64_t reserved_bytes; /* addresses */
    uint64_t submap_bytes;
    uint64_t bytes; /* of memory, mapped or in segments */
    uint64_t *ends; /* of the pieces that were mapped one after another: each goes as a whole */
    uint32_t end_count, ends_allocated;
    uint32_t segment_count;
    char *segments[NACREI_SEGMENTS_MAX];
} nacrei_region;

/* `bytes_max`: the most that the table may ever take. */
void nacrei_region_open(nacrei_cuda_device *device, nacrei_region *region, uint64_t submap_bytes,
                        uint64_t bytes_max);

/* Memory that `submaps` submaps, the stash among them, will take in all. */
uint64_t nacrei_region_bytes(const nacrei_cuda_device *device, uint64_t submap_bytes,
                             uint64_t submaps);

/*
 * Backs so many submaps, by at most bytes_max bytes of memory in all. All or nothing; memory not
 * yet used is not zeroed. cudaErrorMemoryAllocation: refused.
 */
cudaError_t nacrei_region_ensure(nacrei_cuda_device *device, nacrei_region *region,
                                 uint64_t submaps, uint64_t bytes_max);

/*
 * Gives back what lies beyond so many submaps, and is a whole piece. The device has no more to do
 * with it.
 */
void nacrei_region_shrink(nacrei_cuda_device *device, nacrei_region *region, uint64_t submaps);
void nacrei_region_close(nacrei_cuda_device *device, nacrei_region *region);

#endif
