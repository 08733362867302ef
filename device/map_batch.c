/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: how each reaches its kernel, and how an insertion that may not fit gets its room.
 *
 * An insertion that fits, by what the host knows without waiting, is one launch. One that may not fit is metered
 * (claim.cuh): the device admits exactly as many keys as there is room for and says FULL to the rest. A WAIT map
 * then waits for the chunk's report, grows by what was refused, and gives the refused elements again. So growth
 * follows keys: it happens only when an element was refused, whose key is truly new, and then by no more than the
 * refused elements, and by an eighth of the size.
 */
#include "device/call.h"
#include "device/map.h"

static nacrei_elements elements_of(const nacrei_batch *batch)
{
    const nacre_options *options = &batch->options;
    nacrei_elements elements = {
        .keys = batch->keys,
        .values = batch->values,
        .count = batch->count,
        .count_device = options->count_device,
        .values_out = batch->values_out,
        .contained = batch->contained,
        .mask = options->mask,
        .mask_offset = options->mask_offset,
        .mask_kind = options->mask_kind,
        .has_missing_value = options->missing_value != NULL,
        .missing_value = batch->missing_value,
        .outcomes = options->outcomes,
        .counts = (uint64_t *)options->counts,
        .reduction = batch->reduction,
        .type = batch->type,
        .fault = 1,
    };
    return elements;
}

/* Elements first .. first + count - 1. */
static nacrei_elements part_of(const nacrei_elements *all, const nacre_map_config *config,
                               uint64_t first, uint64_t count)
{
    nacrei_elements part = *all;
    part.keys = (const char *)all->keys + first * config->key_bytes;
    part.values = all->values == NULL ? NULL
                                      : (const char *)all->values + first * config->value_bytes;
    part.values_out = all->values_out == NULL
                          ? NULL
                          : (char *)all->values_out + first * config->value_bytes;
    part.outcomes = all->outcomes == NULL ? NULL : all->outcomes + first;
    part.mask_offset += first;
    part.first = first;
    part.count = count;
    return part;
}

/*
 * Gives the batch about to be launched a number and a place in the ring. `inserting`: elements that may be new keys. In a
 * capture it gets none: nobody waits for a replay.
 */
static nacre_status number_batch(nacrei_map_call *self, nacrei_elements *elements,
                                 uint64_t inserting)
{
    nacrei_cuda_map *map = self->map;
    if (self->capturing) {
        map->captured_insertions |= inserting != 0;
        return NACRE_OK;
    }
    nacrei_map_retire(map);
    if (map->issued - map->retired == NACREI_RING) {
        nacre_status status = nacrei_map_settle(self);
        if (status != NACRE_OK) {
            return status;
        }
    }
    const uint64_t place = map->issued % NACREI_RING;
    elements->tally = &map->block->tallies[place];
    elements->report = &map->pinned->reports[place];
    elements->sequence = map->issued + 1;
    map->elements_of[place] = inserting;
    map->inserting += inserting;
    map->issued++;
    return NACRE_OK;
}

static nacre_status launch_lookup(nacrei_map_call *self, const nacrei_batch *batch,
                                  const nacrei_elements *elements)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status;
    const uint32_t class_of =
        batch->operation == NACREI_ASSIGN ? NACREI_CLASS_INSERT : NACREI_CLASS_READ;
    NACREI_TRY(nacrei_map_order_begin(self, class_of));
    NACREI_CUDA(self->map->kernels->lookup(&device->gpu, &self->map->table, elements,
                                           batch->operation, self->stream));
    NACREI_TRY(nacrei_map_order_end(self, class_of));
cleanup:
    return status;
}

static nacre_status launch_erase(nacrei_map_call *self, nacrei_elements *elements)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status;
    NACREI_TRY(number_batch(self, elements, 0));
    NACREI_TRY(nacrei_map_order_begin(self, NACREI_CLASS_EXCLUSIVE));
    NACREI_CUDA(
        self->map->kernels->erase(&device->gpu, &self->map->table, elements, self->stream));
    NACREI_TRY(nacrei_map_order_end(self, NACREI_CLASS_EXCLUSIVE));
cleanup:
    return status;
}

static nacre_status launch_insert(nacrei_map_call *self, nacrei_elements *elements,
                                  uint32_t operation, uint32_t metered)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    nacre_status status;
    /* The meter counts what is there when it starts: it runs beside no other insertion. */
    const uint32_t class_of = metered ? NACREI_CLASS_EXCLUSIVE : NACREI_CLASS_INSERT;
    NACREI_TRY(number_batch(self, elements, elements->count));
    NACREI_TRY(nacrei_map_order_begin(self, class_of));
    NACREI_CUDA(self->map->kernels->insert(&device->gpu, &self->map->table, elements, operation,
                                           metered, self->stream));
    NACREI_TRY(nacrei_map_order_end(self, class_of));
cleanup:
    return status;
}

/* The least step of growth in keys: below it, launches cost more than they bring. */
static uint64_t growth_step(const nacrei_cuda_map *map)
{
    const uint64_t eighth = map->size_finished / 8;
    return eighth > map->submap_slots ? eighth : map->submap_slots;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A chunk that may not fit, metered, with growth until every element has its place. The size is exact. */
static nacre_status insert_chunk(nacrei_map_call *self, nacrei_elements chunk, uint32_t operation)
{
    nacrei_cuda_map *map = self->map;
    nacre_status status;
    uint32_t refused_memory = 0;
    chunk.left_out = map->block->left_out;
    chunk.fault = 0;
    for (;;) {
        NACREI_TRY(launch_insert(self, &chunk, operation, 1));
        NACREI_TRY(nacrei_map_settle(self));
        const uint64_t left_out = map->refused_last;
        if (left_out == 0) {
            return NACRE_OK;
        }
        /* A table far from full that has no slot holds keys that share their hash: growing would never end. */
        if (map->size_finished * 4 >= map->submap_count * map->submap_slots ||
            map->submap_count == 1) {
            NACREI_TRY(nacrei_map_grow(
                self, map->size_finished + least(left_out, growth_step(map)), &refused_memory));
        } else {
            map->faults |= NACRE_FAULT_FULL;
            return NACRE_OK;
        }
        if (refused_memory) {
            map->faults |= NACRE_FAULT_FULL | NACRE_FAULT_MEMORY;
            nacrei_log(&self->device->head, NACRE_LOG_WARNING,
                       "%s: memory for growth was refused; %llu elements found no room", self->call,
                       (unsigned long long)left_out);
            return nacrei_fail(self->error, NACRE_ERROR_OUT_OF_MEMORY, 0,
                               "%s: the map holds %llu keys and memory for more was refused; %llu elements "
                               "report FULL",
                               self->call, (unsigned long long)map->size_finished,
                               (unsigned long long)left_out);
        }
        chunk.retry = 1;
    }
cleanup:
    return status;
}

/* An insertion into a WAIT map. */
static nacre_status insert_waiting(nacrei_map_call *self, const nacrei_elements *all,
                                   const nacrei_batch *batch)
{
    nacrei_cuda_map *map = self->map;
    nacre_status status = NACRE_OK, memory = NACRE_OK;
    uint64_t first = 0;
    uint32_t exact = 0;
    while (first < all->count && status == NACRE_OK) {
        const uint64_t remaining = all->count - first;
        nacrei_map_retire(map);
        const uint64_t bound = nacrei_map_size_bound(map);
        const uint64_t room = map->capacity_keys > bound ? map->capacity_keys - bound : 0;
        if (remaining <= room && (exact || !map->captured_insertions)) {
            nacrei_elements rest = part_of(all, &map->head.config, first, remaining);
            status = launch_insert(self, &rest, batch->operation, self->capturing);
            break;
        }
        if (self->capturing || (batch->options.flags & NACRE_OPTION_NEVER_WAIT) != 0) {
            return nacrei_fail(self->error, NACRE_ERROR_WOULD_WAIT, 0,
                               "%s: count is %llu; allowed %s: up to %llu, for which there is room", self->call,
                               (unsigned long long)all->count,
                               self->capturing ? "in a capture" : "without a wait",
                               (unsigned long long)room);
        }
        if (!exact) {
            NACREI_TRY(nacrei_map_settle(self));
            if (map->captured_insertions) {
                NACREI_TRY(nacrei_map_size_exact(self, &map->size_finished));
            }
            exact = 1;
            continue;
        }
        /* New keys mostly: a chunk of as many as there is room for, or a step of growth. Known keys mostly: as
           many as one launch can take. */
        uint64_t chunk = least(remaining, NACREI_CHUNK_ELEMENTS);
        if (map->fresh_share >= 0.25) {
            const uint64_t step = 2 * growth_step(map);
            chunk = least(chunk, room > step ? room : step);
        }
        status = insert_chunk(self, part_of(all, &map->head.config, first, chunk),
                              batch->operation);
        if (status == NACRE_ERROR_OUT_OF_MEMORY) {
            memory = status; /* told at the end: known keys further on still have their turn */
            status = NACRE_OK;
        }
        first += chunk;
    }
cleanup:
    return status == NACRE_OK ? memory : status;
}

/* Growth of a DEFERRED map, by what finished batches have shown; never waits. */
static nacre_status grow_deferred(nacrei_map_call *self)
{
    nacrei_cuda_map *map = self->map;
    uint32_t refused = 0;
    nacre_status status = NACRE_OK;
    nacrei_map_retire(map);
    uint64_t size = map->size_finished;
    if (map->captured_insertions && map->pinned->hints.size > size) {
        size = map->pinned->hints.size;
    }
    /* Room for what was refused, and for twice what the last batch brought. */
    const uint64_t expected = map->refused_unserved + 2 * map->fresh_last;
    if (map->refused_unserved != 0 || size + expected > map->capacity_keys) {
        const uint64_t step = growth_step(map);
        status = nacrei_map_grow(self, size + (expected > step ? expected : step), &refused);
        if (refused) {
            map->faults |= NACRE_FAULT_MEMORY;
        }
    }
    return status;
}

static nacre_status insert(nacrei_map_call *self, nacrei_elements *elements,
                           const nacrei_batch *batch)
{
    nacrei_cuda_map *map = self->map;
    const uint32_t growth = map->head.config.growth;
    if (growth == NACRE_GROWTH_WAIT) {
        return insert_waiting(self, elements, batch);
    }
    if (growth == NACRE_GROWTH_DEFERRED && !self->capturing) {
        nacre_status status = grow_deferred(self);
        if (status != NACRE_OK) {
            return status;
        }
    }
    nacrei_map_retire(map);
    const uint64_t bound = nacrei_map_size_bound(map);
    const uint32_t fits = !self->capturing && !map->captured_insertions &&
                          map->capacity_keys >= bound &&
                          elements->count <= map->capacity_keys - bound;
    return launch_insert(self, elements, batch->operation, !fits);
}

nacre_status nacrei_cuda_map_batch(nacre_map *head, const nacrei_batch *batch, nacre_error *error)
{
    nacrei_map_call self;
    nacre_status status = nacrei_map_call_begin(&self, head, batch->call, error, batch->stream);
    nacrei_cuda_device *device = self.device;
    const char *call = batch->call;
    nacrei_elements elements = elements_of(batch);
    if (status != NACRE_OK) {
        goto cleanup;
    }
    if (batch->options.counts != NULL) {
        NACREI_CUDA(
            cudaMemsetAsync(batch->options.counts, 0, sizeof(nacre_counts), batch->stream));
    }
    if (batch->count == 0) {
        goto cleanup;
    }
    switch (batch->operation) {
    case NACREI_FIND:
    case NACREI_CONTAINS:
    case NACREI_ASSIGN:
        status = launch_lookup(&self, batch, &elements);
        break;
    case NACREI_ERASE:
        status = launch_erase(&self, &elements);
        break;
    default:
        status = insert(&self, &elements, batch);
        break;
    }
cleanup:
    nacrei_map_call_end(&self);
    return status;
}
