/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table as the device sees it: what host code and kernels share. Plain C; the layout is the same
 * on both sides. `nacrei_table` goes to kernels by value and never changes in the life of a map, so
 * that captured kernels stay valid; what growth changes stands in `nacrei_control`, in device
 * memory.
 */
#ifndef NACRE_CUDA_TABLE_H
#define NACRE_CUDA_TABLE_H

#include <stdint.h>

#include "nacre/core/slot.h"
#include "nacre/core/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nacrei_control {
    unsigned char
        side[NACREI_SIDE_SLOTS_MAX * 16]; /* side slots, at the width's slot size; 16-aligned */
    char *segments[NACREI_SEGMENTS_MAX];  /* where addresses are not arithmetic */
    uint64_t submap_count;                /* without the stash */
    uint64_t capacity_keys;               /* metered insertions stop here */
    uint64_t size;  /* keys present, published per block or, metered, per block or key */
    uint64_t taken; /* metered: size, and tickets of running blocks; equals size between batches */
    uint32_t unshown; /* changes of the size that somebody is about to show the host; else 0 */
} nacrei_control;

/* Pinned memory that any batch may write and the host reads without a wait. */
typedef struct nacrei_hints {
    uint32_t full; /* not 0: an element found no room */
    uint32_t reserved;
    uint64_t size; /* keys after some recent batch or replay: near the truth */
} nacrei_hints;

typedef struct nacrei_table {
    char *base; /* submap s lies at base + s * submap_bytes; NULL: in control->segments */
    nacrei_control *control;
    volatile nacrei_hints *hints;
    uint64_t seed;
    uint32_t bucket_mask;
    uint32_t submap_bytes;
    uint64_t submap_count; /* as of this launch, which saves a load; 0 in a capture: in control */
} nacrei_table;

/* The counters of a view: so many that threads seldom meet at one. A power of two. */
#define NACREI_VIEW_COUNTERS 256

typedef struct nacrei_view_counter {
    int64_t room;     /* new keys that may still be inserted; below 0 in passing */
    uint64_t changed; /* keys inserted, or erased */
    uint64_t refused; /* insertions that found no room */
    uint64_t padding; /* 32 bytes, what an atomic in the L2 cache works on */
} nacrei_view_counter;

/* What the kernels with a view that changes the map have done; zero between views. */
typedef struct nacrei_view_counts {
    uint64_t room; /* of all counters together, in the beginning */
    uint32_t full; /* not 0: all of it is used up, for good */
    uint32_t reserved[5];
    nacrei_view_counter counters[NACREI_VIEW_COUNTERS];
} nacrei_view_counts;

/* A view as nacre_map_view_begin fills it and a kernel takes it. */
typedef struct nacrei_view {
    nacrei_table table;
    nacrei_view_counts *counts; /* NULL: a view that only reads */
    uint32_t access;            /* NACRE_ACCESS_... */
    uint32_t number;            /* which of the map's counts */
    uint32_t captured;          /* it was begun in a capture */
    uint32_t open;
} nacrei_view;

#ifdef __cplusplus
}
#endif
#endif
