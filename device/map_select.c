/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on selected keys of a map, and match: what host code does before their kernels. */
#include "device/call.h"
#include "device/map.h"
#include "lib/selection.h"

/* The walk of a selection; CHANGED, and UNSUPPORTED for a range in a capture. */
static nacre_status walk_of(const nacrei_map_call *self, const nacrei_selection *selection,
                            nacrei_slot_walk *walk)
{
    const nacrei_cuda_map *map = self->map;
    const uint32_t ranged = selection->first_slot != 0 || selection->slot_count != 0;
    /* A captured walk ends where the table ends when it is replayed. */
    const uint64_t all = self->capturing ? UINT64_MAX : nacrei_map_walk_slots(map);
    nacre_status status = nacrei_selection_check(selection, map->layout, self->error);
    if (status != NACRE_OK) {
        return status;
    }
    if (ranged && self->capturing) {
        return nacrei_fail(self->error, NACRE_ERROR_UNSUPPORTED, 0,
                           "%s: select->first_slot is %llu and slot_count %llu; allowed: 0 "
                           "in a capture, because the map may grow before a replay",
                           self->call, (unsigned long long)selection->first_slot,
                           (unsigned long long)selection->slot_count);
    }
    walk->table = nacrei_map_table_of(self);
    walk->condition = selection->condition;
    walk->field = selection->field;
    walk->everything = selection->condition.mask == 0 && selection->condition.low == 0 && !ranged;
    nacrei_selection_range(selection, all, &walk->first, &walk->last);
    return NACRE_OK;
}

/* DEVICE_SELECT allocates what CUB asks for, and waits until it can be given back. */
static nacre_status device_select(nacrei_map_call *self, const nacrei_slot_walk *walk,
                                  const nacrei_target *target, nacrei_compact_launch *launch)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status;
    uint64_t bytes = 0;
    void *temporary = NULL;
    NACREI_TRY(nacrei_cuda_check_select(call, walk->last - walk->first, self->capturing, error));
    launch->temporary_bytes = &bytes;
    NACREI_CUDA(map->kernels->retrieve(walk, target, launch));
    NACREI_CUDA(nacrei_cuda_allocate(device, bytes, NACRE_SPACE_DEVICE, &temporary));
    launch->temporary = temporary;
    NACREI_CUDA(map->kernels->retrieve(walk, target, launch));
    NACREI_CUDA(cudaStreamSynchronize(self->stream));
cleanup:
    nacrei_cuda_release(device, temporary, bytes, NACRE_SPACE_DEVICE);
    return status;
}

nacre_status nacrei_cuda_map_retrieve(nacre_map *head, const nacrei_selection *selection,
                                      nacre_error *error)
{
    nacrei_map_call self;
    const char *call = selection->call;
    nacre_status status = nacrei_map_call_begin(&self, head, call, error, selection->stream);
    nacrei_cuda_device *device = self.device;
    nacrei_cuda_map *map = self.map;
    const uint32_t algorithm = selection->algorithm;
    const uint32_t class_of =
        algorithm == NACRE_COMPACT_STABLE ? NACREI_CLASS_EXCLUSIVE : NACREI_CLASS_READ;
    nacrei_slot_walk walk;
    const nacrei_target target = {selection->keys_out, selection->values_out, selection->capacity,
                                  (unsigned long long *)selection->needed};
    nacrei_compact_launch launch = {.algorithm = algorithm,
                                    .multiprocessors = device->gpu.multiprocessors,
                                    .fixed_grid = self.capturing,
                                    .scratch = &map->block->stable,
                                    .stream = selection->stream};
    if (status != NACRE_OK) {
        goto cleanup;
    }
    NACREI_TRY(walk_of(&self, selection, &walk));
    NACREI_TRY(nacrei_map_order_begin(&self, class_of));
    if (algorithm == NACRE_COMPACT_DEVICE_SELECT) {
        NACREI_TRY(device_select(&self, &walk, &target, &launch));
    } else {
        NACREI_CUDA(map->kernels->retrieve(&walk, &target, &launch));
    }
    NACREI_TRY(nacrei_map_order_end(&self, class_of));
cleanup:
    nacrei_map_call_end(&self);
    return status;
}

nacre_status nacrei_cuda_map_erase_if(nacre_map *head, const nacrei_selection *selection,
                                      nacre_error *error)
{
    nacrei_map_call self;
    const char *call = selection->call;
    nacre_status status = nacrei_map_call_begin(&self, head, call, error, selection->stream);
    nacrei_cuda_device *device = self.device;
    nacrei_slot_walk walk;
    nacrei_elements elements = {.counts = (uint64_t *)selection->counts};
    uint32_t numbered = 0;
    if (status != NACRE_OK) {
        goto cleanup;
    }
    NACREI_TRY(walk_of(&self, selection, &walk));
    NACREI_TRY(nacrei_map_order_begin(&self, NACREI_CLASS_EXCLUSIVE));
    self.counts = selection->counts;
    NACREI_TRY(nacrei_map_clear_counts(&self));
    NACREI_TRY(nacrei_map_number_batch(&self, &elements, 0));
    numbered = 1;
    NACREI_CUDA(self.map->kernels->erase_if(&device->gpu, &walk, &elements, self.stream));
    numbered = 0;
    NACREI_TRY(nacrei_map_order_end(&self, NACREI_CLASS_EXCLUSIVE));
    if (selection->layout == 0) { /* else a cursor is on its way */
        status = nacrei_map_maintain_worn(&self);
    }
cleanup:
    if (numbered) {
        nacrei_map_forget_batch(&self);
    }
    nacrei_map_call_end(&self);
    return status;
}

nacre_status nacrei_cuda_map_match(nacre_map *head, const nacrei_batch *batch,
                                   const nacrei_matches *matches, nacre_error *error)
{
    nacrei_map_call self;
    const char *call = batch->call;
    nacre_status status = nacrei_map_call_begin(&self, head, call, error, batch->stream);
    nacrei_cuda_device *device = self.device;
    const nacrei_elements all = nacrei_map_elements_of((nacrei_cuda_map *)head, batch);
    if (status != NACRE_OK) {
        goto cleanup;
    }
    NACREI_TRY(nacrei_map_order_begin(&self, NACREI_CLASS_READ));
    self.counts = batch->options.counts;
    NACREI_TRY(nacrei_map_clear_counts(&self));
    NACREI_CUDA(cudaMemsetAsync(matches->needed, 0, sizeof *matches->needed, self.stream));
    const nacrei_table table = nacrei_map_table_of(&self);
    for (uint64_t first = 0; first < all.count; first += NACREI_LAUNCH_ELEMENTS) {
        const nacrei_elements part = nacrei_map_part_of(
            &all, &head->config, first, nacrei_least(all.count - first, NACREI_LAUNCH_ELEMENTS));
        NACREI_CUDA(self.map->kernels->match(&table, &part, matches, self.stream));
    }
    NACREI_TRY(nacrei_map_order_end(&self, NACREI_CLASS_READ));
cleanup:
    nacrei_map_call_end(&self);
    return status;
}
