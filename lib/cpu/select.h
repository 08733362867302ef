/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of a batch, or items of an array, take part, by its mask. */
#ifndef NACRE_LIB_CPU_SELECT_H
#define NACRE_LIB_CPU_SELECT_H

#include <stdint.h>

#include "lib/backend.h"

/* Elements that are selected at a time: the list stays in L1 and fits any thread's stack. */
#define NACREI_SELECT_CHUNK 2048u

/* Does element number `element` take part? */
static inline int nacrei_takes_part(const nacre_options *options, uint64_t element)
{
    const uint64_t at = options->mask_offset + element;
    const uint8_t *mask = options->mask;
    if (options->mask_kind == NACRE_MASK_NONE) {
        return 1;
    }
    return options->mask_kind == NACRE_MASK_BITS ? mask[at / 8] >> at % 8 & 1
                                                 : (mask[at] & options->mask_bits) != 0;
}

/*
 * Writes to `list` the elements first .. first + count - 1 that take part, as offsets from `first`,
 * and returns their number. The outcome of the others is told.
 */
uint32_t nacrei_select(const nacrei_batch *batch, uint64_t first, uint32_t count, uint32_t *list);

/* Writes `mark` to numbers[i] where element first + i does not take part, and tells its outcome. */
void nacrei_select_not(const nacrei_batch *batch, uint64_t first, uint32_t count, uint16_t *numbers,
                       uint16_t mark);

/* Tells SKIPPED for elements first .. first + count - 1. */
void nacrei_skip(const nacrei_batch *batch, uint64_t first, uint64_t count);

#endif
