/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU device: memory and threads for its maps. */
#ifndef NACRE_LIB_CPU_DEVICE_H
#define NACRE_LIB_CPU_DEVICE_H

#include <stdint.h>

#include "lib/backend.h"
#include "lib/cpu/pool.h"

typedef struct nacrei_cpu_device {
    struct nacre_device head;
    nacrei_pool *pool; /* NULL with one thread */
} nacrei_cpu_device;

/* Memory of maps is allocated in whole pages, so that its size is known beforehand. */
#define NACREI_CPU_PAGE_BYTES 4096u

/*
 * Memory for a map, zeroed, aligned to a page, from the device's allocator or the system. `bytes`
 * is a multiple of a page. NULL: refused.
 */
void *nacrei_cpu_pages_allocate(const nacre_device *device, uint64_t bytes);
void nacrei_cpu_pages_release(const nacre_device *device, void *pointer, uint64_t bytes);

nacre_status nacrei_cpu_device_open(const nacre_device_config *config, nacre_device **device,
                                    uint32_t *present, nacre_error *error);
void nacrei_cpu_device_free(nacre_device *device);
nacre_status nacrei_cpu_stream_create(nacre_device *device, nacre_stream *stream,
                                      nacre_error *error);
nacre_status nacrei_cpu_stream_destroy(nacre_device *device, nacre_stream stream,
                                       nacre_error *error);
nacre_status nacrei_cpu_stream_wait(nacre_device *device, nacre_stream stream, nacre_error *error);
nacre_status nacrei_cpu_memory_allocate(nacre_device *device, uint64_t bytes, uint32_t space,
                                        void **pointer, nacre_error *error);
void nacrei_cpu_memory_release(nacre_device *device, void *pointer, uint64_t bytes, uint32_t space);
nacre_status nacrei_cpu_memory_copy(nacre_device *device, const void *from, uint64_t bytes,
                                    void *to, nacre_error *error, nacre_stream stream);
nacre_status nacrei_cpu_memory_fill(nacre_device *device, void *pointer, uint64_t bytes,
                                    uint32_t byte, nacre_error *error, nacre_stream stream);
const char *nacrei_cpu_memory_unreachable(nacre_device *device, const void *pointer);

#endif
