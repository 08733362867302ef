/* SPDX-License-Identifier: Apache-2.0 */
/* What host code and the kernels of compaction share. Plain C. */
#ifndef NACRE_DEVICE_COMPACT_COMPACT_H
#define NACRE_DEVICE_COMPACT_COMPACT_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "nacre/core/condition.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NACREI_COMPACT_THREADS 256

/* Places of tiles in the ring of the stable form: many more than a GPU has blocks at a time. */
#define NACREI_COMPACT_RING 8192

/* Scratch of the stable form (stable.cuh), however many tiles there are. Zero when it starts. */
typedef struct nacrei_stable_scratch {
    uint32_t tickets;
    uint32_t reserved[31]; /* a line of its own */
    uint64_t counts[NACREI_COMPACT_RING];
    uint64_t places[NACREI_COMPACT_RING];
} nacrei_stable_scratch;

/* Where kept elements go. */
typedef struct nacrei_target {
    void *first;  /* NULL: not wanted */
    void *second; /* the same */
    uint64_t capacity;
    unsigned long long *needed; /* the reservation counter, and the result */
} nacrei_target;

/* Elements of arrays. */
typedef struct nacrei_arrays {
    const void *items;
    const void *values;
    uint64_t count;
    const uint64_t *count_device;
    const void *mask;
    uint64_t mask_offset;
    uint32_t mask_kind;
    uint32_t mask_bits;
    nacrei_condition condition;
} nacrei_arrays;

/* How to launch. */
typedef struct nacrei_compact_launch {
    uint32_t algorithm;
    uint32_t multiprocessors;
    uint32_t fixed_grid;            /* captured: what there is to do is only known at the replay */
    nacrei_stable_scratch *scratch; /* of STABLE */
    void *temporary;                /* of DEVICE_SELECT */
    uint64_t *temporary_bytes;      /* with temporary NULL: tells how much it needs */
    cudaStream_t stream;
} nacrei_compact_launch;

cudaError_t nacrei_compact_prepare(void);
cudaError_t nacrei_compact_arrays(const nacrei_arrays *arrays, uint32_t item_bytes,
                                  uint32_t value_bytes, const nacrei_target *target,
                                  const nacrei_compact_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
