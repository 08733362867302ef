/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes in the order of the table. The elements of a chunk of the batch are copied to where those
 * of one part of the table lie together, in their order; then the parts are done, by the device's
 * threads beside each other or by the caller's alone one after another. So no slot is touched by
 * two threads, equal keys meet in one part, and a part that many keys go to is fetched once for all
 * of them.
 *
 * Which part a key belongs to is told by bits of its hash that a split leaves alone: the parts stay
 * good while the table grows.
 */
#include <string.h>

#include "lib/cpu/batch.h"
#include "lib/cpu/select.h"
#include "lib/cpu/table.h"

/*
 * With so many elements for each submap it gains even one thread that they lie together: a submap
 * has 1024 cache lines. So a chunk brings four times as many at most: more would gain little, and
 * the copies of a chunk take memory.
 */
#define DENSE_MIN 1024u
#define DENSE_MAX 4096u

/*
 * In a map of so many keys that they fill LARGE_SUBMAPS, a table far beyond the caches, fewer do.
 */
#define LARGE_MIN     64u
#define LARGE_SUBMAPS 1200u

/* Submaps of a part: they stay in L2. */
#define PART_SUBMAPS 4u

/* A part, or a slice of what is to be copied, for each thread would leave some idle at the end. */
#define PARTS_PER_THREAD  4u
#define SLICES_PER_THREAD 4u
#define SLICES_MAX        64u

/* Elements of a chunk, for each thread, where memory is not to be touched for more. */
#define CHUNK_PER_THREAD 65536u

/*
 * A smaller table fits into the caches, and grows by too few keys at a time to keep threads busy.
 */
#define HALF_MIN 256u

/* Elements that find their parts at a time: they stay in L1. */
#define COUNTED 2048u

typedef struct parted {
    nacrei_cpu_job *job;
    nacrei_batch batch; /* that of the job from `first` on, by part */
    uint64_t first;
    uint64_t count;
    uint32_t parts;      /* a power of two */
    uint32_t shift;      /* of the hash: where the bits of the part begin */
    uint32_t for_caches; /* the copy pays by what the caches then serve, with one thread, too */
    uint32_t slices;     /* of the chunk, each copied by one thread */
    uint64_t slice_size;

    /* In scratch, each from a cache line on. */
    char *keys;             /* [count] by part */
    char *values;           /* [count] by part; NULL: the batch has none */
    uint32_t *outputs;      /* [count] by part: offsets from `first`; NULL: nothing is told */
    uint16_t *numbers;      /* [count] the part of each element */
    uint32_t *places;       /* [slices][parts] elements of the part, then where they go */
    nacrei_cpu_line *lines; /* [slices][parts] */
    uint64_t *position;     /* [parts] how far the part has been done */
    uint64_t *end;          /* [parts] */
    nacrei_cpu_late *late;  /* [parts] */

    uint64_t room; /* shared by the parts; by __atomic */
    pthread_mutex_t lock;
    nacrei_cpu_run sum; /* what all parts did; under the lock */
} parted;

static uint32_t threads(const nacrei_cpu_job *job)
{
    return job->pool != NULL ? nacrei_pool_size(job->pool) : 1;
}

/* Does a task `parts` times, on the threads that there are. */
static void each(parted *parted, nacrei_pool_task *task, uint32_t parts)
{
    if (parted->job->pool != NULL) {
        nacrei_pool_run(parted->job->pool, task, parted, parts);
        return;
    }
    for (uint32_t part = 0; part < parts; part++) {
        task(parted, part);
    }
}

static uint64_t slice_count(const parted *parted, uint32_t slice)
{
    uint64_t left = parted->count - slice * parted->slice_size;
    return left < parted->slice_size ? left : parted->slice_size;
}

/* Tells the part of each element of a slice and counts what each part gets. */
static void count_slice(void *context, uint32_t slice)
{
    parted *parted = context;
    const nacrei_cpu_job *job = parted->job;
    uint64_t offset = slice * parted->slice_size, count = slice_count(parted, slice);
    uint32_t *counts = parted->places + (size_t)slice * parted->parts;
    memset(counts, 0, parted->parts * sizeof *counts);
    for (uint64_t at = offset; at < offset + count; at += COUNTED) {
        uint64_t left = offset + count - at;
        uint32_t some = left < COUNTED ? (uint32_t)left : COUNTED;
        uint16_t *numbers = parted->numbers + at;
        job->map->kernels->parts(job->map, job->batch, parted->first + at, some, parted->shift,
                                 parted->parts - 1, numbers);
        if (job->batch->options.mask_kind != NACRE_MASK_NONE) {
            nacrei_select_not(job->batch, parted->first + at, some, numbers, NACREI_CPU_NO_PART);
        }
        for (uint32_t i = 0; i < some; i++) {
            if (numbers[i] != NACREI_CPU_NO_PART) {
                counts[numbers[i]]++;
            }
        }
    }
}

static void copy_slice(void *context, uint32_t slice)
{
    const parted *parted = context;
    const nacrei_batch *batch = parted->job->batch;
    const nacre_map_config *config = &parted->job->map->head.config;
    uint64_t offset = slice * parted->slice_size, element = parted->first + offset;
    size_t row = (size_t)slice * parted->parts;
    nacrei_cpu_scatter scatter = {
        .keys = (const char *)batch->keys + element * config->key_bytes,
        .parts = parted->numbers + offset,
        .count = slice_count(parted, slice),
        .first = offset,
        .part_count = parted->parts,
        .places = parted->places + row,
        .lines = parted->lines + row,
        .keys_out = parted->keys,
        .values_out = parted->values,
        .numbers_out = parted->outputs,
    };
    if (parted->values != NULL) {
        scatter.values = (const char *)batch->values + element * config->value_bytes;
    }
    parted->job->map->kernels->scatter(&scatter);
}

/* Brings the elements into the order of their parts. */
static void scatter(parted *parted)
{
    uint32_t place = 0;
    each(parted, count_slice, parted->slices);
    for (uint32_t part = 0; part < parted->parts; part++) {
        parted->position[part] = place;
        for (uint32_t slice = 0; slice < parted->slices; slice++) {
            uint32_t *at = &parted->places[(size_t)slice * parted->parts + part], count = *at;
            *at = place;
            place += count;
        }
        parted->end[part] = place;
        parted->late[part].count = 0;
    }
    each(parted, copy_slice, parted->slices);
    parted->job->counts.skipped += parted->count - place;
}

static void update_part(void *context, uint32_t part)
{
    parted *parted = context;
    const nacrei_cpu_job *job = parted->job;
    if (parted->position[part] == parted->end[part] && parted->late[part].count == 0) {
        return;
    }
    nacrei_cpu_run run = nacrei_cpu_run_begin(job);
    run.batch = &parted->batch;
    run.outputs = parted->outputs;
    run.late = &parted->late[part];
    run.dense = parted->count >= DENSE_MIN * job->map->table.submap_count;
    run.more_room = &parted->room;
    run.stash_lock = &job->map->stash_lock;
    parted->position[part] = job->kernel(&run, parted->position[part], parted->end[part]);
    /* Relaxed: only the number counts; see nacrei_cpu_more_room. */
    __atomic_fetch_add(&parted->room, run.room, __ATOMIC_RELAXED);
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
        each(parted, update_part, parted->parts);
        nacrei_cpu_settle(job, &parted->sum);
        for (uint32_t part = 0; part < parted->parts; part++) {
            unfinished +=
                parted->position[part] < parted->end[part] || parted->late[part].count != 0;
        }
        if (unfinished == 0) {
            return;
        }
        /* What a thread took of the room and did not use is there for others at the next turn. */
        if (parted->sum.stopped_for_place || nacrei_cpu_room(job->map) == 0) {
            nacrei_cpu_make_room(job, parted->sum.stopped_for_place);
        }
    }
}

/* Are so many elements to be parted for the caches' sake? Room that was reserved is used without
   memory. */
static int gains(const nacrei_cpu_job *job, uint64_t left)
{
    const nacrei_cpu_map *map = job->map;
    uint64_t keys = map->size + left;
    uint32_t large = keys >= LARGE_SUBMAPS * nacrei_cpu_submap_slots(&map->head.config);
    return left >= (large ? LARGE_MIN : DENSE_MIN) * map->table.submap_count &&
           !job->copies_refused && keys > map->reserved_keys;
}

/* How many of `left` elements make a chunk; 0: none. */
static uint64_t chunk(const nacrei_cpu_job *job, uint64_t left)
{
    if (job->map->table.half < HALF_MIN) {
        return 0;
    }
    if (gains(job, left)) {
        uint64_t most = DENSE_MAX * job->map->table.submap_count;
        most = most < UINT32_MAX ? most : UINT32_MAX; /* places are numbers of 32 bits */
        uint64_t chunks = (left + most - 1) / most;
        return (left + chunks - 1) / chunks;
    }
    if (job->pool != NULL && left >= NACREI_CPU_LARGE_BATCH) {
        uint32_t count = threads(job) < SLICES_MAX ? threads(job) : SLICES_MAX;
        uint64_t most = (uint64_t)CHUNK_PER_THREAD * count;
        return left < most ? left : most;
    }
    return 0;
}

/* Into how many parts and slices. */
static void divide(parted *parted)
{
    const nacrei_cpu_job *job = parted->job;
    uint64_t half = job->map->table.half, wanted = PARTS_PER_THREAD * threads(job);
    uint32_t bits = 0, half_bits = (uint32_t)__builtin_ctzll(half);
    if (parted->for_caches && wanted < half / PART_SUBMAPS) {
        wanted = half / PART_SUBMAPS;
    }
    while (bits < half_bits && (1u << bits) < wanted && (1u << bits) < NACREI_CPU_PARTS_MAX) {
        bits++;
    }
    parted->parts = 1u << bits;
    /* The highest bits that tell the half of the table: a part is some neighbouring submaps. */
    parted->shift = NACREI_HASH_SUBMAP_SHIFT + half_bits - bits;
    uint32_t slices = threads(job) == 1 ? 1 : SLICES_PER_THREAD * threads(job);
    slices = slices < SLICES_MAX ? slices : SLICES_MAX;
    parted->slice_size = (parted->count + slices - 1) / slices;
    parted->slices = (uint32_t)((parted->count + parted->slice_size - 1) / parted->slice_size);
}

/* Takes memory for one array. */
static void *piece(uintptr_t *at, uint64_t bytes)
{
    void *begin = (void *)*at;
    *at += (uintptr_t)(bytes + 63) / 64 * 64;
    return begin;
}

/* Lays out the arrays from an address on; returns their bytes. */
static uint64_t lay_out(parted *parted, uintptr_t begin)
{
    const nacrei_batch *batch = parted->job->batch;
    const nacre_map_config *config = &parted->job->map->head.config;
    uint64_t count = parted->count, rows = (uint64_t)parted->slices * parted->parts;
    uintptr_t at = begin;
    parted->keys = piece(&at, count * config->key_bytes);
    if (batch->values != NULL && config->value_bytes != 0) {
        parted->values = piece(&at, count * config->value_bytes);
    }
    if (batch->options.outcomes != NULL || batch->values_out != NULL) {
        parted->outputs = piece(&at, count * sizeof *parted->outputs);
    }
    parted->numbers = piece(&at, count * sizeof *parted->numbers);
    parted->places = piece(&at, rows * sizeof *parted->places);
    parted->lines = piece(&at, rows * sizeof *parted->lines);
    parted->position = piece(&at, parted->parts * sizeof *parted->position);
    parted->end = piece(&at, parted->parts * sizeof *parted->end);
    parted->late = piece(&at, parted->parts * sizeof *parted->late);
    return at - begin;
}

/* The batch whose elements are those of the arrays, and whose outputs are found by `outputs`. */
static nacrei_batch batch_by_part(const parted *parted)
{
    const nacre_map_config *config = &parted->job->map->head.config;
    nacrei_batch batch = *parted->job->batch;
    batch.keys = parted->keys;
    batch.values = parted->values;
    if (batch.values_out != NULL) {
        batch.values_out = (char *)batch.values_out + parted->first * config->value_bytes;
    }
    if (batch.options.outcomes != NULL) {
        batch.options.outcomes += parted->first;
    }
    return batch;
}

uint64_t nacrei_cpu_update_parted(nacrei_cpu_job *job, uint64_t first, uint64_t left)
{
    parted parted = {
        .job = job, .first = first, .count = chunk(job, left), .for_caches = gains(job, left)};
    if (parted.count == 0) {
        return 0;
    }
    divide(&parted);
    uint64_t bytes = lay_out(&parted, 0);
    void *scratch = parted.for_caches ? nacrei_cpu_table_borrow(job->map, parted.count, bytes)
                                      : nacrei_pool_scratch(job->pool, NACREI_POOL_COPIES, bytes);
    if (scratch == NULL) {
        job->copies_refused = 1;
        return 0;
    }
    lay_out(&parted, (uintptr_t)scratch);
    parted.batch = batch_by_part(&parted);
    pthread_mutex_init(&parted.lock, NULL);
    scatter(&parted);
    update_parts(&parted);
    pthread_mutex_destroy(&parted.lock);
    if (parted.for_caches) {
        nacrei_cpu_table_return(job->map, scratch, bytes);
    }
    return parted.count;
}
