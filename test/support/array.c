/* SPDX-License-Identifier: Apache-2.0 */
#include "support/array.h"

#define FRONT_BYTES 64u
#if defined(__SANITIZE_ADDRESS__)
#define CPU_BACK_BYTES 0u /* AddressSanitizer has guards of its own */
#else
#define CPU_BACK_BYTES 64u
#endif
#define BACK_BYTES_MAX 64u
#define GUARD          0x5Au
#define CACHED_MAX     64

struct test_array_cache {
    struct {
        void *base;
        uint64_t bytes;
    } entries[CACHED_MAX];
};

static uint64_t back_bytes(const test *t)
{
    return t->backend == NACRE_BACKEND_CPU ? CPU_BACK_BYTES : BACK_BYTES_MAX;
}

/* CUDA: memory of a former array that fits, or new memory. */
static void *take(test *t, uint64_t *bytes)
{
    void *base = NULL;
    if (t->backend == NACRE_BACKEND_CPU) {
        return test_host(t, *bytes);
    }
    if (t->cache == NULL) {
        t->cache = calloc(1, sizeof *t->cache);
        CHECK(t, t->cache != NULL, "no host memory");
    }
    for (int i = 0; i < CACHED_MAX; i++) {
        uint64_t size = t->cache->entries[i].bytes;
        if (t->cache->entries[i].base != NULL && size >= *bytes && size / 4 <= *bytes) {
            base = t->cache->entries[i].base;
            *bytes = size;
            t->cache->entries[i].base = NULL;
            return base;
        }
    }
    *bytes += *bytes / 2 + 4096;
    OK(t, nacre_memory_allocate(t->device, *bytes, NACRE_SPACE_DEVICE, &base, &t->error));
    return base;
}

test_array test_array_new(test *t, uint64_t bytes, uint64_t alignment)
{
    test_array array;
    uint64_t front = FRONT_BYTES + alignment;
    array.bytes = bytes;
    array.base_bytes = front + bytes + back_bytes(t);
    array.base = take(t, &array.base_bytes);
    if (t->backend == NACRE_BACKEND_CPU) { /* malloc aligns to 16 */
        memset(array.base, GUARD, array.base_bytes);
        memset(array.base + front, TEST_FILL, bytes);
    } else {
        uint64_t whole = front + bytes + back_bytes(t);
        OK(t, nacre_memory_fill(t->device, array.base, whole, GUARD, &t->error, t->stream));
        if (bytes != 0) {
            OK(t, nacre_memory_fill(t->device, array.base + front, bytes, TEST_FILL, &t->error,
                                    t->stream));
        }
    }
    array.data = array.base + front;
    return array;
}

test_array test_array_of(test *t, const void *from, uint64_t bytes, uint64_t alignment)
{
    test_array array = test_array_new(t, bytes, alignment);
    if (bytes != 0) {
        OK(t, nacre_memory_copy(t->device, from, bytes, array.data, &t->error, t->stream));
    }
    return array;
}

test_array test_array_of_numbers(test *t, const uint64_t *numbers, uint64_t count, uint32_t width)
{
    test_array none = {NULL, 0, NULL, 0};
    if (numbers == NULL || width == 0) {
        return none;
    }
    if (width == 8) {
        return test_array_of(t, numbers, count * 8, 8);
    }
    uint32_t *narrow = test_host(t, count * 4);
    for (uint64_t i = 0; i < count; i++) {
        narrow[i] = (uint32_t)numbers[i];
    }
    test_array array = test_array_of(t, narrow, count * 4, 4);
    test_wait(t);
    free(narrow);
    return array;
}

void test_array_read(test *t, const test_array *array, void *to)
{
    unsigned char guards[FRONT_BYTES + 16 + BACK_BYTES_MAX];
    uint64_t front = (uint64_t)((unsigned char *)array->data - array->base);
    uint64_t back = back_bytes(t);
    OK(t, nacre_memory_copy(t->device, array->base, front, guards, &t->error, t->stream));
    if (back != 0) {
        OK(t, nacre_memory_copy(t->device, array->base + front + array->bytes, back, guards + front,
                                &t->error, t->stream));
    }
    if (to != NULL && array->bytes != 0) {
        OK(t, nacre_memory_copy(t->device, array->data, array->bytes, to, &t->error, t->stream));
    }
    test_wait(t);
    for (uint64_t i = 0; i < front + back; i++) {
        CHECK(t, guards[i] == GUARD, "written %s an array of %llu bytes",
              i < front ? "before" : "behind", (unsigned long long)array->bytes);
    }
}

void test_array_read_numbers(test *t, const test_array *array, uint64_t *numbers, uint64_t count,
                             uint32_t width)
{
    CHECK(t, array->bytes == count * width, "%llu numbers of a smaller array",
          (unsigned long long)count);
    if (width == 8) {
        test_array_read(t, array, numbers);
        return;
    }
    uint32_t *narrow = test_host(t, count * 4);
    test_array_read(t, array, narrow);
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] = narrow[i];
    }
    free(narrow);
}

void test_array_free(test *t, test_array *array)
{
    if (array->data == NULL) {
        return;
    }
    test_array_read(t, array, NULL);
    if (t->backend == NACRE_BACKEND_CPU) {
        free(array->base);
    } else {
        int i = 0;
        while (i < CACHED_MAX && t->cache->entries[i].base != NULL) {
            i++;
        }
        if (i < CACHED_MAX) {
            t->cache->entries[i].base = array->base;
            t->cache->entries[i].bytes = array->base_bytes;
        } else {
            OK(t, nacre_memory_release(t->device, array->base, &t->error));
        }
    }
    memset(array, 0, sizeof *array);
}

void test_array_cache_release(test *t)
{
    for (int i = 0; t->cache != NULL && i < CACHED_MAX; i++) {
        OK(t, nacre_memory_release(t->device, t->cache->entries[i].base, &t->error));
    }
    free(t->cache);
    t->cache = NULL;
}
