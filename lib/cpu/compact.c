/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction of arrays, in the order of the input. With threads, each takes ranges of the items
 * twice: to count, which tells where in the output a range begins, and to write.
 */
#include "lib/cpu/compact.h"

#include <string.h>

#include "lib/cpu/layout.h"
#include "lib/cpu/select.h"

/* Ranges of items; more than threads, so that none waits long for another. */
#define PARTS_MAX 64u

typedef struct job {
    const nacrei_compact *compact;
    uint64_t count;
    uint32_t parts;
    uint32_t writes;
    uint64_t found[PARTS_MAX];
    uint64_t start[PARTS_MAX];
} job;

/* The item as a condition sees it; of 16 bytes there is none, and 0 will do. */
NACREI_KERNEL uint64_t number_of(const char *item, uint32_t item_bytes)
{
    uint16_t two;
    switch (item_bytes) {
    case 1:
        return (unsigned char)*item;
    case 2:
        memcpy(&two, item, sizeof two);
        return two;
    default:
        return nacrei_load(item, item_bytes);
    }
}

/* Items from .. to - 1: their number, and, where `to` has room, a copy from place `at` on. */
NACREI_KERNEL uint64_t copy_items(const nacrei_compact *compact, uint64_t from, uint64_t to,
                                  uint64_t at, uint32_t writes, uint32_t item_bytes)
{
    const nacre_compaction *what = &compact->what;
    const uint32_t value_bytes = what->value_bytes;
    const char *items = what->items, *values = what->values;
    char *items_out = writes ? what->items_out : NULL, *values_out = what->values_out;
    const uint64_t begin = at;
    for (uint64_t i = from; i < to; i++) {
        const char *item = items + i * item_bytes;
        if (!nacrei_takes_part(&compact->options, i) ||
            !nacrei_condition_holds(&compact->condition, number_of(item, item_bytes))) {
            continue;
        }
        if (items_out != NULL && at < what->capacity) {
            memcpy(items_out + at * item_bytes, item, item_bytes);
            if (value_bytes != 0) {
                memcpy(values_out + at * value_bytes, values + i * value_bytes, value_bytes);
            }
        }
        at++;
    }
    return at - begin;
}

static uint64_t copy_range(const nacrei_compact *compact, uint64_t from, uint64_t to, uint64_t at,
                           uint32_t writes)
{
    switch (compact->what.item_bytes) {
    case 1:
        return copy_items(compact, from, to, at, writes, 1);
    case 2:
        return copy_items(compact, from, to, at, writes, 2);
    case 4:
        return copy_items(compact, from, to, at, writes, 4);
    case 8:
        return copy_items(compact, from, to, at, writes, 8);
    default:
        return copy_items(compact, from, to, at, writes, 16);
    }
}

static void copy_part(void *context, uint32_t part)
{
    job *job = context;
    const uint64_t share = job->count / job->parts + 1;
    const uint64_t from = share * part < job->count ? share * part : job->count;
    const uint64_t to = job->count - from < share ? job->count : from + share;
    job->found[part] = copy_range(job->compact, from, to, job->start[part], job->writes);
}

nacre_status nacrei_cpu_compact(nacre_device *device, const nacrei_compact *compact,
                                nacre_error *error)
{
    nacrei_pool *pool = ((nacrei_cpu_device *)device)->pool;
    job job = {.compact = compact, .count = compact->count, .parts = PARTS_MAX};
    uint64_t sum = 0;
    (void)error;
    if (compact->options.count_device != NULL && *compact->options.count_device < job.count) {
        job.count = *compact->options.count_device;
    }
    if (job.count < NACREI_CPU_LARGE_BATCH || pool == NULL ||
        nacrei_pool_take(pool) != NACREI_POOL_TAKEN) {
        *compact->what.needed = copy_range(compact, 0, job.count, 0, 1);
        return NACRE_OK;
    }
    nacrei_pool_run(pool, copy_part, &job, job.parts);
    for (uint32_t part = 0; part < job.parts; part++) {
        job.start[part] = sum;
        sum += job.found[part];
    }
    if (compact->what.items_out != NULL) {
        job.writes = 1;
        nacrei_pool_run(pool, copy_part, &job, job.parts);
    }
    nacrei_pool_give(pool);
    *compact->what.needed = sum;
    return NACRE_OK;
}

nacre_status nacrei_cpu_compact_workspace(const nacre_device *device, uint64_t count,
                                          uint32_t algorithm, uint64_t *bytes, nacre_error *error)
{
    (void)device;
    (void)count;
    (void)algorithm;
    (void)error;
    *bytes = 0;
    return NACRE_OK;
}
