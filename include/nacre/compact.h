/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction: copies the items of an array that a mask or a condition keeps, densely, to another.
 * A function on a device, which has nothing to do with maps; retrieving from a map is the same
 * problem with slots for items (map.h).
 *
 *     nacre_compaction what;
 *     nacre_options options;
 *     nacre_compaction_init(&what, sizeof what);
 *     what.items = prices;                          // [count] of float, say
 *     what.item_bytes = 4;
 *     what.items_out = chosen;                      // [capacity]
 *     what.capacity = capacity;
 *     what.needed = needed;                         // like the arrays, the device writes it
 *     nacre_options_init(&options, sizeof options);
 *     options.mask = outcomes;                      // those that an insertion found there
 *     options.mask_kind = NACRE_MASK_BYTES;
 *     options.mask_bits = NACRE_OUTCOME_FOUND;
 *     nacre_compact(device, &what, count, &options, stream);
 */
#ifndef NACRE_COMPACT_H
#define NACRE_COMPACT_H

#include <stdint.h>

#include "nacre/device.h"
#include "nacre/export.h"
#include "nacre/status.h"
#include "nacre/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is copied. All arrays lie in memory that the device reads and writes. */
typedef struct nacre_compaction {
    uint32_t struct_size;
    uint32_t item_bytes; /* 1, 2, 4, 8 or 16, to which items and items_out are aligned; default 8 */
    uint32_t value_bytes; /* 0 (default): items alone; else 4 or 8, and so is item_bytes */
    uint32_t reserved;
    const void *items;  /* [count] */
    const void *values; /* [count], one for each item; NULL without */
    void *items_out;    /* [capacity]; NULL: counts only */
    void *values_out;   /* [capacity]; NULL without values, or where items_out is */
    uint64_t capacity;  /* more is never written; UINT64_MAX: there is room for all */
    uint64_t *needed;   /* gets the number of items kept; in memory that the device can write */
    /* On the item, of a type as wide. RANGE needs items of 4 or 8 bytes, BITS of 8 or less. */
    nacre_condition condition;
    /* Scratch of the algorithm, on the device, aligned to 256 bytes; nacre_compact_workspace. */
    void *workspace;
    uint64_t workspace_bytes;
} nacre_compaction;

/*
 * Writes the defaults named at the fields.
 *
 * **Thread safety** the struct is the caller's. **Allocates** nothing. **Since** 0.1
 */
NACRE_API void nacre_compaction_init(nacre_compaction *compaction, uint32_t struct_size);

/*
 * Copies the items (and values) of elements that take part (options->mask, options->count_device)
 * and whose item meets the condition. options->algorithm says how: in no particular order, or,
 * with STABLE, in the order of the input. GLOBAL_ATOMIC to DEVICE_SELECT take items of 8 bytes
 * without values; DEVICE_SELECT up to 2^31 - 1 of them. Outputs do not overlap inputs. count 0 is
 * legal: *needed gets 0.
 *
 * ARGUMENT: NULL or misaligned pointers, sizes and constants that are not allowed, options that the
 * call does not take (types.h), a workspace that is too small. UNSUPPORTED: an algorithm on items
 * that it does not take; DEVICE_SELECT in a capture. DEVICE_LOST.
 *
 * **Thread safety** any thread; calls at the same time need workspaces of their own. **Stream**
 * returns when enqueued; may be captured. **Allocates** nothing. **Since** 0.1
 */
NACRE_API nacre_status nacre_compact(nacre_device *device, const nacre_compaction *compaction,
                                     uint64_t count, const nacre_options *options,
                                     nacre_stream stream);

/*
 * Tells in *bytes the workspace that nacre_compact needs for up to `count` items with an algorithm:
 * on CUDA some for STABLE and DEVICE_SELECT, else 0.
 *
 * ARGUMENT: `device` or `bytes` NULL, an unknown algorithm, a count beyond 2^60. UNSUPPORTED: on
 * CUDA, DEVICE_SELECT with more than 2^31 - 1 items. DEVICE_LOST.
 *
 * **Thread safety** any thread. **Allocates** nothing. **Since** 0.1
 */
NACRE_API nacre_status nacre_compact_workspace(const nacre_device *device, uint64_t count,
                                               uint32_t algorithm, uint64_t *bytes,
                                               nacre_error *error);

#ifdef __cplusplus
}
#endif
#endif
