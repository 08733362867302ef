/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes on several threads. Each thread owns some of the submaps; a chunk of the batch is sorted
 * into one list of elements per owner, and each owner goes through its list in order. So no slot is
 * touched by two threads, and equal keys meet in one list.
 *
 * Who owns a submap is told by low bits of its number that a split leaves alone: the lists stay
 * good while the table grows.
 */
#include <string.h>

#include "lib/cpu/batch.h"
#include "lib/cpu/select.h"
#include "nacre/core/hash.h"

/* Elements that one thread sorts at a time. */
#define SLICE 65536u

/* Threads that can own submaps. */
#define OWNERS_MAX 64u

/*
 * A smaller table fits into the caches, and grows by too few keys at a time to keep threads busy.
 */
#define HALF_MIN 256u

/* Bits of the submap's number that tell the owner: enough that the shares are even. */
#define NUMBER_BITS_MAX 12u

/* What has no owner: an element that the mask leaves out. */
#define NO_NUMBER UINT16_MAX

typedef struct chunk {
    nacrei_cpu_job *job;
    uint64_t first;
    uint64_t count;
    uint32_t owners;
    uint32_t number_bits;
    uint16_t *numbers;  /* [count] low bits of the submap's number */
    uint32_t *elements; /* [count] offsets from `first`, by owner */
    /*
     * [owner][slice] how many elements of the slice are the owner's, then where they go in
     * `elements`.
     */
    uint32_t places[OWNERS_MAX][OWNERS_MAX];
    uint64_t position[OWNERS_MAX]; /* [owner] how far it has come in `elements` */
    uint64_t end[OWNERS_MAX];
    uint64_t room; /* shared by the owners; by __atomic */
    nacrei_cpu_run runs[OWNERS_MAX];
} chunk;

static uint32_t owners_of(const nacrei_pool *pool)
{
    return nacrei_pool_size(pool) < OWNERS_MAX ? nacrei_pool_size(pool) : OWNERS_MAX;
}

uint64_t nacrei_cpu_owned_max(const nacrei_pool *pool)
{
    return (uint64_t)SLICE * owners_of(pool);
}

static uint32_t owner_of(const chunk *chunk, uint32_t number)
{
    return number * chunk->owners >> chunk->number_bits;
}

static uint32_t slice_size(const chunk *chunk, uint32_t slice)
{
    uint64_t left = chunk->count - (uint64_t)slice * SLICE;
    return left < SLICE ? (uint32_t)left : SLICE;
}

/* Gives each element of a slice its number and counts what each owner gets. */
static void count_slice(void *context, uint32_t slice)
{
    chunk *chunk = context;
    const nacrei_cpu_job *job = chunk->job;
    uint64_t first = chunk->first + (uint64_t)slice * SLICE;
    uint32_t size = slice_size(chunk, slice), counts[OWNERS_MAX] = {0};
    uint16_t *numbers = chunk->numbers + (size_t)slice * SLICE;
    nacrei_cpu_run run = nacrei_cpu_run_begin(job);
    job->map->kernels->numbers(&run, first, size, (1u << chunk->number_bits) - 1, numbers);
    if (job->batch->options.mask_kind != NACRE_MASK_NONE) {
        nacrei_select_not(job->batch, first, size, numbers, NO_NUMBER);
    }
    for (uint32_t i = 0; i < size; i++) {
        if (numbers[i] != NO_NUMBER) {
            counts[owner_of(chunk, numbers[i])]++;
        }
    }
    for (uint32_t owner = 0; owner < chunk->owners; owner++) {
        chunk->places[owner][slice] = counts[owner];
    }
}

static void fill_slice(void *context, uint32_t slice)
{
    chunk *chunk = context;
    uint32_t size = slice_size(chunk, slice), offset = slice * SLICE, places[OWNERS_MAX];
    const uint16_t *numbers = chunk->numbers + offset;
    for (uint32_t owner = 0; owner < chunk->owners; owner++) {
        places[owner] = chunk->places[owner][slice];
    }
    for (uint32_t i = 0; i < size; i++) {
        if (numbers[i] != NO_NUMBER) {
            chunk->elements[places[owner_of(chunk, numbers[i])]++] = offset + i;
        }
    }
}

/* Sorts the chunk by owner. */
static void sort(chunk *chunk)
{
    uint32_t slices = (uint32_t)((chunk->count + SLICE - 1) / SLICE), place = 0;
    nacrei_pool_run(chunk->job->pool, count_slice, chunk, slices);
    for (uint32_t owner = 0; owner < chunk->owners; owner++) {
        chunk->position[owner] = place;
        for (uint32_t slice = 0; slice < slices; slice++) {
            uint32_t count = chunk->places[owner][slice];
            chunk->places[owner][slice] = place;
            place += count;
        }
        chunk->end[owner] = place;
    }
    nacrei_pool_run(chunk->job->pool, fill_slice, chunk, slices);
    chunk->job->counts.skipped += chunk->count - place;
}

static void update_part(void *context, uint32_t owner)
{
    chunk *chunk = context;
    nacrei_cpu_run run = nacrei_cpu_run_begin(chunk->job); /* not in `runs`: no line is shared */
    run.base = chunk->first;
    run.list = chunk->elements;
    run.more_room = &chunk->room;
    run.stash_lock = &chunk->job->map->stash_lock;
    chunk->position[owner] = chunk->job->kernel(&run, chunk->position[owner], chunk->end[owner]);
    chunk->runs[owner] = run;
}

int nacrei_cpu_update_owned(nacrei_cpu_job *job, uint64_t first, uint64_t count)
{
    nacrei_cpu_map *map = job->map;
    uint64_t bytes = count * (sizeof(uint16_t) + sizeof(uint32_t));
    void *lists = nacrei_pool_scratch(job->pool, NACREI_POOL_LISTS, bytes);
    if (map->table.half < HALF_MIN || lists == NULL) {
        return 0;
    }
    uint32_t bits = (uint32_t)__builtin_ctzll(map->table.half);
    chunk chunk = {
        .job = job,
        .first = first,
        .count = count,
        .owners = owners_of(job->pool),
        .number_bits = bits < NUMBER_BITS_MAX ? bits : NUMBER_BITS_MAX,
        .elements = lists,
        .numbers = (uint16_t *)((uint32_t *)lists + count),
    };
    sort(&chunk);
    for (;;) {
        uint32_t unfinished = 0, for_place = 0;
        chunk.room = nacrei_cpu_room(map);
        nacrei_pool_run(job->pool, update_part, &chunk, chunk.owners);
        for (uint32_t owner = 0; owner < chunk.owners; owner++) {
            nacrei_cpu_settle(job, &chunk.runs[owner]);
            unfinished += chunk.position[owner] < chunk.end[owner];
            for_place |= chunk.runs[owner].stopped_for_place;
        }
        if (unfinished == 0) {
            return 1;
        }
        /*
         * What an owner took of the room and did not use is there for the others at the next turn.
         */
        if (for_place || nacrei_cpu_room(map) == 0) {
            nacrei_cpu_make_room(job, for_place);
        }
    }
}
