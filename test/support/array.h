/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device arrays: memory that the map's device reads and writes, with guards on both sides, aligned
 * to the element and no better. On the CPU each array ends where its allocation ends, for
 * AddressSanitizer; on CUDA arrays are reused, because allocating is slow there.
 */
#ifndef NACRE_TEST_ARRAY_H
#define NACRE_TEST_ARRAY_H

#include "support/harness.h"

#define TEST_FILL 0xA5u /* what the library has not written yet */

typedef struct test_array {
    void *data; /* NULL: no array */
    uint64_t bytes;
    unsigned char *base;
    uint64_t base_bytes;
} test_array;

/* `bytes` bytes, each TEST_FILL, at an address that is a multiple of `alignment` but not of twice
   it. */
test_array test_array_new(test *t, uint64_t bytes, uint64_t alignment);

/* The same, with the content of host memory. */
test_array test_array_of(test *t, const void *from, uint64_t bytes, uint64_t alignment);

/* `count` numbers, each cut to `width` bytes; NULL gives no array. */
test_array test_array_of_numbers(test *t, const uint64_t *numbers, uint64_t count, uint32_t width);

/* Waits, checks the guards, copies the content to the host. */
void test_array_read(test *t, const test_array *array, void *to);
void test_array_read_numbers(test *t, const test_array *array, uint64_t *numbers, uint64_t count,
                             uint32_t width);

/* Waits, checks the guards, gives the memory up. */
void test_array_free(test *t, test_array *array);

/* Of a row: what its arrays were made of. */
void test_array_cache_release(test *t);

#endif
