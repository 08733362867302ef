/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order between streams: which batches of a map may run beside each other, and who waits for whom.
 * Each batch leaves an event in its stream; a batch on another stream waits on the device for the
 * events that conflict:
 *
 *     READ       beside READ and INSERT (a slot is claimed in one step)
 *     INSERT     beside READ and INSERT
 *     EXCLUSIVE  beside nothing; so are insertions where a slot is claimed in two steps
 *
 * Streams are told apart by a number that is never used again, not by their handle, which may be.
 */
#ifndef NACRE_DEVICE_ORDER_H
#define NACRE_DEVICE_ORDER_H

#include <cuda_runtime_api.h>
#include <stdint.h>

enum { NACREI_CLASS_READ, NACREI_CLASS_INSERT, NACREI_CLASS_EXCLUSIVE, NACREI_CLASSES };

/* Streams with work in flight that are kept apart; beyond, the call waits for one of them. */
#define NACREI_ORDER_STREAMS_MAX 64

typedef struct nacrei_order_stream {
    uint64_t number;
    cudaEvent_t events[NACREI_CLASSES]; /* created at first use */
    uint32_t pending[NACREI_CLASSES];   /* the event was recorded, and nothing later covers it */
} nacrei_order_stream;

typedef struct nacrei_order {
    uint32_t count;
    nacrei_order_stream streams[NACREI_ORDER_STREAMS_MAX];
} nacrei_order;

/* The entry of a stream, `own` below. */
cudaError_t nacrei_order_stream_of(nacrei_order *order, cudaStream_t stream,
                                   nacrei_order_stream **own);

/* Not 0 where batches of these classes must not run beside each other. */
int nacrei_order_conflicts(uint32_t a, uint32_t b);

/* Makes the stream wait for all batches on other streams that conflict with `class_of`. */
cudaError_t nacrei_order_begin(nacrei_order *order, const nacrei_order_stream *own,
                               cudaStream_t stream, uint32_t class_of);

/* Marks the end of a batch. `ordered`: it began with nacrei_order_begin. */
cudaError_t nacrei_order_end(nacrei_order *order, nacrei_order_stream *own, cudaStream_t stream,
                             uint32_t class_of, int ordered);

/* The host waits for every batch; the first error. */
cudaError_t nacrei_order_wait(nacrei_order *order);
void nacrei_order_close(nacrei_order *order);

#endif
