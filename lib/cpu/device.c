/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cpu/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/device.h"

/* What nacre_memory_allocate promises. */
#define MEMORY_ALIGNMENT 256u

/* Pages of this size make random access cheaper: one miss of the address cache less per lookup. */
#define HUGE_BYTES ((uint64_t)2 << 20)

nacre_status nacrei_cpu_device_open(const nacre_device_config *config, nacre_device **device,
                                    uint32_t *present, nacre_error *error)
{
    *present = 1;
    *device = NULL;
    nacrei_cpu_device *cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL) {
        return nacrei_fail(error, NACRE_ERROR_OUT_OF_MEMORY, ENOMEM,
                           "nacre_device_open: no memory for the device");
    }
    uint32_t threads = config->threads != 0 ? config->threads : nacrei_pool_threads_allowed();
    if (threads > 1) {
        cpu->pool = nacrei_pool_create(threads);
        if (cpu->pool == NULL) {
            free(cpu);
            return nacrei_fail(error, NACRE_ERROR_OUT_OF_MEMORY, ENOMEM,
                               "nacre_device_open: no memory for a pool of %u threads", threads);
        }
    }
    cpu->head.backend = &nacrei_cpu_backend;
    cpu->head.ordinal = -1;
    cpu->head.threads = threads;
    cpu->head.checks = config->checks;
    cpu->head.allocator = config->allocator;
    cpu->head.log = config->log;
    cpu->head.log_user = config->log_user;
    snprintf(cpu->head.description, sizeof cpu->head.description, "cpu, %u thread%s", threads,
             threads == 1 ? "" : "s");
    *device = &cpu->head;
    return NACRE_OK;
}

void nacrei_cpu_device_free(nacre_device *device)
{
    nacrei_cpu_device *cpu = (nacrei_cpu_device *)device;
    nacrei_pool_destroy(cpu->pool);
    free(cpu);
}

/* There is one stream, NULL, and nothing in it is ever unfinished. */
nacre_status nacrei_cpu_stream_create(nacre_device *device, nacre_stream *stream,
                                      nacre_error *error)
{
    (void)device;
    (void)error;
    *stream = NULL;
    return NACRE_OK;
}

nacre_status nacrei_cpu_stream_destroy(nacre_device *device, nacre_stream stream,
                                       nacre_error *error)
{
    (void)device;
    (void)stream;
    (void)error;
    return NACRE_OK;
}

nacre_status nacrei_cpu_stream_wait(nacre_device *device, nacre_stream stream, nacre_error *error)
{
    (void)device;
    (void)stream;
    (void)error;
    return NACRE_OK;
}

/* Asks for huge pages wherever a whole one lies in this memory; refusal is no fault. */
static void wish_huge_pages(void *pointer, uint64_t bytes)
{
#ifdef MADV_HUGEPAGE
    uint64_t before = -(uintptr_t)pointer % HUGE_BYTES;
    if (bytes >= before + HUGE_BYTES) {
        madvise((char *)pointer + before, (size_t)(bytes - before), MADV_HUGEPAGE);
    }
#else
    (void)pointer;
    (void)bytes;
#endif
}

nacre_status nacrei_cpu_memory_allocate(nacre_device *device, uint64_t bytes, uint32_t space,
                                        void **pointer, nacre_error *error)
{
    *pointer = NULL;
    if (device->allocator.allocate != NULL) {
        *pointer = nacrei_device_allocate(device, bytes, MEMORY_ALIGNMENT, space);
    } else if (posix_memalign(pointer, MEMORY_ALIGNMENT, (size_t)bytes) == 0) {
        wish_huge_pages(*pointer, bytes);
    } else {
        *pointer = NULL;
    }
    if (*pointer == NULL) {
        return nacrei_fail(error, NACRE_ERROR_OUT_OF_MEMORY, ENOMEM,
                           "nacre_memory_allocate: %llu bytes of host memory were refused",
                           (unsigned long long)bytes);
    }
    return NACRE_OK;
}

void nacrei_cpu_memory_release(nacre_device *device, void *pointer, uint64_t bytes, uint32_t space)
{
    if (device->allocator.release != NULL) {
        device->allocator.release(device->allocator.user, pointer, bytes, space, NULL);
    } else {
        free(pointer);
    }
}

nacre_status nacrei_cpu_memory_copy(nacre_device *device, const void *from, uint64_t bytes,
                                    void *to, nacre_error *error, nacre_stream stream)
{
    (void)device;
    (void)error;
    (void)stream;
    if (bytes != 0) {
        memmove(to, from, (size_t)bytes);
    }
    return NACRE_OK;
}

nacre_status nacrei_cpu_memory_fill(nacre_device *device, void *pointer, uint64_t bytes,
                                    uint32_t byte, nacre_error *error, nacre_stream stream)
{
    (void)device;
    (void)error;
    (void)stream;
    if (bytes != 0) {
        memset(pointer, (int)byte, (size_t)bytes);
    }
    return NACRE_OK;
}

const char *nacrei_cpu_memory_unreachable(nacre_device *device, const void *pointer)
{
    (void)device;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char resident;
    /* mincore tells mapped from unmapped without touching the page; it fails with ENOMEM there. */
    void *start = (void *)((uintptr_t)pointer & ~(page - 1));
    if (mincore(start, 1, &resident) != 0 && errno == ENOMEM) {
        return "not mapped in this process";
    }
    return NULL;
}

/* Anonymous memory that starts at a huge page, where it is large enough to gain by that. */
static void *map_pages(uint64_t bytes)
{
    uint64_t alignment = bytes >= HUGE_BYTES ? HUGE_BYTES : NACREI_CPU_PAGE_BYTES;
    uint64_t spare = alignment - NACREI_CPU_PAGE_BYTES;
    char *mapped = mmap(NULL, (size_t)(bytes + spare), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return NULL;
    }
    uint64_t before = (alignment - (uintptr_t)mapped % alignment) % alignment;
    if (before > 0) {
        munmap(mapped, (size_t)before);
    }
    if (spare > before) {
        munmap(mapped + before + bytes, (size_t)(spare - before));
    }
    wish_huge_pages(mapped + before, bytes);
    return mapped + before;
}

void *nacrei_cpu_pages_allocate(const nacre_device *device, uint64_t bytes)
{
    if (device->allocator.allocate == NULL) {
        return map_pages(bytes);
    }
    void *pointer = nacrei_device_allocate(device, bytes, NACREI_CPU_PAGE_BYTES, NACRE_SPACE_HOST);
    if (pointer != NULL) {
        memset(pointer, 0, (size_t)bytes);
    }
    return pointer;
}

void nacrei_cpu_pages_release(const nacre_device *device, void *pointer, uint64_t bytes)
{
    if (device->allocator.release == NULL) {
        munmap(pointer, (size_t)bytes);
    } else {
        device->allocator.release(device->allocator.user, pointer, bytes, NACRE_SPACE_HOST, NULL);
    }
}
