/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A caller's allocator that refuses on request and checks how it is used: every release names a
 * living allocation of that size and space, and alignments are what was asked for. On CUDA the
 * memory comes from a second device object, so that this needs no CUDA header.
 */
#ifndef NACRE_TEST_ALLOCATOR_H
#define NACRE_TEST_ALLOCATOR_H

#include <pthread.h>

#include "support/harness.h"

#define TEST_ALLOCATIONS_MAX 4096

struct test_allocator {
    nacre_device *base; /* where the memory comes from; NULL: the C library */
    nacre_allocator callbacks;
    pthread_mutex_t lock;
    uint64_t calls;      /* of allocate, so far */
    uint64_t refuse_at;  /* the number of the call, from 1, that gets NULL; 0: none */
    uint64_t refuse_all; /* not 0: that call and all later ones */
    uint64_t refused;    /* since test_allocator_refuse */
    uint64_t refused_ever;
    uint64_t live;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    char misuse[128]; /* the first misuse seen; empty: none */
    struct {
        void *pointer;
        void *base;
        uint64_t bytes;
        uint32_t space;
    } entries[TEST_ALLOCATIONS_MAX];
};

test_allocator *test_allocator_new(uint32_t backend);
void test_allocator_free(test_allocator *a);

/* From now on the n-th call is refused (and, with `all`, those after it); 0: none. */
void test_allocator_refuse(test_allocator *a, uint64_t n, bool all);

#endif
