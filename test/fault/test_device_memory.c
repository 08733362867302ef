/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA only: the memory of the GPU itself runs out. Nothing on other backends. */
#include "support/array.h"

#if NACRE_HAVE_CUDA
#include "support/cuda.h"

#define PAIR_BYTES 16

/* Bytes of the GPU that nobody has. */
static uint64_t memory_free(test *t)
{
    size_t unused = 0, all = 0;
    CUDA(t, cudaMemGetInfo(&unused, &all));
    return unused;
}

static void skip(const test *t, const char *why)
{
    printf("SKIPPED %s on %s: %s\n", t->name, t->backend_name, why);
}

/* A map so large that batches of half of its slots are copied (device/partition.h), and half. */
static nacre_map *large_map(test *t, uint64_t *half)
{
    const uint64_t least = (uint64_t)1 << 28;
    const uint64_t bytes = 4 * test_gpu_attribute(t, cudaDevAttrL2CacheSize);
    nacre_map *map = test_map_new(t, (bytes > least ? bytes : least) / PAIR_BYTES);
    *half = test_info(t, map).capacity_slots / 2 - 1;
    return map;
}

/* Inserts new keys, for all of which the map has to grow. */
static void grow(test *t, nacre_map *map, const test_array *keys, uint64_t count)
{
    uint32_t faults = 0;
    uint64_t size = 0;
    OK(t, nacre_map_insert(map, keys->data, keys->data, count, NULL, t->stream));
    OK(t, nacre_map_size(map, &size, &t->error, t->stream));
    OK(t, nacre_map_faults(map, &faults, 0, &t->error));
    CHECK(t, size == count && faults == 0, "%llu keys of %llu, faults %u", LL(size), LL(count),
          faults);
    OK(t, nacre_map_check(map, &t->error, t->stream));
}

NACRE_CONTRACT_TEST_ONCE(device_memory, idle_scratch_makes_growth_fail)
{
    /* Goal: what the device object keeps from the copy of a large batch is there for growth, once
       no other memory is. Method: all memory of the GPU is taken but for five quarters of a copy; a
       batch that is copied, and whose memory is kept; then another map grows to half of a copy. */
    if (t->backend != NACRE_BACKEND_CUDA || t->allocator != NULL) {
        skip(t, "no scratch of the library's own");
        return;
    }
    uint64_t half = 0;
    nacre_map *large = large_map(t, &half), *map = test_map_new(t, 0);
    const uint64_t copy_bytes = half * PAIR_BYTES, count = half / 4;
    uint64_t *numbers = test_keys(t, 0, half);
    test_array keys = test_array_of_numbers(t, numbers, half, 8);
    free(numbers);
    test_wait(t);
    void *hoard = NULL;
    const uint64_t hoarded = memory_free(t) - copy_bytes / 4 * 5;
    OK(t, nacre_memory_allocate(t->device, hoarded, NACRE_SPACE_DEVICE, &hoard, &t->error));
    OK(t, nacre_map_insert(large, keys.data, keys.data, half, NULL, t->stream));
    test_wait(t);
    if (memory_free(t) > copy_bytes / 2) {
        skip(t, "nothing is kept: no copies, or too small a GPU");
    } else {
        grow(t, map, &keys, count);
    }
    OK(t, nacre_memory_release(t->device, hoard, &t->error));
    test_array_free(t, &keys);
    nacre_map_destroy(large);
    nacre_map_destroy(map);
}
#else
NACRE_CONTRACT_TEST_ONCE(device_memory, not_in_this_build)
{
    /* Goal: say that the rows of this file need CUDA. Method: a line. */
    printf("SKIPPED device_memory on %s: this build has no CUDA\n", t->backend_name);
}
#endif
