/* SPDX-License-Identifier: Apache-2.0 */
#include "device/order.h"

#include <string.h>

#include "device/toolkit.h"

int nacrei_order_conflicts(uint32_t a, uint32_t b)
{
    return a == NACREI_CLASS_EXCLUSIVE || b == NACREI_CLASS_EXCLUSIVE;
}

static int idle(nacrei_order_stream *stream)
{
    for (uint32_t c = 0; c < NACREI_CLASSES; c++) {
        if (stream->pending[c]) {
            cudaError_t result = cudaEventQuery(stream->events[c]);
            if (result == cudaErrorNotReady) {
                return 0;
            }
            stream->pending[c] = 0;
        }
    }
    return 1;
}

static cudaError_t wait_for(nacrei_order_stream *stream)
{
    cudaError_t first = cudaSuccess;
    for (uint32_t c = 0; c < NACREI_CLASSES; c++) {
        if (stream->pending[c]) {
            cudaError_t result = cudaEventSynchronize(stream->events[c]);
            first = first == cudaSuccess ? result : first;
            stream->pending[c] = 0;
        }
    }
    return first;
}

cudaError_t nacrei_order_stream_of(nacrei_order *order, cudaStream_t stream,
                                   nacrei_order_stream **own)
{
    nacrei_order_stream *entry = NULL;
    uint64_t number = 0;
    cudaError_t result = nacrei_stream_number(stream, &number);
    if (result != cudaSuccess) {
        return result;
    }
    for (uint32_t i = 0; i < order->count; i++) {
        if (order->streams[i].number == number) {
            *own = &order->streams[i];
            return cudaSuccess;
        }
    }
    /* A new one takes the place of one that is idle. */
    for (uint32_t i = 0; i < order->count && entry == NULL; i++) {
        if (idle(&order->streams[i])) {
            entry = &order->streams[i];
        }
    }
    if (entry == NULL && order->count < NACREI_ORDER_STREAMS_MAX) {
        entry = &order->streams[order->count++];
        memset(entry, 0, sizeof *entry);
    }
    if (entry == NULL) {
        entry = &order->streams[0];
        result = wait_for(entry);
    }
    entry->number = number;
    *own = entry;
    return result;
}

cudaError_t nacrei_order_begin(nacrei_order *order, const nacrei_order_stream *own,
                               cudaStream_t stream, uint32_t class_of)
{
    for (uint32_t i = 0; i < order->count; i++) {
        nacrei_order_stream *other = &order->streams[i];
        for (uint32_t c = 0; c < NACREI_CLASSES && other != own; c++) {
            if (other->pending[c] && nacrei_order_conflicts(c, class_of)) {
                cudaError_t result = cudaStreamWaitEvent(stream, other->events[c], 0);
                if (result != cudaSuccess) {
                    return result;
                }
            }
        }
    }
    return cudaSuccess;
}

cudaError_t nacrei_order_end(nacrei_order *order, nacrei_order_stream *own, cudaStream_t stream,
                             uint32_t class_of, int ordered)
{
    if (own->events[class_of] == NULL) {
        cudaError_t result =
            cudaEventCreateWithFlags(&own->events[class_of], cudaEventDisableTiming);
        if (result != cudaSuccess) {
            own->events[class_of] = NULL;
            return result;
        }
    }
    cudaError_t result = cudaEventRecord(own->events[class_of], stream);
    if (result != cudaSuccess) {
        return result;
    }
    if (class_of == NACREI_CLASS_EXCLUSIVE && ordered) {
        /* It waited for all others: who waits for it has waited for them. */
        for (uint32_t i = 0; i < order->count; i++) {
            memset(order->streams[i].pending, 0, sizeof order->streams[i].pending);
        }
    }
    own->pending[class_of] = 1;
    return cudaSuccess;
}

cudaError_t nacrei_order_wait(nacrei_order *order)
{
    cudaError_t first = cudaSuccess;
    for (uint32_t i = 0; i < order->count; i++) {
        cudaError_t result = wait_for(&order->streams[i]);
        first = first == cudaSuccess ? result : first;
    }
    return first;
}

void nacrei_order_close(nacrei_order *order)
{
    for (uint32_t i = 0; i < order->count; i++) {
        for (uint32_t c = 0; c < NACREI_CLASSES; c++) {
            if (order->streams[i].events[c] != NULL) {
                (void)cudaEventDestroy(order->streams[i].events[c]);
            }
        }
    }
    order->count = 0;
}
