/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device: what its maps need to know about the GPU, and its memory. */
#ifndef NACRE_DEVICE_DEVICE_H
#define NACRE_DEVICE_DEVICE_H

#include <cuda_runtime_api.h>
#include <pthread.h>

#include "device/kernels.h"
#include "device/toolkit.h"
#include "lib/backend.h"

typedef struct nacrei_cuda_device {
    nacre_device head;
    nacrei_gpu gpu;
    uint64_t memory_total_bytes;
    nacrei_ranges ranges; /* address ranges; not usable where the driver lacks them */
    cudaMemPool_t pool;   /* for scratch, in the order of streams; NULL: there is none */
    uint32_t lost;        /* the context is dead; set once, read by any thread */
    pthread_mutex_t lock; /* guards what follows */
    uint32_t prepared[NACREI_WIDTHS_COUNT];
    nacrei_code code[NACREI_WIDTHS_COUNT]; /* once prepared */
    uint32_t prepared_compact;
} nacrei_cuda_device;

/* What nacrei_cuda_enter changed for the thread (call.h). */
typedef struct nacrei_current {
    int before; /* the current device; -1: as it is */
    int relaxed;
    enum cudaStreamCaptureMode mode;
} nacrei_current;

/*
 * Memory of a space, by the caller's allocator or CUDA's; cudaErrorMemoryAllocation where it is
 * refused. Release is told the size; the memory must be idle.
 */
cudaError_t nacrei_cuda_allocate(nacrei_cuda_device *device, uint64_t bytes, uint32_t space,
                                 void **pointer);
void nacrei_cuda_release(nacrei_cuda_device *device, void *pointer, uint64_t bytes, uint32_t space);

/*
 * After device memory was refused: gives back what the pool keeps and no work uses, as far as the
 * driver knows. Not 0: it is worth a second try.
 */
uint32_t nacrei_cuda_trim(nacrei_cuda_device *device);

/* Loads all kernels of a width, once per device. */
cudaError_t nacrei_cuda_prepare(nacrei_cuda_device *device, uint32_t width);

/* Loads the kernels of nacre_compact, once per device. */
cudaError_t nacrei_cuda_prepare_compact(nacrei_cuda_device *device);

nacre_status nacrei_cuda_compact(nacre_device *device, const nacrei_compact *compact,
                                 nacre_error *error);
nacre_status nacrei_cuda_compact_workspace(const nacre_device *device, uint64_t count,
                                           uint32_t algorithm, uint64_t *bytes, nacre_error *error);

/* UNSUPPORTED: DEVICE_SELECT of so many elements, or in a capture. */
nacre_status nacrei_cuda_check_select(const char *call, uint64_t elements, uint32_t capturing,
                                      nacre_error *error);

/* The index of lib/widths.h, or NACREI_WIDTHS_COUNT. */
uint32_t nacrei_width_index(uint32_t key_bytes, uint32_t value_bytes);

#endif
