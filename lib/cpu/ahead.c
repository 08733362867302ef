/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing ahead. A large batch that brings many new keys would make the table grow again and again
 * on the way, and each time keys that it has just placed would be moved. So the table first grows
 * to what the batch will need at least.
 *
 * Growth follows keys and not batch lengths: the new keys are estimated from those of the batch
 * whose hash falls into a small part of all hashes. There each different key is counted once, and
 * only if it is not in the map, so that neither repetition nor keys already present are taken for
 * new ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cpu/batch.h"
#include "lib/cpu/table.h"

/* Batches below this grow on the way. */
#define AHEAD_BATCH ((uint64_t)1 << 16)

/* Different keys that a sample has at most, as expected; their error is 1 / sqrt of it: 1.6 %. */
#define SAMPLE_KEYS 4096u

/* Places for them, a power of two; more than three quarters are not filled. */
#define SAMPLE_SET 16384u

/* Elements that are sampled at a time. */
#define SAMPLE_CHUNK 4096u

typedef struct sample {
    uint64_t part_mask; /* of all hashes one in part_mask + 1 is sampled */
    uint32_t count;
    uint64_t set[SAMPLE_SET]; /* key + 1; 0: none. The key 2^64 - 1 is never sampled */
    uint64_t found[SAMPLE_CHUNK];
    uint8_t contained[SAMPLE_SET];
} sample;

static void add(sample *sample, uint64_t key)
{
    uint64_t at = (key ^ key >> 31) * 0x9E3779B97F4A7C15u >> 50;
    while (sample->set[at] != 0 && sample->set[at] != key + 1) {
        at = (at + 1) % SAMPLE_SET;
    }
    if (sample->set[at] == 0 && sample->count < SAMPLE_SET / 4 * 3 && key != UINT64_MAX) {
        sample->set[at] = key + 1;
        sample->count++;
    }
}

/* How many of the sampled keys are not in the map. */
static uint64_t count_absent(nacrei_cpu_job *job, sample *sample)
{
    uint32_t key_bytes = job->map->head.config.key_bytes, count = 0;
    char *keys = (char *)sample->set; /* packed to the front, in place */
    for (uint32_t i = 0; i < SAMPLE_SET; i++) {
        if (sample->set[i] != 0) {
            uint64_t key = sample->set[i] - 1;
            memcpy(keys + (size_t)count * key_bytes, &key, key_bytes);
            count++;
        }
    }
    nacrei_batch batch = {
        .operation = NACREI_CONTAINS,
        .keys = keys,
        .count = count,
        .contained = sample->contained,
    };
    nacrei_cpu_run run = {.map = job->map, .batch = &batch};
    job->map->kernels->run[NACREI_CONTAINS](&run, 0, count);
    return count - run.done;
}

/* At least so many new keys are in the batch, up to three times the error of the estimate. */
static uint64_t new_keys(nacrei_cpu_job *job)
{
    sample *sample = calloc(1, sizeof *sample);
    if (sample == NULL) {
        return 0;
    }
    while (job->count / (sample->part_mask + 1) > SAMPLE_KEYS) {
        sample->part_mask = 2 * sample->part_mask + 1;
    }
    for (uint64_t first = 0; first < job->count; first += SAMPLE_CHUNK) {
        uint64_t left = job->count - first;
        uint32_t found = job->map->kernels->sample(
            job->map, job->batch, first, left < SAMPLE_CHUNK ? (uint32_t)left : SAMPLE_CHUNK,
            sample->part_mask, sample->found);
        for (uint32_t i = 0; i < found; i++) {
            add(sample, sample->found[i]);
        }
    }
    double absent = (double)count_absent(job, sample);
    double least = (absent - 3 * sqrt(absent)) * (double)(sample->part_mask + 1);
    free(sample);
    return least > 0 ? (uint64_t)least : 0;
}

void nacrei_cpu_grow_ahead(nacrei_cpu_job *job)
{
    nacrei_cpu_map *map = job->map;
    const nacre_map_config *config = &map->head.config;
    uint64_t room = nacrei_cpu_room(map);
    if (config->growth != NACRE_GROWTH_WAIT || job->count < AHEAD_BATCH || job->count <= room ||
        job->batch->options.mask_kind != NACRE_MASK_NONE) {
        return;
    }
    uint64_t more = new_keys(job);
    more = more < job->count ? more : job->count;
    if (more > room) {
        uint64_t submaps = nacrei_table_submaps(map->size + more, nacrei_cpu_submap_slots(config),
                                                config->load_max);
        /* Whether memory is refused is found out again by the first key without room. */
        nacrei_cpu_table_grow(map, submaps, job->pool);
    }
}
