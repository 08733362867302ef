/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of batches: which elements take part, who works on them, and what is told in the end.
 *
 * A small batch is done by the caller's thread. For a large one the device's threads are taken:
 * lookups are cut into ranges; changes are brought into the order of the table, and each part of it
 * is done by one thread (partition.c).
 */
#include "lib/cpu/batch.h"

#include <string.h>

#include "lib/cpu/select.h"
#include "lib/cpu/table.h"

/* Elements of a change done as they come before it is asked again whether to part them: the table
   may have grown. */
#define UNPARTED 65536u

/* Elements of a lookup that a thread takes at a time. */
#define RANGE 32768u

static int inserts(uint32_t operation)
{
    return operation == NACREI_INSERT || operation == NACREI_INSERT_OR_ASSIGN ||
           operation == NACREI_INSERT_OR_APPLY || operation == NACREI_FIND_OR_INSERT;
}

static int reads(uint32_t operation)
{
    return operation == NACREI_FIND || operation == NACREI_CONTAINS;
}

nacrei_cpu_run nacrei_cpu_run_begin(const nacrei_cpu_job *job)
{
    nacrei_cpu_run run = {
        .map = job->map,
        .batch = job->batch,
        .refuse_room = job->refuse_room,
        .refuse_place = job->refuse_place,
    };
    return run;
}

void nacrei_cpu_settle(nacrei_cpu_job *job, const nacrei_cpu_run *run)
{
    job->map->size += run->inserted - run->erased;
    job->map->erased_keys += run->erased;
    job->counts.done += run->done;
    job->counts.refused += run->refused;
}

/* ---- lookups ---- */

static void look_up(const nacrei_cpu_job *job, uint64_t first, uint64_t count, nacre_counts *counts)
{
    nacrei_cpu_run run = nacrei_cpu_run_begin(job);
    if (job->batch->options.mask_kind == NACRE_MASK_NONE) {
        run.base = first;
        job->kernel(&run, 0, count);
    } else {
        uint32_t list[NACREI_SELECT_CHUNK];
        run.list = list;
        for (uint64_t at = 0; at < count; at += NACREI_SELECT_CHUNK) {
            uint64_t left = count - at;
            uint32_t chunk = left < NACREI_SELECT_CHUNK ? (uint32_t)left : NACREI_SELECT_CHUNK;
            uint32_t taking = nacrei_select(job->batch, first + at, chunk, list);
            run.base = first + at;
            job->kernel(&run, 0, taking);
            counts->skipped += chunk - taking;
        }
    }
    counts->done += run.done;
}

void nacrei_cpu_look_up(nacrei_cpu_map *map, const nacrei_batch *batch, nacre_counts *counts)
{
    const nacrei_cpu_job job = {
        .map = map,
        .batch = batch,
        .kernel = map->kernels->run[batch->operation],
        .count = batch->count,
    };
    look_up(&job, 0, batch->count, counts);
}

typedef struct look_up_shared {
    const nacrei_cpu_job *job;
    pthread_mutex_t lock; /* guards the counts */
    nacre_counts counts;
} look_up_shared;

static void look_up_part(void *context, uint32_t part)
{
    look_up_shared *shared = context;
    uint64_t first = (uint64_t)part * RANGE, left = shared->job->count - first;
    nacre_counts counts = {0, 0, 0};
    look_up(shared->job, first, left < RANGE ? left : RANGE, &counts);
    pthread_mutex_lock(&shared->lock);
    shared->counts.done += counts.done;
    shared->counts.skipped += counts.skipped;
    pthread_mutex_unlock(&shared->lock);
}

static void look_up_all(nacrei_cpu_job *job)
{
    uint64_t parts = (job->count + RANGE - 1) / RANGE;
    if (job->pool == NULL || parts > UINT32_MAX / 2) {
        look_up(job, 0, job->count, &job->counts);
        return;
    }
    look_up_shared shared = {.job = job};
    pthread_mutex_init(&shared.lock, NULL);
    nacrei_pool_run(job->pool, look_up_part, &shared, (uint32_t)parts);
    pthread_mutex_destroy(&shared.lock);
    job->counts.done += shared.counts.done;
    job->counts.skipped += shared.counts.skipped;
}

/* ---- changes ---- */

/* Does the elements of a list (NULL: all) from `first` on, growing the table as needed. */
static void update_list(nacrei_cpu_job *job, uint64_t first, const uint32_t *list, uint64_t count)
{
    uint64_t position = 0;
    nacrei_cpu_late late = {.count = 0};
    for (;;) {
        nacrei_cpu_run run = nacrei_cpu_run_begin(job);
        run.late = &late;
        run.base = first;
        run.list = list;
        run.room = nacrei_cpu_room(job->map);
        position = job->kernel(&run, position, count);
        nacrei_cpu_settle(job, &run);
        if (position == count && late.count == 0) {
            return;
        }
        nacrei_cpu_make_room(job, run.stopped_for_place);
    }
}

static void update_alone(nacrei_cpu_job *job, uint64_t first, uint64_t count)
{
    if (job->batch->options.mask_kind == NACRE_MASK_NONE) {
        update_list(job, first, NULL, count);
        return;
    }
    uint32_t list[NACREI_SELECT_CHUNK];
    for (uint64_t at = 0; at < count; at += NACREI_SELECT_CHUNK) {
        uint64_t left = count - at;
        uint32_t chunk = left < NACREI_SELECT_CHUNK ? (uint32_t)left : NACREI_SELECT_CHUNK;
        uint32_t taking = nacrei_select(job->batch, first + at, chunk, list);
        job->counts.skipped += chunk - taking;
        update_list(job, first + at, list, taking);
    }
}

static void update_all(nacrei_cpu_job *job)
{
    for (uint64_t first = 0; first < job->count;) {
        uint64_t left = job->count - first, done = nacrei_cpu_update_parted(job, first, left);
        if (done == 0) {
            done = left < UNPARTED ? left : UNPARTED;
            update_alone(job, first, done);
        }
        first += done;
    }
}

/* ---- the whole ---- */

/* Takes the threads where the batch is worth it. Only in a forked child does it fail. */
static nacre_status take_pool(nacrei_cpu_job *job, nacre_error *error)
{
    nacrei_pool *pool = ((nacrei_cpu_device *)job->map->head.device)->pool;
    if (pool == NULL || job->count < NACREI_CPU_LARGE_BATCH) {
        return NACRE_OK;
    }
    switch (nacrei_pool_take(pool)) {
    case NACREI_POOL_TAKEN:
        job->pool = pool;
        return NACRE_OK;
    case NACREI_POOL_BUSY:
        return NACRE_OK;
    default:
        return nacrei_fail(
            error, NACRE_ERROR_UNSUPPORTED, 0,
            "%s: this process was forked after the device started its threads, which "
            "do not exist here; allowed: a device opened in this process",
            job->batch->call);
    }
}

/* Does the batch, under the lock that its operation needs. */
static nacre_status run_job(nacrei_cpu_job *job, nacre_error *error)
{
    nacrei_cpu_map *map = job->map;
    const nacrei_batch *batch = job->batch;
    if (inserts(batch->operation) && map->head.config.growth == NACRE_GROWTH_WAIT &&
        (batch->options.flags & NACRE_OPTION_NEVER_WAIT) != 0 &&
        batch->count > nacrei_cpu_room(map)) {
        return nacrei_fail(
            error, NACRE_ERROR_WOULD_WAIT, 0,
            "%s: count is %llu; allowed: up to %llu, for which there is room, without "
            "a wait",
            batch->call, (unsigned long long)batch->count,
            (unsigned long long)nacrei_cpu_room(map));
    }
    nacre_status status = take_pool(job, error);
    if (status != NACRE_OK) {
        return status;
    }
    if (reads(batch->operation)) {
        look_up_all(job);
    } else {
        /* Within what was reserved no call allocates. */
        if (inserts(batch->operation) && map->refused_keys != 0 &&
            map->size + job->count > map->reserved_keys) {
            nacrei_cpu_grow_deferred(job);
        }
        if (inserts(batch->operation)) {
            nacrei_cpu_grow_ahead(job);
        }
        update_all(job);
        if (map->head.config.growth == NACRE_GROWTH_DEFERRED) {
            map->refused_keys += job->counts.refused;
        }
        nacrei_cpu_table_maintain(map);
        nacrei_cpu_map_show(map, (job->counts.refused != 0 ? NACRE_FAULT_FULL : 0u) |
                                     (job->memory_refused ? NACRE_FAULT_MEMORY : 0u));
    }
    if (job->pool != NULL) {
        nacrei_pool_give(job->pool);
    }
    return NACRE_OK;
}

nacre_status nacrei_cpu_map_batch(nacre_map *base, const nacrei_batch *batch, nacre_error *error)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    const nacre_options *options = &batch->options;
    if (batch->count == 0) {
        memset(options->counts, 0, sizeof *options->counts);
        return NACRE_OK;
    }
    nacrei_cpu_job job = {
        .map = map,
        .batch = batch,
        .kernel = map->kernels->run[batch->operation],
        .count = batch->count,
    };
    if (options->count_device != NULL && *options->count_device < job.count) {
        job.count = *options->count_device;
    }
    if (reads(batch->operation)) {
        nacrei_cpu_lock_to_read(&map->lock);
    } else {
        nacrei_cpu_lock_to_change(&map->lock);
    }
    nacre_status status = run_job(&job, error);
    uint64_t size = map->size;
    nacrei_cpu_unlock(&map->lock);
    if (status != NACRE_OK) {
        return status;
    }
    nacrei_skip(batch, job.count, batch->count - job.count);
    job.counts.skipped += batch->count - job.count;
    if (options->counts != NULL) {
        *options->counts = job.counts;
    }
    return job.memory_refused
               ? nacrei_growth_refused(base, batch->call, size, job.counts.refused, error)
               : NACRE_OK;
}
