/* SPDX-License-Identifier: Apache-2.0 */
#include "support/allocator.h"

static void misuse(test_allocator *a, const char *what, uint64_t number)
{
    if (a->misuse[0] == 0) {
        snprintf(a->misuse, sizeof a->misuse, "%s: %llu", what, (unsigned long long)number);
    }
}

static void *allocate(void *user, uint64_t bytes, uint64_t alignment, uint32_t space,
                      nacre_stream stream)
{
    test_allocator *a = user;
    void *base = NULL;
    (void)stream;
    pthread_mutex_lock(&a->lock);
    a->calls++;
    bool refuse = a->refuse_at != 0 &&
                  (a->calls == a->refuse_at || (a->refuse_all && a->calls > a->refuse_at));
    if (bytes == 0 || bytes >> 48 != 0) {
        refuse = true; /* a request beyond any machine */
    }
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        misuse(a, "alignment is no power of two", alignment);
        refuse = true;
    }
    if (space > NACRE_SPACE_HOST) {
        misuse(a, "unknown space", space);
    }
    uint64_t entry = 0;
    while (entry < TEST_ALLOCATIONS_MAX && a->entries[entry].pointer != NULL) {
        entry++;
    }
    if (entry == TEST_ALLOCATIONS_MAX) {
        misuse(a, "too many allocations", entry);
        refuse = true;
    }
    if (refuse) {
        a->refused++;
        a->refused_ever++;
        pthread_mutex_unlock(&a->lock);
        return NULL;
    }
    /* Nothing promises zeros: what the caller gets is dirty. */
    uint64_t dirty = bytes < ((uint64_t)16 << 20) ? bytes : (uint64_t)16 << 20;
    uint64_t padded = bytes + (alignment > 256 ? alignment : 0);
    if (a->base != NULL) {
        nacre_memory_allocate(a->base, padded, space, &base, NULL);
        if (base != NULL && space != NACRE_SPACE_HOST) {
            nacre_memory_fill(a->base, base, dirty, 0xEE, NULL, NULL);
            nacre_stream_wait(a->base, NULL, NULL);
        }
    } else if (posix_memalign(&base, alignment < 8 ? 8 : alignment, bytes) != 0) {
        base = NULL;
    } else {
        memset(base, 0xEE, dirty);
    }
    void *pointer = base;
    if (a->base != NULL && base != NULL) {
        pointer = (void *)(((uintptr_t)base + alignment - 1) / alignment * alignment);
    }
    if (pointer != NULL) {
        a->entries[entry].pointer = pointer;
        a->entries[entry].base = base;
        a->entries[entry].bytes = bytes;
        a->entries[entry].space = space;
        a->live++;
        a->live_bytes += bytes;
        a->peak_bytes = a->live_bytes > a->peak_bytes ? a->live_bytes : a->peak_bytes;
    }
    pthread_mutex_unlock(&a->lock);
    return pointer;
}

static void release(void *user, void *pointer, uint64_t bytes, uint32_t space, nacre_stream stream)
{
    test_allocator *a = user;
    pthread_mutex_lock(&a->lock);
    uint64_t entry = 0;
    while (entry < TEST_ALLOCATIONS_MAX && a->entries[entry].pointer != pointer) {
        entry++;
    }
    if (pointer == NULL || entry == TEST_ALLOCATIONS_MAX) {
        misuse(a, "released, but never allocated", (uintptr_t)pointer);
        pthread_mutex_unlock(&a->lock);
        return;
    }
    if (a->entries[entry].bytes != bytes) {
        misuse(a, "released with the wrong size", bytes);
    }
    if (a->entries[entry].space != space) {
        misuse(a, "released with the wrong space", space);
    }
    a->entries[entry].pointer = NULL;
    a->live--;
    a->live_bytes -= a->entries[entry].bytes;
    void *base = a->entries[entry].base;
    pthread_mutex_unlock(&a->lock);
    if (a->base != NULL) {
        nacre_stream_wait(a->base, stream, NULL); /* free only in the stream's order */
        nacre_memory_release(a->base, base, NULL);
    } else {
        free(base);
    }
}

test_allocator *test_allocator_new(uint32_t backend)
{
    test_allocator *a = calloc(1, sizeof *a);
    if (a == NULL) {
        abort();
    }
    a->callbacks.user = a;
    a->callbacks.allocate = allocate;
    a->callbacks.release = release;
    pthread_mutex_init(&a->lock, NULL);
    if (backend == NACRE_BACKEND_CUDA) {
        nacre_device_config config;
        nacre_device_config_init(&config, sizeof config);
        config.backend = backend;
        if (nacre_device_open(&config, &a->base) != NACRE_OK) {
            abort(); /* the harness has opened one already */
        }
    }
    return a;
}

void test_allocator_free(test_allocator *a)
{
    if (a != NULL) {
        nacre_device_close(a->base);
        pthread_mutex_destroy(&a->lock);
        free(a);
    }
}

void test_allocator_refuse(test_allocator *a, uint64_t n, bool all)
{
    pthread_mutex_lock(&a->lock);
    a->refuse_at = n == 0 ? 0 : a->calls + n;
    a->refuse_all = all;
    a->refused = 0;
    pthread_mutex_unlock(&a->lock);
}
