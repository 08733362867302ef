/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches: how a batch reaches its kernels, in its order among the batches of the map.
 *
 * Where slots change in two steps (nacre/cuda/slot.cuh) insertions are exclusive, and those that
 * read or combine values are followed by a second kernel that does so, once for each element.
 */
#include "device/call.h"
#include "device/map.h"

nacre_status nacrei_map_clear_counts(nacrei_map_call *self)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status = NACRE_OK;
    nacre_counts *counts = self->counts;
    self->counts = NULL;
    if (counts != NULL) {
        NACREI_CUDA(cudaMemsetAsync(counts, 0, sizeof *counts, self->stream));
    }
cleanup:
    return status;
}

nacre_status nacrei_map_launch_lookup(nacrei_map_call *self, const nacrei_batch *batch,
                                      const nacrei_elements *elements)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    const nacrei_map_kernels *kernels = self->map->kernels;
    const nacrei_table table = nacrei_map_table_of(self);
    nacrei_elements now = *elements;
    nacre_status status;
    const uint32_t class_of =
        batch->operation == NACREI_ASSIGN ? NACREI_CLASS_INSERT : NACREI_CLASS_READ;
    now.cached = self->map->submap_count * table.submap_bytes <= device->gpu.l2_bytes / 2;
    NACREI_TRY(nacrei_map_order_begin(self, class_of));
    NACREI_TRY(nacrei_map_clear_counts(self));
    NACREI_CUDA(kernels->lookup(&table, &now, batch->operation, self->stream));
    NACREI_TRY(nacrei_map_order_end(self, class_of));
cleanup:
    return status;
}

uint32_t nacrei_map_has_second_step(const nacrei_cuda_map *map, uint32_t operation)
{
    return map->code.two_step &&
           (operation == NACREI_FIND_OR_INSERT || operation == NACREI_INSERT_OR_APPLY);
}

/* Within the order of the insertion. An element without room has no key to be found. */
static cudaError_t launch_second_step(nacrei_map_call *self, const nacrei_table *table,
                                      const nacrei_elements *elements, uint32_t operation)
{
    const nacrei_map_kernels *kernels = self->map->kernels;
    nacrei_elements silent = *elements; /* the first step has told outcomes and counts */
    silent.outcomes = NULL;
    silent.counts = NULL;
    return operation == NACREI_FIND_OR_INSERT
               ? kernels->lookup(table, &silent, NACREI_FIND, self->stream)
               : kernels->apply(table, &silent, self->stream);
}

static nacre_status launch_part(nacrei_map_call *self, nacrei_elements *elements,
                                uint64_t inserting, uint32_t operation, uint32_t metered,
                                uint32_t partitioned)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    const nacrei_map_kernels *kernels = self->map->kernels;
    const nacrei_table table = nacrei_map_table_of(self);
    const uint32_t erases = operation == NACREI_ERASE;
    nacre_status status;
    uint32_t numbered = 0;
    /* The meter counts what is there when it starts: it runs beside no other insertion. */
    const uint32_t class_of = erases || metered || self->map->code.two_step ? NACREI_CLASS_EXCLUSIVE
                                                                            : NACREI_CLASS_INSERT;
    void *scratch = NULL;
    uint64_t scratch_bytes = 0;
    NACREI_TRY(nacrei_map_order_begin(self, class_of));
    NACREI_TRY(nacrei_map_clear_counts(self));
    if (partitioned) {
        NACREI_TRY(nacrei_map_partition_begin(self, elements, &scratch, &scratch_bytes));
    }
    NACREI_TRY(nacrei_map_number_batch(self, elements, inserting));
    numbered = 1;
    if (scratch != NULL) {
        nacrei_map_count_scratch(self, scratch_bytes);
    }
    NACREI_CUDA(erases ? kernels->erase(&table, elements, self->stream)
                       : kernels->insert(&table, elements, operation, metered, self->stream));
    numbered = 0;
    const cudaError_t second_step =
        elements->last && nacrei_map_has_second_step(self->map, operation)
            ? launch_second_step(self, &table, elements, operation)
            : cudaSuccess;
    /* Others wait for the first step, also where the second fails. */
    NACREI_TRY(nacrei_map_order_end(self, class_of));
    NACREI_CUDA(second_step);
cleanup:
    nacrei_map_partition_end(self, scratch);
    if (numbered) {
        nacrei_map_forget_batch(self);
    }
    return status;
}

nacre_status nacrei_map_launch_change(nacrei_map_call *self, const nacrei_elements *elements,
                                      uint64_t inserting, uint32_t operation, uint32_t metered)
{
    const uint64_t part = metered ? 0 : nacrei_map_partition_part(self, elements, inserting);
    nacre_status status = NACRE_OK;
    for (uint64_t first = 0; first < elements->count && status == NACRE_OK;) {
        const uint64_t count =
            part != 0 ? nacrei_least(part, elements->count - first) : elements->count;
        nacrei_elements now = nacrei_map_part_of(elements, &self->map->head.config, first, count);
        /* The rest may be too sparse to be worth a copy. */
        status = launch_part(self, &now, nacrei_least(inserting, count), operation, metered,
                             part != 0 && count >= part / 3);
        first += count;
    }
    return status;
}
