/* SPDX-License-Identifier: Apache-2.0 */
/* A batch on its way through batch.c, room.c, ahead.c and partition.c. */
#ifndef NACRE_LIB_CPU_BATCH_H
#define NACRE_LIB_CPU_BATCH_H

#include "lib/cpu/kernels.h"
#include "lib/cpu/map.h"

typedef struct nacrei_cpu_job {
    nacrei_cpu_map *map;
    const nacrei_batch *batch;
    nacrei_cpu_kernel *kernel;
    nacrei_pool *pool; /* taken for this batch; NULL: the caller's thread alone */
    uint64_t count;    /* elements that may take part: batch->count or less */
    uint32_t refuse_room;
    uint32_t refuse_place;
    uint32_t memory_refused;
    uint32_t copies_refused; /* memory for copies of the elements, which a batch can do without */
    nacre_counts counts;
} nacrei_cpu_job;

/* Looks a batch up on the caller's thread, who holds the map's lock; adds to *counts. */
void nacrei_cpu_look_up(nacrei_cpu_map *map, const nacrei_batch *batch, nacre_counts *counts);

/* A run of this job's kernel, to be completed by the caller. */
nacrei_cpu_run nacrei_cpu_run_begin(const nacrei_cpu_job *job);

/* Enters what a run did into the map and the job. */
void nacrei_cpu_settle(nacrei_cpu_job *job, const nacrei_cpu_run *run);

/* New keys that the map takes without growing. */
uint64_t nacrei_cpu_room(const nacrei_cpu_map *map);

/*
 * A new key found no room, or no place although there was room. Grows the table if that is what
 * this map does; else new keys without room or place are refused from now on.
 */
void nacrei_cpu_make_room(nacrei_cpu_job *job, uint32_t for_place);

/* A DEFERRED map makes room for what earlier batches refused. */
void nacrei_cpu_grow_deferred(nacrei_cpu_job *job);

/* ahead.c: a WAIT map grows to what a large insertion will need at least. */
void nacrei_cpu_grow_ahead(nacrei_cpu_job *job);

/*
 * partition.c: brings the next of `left` elements of a change, from `first` on, into the order of
 * the table, and does them, on the threads of job->pool. Returns how many; 0: they are better done
 * as they come, or memory for the copies was refused.
 */
uint64_t nacrei_cpu_update_parted(nacrei_cpu_job *job, uint64_t first, uint64_t left);

#endif
