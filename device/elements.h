/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch as host code and kernels share it: its elements, and what it tells the host at its end.
 * Plain C; the layout is the same on both sides.
 */
#ifndef NACRE_DEVICE_ELEMENTS_H
#define NACRE_DEVICE_ELEMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "nacre/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of a chunk for which a bit each is kept: 2^23, a MiB of bits. */
#define NACREI_CHUNK_ELEMENTS ((uint64_t)1 << 23)

/*
 * Elements of a launch, at most: its blocks and keys share a word (NACREI_TALLY_BLOCK), and a grid
 * has fewer than 2^31 blocks. A longer batch is several launches.
 */
#define NACREI_LAUNCH_ELEMENTS ((uint64_t)1 << 33)

/* What a batch did, told to the host by its last block: one entry of a ring in pinned memory. */
typedef struct nacrei_report {
    uint64_t sequence; /* written last: the batch with this number has finished */
    int64_t delta;     /* keys inserted, or erased (negative) */
    uint64_t refused;  /* elements that found no room */
    uint64_t size;     /* keys present afterwards */
} nacrei_report;

/*
 * The same entry while the batch runs, in device memory; zero between batches. One word counts keys
 * and, above them, blocks that are done: an atomic for each block, and no order between two.
 */
#define NACREI_TALLY_BLOCK ((uint64_t)1 << 36)
typedef struct nacrei_tally {
    uint64_t marks; /* keys inserted or erased, and blocks done */
    uint64_t refused;
} nacrei_tally;

/* The elements of a batch as a kernel takes them; see nacrei_batch and nacre_options. */
typedef struct nacrei_elements {
    const void *keys;
    const void *values;
    uint64_t count;
    const uint64_t *count_device; /* of the whole batch, of which these elements start at `first` */
    uint64_t first;
    void *values_out;
    uint8_t *contained;
    const void *mask;
    uint64_t mask_offset;
    uint32_t mask_kind;
    uint32_t mask_bits;
    uint32_t has_missing_value;
    uint64_t missing_value;
    uint8_t *outcomes;
    uint64_t *counts; /* done, refused, skipped */
    uint32_t reduction;
    uint32_t type;
    uint32_t *left_out; /* a bit per element, set where it found no room; NULL: not wanted */
    uint32_t retry;     /* only elements with their bit set in left_out take part */
    uint32_t last;      /* nobody gives the elements without room again */
    uint32_t fault;     /* tell the host's fault word about elements without room */
    uint32_t cached;    /* lookups: the table lies in the L2 cache, with room to spare */
    uint32_t early;     /* the kernel may come while the one before it ends (nacrei_kernel_begin) */
    nacrei_tally *tally;
    nacrei_report *report; /* NULL: a captured batch, which nobody waits for */
    uint64_t sequence;
} nacrei_elements;

/* Nothing but keys, values and results: no mask, outcomes, counts or count on the device. */
static inline int nacrei_elements_plain(const nacrei_elements *elements)
{
    return elements->mask_kind == NACRE_MASK_NONE && elements->count_device == NULL &&
           elements->outcomes == NULL && elements->counts == NULL;
}

/* Regions of the table by which a batch is partitioned, at most: a thread of a block for each. */
#define NACREI_BINS_MAX  256
#define NACREI_BIN_SHIFT 32

typedef struct nacrei_bins {
    uint64_t count[NACREI_BINS_MAX]; /* elements */
    struct {
        uint64_t place;       /* of the next element */
        uint64_t padding[15]; /* to a cache line, so that atomics on bins do not wait for others' */
    } next[NACREI_BINS_MAX];
    uint32_t unsorted; /* not 0: a bin stands out */
    uint32_t reserved[63];
} nacrei_bins;

/* Where the elements of a batch are copied, bin after bin; map_partition.cu. */
typedef struct nacrei_partition {
    nacrei_bins *bins;
    void *keys;
    void *values;
    uint64_t bins_per_submap; /* times 2^NACREI_BIN_SHIFT */
} nacrei_partition;

#ifdef __cplusplus
}
#endif
#endif
