/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cpu/table.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cpu/kernels.h"
#include "lib/cpu/search.h"

/*
 * One rebuild for so many erased keys: a submap of 4096 slots is as good as new again by the time
 * that as many keys as it has slots have been erased from it.
 */
#define ERASED_PER_REBUILD 1024u

/* Splits that run beside each other: each thread gets a few, so that waking it pays. */
#define SPLITS_PER_THREAD 4u

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + NACREI_CPU_PAGE_BYTES - 1) / NACREI_CPU_PAGE_BYTES * NACREI_CPU_PAGE_BYTES;
}

uint64_t nacrei_cpu_map_struct_bytes(void)
{
    return whole_pages(sizeof(nacrei_cpu_map));
}

static uint64_t segment_bytes(uint64_t first)
{
    return whole_pages(nacrei_segment_of(first).count * NACREI_CPU_SUBMAP_BYTES);
}

uint64_t nacrei_cpu_table_bytes(uint64_t submap_count)
{
    uint64_t bytes = nacrei_cpu_map_struct_bytes();
    for (uint64_t first = 0; first <= submap_count; first += nacrei_segment_of(first).count) {
        bytes += segment_bytes(first);
    }
    return bytes;
}

uint64_t nacrei_cpu_table_capacity(const nacrei_cpu_map *map)
{
    const nacre_map_config *config = &map->head.config;
    uint64_t slots = nacrei_cpu_submap_slots(config), count = map->table.submap_count;
    if (config->growth == NACRE_GROWTH_FIXED) {
        return map->reserved_keys;
    }
    uint64_t growing = nacrei_table_capacity(count, slots, config->load_max);
    uint64_t reserved = nacrei_table_capacity_reserved(count, slots, config->load_max);
    if (map->reserved_keys < reserved) {
        reserved = map->reserved_keys;
    }
    return growing > reserved ? growing : reserved;
}

/* The submaps that the allocated segments hold, the stash included. */
static uint64_t submaps_allocated(const nacrei_cpu_table *table)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < table->segment_count; i++) {
        first += nacrei_segment_of(first).count;
    }
    return first;
}

static int allocate_segment(nacrei_cpu_map *map)
{
    uint64_t first = submaps_allocated(&map->table), bytes = segment_bytes(first);
    uint64_t limit = map->head.config.memory_limit_bytes;
    if (map->table.segment_count == NACREI_SEGMENTS_MAX ||
        (limit != 0 && map->memory_bytes + bytes > limit)) {
        return 0;
    }
    void *memory = nacrei_cpu_pages_allocate(map->head.device, bytes);
    if (memory == NULL) {
        return 0;
    }
    map->table.origins[map->table.segment_count++] =
        (uintptr_t)memory - (uintptr_t)(first * NACREI_CPU_SUBMAP_BYTES);
    map->memory_bytes += bytes;
    if (map->memory_peak_bytes < map->memory_bytes) {
        map->memory_peak_bytes = map->memory_bytes;
    }
    return 1;
}

static void release_last_segment(nacrei_cpu_map *map)
{
    nacrei_cpu_table *table = &map->table;
    table->segment_count--;
    uint64_t first = submaps_allocated(table), bytes = segment_bytes(first);
    uintptr_t memory =
        table->origins[table->segment_count] + (uintptr_t)(first * NACREI_CPU_SUBMAP_BYTES);
    nacrei_cpu_pages_release(map->head.device, (void *)memory, bytes);
    map->memory_bytes -= bytes;
}

int nacrei_cpu_table_allocate(nacrei_cpu_map *map, uint64_t submap_count)
{
    uint32_t before = map->table.segment_count;
    uint64_t peak = map->memory_peak_bytes;
    while (submaps_allocated(&map->table) < submap_count + 1) {
        if (!allocate_segment(map)) {
            while (map->table.segment_count > before) {
                release_last_segment(map);
            }
            map->memory_peak_bytes = peak > map->memory_bytes ? peak : map->memory_bytes;
            return 0;
        }
    }
    return 1;
}

void nacrei_cpu_table_release(nacrei_cpu_map *map)
{
    while (map->table.segment_count > 0) {
        release_last_segment(map);
    }
}

static void set_count(nacrei_cpu_table *table, uint64_t submap_count)
{
    table->submap_count = submap_count;
    table->half = nacrei_floor_power(submap_count);
}

void nacrei_cpu_table_clear(nacrei_cpu_map *map)
{
    for (uint64_t number = 0; number <= map->table.submap_count; number++) {
        memset(nacrei_cpu_submap(&map->table, number), 0, NACREI_CPU_SUBMAP_BYTES);
    }
    memset(map->side_present, 0, sizeof map->side_present);
    map->size = 0;
    map->stash_keys = 0;
    map->refused_keys = 0;
    map->erased_keys = 0;
}

/* Puts a key that is nowhere into the table. 0: its path is full. */
static int put(nacrei_cpu_map *map, uint64_t stored, uint64_t value)
{
    uint32_t key_bytes = map->head.config.key_bytes, value_bytes = map->head.config.value_bytes;
    uint64_t hash = nacrei_hash(nacrei_key_store(stored, key_bytes), map->table.seed);
    nacrei_cpu_walk walk =
        nacrei_cpu_walk_begin(&map->table, nacrei_cpu_submap_of(&map->table, hash), hash, NULL);
    nacrei_cpu_walk_find(&walk, stored, key_bytes, value_bytes);
    unsigned char *slot = nacrei_cpu_walk_claim(&walk, key_bytes, value_bytes);
    if (slot == NULL) {
        return 0;
    }
    nacrei_slot_set(slot, stored, value, key_bytes, value_bytes);
    map->stash_keys += nacrei_cpu_in_stash(&map->table, slot);
    return 1;
}

/* Puts every key of a saved image into the table as it is now. 0: one found no place. */
static int put_all(nacrei_cpu_map *map, const unsigned char *saved)
{
    uint32_t key_bytes = map->head.config.key_bytes, value_bytes = map->head.config.value_bytes;
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    for (uint32_t at = 0; at < NACREI_CPU_SIGNATURES_OFFSET; at += slot_bytes) {
        uint64_t stored = nacrei_slot_key(saved + at, key_bytes, value_bytes);
        if (stored >= nacrei_empty_patterns(value_bytes) &&
            !put(map, stored, nacrei_slot_value(saved + at, key_bytes, value_bytes))) {
            return 0;
        }
    }
    return 1;
}

/* Puts the stash's keys that belong to one of these submaps where a lookup finds them now. */
static int put_stash_keys(nacrei_cpu_map *map, const unsigned char *saved_stash,
                          unsigned char *const images[2])
{
    uint32_t key_bytes = map->head.config.key_bytes, value_bytes = map->head.config.value_bytes;
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    unsigned char *stash = nacrei_cpu_stash(&map->table);
    for (uint32_t at = 0; at < NACREI_CPU_SIGNATURES_OFFSET; at += slot_bytes) {
        uint64_t stored = nacrei_slot_key(saved_stash + at, key_bytes, value_bytes);
        uint64_t hash = nacrei_hash(nacrei_key_store(stored, key_bytes), map->table.seed);
        unsigned char *own = nacrei_cpu_submap_of(&map->table, hash);
        if (stored < nacrei_empty_patterns(value_bytes) || (own != images[0] && own != images[1])) {
            continue;
        }
        nacrei_slot_empty(stash + at, nacrei_submap_signature(stash, at / NACREI_BUCKET_BYTES),
                          key_bytes, value_bytes);
        map->stash_keys--;
        if (!put(map, stored, nacrei_slot_value(saved_stash + at, key_bytes, value_bytes))) {
            return 0;
        }
    }
    return 1;
}

/* One submap to be rebuilt, and how many submaps there are afterwards. */
typedef struct rebuild_job {
    unsigned char *images[2]; /* the same one twice: into itself */
    uint32_t split_bit;
    uint64_t submap_count;
} rebuild_job;

/* The split that makes `submap_count` submaps into one more. */
static rebuild_job split_job(const nacrei_cpu_table *table, uint64_t submap_count)
{
    uint64_t half = nacrei_floor_power(submap_count);
    rebuild_job job = {
        .images = {nacrei_cpu_submap(table, 1 + submap_count - half),
                   nacrei_cpu_submap(table, 1 + submap_count)},
        .split_bit = NACREI_HASH_SUBMAP_SHIFT + (uint32_t)__builtin_ctzll(half),
        .submap_count = submap_count + 1,
    };
    return job;
}

static void undo(const rebuild_job *job, const unsigned char *saved)
{
    memset(job->images[1], 0, NACREI_CPU_SUBMAP_BYTES);
    memcpy(job->images[0], saved, NACREI_CPU_SUBMAP_BYTES);
}

/*
 * The rare case: keys are in the stash, or have to go there. A rebuilt submap no longer sends
 * lookups on to its keys in the stash, so those are put in again; if one finds no place, all is as
 * it was.
 */
static int rebuild_with_stash(nacrei_cpu_map *map, const rebuild_job *job)
{
    unsigned char *stash = nacrei_cpu_stash(&map->table);
    uint64_t count_before = map->table.submap_count, stash_keys_before = map->stash_keys;
    unsigned char *saved_stash = malloc(NACREI_CPU_SUBMAP_BYTES);
    if (saved_stash == NULL) {
        return NACREI_GROWTH_NO_MEMORY;
    }
    memcpy(saved_stash, stash, NACREI_CPU_SUBMAP_BYTES);
    int placed = map->kernels->rebuild(&map->scratch, job->images, job->split_bit, map->table.seed);
    set_count(&map->table, job->submap_count);
    if (!placed) {
        memset(job->images[0], 0, NACREI_CPU_SUBMAP_BYTES);
        memset(job->images[1], 0, NACREI_CPU_SUBMAP_BYTES);
        placed = put_all(map, map->scratch.saved);
    }
    if (!placed || !put_stash_keys(map, saved_stash, job->images)) {
        set_count(&map->table, count_before);
        undo(job, map->scratch.saved);
        memcpy(stash, saved_stash, NACREI_CPU_SUBMAP_BYTES);
        map->stash_keys = stash_keys_before;
        placed = 0;
    }
    free(saved_stash);
    return placed ? NACREI_GROWN : NACREI_GROWTH_NO_PLACE;
}

static int rebuild(nacrei_cpu_map *map, const rebuild_job *job)
{
    if (map->stash_keys != 0) {
        return rebuild_with_stash(map, job);
    }
    if (!map->kernels->rebuild(&map->scratch, job->images, job->split_bit, map->table.seed)) {
        undo(job, map->scratch.saved);
        return rebuild_with_stash(map, job);
    }
    set_count(&map->table, job->submap_count);
    return NACREI_GROWN;
}

/*
 * Several splits beside each other. What each does to memory can be undone until the round is over.
 */
typedef struct split_round {
    nacrei_cpu_map *map;
    nacrei_cpu_scratch *scratch; /* one for each split */
    uint64_t first;              /* submaps before the round */
    uint32_t failed;             /* the least of the splits that found no place; by __atomic */
} split_round;

static void split_part(void *context, uint32_t part)
{
    split_round *round = context;
    rebuild_job job = split_job(&round->map->table, round->first + part);
    if (round->map->kernels->rebuild(&round->scratch[part], job.images, job.split_bit,
                                     round->map->table.seed)) {
        return;
    }
    /* Relaxed: read after the round only. */
    uint32_t least = __atomic_load_n(&round->failed, __ATOMIC_RELAXED);
    while (part < least && !__atomic_compare_exchange_n(&round->failed, &least, part, 1,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Splits up to `splits` submaps at once; submap_count says how far it came. */
static void split_at_once(nacrei_cpu_map *map, nacrei_pool *pool, nacrei_cpu_scratch *scratch,
                          uint32_t splits)
{
    split_round round = {map, scratch, map->table.submap_count, splits};
    nacrei_pool_run(pool, split_part, &round, splits);
    /* Submaps are numbered without gaps, so that what lies behind a failure is undone with it. */
    for (uint32_t part = round.failed; part < splits; part++) {
        rebuild_job job = split_job(&map->table, round.first + part);
        undo(&job, scratch[part].saved);
    }
    set_count(&map->table, round.first + round.failed);
}

static int split_until(nacrei_cpu_map *map, uint64_t submap_count, nacrei_pool *pool)
{
    uint32_t at_once = pool != NULL ? SPLITS_PER_THREAD * nacrei_pool_size(pool) : 0;
    nacrei_cpu_scratch *scratch = NULL;
    if (at_once != 0) {
        scratch = nacrei_pool_scratch(pool, NACREI_POOL_SPLITS, at_once * sizeof *scratch);
    }
    while (map->table.submap_count < submap_count) {
        uint64_t left = submap_count - map->table.submap_count;
        /* The splits of a round must not build on each other: a submap born in it is not split. */
        uint64_t apart = 2 * map->table.half - map->table.submap_count;
        uint64_t before = map->table.submap_count;
        uint32_t splits = (uint32_t)(left < at_once ? left : at_once);
        splits = (uint32_t)(apart < splits ? apart : splits);
        if (scratch != NULL && map->stash_keys == 0 && splits > 1) {
            split_at_once(map, pool, scratch, splits);
        }
        if (map->table.submap_count == before) {
            rebuild_job job = split_job(&map->table, before);
            int result = rebuild(map, &job);
            if (result != NACREI_GROWN) {
                return result;
            }
        }
    }
    return NACREI_GROWN;
}

int nacrei_cpu_table_grow(nacrei_cpu_map *map, uint64_t submap_count, nacrei_pool *pool)
{
    uint64_t before = map->table.submap_count;
    while (submaps_allocated(&map->table) < submap_count + 1 && allocate_segment(map)) {
    }
    uint64_t reachable = submaps_allocated(&map->table) - 1;
    reachable = reachable < submap_count ? reachable : submap_count;
    if (reachable <= before) {
        return NACREI_GROWTH_NO_MEMORY;
    }
    if (map->size == 0) {
        nacrei_cpu_table_clear(map); /* there may be signatures of keys erased */
        set_count(&map->table, reachable);
    } else {
        int result = split_until(map, reachable, pool);
        if (map->table.submap_count == before) {
            return result;
        }
    }
    map->growths++;
    return NACREI_GROWN;
}

/* Rebuilds the submap whose turn it is. Where it finds no place for a key the old image stays. */
static void rebuild_next(nacrei_cpu_map *map)
{
    map->next_rebuilt = map->next_rebuilt % map->table.submap_count + 1;
    unsigned char *submap = nacrei_cpu_submap(&map->table, map->next_rebuilt);
    rebuild_job job = {{submap, submap}, 0, map->table.submap_count};
    rebuild(map, &job);
}

void nacrei_cpu_table_maintain(nacrei_cpu_map *map)
{
    while (map->erased_keys >= ERASED_PER_REBUILD) {
        map->erased_keys -= ERASED_PER_REBUILD;
        rebuild_next(map);
    }
}

void nacrei_cpu_table_maintain_all(nacrei_cpu_map *map)
{
    for (uint64_t i = 0; i < map->table.submap_count; i++) {
        rebuild_next(map);
    }
    map->erased_keys = 0;
}
