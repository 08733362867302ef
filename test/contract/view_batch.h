/* SPDX-License-Identifier: Apache-2.0 */
/* A batch through a view and a kernel of a program's own (views.h), for the judge of batch.h. */
#ifndef NACRE_TEST_VIEW_BATCH_H
#define NACRE_TEST_VIEW_BATCH_H

#include "contract/views.h"
#include "support/batch.h"

/* nacre_map_view_begin and _end with the row's widths; any status is accepted. */
nacre_status view_begin(test *t, nacre_map *map, uint32_t access, uint64_t new_keys,
                        nacrei_view *view, nacre_stream stream);
nacre_status view_end(test *t, nacre_map *map, nacrei_view *view, nacre_stream stream);

#if NACRE_HAVE_CUDA
#include "support/cuda.h"

/* The arrays of a batch, on the device. */
typedef struct view_arrays {
    test_array keys, values, values_out, contained, outcomes;
    views_batch batch;
} view_arrays;

view_arrays view_arrays_of(test *t, const test_batch *b);
void view_arrays_free(test *t, view_arrays *on);

/* What the kernel told about the elements, in the form that the judge takes. */
void view_fetch(test *t, const view_arrays *on, test_batch *b);

/* The access that an operation needs. */
uint32_t view_access_of(uint32_t operation);

/*
 * Whether kernels insert in the row's widths; where they do not, checks that the view is
 * UNSUPPORTED and that the message tells why.
 */
bool view_inserts(test *t);

/*
 * One batch through a view of its own, judged. `new_keys`: the room asked for. Where kernels do not
 * insert, insertions are calls of the library.
 */
void view_do(test *t, nacre_map *map, oracle *o, test_batch *b, uint64_t new_keys);
#endif

#endif
