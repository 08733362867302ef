/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a program's own, for test_views.c; each launch returns a cudaError_t. */
#ifndef NACRE_TEST_VIEWS_H
#define NACRE_TEST_VIEWS_H

#include "nacre/cuda/table.h"
#include "nacre/nacre.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements for kernels with one thread for each: arrays on the device. */
typedef struct views_batch {
    uint32_t operation; /* NACREI_INSERT ... of lib/backend.h */
    uint32_t reduction;
    uint32_t type;
    uint32_t reserved;
    uint64_t count;
    const void *keys;
    const void *values;
    void *values_out;
    uint8_t *contained;
    uint8_t *outcomes;
} views_batch;

/* *two_step, on the device: whether this code changes slots of 16 bytes in two steps. */
int views_two_step(uint32_t *two_step, nacre_stream stream);

/* One operation per element. */
int views_run(const nacrei_view *view, uint32_t key_bytes, uint32_t value_bytes,
              const views_batch *batch, nacre_stream stream);

/*
 * Each thread does its operation, asks for its own key at once and, after a barrier of the block,
 * for its neighbour's; *wrong counts answers that are not right. The keys are distinct.
 */
int views_run_and_look(const nacrei_view *view, uint32_t key_bytes, uint32_t value_bytes,
                       const views_batch *batch, uint64_t *wrong, nacre_stream stream);

/* Every key and value, densely, and their number. */
int views_list(const nacrei_view *view, uint32_t key_bytes, uint32_t value_bytes, void *keys_out,
               void *values_out, uint64_t capacity, uint64_t *needed, nacre_stream stream);

/* With an ERASE view: erases the odd keys while it goes through the slots. */
int views_erase_odd(const nacrei_view *view, uint32_t key_bytes, uint32_t value_bytes,
                    nacre_stream stream);

#ifdef __cplusplus
}
#endif
#endif
