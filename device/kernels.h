/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels as the host code calls them: one table of launchers per width, chosen when a map is
 * created. Each launcher enqueues on a stream and returns the CUDA error of the launch.
 */
#ifndef NACRE_DEVICE_KERNELS_H
#define NACRE_DEVICE_KERNELS_H

#include <cuda_runtime_api.h>

#include "device/compact/walk.h"
#include "device/elements.h"
#include "lib/backend.h"
#include "lib/widths.h"
#include "nacre/cuda/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a batch kernel needs to know about the GPU to size its grid. */
typedef struct nacrei_gpu {
    uint32_t multiprocessors;
    uint32_t compute_capability; /* 10 * major + minor */
    uint32_t shared_bytes_max;   /* a block's, opted in */
    uint32_t l2_bytes;
} nacrei_gpu;

/* What the code that this GPU runs was compiled for. */
typedef struct nacrei_code {
    uint32_t two_step; /* slots change in two steps (nacre/cuda/slot.cuh) */
    uint32_t early;    /* kernels wait by themselves for what comes before (nacrei_kernel_begin) */
} nacrei_code;

/* The findings of nacre_map_check: the first broken invariant. */
enum {
    NACREI_BROKEN_NOTHING,
    NACREI_BROKEN_SUBMAP,    /* a key lies in a submap that is not its own */
    NACREI_BROKEN_PLACE,     /* a lookup ends elsewhere: the key is out of reach, or there twice */
    NACREI_BROKEN_SIGNATURE, /* an empty slot's signature is not its bucket's */
    NACREI_BROKEN_SIDE       /* a side slot holds what is not a side key */
};

typedef struct nacrei_inspection {
    uint64_t size; /* as batches counted it */
    uint64_t keys; /* as they were found */
    uint64_t stash_keys;
    uint64_t probe_lengths[16];
    uint64_t hit_pairs; /* pairs of buckets read, over all keys */
    uint64_t missing_pairs;
    uint64_t missing_lookups;
    uint32_t probe_length_max;
    uint32_t broken; /* NACREI_BROKEN_... */
    uint64_t broken_submap;
    uint64_t broken_slot;
} nacrei_inspection;

typedef struct nacrei_map_kernels {
    /* Loads all of them; once per device. */
    cudaError_t (*prepare)(const nacrei_gpu *, nacrei_code *);
    cudaError_t (*insert)(const nacrei_table *, const nacrei_elements *, uint32_t operation,
                          uint32_t metered, cudaStream_t);
    /* After an insert_or_apply in two steps: combines the values (map_apply.cu). */
    cudaError_t (*apply)(const nacrei_table *, const nacrei_elements *, cudaStream_t);
    /* FIND, CONTAINS, ASSIGN */
    cudaError_t (*lookup)(const nacrei_table *, const nacrei_elements *, uint32_t operation,
                          cudaStream_t);
    /*
     * Missing elements, and a lower bound on the different keys of them, among the one in
     * sample_mask + 1 elements whose hash chooses them (map_find.cu).
     */
    cudaError_t (*probe)(const nacrei_table *, const nacrei_elements *, uint64_t sample_mask,
                         uint32_t *bits, cudaStream_t);
    cudaError_t (*erase)(const nacrei_table *, const nacrei_elements *, cudaStream_t);
    cudaError_t (*partition)(const nacrei_gpu *, const nacrei_table *, const nacrei_elements *,
                             const nacrei_partition *, cudaStream_t);
    /* Splits submaps until there are `submaps`, at most the next power of two. */
    cudaError_t (*split)(const nacrei_table *, uint64_t submaps_now, uint64_t submaps,
                         cudaStream_t);
    /*
     * After splits and rebuilds: publishes the number of submaps and takes the stash's keys back
     * into them where there is room.
     */
    cudaError_t (*end_growth)(const nacrei_table *, uint64_t submaps, uint64_t capacity_keys,
                              cudaStream_t);
    /* Merges submaps first .. submaps - 1 into those that they were split from: at most down to half
     * of the power of two, and only if *fullest, the most keys of two that belong together, fit. */
    cudaError_t (*fullest_pair)(const nacrei_table *, uint64_t first, uint64_t submaps,
                                uint32_t *fullest, cudaStream_t);
    cudaError_t (*merge)(const nacrei_table *, uint64_t first, uint64_t submaps, cudaStream_t);
    /* Rebuilds submaps first .. first + count - 1, counted from 0 without the stash. */
    cudaError_t (*maintain)(const nacrei_table *, uint64_t first, uint64_t count, cudaStream_t);
    cudaError_t (*clear)(const nacrei_gpu *, const nacrei_table *, cudaStream_t);
    cudaError_t (*retrieve)(const nacrei_slot_walk *, const nacrei_target *,
                            const nacrei_compact_launch *);
    cudaError_t (*erase_if)(const nacrei_gpu *, const nacrei_slot_walk *, const nacrei_elements *,
                            cudaStream_t);
    /* Adds to *needed, from which places in the outputs come. */
    cudaError_t (*match)(const nacrei_table *, const nacrei_elements *, const nacrei_matches *,
                         cudaStream_t);
    cudaError_t (*inspect)(const nacrei_gpu *, const nacrei_table *, nacrei_inspection *,
                           cudaStream_t);
} nacrei_map_kernels;

/* By the index of lib/widths.h; NULL functions where this build lacks a width. */
extern const nacrei_map_kernels nacrei_map_kernels_of[NACREI_WIDTHS_COUNT];

/*
 * The greatest power of two of buckets, at most 2048, that a block can rebuild in its shared
 * memory.
 */
uint32_t nacrei_buckets_per_submap(const nacrei_gpu *gpu);

/*
 * Around the kernels of a view, in stream order. begin takes room for up to `new_keys` keys, as far
 * as there is any, out of the admission limit, and shares it out to the view's counters. end gives
 * back what is left, leaves the counters zero, adds what they say to the size, `sign` +1 for keys
 * inserted and -1 for keys erased, and makes the report of `elements`.
 */
cudaError_t nacrei_view_begin(const nacrei_table *table, nacrei_view_counts *counts,
                              uint64_t new_keys, cudaStream_t stream);
cudaError_t nacrei_view_end(const nacrei_table *table, nacrei_view_counts *counts,
                            const nacrei_elements *elements, int sign, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
