/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all objects share: streams, the constants, and the options of batch calls.
 *
 * Structs that cross the interface by themselves begin with `struct_size` and have an init
 * function, nacre_x_init(&x, sizeof x), which writes every default; after it a zero means zero. New
 * fields come at the end only. A struct smaller than the library's gets defaults for what it lacks,
 * and is filled as far as it goes; a larger one is accepted when the bytes that the library does
 * not know are zero. struct_size is a multiple of 8 up to 65536: where it is not, the call says
 * ARGUMENT; only that of nacre_error may be any, and as many bytes are filled. Reserved fields are 0. nacre_counts, nacre_condition and
 * nacre_allocator are parts of others, and never change.
 */
#ifndef NACRE_TYPES_H
#define NACRE_TYPES_H

#include <stdint.h>

#include "nacre/export.h"
#include "nacre/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * CUDA's own stream type, without its headers: a cudaStream_t can be passed as it is. NULL and
 * (nacre_stream)1 mean the legacy default stream, (nacre_stream)2 the per-thread default stream.
 * Objects on the CPU accept only NULL: their calls have finished when they return.
 */
typedef struct CUstream_st *nacre_stream;

enum { NACRE_BACKEND_AUTO = 0, NACRE_BACKEND_CPU = 1, NACRE_BACKEND_CUDA = 2 };

/* Where memory lies. PINNED is host memory that the device reads and writes too. */
enum { NACRE_SPACE_DEVICE = 0, NACRE_SPACE_PINNED = 1, NACRE_SPACE_HOST = 2 };

enum { NACRE_LOG_ERROR = 0, NACRE_LOG_WARNING = 1, NACRE_LOG_INFO = 2 };

/* What a map does when a batch may not fit (map.h, "Growth"). */
enum { NACRE_GROWTH_WAIT = 0, NACRE_GROWTH_DEFERRED = 1, NACRE_GROWTH_FIXED = 2 };

/* Who orders the batches of one map across streams: the library, or the caller. */
enum { NACRE_ORDER_LIBRARY = 0, NACRE_ORDER_CALLER = 1 };

enum { NACRE_MASK_NONE = 0, NACRE_MASK_BITS = 1, NACRE_MASK_BYTES = 2 };

enum {
    NACRE_REDUCTION_ADD = 0,
    NACRE_REDUCTION_MIN = 1,
    NACRE_REDUCTION_MAX = 2,
    NACRE_REDUCTION_AND = 3,
    NACRE_REDUCTION_OR = 4,
    NACRE_REDUCTION_XOR = 5
};

enum {
    NACRE_TYPE_I32 = 0,
    NACRE_TYPE_U32 = 1,
    NACRE_TYPE_I64 = 2,
    NACRE_TYPE_U64 = 3,
    NACRE_TYPE_F32 = 4,
    NACRE_TYPE_F64 = 5
};

/* What a condition looks at, of a map; and how it tests a number (nacre_condition). */
enum { NACRE_FIELD_KEY = 0, NACRE_FIELD_VALUE = 1 };
enum { NACRE_TEST_ALL = 0, NACRE_TEST_RANGE = 1, NACRE_TEST_BITS = 2 };

/*
 * How kept elements get their places in the output: nacre_options.algorithm of nacre_compact,
 * nacre_map_retrieve and nacre_map_retrieve_if. All give the same elements; only STABLE gives them
 * in their order. AUTO is the fastest, or within a hundredth of it; the others are there to be
 * compared (README.md of device/compact, in the sources). On the CPU all are one, which is stable.
 */
enum {
    NACRE_COMPACT_AUTO = 0,
    NACRE_COMPACT_GLOBAL_ATOMIC = 1,
    NACRE_COMPACT_BLOCK_ATOMIC = 2,
    NACRE_COMPACT_WARP_AGGREGATED = 3,
    NACRE_COMPACT_TILE_4 = 4,
    NACRE_COMPACT_TILE_8 = 5,
    NACRE_COMPACT_TILE_16 = 6,
    NACRE_COMPACT_TILE_32 = 7,
    NACRE_COMPACT_BLOCK_SCAN = 8,
    NACRE_COMPACT_DEVICE_SELECT = 9,
    NACRE_COMPACT_STABLE = 10
};

/*
 * A condition on a number. Zeroed, it holds for every number. RANGE: low <= x <= high, all three of
 * `type`, which is as wide as x; low and high are given as their bits, zero-extended. A NaN is in
 * no range. BITS: (x & mask) == bits; mask is as wide as x, and bits lie in mask.
 */
typedef struct nacre_condition {
    uint32_t test; /* NACRE_TEST_... */
    uint32_t type; /* RANGE: NACRE_TYPE_... */
    uint64_t low;
    uint64_t high;
    uint64_t mask;
    uint64_t bits;
} nacre_condition;

/*
 * What became of one element of a batch: one bit of a byte. An insertion of a key that was there
 * says FOUND (insert, find_or_insert) or ASSIGNED (insert_or_assign, insert_or_apply, assign); of a
 * key that was not, INSERTED. Of elements with equal new keys exactly one says INSERTED. FULL: no
 * room, nothing was applied. SKIPPED: the mask, or the count on the device, left the element out.
 */
enum {
    NACRE_OUTCOME_FOUND = 1,
    NACRE_OUTCOME_INSERTED = 2,
    NACRE_OUTCOME_ASSIGNED = 4,
    NACRE_OUTCOME_ERASED = 8,
    NACRE_OUTCOME_MISSING = 16,
    NACRE_OUTCOME_FULL = 32,
    NACRE_OUTCOME_SKIPPED = 64
};

/* What went wrong on the device, collected in an object until it is read and cleared. */
enum {
    NACRE_FAULT_FULL = 1,   /* an element found no room: its outcome is FULL */
    NACRE_FAULT_MEMORY = 2, /* growth was refused memory */
    NACRE_FAULT_DEVICE = 4  /* the device's context died */
};

/* Bits of nacre_options.flags. */
enum {
    /* Return WOULD_WAIT, nothing issued, instead of waiting for room; most calls never do. (The
       1024 batches and 64 streams of map.h, STREAMS, are waited for all the same.) */
    NACRE_OPTION_NEVER_WAIT = 1
};

/*
 * The elements of a batch, counted. done: elements that did what the call is for (a key found, now
 * present, or erased); refused: outcome FULL; skipped: outcome SKIPPED. What remains was missing.
 */
typedef struct nacre_counts {
    uint64_t done;
    uint64_t refused;
    uint64_t skipped;
} nacre_counts;

/*
 * Options; NULL for a call means every default. Nothing that is asked for is ignored: a field that
 * a call cannot honour has its default there, or the call says ARGUMENT. Taken by
 *
 *     every call                          struct_size, flags, error, missing_value
 *     batch calls and nacre_map_match     also count_device, the mask, outcomes, counts
 *     nacre_compact                       also count_device, the mask, algorithm
 *     nacre_map_retrieve, _retrieve_if    also algorithm
 *     nacre_map_erase_if                  also counts
 *
 * (NEVER_WAIT and missing_value say what happens in cases that do not arise in every call.)
 *
 * All pointers but `missing_value` and `error` are read or written by the device, in stream order:
 * on CUDA they are device or pinned memory, and remain the caller's.
 */
typedef struct nacre_options {
    uint32_t struct_size;
    uint32_t flags;               /* NACRE_OPTION_... */
    const uint64_t *count_device; /* process min(count, *count_device) elements; NULL: count */
    const void *mask;             /* which elements take part; needs mask_kind */
    uint64_t mask_offset; /* element i is bit (BITS, least significant first, as in Arrow) or
                                     byte (BYTES) mask_offset + i; set: it takes part */
    uint32_t mask_kind;   /* NACRE_MASK_... */
    uint32_t algorithm;   /* NACRE_COMPACT_... */
    uint8_t *outcomes;    /* [count], NACRE_OUTCOME_...; every element is written */
    nacre_counts *counts; /* overwritten */
    const void
        *missing_value; /* host, one value: written where a key is missing; NULL: the output of a
                                  missing key is left as it was */
    nacre_error *error; /* host */
    /* 1 to 255, the default. BYTES: an element takes part if byte & mask_bits is not 0. Outcomes of
       one call are a mask for the next: NACRE_OUTCOME_FULL gives again what found no room. */
    uint32_t mask_bits;
    uint32_t reserved;
} nacre_options;

/*
 * Writes the defaults: no mask, no outcomes, no counts, missing outputs untouched, waiting allowed.
 *
 * **Thread safety** the options are the caller's. **Allocates** nothing. **Since** 0.1
 */
NACRE_API void nacre_options_init(nacre_options *options, uint32_t struct_size);

#ifdef __cplusplus
}
#endif
#endif
