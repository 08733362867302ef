/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a batch is partitioned before it changes the table (map_partition.cu), and in which memory.
 *
 * It pays where the table is larger than the L2 cache and a bin of the batch touches a good part of
 * its region: from a tenth of the slots on, by what was measured (README.md). The copy is borrowed
 * from the device's pool in the order of the stream; where that has no memory, or the map's limit
 * leaves none, the batch goes as it is. Per-element answers would have to find their way back, and
 * so a batch that wants any stays unpartitioned.
 */
#include "device/call.h"
#include "device/map.h"

/*
 * Of the slots: elements of a batch that is worth it, and of a part that is copied at once. While a
 * map grows its memory peaks at no more than 1.10 of what it holds afterwards, copies included.
 */
#define SHARE_LEAST        10
#define SHARE_MOST         2
#define SHARE_MOST_GROWING 10

static uint64_t slots_of(const nacrei_cuda_map *map)
{
    return map->submap_count * map->submap_slots;
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

uint64_t nacrei_map_partition_part(const nacrei_map_call *self, const nacrei_elements *elements,
                                   uint64_t inserting)
{
    const nacrei_cuda_map *map = self->map;
    const nacrei_cuda_device *device = self->device;
    const uint64_t slots = slots_of(map), bytes = map->submap_count * map->table.submap_bytes;
    if (self->capturing || device->pool == NULL || !nacrei_elements_plain(elements) ||
        elements->values_out != NULL || bytes < 4 * (uint64_t)device->gpu.l2_bytes ||
        elements->count < slots / SHARE_LEAST) {
        return 0;
    }
    if (nacrei_map_size_known(map) + map->inserting + inserting > map->reserved_keys) {
        return nacrei_least(slots / SHARE_MOST_GROWING, elements->count);
    }
    const uint64_t parts = elements->count / (slots / SHARE_MOST) + 1;
    return (elements->count + parts - 1) / parts;
}

nacre_status nacrei_map_partition_begin(nacrei_map_call *self, nacrei_elements *elements,
                                        void **scratch)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    const nacrei_table table = nacrei_map_table_of(self);
    const uint64_t key_bytes = round_up(elements->count * map->head.config.key_bytes);
    const uint64_t value_bytes =
        elements->values == NULL ? 0 : elements->count * map->head.config.value_bytes;
    const uint64_t region_bytes = (uint64_t)device->gpu.l2_bytes / 3 * 2;
    const uint64_t regions = map->submap_count * map->table.submap_bytes / region_bytes + 1;
    const uint64_t bins = regions < NACREI_BINS_MAX ? regions : NACREI_BINS_MAX;
    const uint64_t limit = map->head.config.memory_limit_bytes;
    const uint64_t held = map->memory_bytes + sizeof(nacrei_bins) + key_bytes + value_bytes;
    nacrei_partition to;
    *scratch = NULL;
    if (limit != 0 && held > limit) {
        return NACRE_OK;
    }
    cudaError_t result =
        cudaMallocFromPoolAsync(scratch, held - map->memory_bytes, device->pool, self->stream);
    if (result == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        *scratch = NULL;
        return NACRE_OK;
    }
    NACREI_CUDA(result);
    map->memory_peak_bytes = held > map->memory_peak_bytes ? held : map->memory_peak_bytes;
    to.bins = (nacrei_bins *)*scratch;
    to.keys = (char *)*scratch + sizeof(nacrei_bins);
    to.values = (char *)to.keys + key_bytes;
    to.bins_per_submap = (bins << NACREI_BIN_SHIFT) / map->submap_count;
    NACREI_CUDA(map->kernels->partition(&device->gpu, &table, elements, &to, self->stream));
    elements->keys = to.keys;
    elements->values = elements->values == NULL ? NULL : to.values;
cleanup:
    return status;
}

void nacrei_map_partition_end(nacrei_map_call *self, void *scratch)
{
    if (scratch != NULL) {
        /* It fails only where the context is dead, and took the memory along. */
        (void)cudaFreeAsync(scratch, self->stream);
    }
}
