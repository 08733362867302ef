/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: how each reaches its kernel, and how an insertion that may not fit gets its room.
 *
 * An insertion that fits, by what the host knows without waiting, is one launch. For one that may
 * not, a WAIT map waits until it knows its size, and takes the batch in chunks. A lookup pass, the
 * probe, counts the elements of a chunk whose keys are missing, and bounds from below how many
 * different keys those are. If all of them fit, the chunk is inserted as it is; if even the lower
 * bound does not fit, the table grows first. In between (many equal new keys), and in maps that do
 * not wait, the insertion is metered (claim.cuh): the device admits exactly as many keys as there
 * is room for, says FULL to the rest, and a WAIT map grows by those and gives them again.
 *
 * So growth follows keys, not elements: it happens only where new keys without room were seen.
 *
 * Where slots change in two steps (nacre/cuda/slot.cuh) insertions are exclusive, and those that
 * read or combine values are followed by a second kernel that does so, once for each element.
 */
#include "device/call.h"
#include "device/map.h"

/*
 * Keys of a sample, at most: few enough to be cheap, and to set nearly as many different bits;
 * enough to know the number of new keys to 0.4 percent, four times which, and the keys that met at
 * a bit, is what SAMPLE_ERROR adds.
 */
#define SAMPLE_KEYS  ((uint64_t)1 << 17)
#define SAMPLE_ERROR 1.025

/*
 * Fewer different keys than these tell little of how many there are: one, given a billion times,
 * would count for thousands. The batch then goes in chunks, each with a probe of its own.
 */
#define SAMPLE_LEAST (SAMPLE_KEYS / 64)

nacrei_elements nacrei_map_elements_of(const nacrei_batch *batch)
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
        .mask_bits = options->mask_bits,
        .has_missing_value = options->missing_value != NULL,
        .missing_value = batch->missing_value,
        .outcomes = options->outcomes,
        .counts = (uint64_t *)options->counts,
        .reduction = batch->reduction,
        .type = batch->type,
        .last = 1,
        .fault = 1,
    };
    return elements;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Elements first .. first + count - 1. */
static nacrei_elements part_of(const nacrei_elements *all, const nacre_map_config *config,
                               uint64_t first, uint64_t count)
{
    nacrei_elements part = *all;
    part.keys = (const char *)all->keys + first * config->key_bytes;
    part.values =
        all->values == NULL ? NULL : (const char *)all->values + first * config->value_bytes;
    part.values_out =
        all->values_out == NULL ? NULL : (char *)all->values_out + first * config->value_bytes;
    part.outcomes = all->outcomes == NULL ? NULL : all->outcomes + first;
    part.mask_offset += first;
    part.first = first;
    part.count = count;
    return part;
}

/* Counts start from zero, before the first launch of a call and after all that may refuse it. */
static nacre_status clear_counts(nacrei_map_call *self)
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

/* The table for a launch; a captured one reads the number of submaps when it is replayed. */
nacrei_table nacrei_map_table_of(const nacrei_map_call *self)
{
    nacrei_table table = self->map->table;
    table.submap_count = self->capturing ? 0 : self->map->submap_count;
    return table;
}

static nacre_status launch_lookup(nacrei_map_call *self, const nacrei_batch *batch,
                                  const nacrei_elements *elements)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    const nacrei_table table = nacrei_map_table_of(self);
    nacre_status status;
    const uint32_t class_of =
        batch->operation == NACREI_ASSIGN ? NACREI_CLASS_INSERT : NACREI_CLASS_READ;
    NACREI_TRY(nacrei_map_order_begin(self, class_of));
    NACREI_TRY(clear_counts(self));
    NACREI_CUDA(self->map->kernels->lookup(&table, elements, batch->operation, self->stream));
    NACREI_TRY(nacrei_map_order_end(self, class_of));
cleanup:
    return status;
}

static nacre_status launch_erase(nacrei_map_call *self, nacrei_elements *elements,
                                 uint32_t partitioned)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    const nacrei_table table = nacrei_map_table_of(self);
    nacre_status status;
    uint32_t numbered = 0;
    void *scratch = NULL;
    NACREI_TRY(nacrei_map_order_begin(self, NACREI_CLASS_EXCLUSIVE));
    NACREI_TRY(clear_counts(self));
    if (partitioned) {
        NACREI_TRY(nacrei_map_partition_begin(self, elements, &scratch));
    }
    NACREI_TRY(nacrei_map_number_batch(self, elements, 0));
    numbered = 1;
    NACREI_CUDA(self->map->kernels->erase(&table, elements, self->stream));
    numbered = 0;
    NACREI_TRY(nacrei_map_order_end(self, NACREI_CLASS_EXCLUSIVE));
cleanup:
    nacrei_map_partition_end(self, scratch);
    if (numbered) {
        nacrei_map_forget_batch(self);
    }
    return status;
}

static nacre_status erase(nacrei_map_call *self, const nacrei_elements *elements)
{
    const uint64_t part = nacrei_map_partition_part(self, elements);
    nacre_status status = NACRE_OK;
    for (uint64_t first = 0; first < elements->count && status == NACRE_OK;) {
        const uint64_t count = part != 0 ? least(part, elements->count - first) : elements->count;
        nacrei_elements now = part_of(elements, &self->map->head.config, first, count);
        status = launch_erase(self, &now, part != 0);
        first += count;
    }
    return status;
}

/* Not 0 where values are read or combined by a second kernel. */
static uint32_t has_second_step(const nacrei_cuda_map *map, uint32_t operation)
{
    return map->two_step &&
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

/* `inserting`: elements that may be new keys, at most. */
static nacre_status launch_insert_part(nacrei_map_call *self, nacrei_elements *elements,
                                       uint64_t inserting, uint32_t operation, uint32_t metered,
                                       uint32_t partitioned)
{
    nacrei_cuda_device *device = self->device;
    nacre_error *error = self->error;
    const char *call = self->call;
    const nacrei_table table = nacrei_map_table_of(self);
    nacre_status status;
    uint32_t numbered = 0;
    /* The meter counts what is there when it starts: it runs beside no other insertion. */
    const uint32_t class_of =
        metered || self->map->two_step ? NACREI_CLASS_EXCLUSIVE : NACREI_CLASS_INSERT;
    void *scratch = NULL;
    NACREI_TRY(nacrei_map_order_begin(self, class_of));
    NACREI_TRY(clear_counts(self));
    if (partitioned) {
        NACREI_TRY(nacrei_map_partition_begin(self, elements, &scratch));
    }
    NACREI_TRY(nacrei_map_number_batch(self, elements, inserting));
    numbered = 1;
    NACREI_CUDA(self->map->kernels->insert(&table, elements, operation, metered, self->stream));
    numbered = 0;
    if (elements->last && has_second_step(self->map, operation)) {
        NACREI_CUDA(launch_second_step(self, &table, elements, operation));
    }
    NACREI_TRY(nacrei_map_order_end(self, class_of));
cleanup:
    nacrei_map_partition_end(self, scratch);
    if (numbered) {
        nacrei_map_forget_batch(self);
    }
    return status;
}

static nacre_status launch_insert(nacrei_map_call *self, const nacrei_elements *elements,
                                  uint64_t inserting, uint32_t operation, uint32_t metered)
{
    const uint64_t part = metered ? 0 : nacrei_map_partition_part(self, elements);
    nacre_status status = NACRE_OK;
    for (uint64_t first = 0; first < elements->count && status == NACRE_OK;) {
        const uint64_t count = part != 0 ? least(part, elements->count - first) : elements->count;
        nacrei_elements now = part_of(elements, &self->map->head.config, first, count);
        status =
            launch_insert_part(self, &now, least(inserting, count), operation, metered, part != 0);
        first += count;
    }
    return status;
}

/* The greatest step of growth in keys where it is not known how many are new. */
static uint64_t growth_step(const nacrei_cuda_map *map)
{
    const uint64_t quarter = map->size_finished / 4;
    return quarter > map->submap_slots ? quarter : map->submap_slots;
}

/*
 * Elements whose keys are missing, and at least how many different ones, among the one in
 * sample_mask + 1 elements that are looked at; waits.
 */
static nacre_status probe(nacrei_map_call *self, nacrei_elements chunk, uint64_t sample_mask,
                          uint64_t *missing, uint64_t *different)
{
    nacrei_cuda_device *device = self->device;
    nacrei_cuda_map *map = self->map;
    nacre_error *error = self->error;
    const char *call = self->call;
    const nacrei_table table = nacrei_map_table_of(self);
    nacre_status status;
    uint32_t numbered = 0;
    chunk.counts = NULL;
    chunk.fault = 0;
    /* The bits are one thread's at a time: exclusive, so that no other insertion's come between. */
    NACREI_TRY(nacrei_map_order_begin(self, NACREI_CLASS_EXCLUSIVE));
    NACREI_TRY(nacrei_map_number_batch(self, &chunk, 0));
    map->batches[(map->issued - 1) % NACREI_RING].probe = 1;
    numbered = 1;
    NACREI_CUDA(map->kernels->probe(&table, &chunk, sample_mask, map->block->bits, self->stream));
    numbered = 0;
    NACREI_TRY(nacrei_map_order_end(self, NACREI_CLASS_EXCLUSIVE));
    NACREI_TRY(nacrei_map_settle(self, 0));
    *missing = map->last.refused;
    *different = (uint64_t)map->last.delta;
    map->fresh_share = (double)*missing * (double)(sample_mask + 1) / (double)chunk.count;
cleanup:
    if (numbered) {
        nacrei_map_forget_batch(self);
    }
    return status;
}

/* What the call says in the end when memory was refused; `left_out` counts over its chunks. */
static nacre_status memory_refused(nacrei_map_call *self)
{
    const unsigned long long left_out = self->left_out, size = self->map->size_finished;
    nacrei_log(&self->device->head, NACRE_LOG_WARNING,
               "%s: memory for growth was refused; %llu elements found no room", self->call,
               left_out);
    return nacrei_fail(self->error, NACRE_ERROR_OUT_OF_MEMORY, 0,
                       "%s: the map holds %llu keys and memory for more was refused; %llu elements "
                       "report FULL",
                       self->call, size, left_out);
}

/*
 * A chunk that may not fit, metered, with growth until every element has its place. The size is
 * exact.
 */
static nacre_status insert_metered(nacrei_map_call *self, nacrei_elements chunk, uint32_t operation)
{
    nacrei_cuda_map *map = self->map;
    nacre_status status;
    uint64_t left_out;
    uint32_t refused = 0;
    chunk.left_out = map->block->bits;
    chunk.last = 0;
    chunk.fault = 0;
    for (;;) {
        NACREI_TRY(launch_insert(self, &chunk, chunk.count, operation, 1));
        NACREI_TRY(nacrei_map_settle(self, 0));
        left_out = map->last.refused;
        chunk.retry = 1;
        if (left_out == 0) {
            break;
        }
        /* A table far from full that has no slot holds keys that share their hash: growing would
         * never end. */
        const uint32_t crowded = map->size_finished * 4 < map->submap_count * map->submap_slots &&
                                 map->size_finished < map->capacity_keys;
        if (!crowded) {
            NACREI_TRY(nacrei_map_grow(self, map->size_finished + least(left_out, growth_step(map)),
                                       &refused));
        }
        if (crowded || refused) {
            nacrei_map_fault(map,
                             refused ? NACRE_FAULT_FULL | NACRE_FAULT_MEMORY : NACRE_FAULT_FULL);
            self->left_out += refused ? left_out : 0;
            break;
        }
    }
    if (has_second_step(map, operation) ||
        (left_out != 0 && operation == NACREI_FIND_OR_INSERT && chunk.has_missing_value)) {
        /* Only now: values_out may be `values`, which the passes before read again. */
        chunk.last = 1;
        NACREI_TRY(launch_insert(self, &chunk, chunk.count, operation, 1));
    }
cleanup:
    return status;
}

/* A chunk that may not fit. The size is exact. */
static nacre_status insert_chunk(nacrei_map_call *self, nacrei_elements chunk, uint32_t operation)
{
    nacrei_cuda_map *map = self->map;
    nacre_status status;
    uint64_t missing = 0, different = 0;
    uint32_t refused = 0;
    NACREI_TRY(probe(self, chunk, 0, &missing, &different));
    if (different > nacrei_map_room(map)) {
        /*
         * The bound is close where keys are different: at most half as much again is taken for
         * granted. Refused memory is found out, and told, when elements are left out.
         */
        NACREI_TRY(nacrei_map_grow(
            self, map->size_finished + least(missing, different + different / 2), &refused));
    }
    if (missing <= nacrei_map_room(map)) {
        return launch_insert(self, &chunk, missing, operation, 0);
    }
    return insert_metered(self, chunk, operation);
cleanup:
    return status;
}

/*
 * Grows for the new keys of a large batch as a sample of its keys tells them: that is cheaper than
 * to look for every key, and where nearly all are new they then fit for certain. The size is exact.
 */
static nacre_status grow_by_sample(nacrei_map_call *self, const nacrei_elements *elements)
{
    nacrei_cuda_map *map = self->map;
    nacre_status status = NACRE_OK;
    uint64_t sample_mask = 0, missing, different;
    uint32_t refused = 0;
    while (elements->count / (sample_mask + 1) > SAMPLE_KEYS) {
        sample_mask = 2 * sample_mask + 1;
    }
    if (sample_mask == 0) {
        return NACRE_OK;
    }
    NACREI_TRY(probe(self, *elements, sample_mask, &missing, &different));
    if (different < SAMPLE_LEAST) {
        return NACRE_OK;
    }
    /* A bound of the estimate, not a bound of the keys: what is missing in truth grows later. */
    const uint64_t expected = least(
        elements->count, (uint64_t)((double)different * (double)(sample_mask + 1) * SAMPLE_ERROR));
    if (expected > nacrei_map_room(map)) {
        /* Refused memory is found out, and told, when elements are left out. */
        status = nacrei_map_grow(self, map->size_finished + expected, &refused);
    }
cleanup:
    return status;
}

/*
 * Maps memory for the next growth while the device is busy with this batch: the host then has it
 * when it needs it. By no more than the batch may need, and an eighth.
 */
static void map_ahead(nacrei_map_call *self, uint64_t count)
{
    nacrei_cuda_map *map = self->map;
    if (self->capturing || map->fresh_share < 0.5 || nacrei_map_room(map) >= count ||
        map->size_finished + map->inserting <= map->reserved_keys) {
        return; /* within what was reserved no call allocates */
    }
    const uint64_t most = map->submap_count + map->submap_count / 8;
    const uint64_t next = nacrei_table_submaps(map->size_finished + map->inserting + count,
                                               map->submap_slots, map->head.config.load_max);
    nacrei_map_reserve_memory(self, least(most, next));
}

/* An insertion into a WAIT map. */
static nacre_status insert_waiting(nacrei_map_call *self, const nacrei_elements *all,
                                   const nacrei_batch *batch)
{
    nacrei_cuda_map *map = self->map;
    nacre_status status = NACRE_OK;
    uint64_t first = 0;
    while (first < all->count) {
        const uint64_t remaining = all->count - first;
        nacrei_map_retire(map);
        uint64_t room = nacrei_map_room(map);
        const uint32_t never_wait = (batch->options.flags & NACRE_OPTION_NEVER_WAIT) != 0;
        if (remaining <= room && (self->capturing || never_wait || !map->replays)) {
            /* Captured, or beside replays, it is metered: nobody knows how full the map will be. */
            nacrei_elements rest = part_of(all, &map->head.config, first, remaining);
            status = launch_insert(self, &rest, remaining, batch->operation,
                                   self->capturing || map->replays);
            break;
        }
        if (self->capturing || never_wait || nacrei_map_views_open(map)) {
            return nacrei_fail(self->error, NACRE_ERROR_WOULD_WAIT, 0,
                               "%s: count is %llu; allowed %s: up to %llu, for which there is room",
                               self->call, (unsigned long long)all->count,
                               self->capturing ? "in a capture"
                               : never_wait    ? "without a wait"
                                               : "beside an open view",
                               (unsigned long long)room);
        }
        NACREI_TRY(nacrei_map_settle(self, 0));
        if (map->replays) {
            NACREI_TRY(nacrei_map_size_read(self, &map->size_finished));
            map->pinned->hints.size = map->size_finished; /* exact now */
        }
        if (first == 0 && remaining > nacrei_map_room(map)) {
            NACREI_TRY(grow_by_sample(self, all));
        }
        room = nacrei_map_room(map);
        /* Half of the bits, where they bound the number of different keys; else one for each. */
        uint64_t chunk =
            map->fresh_share < 0.25 ? NACREI_CHUNK_ELEMENTS : NACREI_CHUNK_ELEMENTS / 2;
        chunk = least(remaining, chunk > room ? chunk : room);
        nacrei_elements part = part_of(all, &map->head.config, first, chunk);
        status = chunk <= room ? launch_insert(self, &part, chunk, batch->operation, 0)
                               : insert_chunk(self, part, batch->operation);
        /* Where memory is refused, known keys further on still have their turn. */
        if (status != NACRE_OK) {
            break;
        }
        first += chunk;
    }
    if (status == NACRE_OK && self->left_out != 0) {
        status = memory_refused(self);
    } else if (status == NACRE_OK) {
        map_ahead(self, all->count);
    }
cleanup:
    return status;
}

/* Growth of a DEFERRED map, by what finished batches have shown; never waits. */
static nacre_status grow_deferred(nacrei_map_call *self, uint64_t count)
{
    nacrei_cuda_map *map = self->map;
    uint32_t refused = 0;
    nacre_status status = NACRE_OK;
    nacrei_map_retire(map);
    const uint64_t size = nacrei_map_size_known(map);
    if (map->refused_unserved == 0 && size + map->inserting + count <= map->reserved_keys) {
        return NACRE_OK; /* within what was reserved no call allocates */
    }
    if (nacrei_map_views_open(map)) {
        return NACRE_OK; /* a later call does it, and this one may fit */
    }
    /* Room for what was refused, and for twice what the last batch brought; elements are not keys:
     * at most twofold. */
    const uint64_t most = size > map->submap_slots ? size : map->submap_slots;
    const uint64_t expected = least(map->refused_unserved + 2 * map->fresh_last, most);
    if (map->refused_unserved != 0 || size + expected > map->capacity_keys) {
        const uint64_t step = growth_step(map);
        status = nacrei_map_grow(self, size + (expected > step ? expected : step), &refused);
        if (refused) {
            nacrei_map_fault(map, NACRE_FAULT_MEMORY);
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
        nacre_status status = grow_deferred(self, elements->count);
        if (status != NACRE_OK) {
            return status;
        }
    }
    nacrei_map_retire(map);
    const uint32_t fits =
        !self->capturing && !map->replays && elements->count <= nacrei_map_room(map);
    return launch_insert(self, elements, elements->count, batch->operation, !fits);
}

nacre_status nacrei_cuda_map_batch(nacre_map *head, const nacrei_batch *batch, nacre_error *error)
{
    nacrei_map_call self;
    nacre_status status = nacrei_map_call_begin(&self, head, batch->call, error, batch->stream);
    nacrei_elements elements = nacrei_map_elements_of(batch);
    if (status != NACRE_OK) {
        goto cleanup;
    }
    self.counts = batch->options.counts;
    if (batch->count == 0) {
        status = clear_counts(&self);
        goto cleanup;
    }
    switch (batch->operation) {
    case NACREI_FIND:
    case NACREI_CONTAINS:
    case NACREI_ASSIGN:
        status = launch_lookup(&self, batch, &elements);
        break;
    case NACREI_ERASE:
        status = erase(&self, &elements);
        break;
    default:
        status = insert(&self, &elements, batch);
        break;
    }
    if (status == NACRE_OK && batch->operation != NACREI_FIND &&
        batch->operation != NACREI_CONTAINS && batch->operation != NACREI_ASSIGN) {
        status = nacrei_map_maintain_worn(&self);
    }
cleanup:
    nacrei_map_call_end(&self);
    return status;
}
