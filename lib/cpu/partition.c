/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes on several threads. The elements of a chunk of the batch are sorted into lists by the
 * part of the table that they belong to; then the parts are done beside each other. So no slot is
 * touched by two threads, and equal keys meet in one list, in their order.
 *
 * Which part a key belongs to is told by bits of its hash that a split leaves alone: the lists stay
 * good while the table grows.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/cpu/batch.h"
#include "lib/cpu/select.h"

/* Elements that one thread sorts at a time. */
#define SLICE 65536u

/* Threads that sort at a time. */
#define SLICES_MAX 64u

/* A part for each thread would leave some idle at the end. */
#define PARTS_PER_THREAD 4u
#define PARTS_MAX        256u

/*
 * A smaller table fits into the caches, and grows by too few keys at a time to keep threads busy.
 */
#define HALF_MIN 256u

/* What has no part: an element that the mask leaves out. */
#define NO_PART UINT16_MAX

typedef struct parted {
    nacrei_cpu_job *job;
    uint64_t first;
    uint32_t count;
    uint32_t parts;                         /* a power of two */
    uint32_t shift;                         /* of the hash: where the bits of the part begin */
    uint16_t *numbers;                      /* [count] the part of each element */
    uint32_t *elements;                     /* [count] offsets from `first`, by part */
    uint32_t places[PARTS_MAX][SLICES_MAX]; /* elements of a part in a slice, then where they go */
    uint64_t position[PARTS_MAX];           /* how far the part has been done */
    uint64_t end[PARTS_MAX];
    uint64_t room; /* shared by the parts; by __atomic */
    pthread_mutex_t lock;
    nacrei_cpu_run sum; /* what all parts did; under the lock */
} parted;

static uint32_t slices(const parted *parted)
{
    return (parted->count + SLICE - 1) / SLICE;
}

static uint32_t slice_size(const parted *parted, uint32_t slice)
{
    uint32_t left = parted->count - slice * SLICE;
    return left < SLICE ? left : SLICE;
}

/* Tells the part of each element of a slice and counts what each part gets. */
static void count_slice(void *context, uint32_t slice)
{
    parted *parted = context;
    const nacrei_cpu_job *job = parted->job;
    uint64_t first = parted->first + (uint64_t)slice * SLICE;
    uint32_t size = slice_size(parted, slice), counts[PARTS_MAX] = {0};
    uint16_t *numbers = parted->numbers + (size_t)slice * SLICE;
    job->map->kernels->parts(job->map, job->batch, first, size, parted->shift, parted->parts - 1,
                             numbers);
    if (job->batch->options.mask_kind != NACRE_MASK_NONE) {
        nacrei_select_not(job->batch, first, size, numbers, NO_PART);
    }
    for (uint32_t i = 0; i < size; i++) {
        if (numbers[i] != NO_PART) {
            counts[numbers[i]]++;
        }
    }
    for (uint32_t part = 0; part < parted->parts; part++) {
        parted->places[part][slice] = counts[part];
    }
}

static void place_slice(void *context, uint32_t slice)
{
    parted *parted = context;
    uint32_t size = slice_size(parted, slice), offset = slice * SLICE, places[PARTS_MAX];
    const uint16_t *numbers = parted->numbers + offset;
    for (uint32_t part = 0; part < parted->parts; part++) {
        places[part] = parted->places[part][slice];
    }
    for (uint32_t i = 0; i < size; i++) {
        if (numbers[i] != NO_PART) {
            parted->elements[places[numbers[i]]++] = offset + i;
        }
    }
}

/* Makes the lists. */
static void sort(parted *parted)
{
    uint32_t place = 0;
    nacrei_pool_run(parted->job->pool, count_slice, parted, slices(parted));
    for (uint32_t part = 0; part < parted->parts; part++) {
        parted->position[part] = place;
        for (uint32_t slice = 0; slice < slices(parted); slice++) {
            uint32_t count = parted->places[part][slice];
            parted->places[part][slice] = place;
            place += count;
        }
        parted->end[part] = place;
    }
    nacrei_pool_run(parted->job->pool, place_slice, parted, slices(parted));
    parted->job->counts.skipped += parted->count - place;
}

static void update_part(void *context, uint32_t part)
{
    parted *parted = context;
    const nacrei_cpu_job *job = parted->job;
    if (parted->position[part] == parted->end[part]) {
        return;
    }
    nacrei_cpu_run run = nacrei_cpu_run_begin(job);
    run.base = parted->first;
    run.list = parted->elements;
    run.more_room = &parted->room;
    run.stash_lock = &job->map->stash_lock;
    parted->position[part] = job->kernel(&run, parted->position[part], parted->end[part]);
    pthread_mutex_lock(&parted->lock);
    parted->sum.done += run.done;
    parted->sum.refused += run.refused;
    parted->sum.inserted += run.inserted;
    parted->sum.erased += run.erased;
    parted->sum.stopped_for_place |= run.stopped_for_place;
    pthread_mutex_unlock(&parted->lock);
}

/* Does the parts, growing the table as needed. */
static void update_parts(parted *parted)
{
    nacrei_cpu_job *job = parted->job;
    for (;;) {
        uint32_t unfinished = 0;
        memset(&parted->sum, 0, sizeof parted->sum);
        parted->room = nacrei_cpu_room(job->map);
        nacrei_pool_run(job->pool, update_part, parted, parted->parts);
        nacrei_cpu_settle(job, &parted->sum);
        for (uint32_t part = 0; part < parted->parts; part++) {
            unfinished += parted->position[part] < parted->end[part];
        }
        if (unfinished == 0) {
            return;
        }
        /* What a part took of the room and did not use is there for the others at the next turn. */
        if (parted->sum.stopped_for_place || nacrei_cpu_room(job->map) == 0) {
            nacrei_cpu_make_room(job, parted->sum.stopped_for_place);
        }
    }
}

uint64_t nacrei_cpu_parted_max(const nacrei_pool *pool)
{
    uint32_t threads = nacrei_pool_size(pool);
    return (uint64_t)SLICE * (threads < SLICES_MAX ? threads : SLICES_MAX);
}

int nacrei_cpu_update_parted(nacrei_cpu_job *job, uint64_t first, uint64_t count)
{
    const nacrei_cpu_table *table = &job->map->table;
    uint32_t *lists = nacrei_pool_scratch(job->pool, NACREI_POOL_LISTS,
                                          count * (sizeof(uint32_t) + sizeof(uint16_t)));
    parted *parted = calloc(1, sizeof *parted);
    int parting = table->half >= HALF_MIN && lists != NULL && parted != NULL;
    if (parting) {
        uint32_t bits = 0, wanted = PARTS_PER_THREAD * nacrei_pool_size(job->pool);
        while ((1u << bits) < wanted && (1u << bits) < PARTS_MAX) {
            bits++;
        }
        parted->job = job;
        parted->first = first;
        parted->count = (uint32_t)count;
        parted->parts = 1u << bits;
        /* The highest bits that tell the half of the table: a part is some neighbouring submaps. */
        parted->shift = NACREI_HASH_SUBMAP_SHIFT + (uint32_t)__builtin_ctzll(table->half) - bits;
        parted->elements = lists;
        parted->numbers = (uint16_t *)(lists + count);
        pthread_mutex_init(&parted->lock, NULL);
        sort(parted);
        update_parts(parted);
        pthread_mutex_destroy(&parted->lock);
    }
    free(parted);
    return parting;
}
