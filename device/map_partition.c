/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy of a batch that is partitioned before it changes the table (partition.h says when,
 * map_partition.cu how). It is borrowed from the device's pool in the order of the stream; where
 * that has no memory, or the map's limit leaves none, the batch goes as it is. Per-element answers
 * would have to find their way back, and so a batch that wants any stays unpartitioned.
 */
#include "device/partition.h"

#include "device/call.h"
#include "device/map.h"

static uint64_t table_bytes(const nacrei_cuda_map *map)
{
    return map->submap_count * map->table.submap_bytes;
}

uint64_t nacrei_map_scratch_bytes(const nacrei_cuda_map *map)
{
    /* What a batch gives back the next one on its stream borrows. */
    uint64_t most[NACREI_ORDER_STREAMS_MAX] = {0}, sum = 0;
    for (uint64_t number = map->retired; number < map->issued; number++) {
        const uint64_t bytes = map->batches[number % NACREI_RING].scratch_bytes;
        const uint32_t stream = map->batches[number % NACREI_RING].stream;
        if (bytes > most[stream]) {
            sum += bytes - most[stream];
            most[stream] = bytes;
        }
    }
    return sum;
}

uint64_t nacrei_map_partition_part(const nacrei_map_call *self, const nacrei_elements *elements,
                                   uint64_t inserting)
{
    const nacrei_cuda_map *map = self->map;
    const nacrei_cuda_device *device = self->device;
    if (self->capturing || device->pool == NULL || !nacrei_elements_plain(elements) ||
        elements->values_out != NULL) {
        return 0;
    }
    if (map->head.config.growth == NACRE_GROWTH_DEFERRED &&
        map->head.config.memory_limit_bytes != 0) {
        return 0; /* growth cannot wait until scratch memory within the limit is given back */
    }
    const uint32_t growing =
        nacrei_map_size_known(map) + map->inserting + inserting > map->reserved_keys;
    return nacrei_partition_elements(elements->count, map->submap_count * map->submap_slots,
                                     table_bytes(map), device->gpu.l2_bytes, growing);
}

nacre_status nacrei_map_partition_begin(nacrei_map_call *self, nacrei_elements *elements,
                                        void **scratch, uint64_t *scratch_bytes)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    const nacrei_table table = nacrei_map_table_of(self);
    /* Values start as keys do, at a multiple of 256. */
    const uint64_t key_bytes = (elements->count * map->head.config.key_bytes + 255) / 256 * 256;
    const uint64_t value_bytes =
        elements->values == NULL ? 0 : elements->count * map->head.config.value_bytes;
    const uint64_t bins =
        nacrei_partition_bins(elements->count, map->submap_count * map->submap_slots,
                              table_bytes(map), device->gpu.l2_bytes);
    const uint64_t limit = map->head.config.memory_limit_bytes;
    const uint64_t bytes = sizeof(nacrei_bins) + key_bytes + value_bytes;
    nacrei_partition to;
    *scratch = NULL;
    *scratch_bytes = 0;
    if (limit != 0 && map->memory_bytes + nacrei_map_scratch_bytes(map) + bytes > limit) {
        return NACRE_OK;
    }
    cudaError_t result = cudaMallocFromPoolAsync(scratch, bytes, device->pool, self->stream);
    if (result == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        *scratch = NULL;
        return NACRE_OK;
    }
    NACREI_CUDA(result);
    *scratch_bytes = bytes;
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
