/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match: the hits of a lookup, dense, in the order of the batch.
 *
 * With threads a batch goes in rounds of parts: each part looks its keys up and keeps its hits in
 * memory of the pool's; once all are known, so are their places, and each part copies its own.
 */
#include <string.h>

#include "lib/cpu/batch.h"
#include "lib/cpu/layout.h"
#include "lib/cpu/select.h"

/* Keys that are looked up at a time. */
#define CHUNK 1024u

/*
 * Keys of a part and parts of a round: more than threads, so that none waits long for another, and
 * few enough keys that the hits stay in the caches until they are copied (8 MB at most).
 */
#define PART_KEYS 8192u
#define PARTS_MAX 64u

typedef struct round {
    nacrei_cpu_map *map;
    const nacrei_batch *batch;
    const nacrei_matches *out;
    uint64_t first, count; /* elements */
    nacrei_matches kept;   /* hits of part i from pair i * PART_KEYS on */
    uint64_t start[PARTS_MAX];
    uint64_t found[PARTS_MAX];
    nacre_counts counts[PARTS_MAX];
} round;

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static char *index_at(const nacrei_matches *out, uint64_t pair)
{
    return out->indices == NULL ? NULL : (char *)out->indices + pair * out->index_bytes;
}

static char *value_at(const nacrei_matches *out, uint64_t pair, uint32_t value_bytes)
{
    return out->values == NULL ? NULL : (char *)out->values + pair * value_bytes;
}

/* The part of a batch from `first` on, with outputs of its own. */
static nacrei_batch part_of(const nacrei_batch *batch, uint32_t key_bytes, uint64_t first,
                            uint64_t count)
{
    nacrei_batch part = *batch;
    part.keys = (const char *)batch->keys + first * key_bytes;
    part.count = count;
    part.options.mask_offset += first;
    part.options.count_device = NULL;
    return part;
}

/* Writes the hits of elements from `first` on to `out`, from pair `at` on; their number. */
static uint64_t match_range(nacrei_cpu_map *map, const nacrei_batch *batch, uint64_t first,
                            uint64_t count, const nacrei_matches *out, uint64_t at,
                            nacre_counts *counts)
{
    const uint32_t value_bytes = map->head.config.value_bytes;
    const uint64_t begin = at, end = first + count;
    uint64_t values[CHUNK];
    uint8_t outcomes[CHUNK], contained[CHUNK];
    for (; first < end; first += CHUNK) {
        nacrei_batch part =
            part_of(batch, map->head.config.key_bytes, first, least(end - first, CHUNK));
        part.values_out = values;
        part.contained = contained;
        part.options.outcomes = outcomes;
        nacrei_cpu_look_up(map, &part, counts);
        /* Without a branch on the outcome, which nobody can foretell. */
        uint32_t hits[CHUNK], found = 0;
        for (uint32_t i = 0; i < part.count; i++) {
            hits[found] = i;
            found += outcomes[i] == NACRE_OUTCOME_FOUND;
        }
        const uint64_t room = at < out->capacity ? out->capacity - at : 0;
        const uint64_t fits = least(found, room);
        for (uint64_t i = 0; i < fits && out->indices != NULL; i++) {
            nacrei_store(index_at(out, at + i), first + hits[i], out->index_bytes);
        }
        for (uint64_t i = 0; i < fits && out->values != NULL; i++) {
            memcpy(value_at(out, at + i, value_bytes), (char *)values + hits[i] * value_bytes,
                   value_bytes);
        }
        at += found;
        if (batch->options.outcomes != NULL) {
            memcpy(batch->options.outcomes + first, outcomes, (size_t)part.count);
        }
    }
    return at - begin;
}

static void match_part(void *context, uint32_t part)
{
    round *round = context;
    const uint64_t at = (uint64_t)part * PART_KEYS;
    round->found[part] =
        match_range(round->map, round->batch, round->first + at,
                    least(round->count - at, PART_KEYS), &round->kept, at, &round->counts[part]);
}

static void copy_part(void *context, uint32_t part)
{
    const round *round = context;
    const nacrei_matches *out = round->out, *kept = &round->kept;
    const uint32_t value_bytes = round->map->head.config.value_bytes;
    const uint64_t from = (uint64_t)part * PART_KEYS, to = round->start[part];
    const uint64_t room = to < out->capacity ? out->capacity - to : 0;
    const uint64_t count = least(round->found[part], room);
    if (out->indices != NULL && count != 0) {
        memcpy(index_at(out, to), index_at(kept, from), (size_t)(count * out->index_bytes));
    }
    if (out->values != NULL && count != 0) {
        memcpy(value_at(out, to, value_bytes), value_at(kept, from, value_bytes),
               (size_t)(count * value_bytes));
    }
}

/* One round on the pool's threads; the hits go to pair `at` and following. Their number. */
static uint64_t match_round(round *round, nacrei_pool *pool, uint64_t at, nacre_counts *counts)
{
    const uint32_t parts = (uint32_t)((round->count + PART_KEYS - 1) / PART_KEYS);
    const uint64_t begin = at;
    memset(round->counts, 0, sizeof round->counts);
    nacrei_pool_run(pool, match_part, round, parts);
    for (uint32_t part = 0; part < parts; part++) {
        round->start[part] = at;
        at += round->found[part];
        counts->done += round->counts[part].done;
        counts->skipped += round->counts[part].skipped;
    }
    nacrei_pool_run(pool, copy_part, round, parts);
    return at - begin;
}

/* All rounds; 0 where the hits cannot be kept, for want of memory, and nothing was done. */
static int match_parted(nacrei_cpu_map *map, const nacrei_batch *batch, uint64_t count,
                        const nacrei_matches *out, nacrei_pool *pool, uint64_t *found,
                        nacre_counts *counts)
{
    const uint64_t pairs = (uint64_t)PARTS_MAX * PART_KEYS;
    const uint64_t index_bytes = out->indices != NULL ? pairs * out->index_bytes : 0;
    const uint64_t value_bytes = out->values != NULL ? pairs * map->head.config.value_bytes : 0;
    char *memory = nacrei_pool_scratch(pool, NACREI_POOL_COPIES, index_bytes + value_bytes);
    if (memory == NULL && index_bytes + value_bytes != 0) {
        return 0;
    }
    round round = {.map = map, .batch = batch, .out = out, .kept = *out};
    round.kept.indices = out->indices != NULL ? memory : NULL;
    round.kept.values = out->values != NULL ? memory + index_bytes : NULL;
    round.kept.capacity = pairs;
    for (; round.first < count; round.first += pairs) {
        round.count = least(count - round.first, pairs);
        *found += match_round(&round, pool, *found, counts);
    }
    return 1;
}

nacre_status nacrei_cpu_map_match(nacre_map *base, const nacrei_batch *batch,
                                  const nacrei_matches *matches, nacre_error *error)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    nacrei_pool *pool = ((nacrei_cpu_device *)base->device)->pool;
    nacre_counts counts = {0, 0, 0};
    uint64_t found = 0, count = batch->count;
    int done = 0;
    (void)error;
    if (batch->options.count_device != NULL && *batch->options.count_device < count) {
        count = *batch->options.count_device;
    }
    /* One lock for all parts: what excludes lookups is seen as a whole or not at all. */
    nacrei_cpu_lock_to_read(&map->lock);
    if (count >= NACREI_CPU_LARGE_BATCH && pool != NULL &&
        nacrei_pool_take(pool) == NACREI_POOL_TAKEN) {
        done = match_parted(map, batch, count, matches, pool, &found, &counts);
        nacrei_pool_give(pool);
    }
    if (!done) {
        found = match_range(map, batch, 0, count, matches, 0, &counts);
    }
    nacrei_cpu_unlock(&map->lock);
    nacrei_skip(batch, count, batch->count - count);
    counts.skipped += batch->count - count;
    if (batch->options.counts != NULL) {
        *batch->options.counts = counts;
    }
    *matches->needed = found;
    return NACRE_OK;
}
