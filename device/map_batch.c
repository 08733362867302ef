/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: how an insertion that may not fit gets its room. The launches are in map_launch.c.
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
 */
#include "device/call.h"
#include "device/map.h"

/*
 * Keys of a sample, at most, and half as many at least: few enough to be cheap, and to set nearly
 * as many different bits; enough to know the number of new keys to 0.55 percent, four times which,
 * and the keys that met at a bit, is what SAMPLE_ERROR adds.
 */
#define SAMPLE_KEYS  ((uint64_t)1 << 16)
#define SAMPLE_ERROR 1.025

/*
 * Fewer different keys than these tell little of how many there are: one, given a billion times,
 * would count for thousands. The batch then goes in chunks, each with a probe of its own.
 */
#define SAMPLE_LEAST (SAMPLE_KEYS / 64)

/* The greatest step of growth in keys where it is not known how many are new. */
static uint64_t growth_step(const nacrei_cuda_map *map)
{
    const uint64_t quarter = map->size_finished / 4;
    return quarter > map->submap_slots ? quarter : map->submap_slots;
}

/* A table far from full that has no slot holds keys that share their hash: growing would never end.
 */
static uint32_t is_crowded(const nacrei_cuda_map *map, uint64_t size)
{
    return size * 4 < map->submap_count * map->submap_slots && size < map->capacity_keys;
}

/*
 * Maps memory for `count` keys more while the device is busy, and at most for so many submaps: the
 * host then has it when it needs it. If most keys were new of late.
 */
static void map_ahead(nacrei_map_call *self, uint64_t count, uint64_t submaps_most)
{
    nacrei_cuda_map *map = self->map;
    if (self->capturing || map->fresh_share < 0.5 ||
        map->size_finished + map->inserting <= map->reserved_keys) {
        return; /* within what was reserved no call allocates */
    }
    const uint64_t submaps = nacrei_table_submaps(map->size_finished + map->inserting + count,
                                                  map->submap_slots, map->head.config.load_max);
    nacrei_map_reserve_memory(self, nacrei_least(submaps, submaps_most));
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
    const uint64_t likely = (uint64_t)((double)chunk.count * map->fresh_share * SAMPLE_ERROR);
    map_ahead(self, nacrei_least(likely, chunk.count), 2 * map->submap_count);
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
        NACREI_TRY(nacrei_map_launch_change(self, &chunk, chunk.count, operation, 1));
        NACREI_TRY(nacrei_map_settle(self, 0));
        left_out = map->last.refused;
        chunk.retry = 1;
        if (left_out == 0) {
            break;
        }
        const uint32_t crowded = is_crowded(map, map->size_finished);
        if (!crowded) {
            NACREI_TRY(nacrei_map_grow(
                self, map->size_finished + nacrei_least(left_out, growth_step(map)), &refused));
        }
        if (crowded || refused) {
            nacrei_map_fault(map,
                             refused ? NACRE_FAULT_FULL | NACRE_FAULT_MEMORY : NACRE_FAULT_FULL);
            self->left_out += refused ? left_out : 0;
            break;
        }
    }
    if (nacrei_map_has_second_step(map, operation) ||
        (left_out != 0 && operation == NACREI_FIND_OR_INSERT && chunk.has_missing_value)) {
        /* Only now: values_out may be `values`, which the passes before read again. */
        chunk.last = 1;
        NACREI_TRY(nacrei_map_launch_change(self, &chunk, chunk.count, operation, 1));
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
            self, map->size_finished + nacrei_least(missing, different + different / 2), &refused));
    }
    if (missing <= nacrei_map_room(map)) {
        return nacrei_map_launch_change(self, &chunk, missing, operation, 0);
    }
    return insert_metered(self, chunk, operation);
cleanup:
    return status;
}

/*
 * Grows for the new keys of a large batch as a sample of its keys tells them: that is cheaper than
 * to look for every key, and where nearly all are new they then fit for certain. Waits until the
 * size is exact.
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
    const uint64_t expected = nacrei_least(
        elements->count, (uint64_t)((double)different * (double)(sample_mask + 1) * SAMPLE_ERROR));
    if (expected > nacrei_map_room(map)) {
        /* Refused memory is found out, and told, when elements are left out. */
        status = nacrei_map_grow(self, map->size_finished + expected, &refused);
    }
cleanup:
    return status;
}

static uint32_t must_not_wait(const nacrei_map_call *self, const nacrei_batch *batch)
{
    return self->capturing || (batch->options.flags & NACRE_OPTION_NEVER_WAIT) != 0 ||
           nacrei_map_views_open(self->map);
}

/* Before anything is issued: WOULD_WAIT for an insertion that must not wait, and may not fit. */
static nacre_status check_room(nacrei_map_call *self, const nacrei_batch *batch)
{
    nacrei_cuda_map *map = self->map;
    nacrei_map_retire(map);
    const uint64_t room = nacrei_map_room(map);
    if (!must_not_wait(self, batch) || batch->count <= room) {
        return NACRE_OK;
    }
    return nacrei_fail(self->error, NACRE_ERROR_WOULD_WAIT, 0,
                       "%s: count is %llu; allowed: up to %llu, for which there is room, %s",
                       self->call, (unsigned long long)batch->count, (unsigned long long)room,
                       self->capturing              ? "in a capture"
                       : nacrei_map_views_open(map) ? "beside an open view"
                                                    : "without a wait");
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
        if (must_not_wait(self, batch) || (remaining <= room && !map->replays)) {
            /* Captured, or beside replays, it is metered: nobody knows how full the map will be. */
            nacrei_elements rest = nacrei_map_part_of(all, &map->head.config, first, remaining);
            status = nacrei_map_launch_change(self, &rest, remaining, batch->operation,
                                              self->capturing || map->replays);
            break;
        }
        if (map->replays || map->fresh_share < 0.5) {
            NACREI_TRY(nacrei_map_settle(self, 0)); /* it may fit, if those in flight were known */
        }
        if (map->replays) {
            NACREI_TRY(nacrei_map_size_read(self, &map->size_finished));
            map->pinned->hints.size = map->size_finished; /* exact now */
        }
        if (first == 0 && remaining > nacrei_map_room(map)) {
            /* Enqueued behind those in flight: one wait is enough for all. */
            NACREI_TRY(grow_by_sample(self, all));
        }
        NACREI_TRY(nacrei_map_settle(self, 0));
        room = nacrei_map_room(map);
        /* Half of the bits, where they bound the number of different keys; else one for each. */
        uint64_t chunk =
            map->fresh_share < 0.25 ? NACREI_CHUNK_ELEMENTS : NACREI_CHUNK_ELEMENTS / 2;
        chunk = nacrei_least(remaining, chunk > room ? chunk : room);
        nacrei_elements part = nacrei_map_part_of(all, &map->head.config, first, chunk);
        status = chunk <= room ? nacrei_map_launch_change(self, &part, chunk, batch->operation, 0)
                               : insert_chunk(self, part, batch->operation);
        /* Where memory is refused, known keys further on still have their turn. */
        if (status != NACRE_OK) {
            break;
        }
        first += chunk;
    }
    if (status == NACRE_OK && self->left_out == 0) {
        /* The next batch may be as large; by no more than an eighth, as it may not come. */
        map_ahead(self, all->count, map->submap_count + map->submap_count / 8);
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
    if (size + map->inserting + count <= map->reserved_keys) {
        return NACRE_OK; /* within what was reserved no call allocates */
    }
    if (nacrei_map_views_open(map)) {
        return NACRE_OK; /* a later call does it, and this one may fit */
    }
    if (is_crowded(map, size)) {
        map->refused_unserved = 0;
    }
    /* Room for what was refused, and for twice what the last batch brought; elements are not keys:
     * at most twofold. */
    const uint64_t most = size > map->submap_slots ? size : map->submap_slots;
    const uint64_t expected = nacrei_least(map->refused_unserved + 2 * map->fresh_last, most);
    if (map->refused_unserved != 0 || size + expected > map->capacity_keys) {
        const uint64_t step = growth_step(map);
        status = nacrei_map_grow(self, size + (expected > step ? expected : step), &refused);
        if (refused) {
            nacrei_map_fault(map, NACRE_FAULT_MEMORY);
            (void)nacrei_growth_refused(&map->head, self->call, size, 0, self->error);
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
    /* The whole of what is left of the call: beside an open view it is either refused before its
     * first launch, or none of its launches is. */
    const uint64_t left = batch->count - elements->first;
    const uint32_t fits = !self->capturing && !map->replays && left <= nacrei_map_room(map);
    return nacrei_map_launch_change(self, elements, elements->count, batch->operation, !fits);
}

/* Up to NACREI_LAUNCH_ELEMENTS of a batch. */
static nacre_status run_part(nacrei_map_call *self, nacrei_elements *elements,
                             const nacrei_batch *batch)
{
    switch (batch->operation) {
    case NACREI_FIND:
    case NACREI_CONTAINS:
    case NACREI_ASSIGN:
        return nacrei_map_launch_lookup(self, batch, elements);
    case NACREI_ERASE:
        return nacrei_map_launch_change(self, elements, 0, NACREI_ERASE, 0);
    default:
        return insert(self, elements, batch);
    }
}

nacre_status nacrei_cuda_map_batch(nacre_map *head, const nacrei_batch *batch, nacre_error *error)
{
    const uint32_t operation = batch->operation;
    const uint32_t inserts = operation != NACREI_FIND && operation != NACREI_CONTAINS &&
                             operation != NACREI_ASSIGN && operation != NACREI_ERASE;
    const nacrei_elements all = nacrei_map_elements_of((nacrei_cuda_map *)head, batch);
    nacrei_map_call self;
    nacre_status status = nacrei_map_call_begin(&self, head, batch->call, error, batch->stream);
    if (status != NACRE_OK) {
        goto cleanup;
    }
    self.counts = batch->options.counts;
    if (batch->count == 0) {
        status = nacrei_map_clear_counts(&self);
        goto cleanup;
    }
    if (inserts && head->config.growth == NACRE_GROWTH_WAIT) {
        NACREI_TRY(check_room(&self, batch));
    }
    for (uint64_t first = 0; first < all.count; first += NACREI_LAUNCH_ELEMENTS) {
        nacrei_elements part = nacrei_map_part_of(
            &all, &head->config, first, nacrei_least(all.count - first, NACREI_LAUNCH_ELEMENTS));
        NACREI_TRY(run_part(&self, &part, batch));
    }
    if (self.left_out != 0) {
        NACREI_TRY(
            nacrei_growth_refused(head, self.call, self.map->size_finished, self.left_out, error));
    }
    if (inserts || operation == NACREI_ERASE) {
        status = nacrei_map_maintain_worn(&self);
    }
cleanup:
    nacrei_map_call_end(&self);
    return status;
}
