/* SPDX-License-Identifier: Apache-2.0 */
/* Which batches the CUDA backend partitions, in how many parts and bins. */
#include <criterion/criterion.h>

#include "device/partition.h"
#include "support/random.h"

#define MIB ((uint64_t)1 << 20)

Test(partition, unknown_cache_divides_by_zero_or_partitions_all)
{
    /* Goal: where a GPU does not tell the size of its L2 cache no batch is partitioned. Method:
       tables and batches of all sizes. */
    for (uint32_t growing = 0; growing < 2; growing++) {
        for (uint64_t slots = 1; slots < (uint64_t)1 << 40; slots *= 2) {
            const uint64_t part = nacrei_partition_elements(slots, slots, slots * 16, 0, growing);
            cr_assert(part == 0, "%llu of %llu elements at a time", (unsigned long long)part,
                      (unsigned long long)slots);
        }
    }
}

Test(partition, small_batch_or_table_is_copied)
{
    /* Goal: less than a quarter of the slots (a tenth in a table of 16 caches or more), or a table
       below four caches, goes as it is; what reaches both does not. Method: one below and at each
       bound. */
    const uint64_t l2 = 50 * MIB;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t large = i >> 1;
        const uint64_t bytes = (large ? 16 : 4) * l2, slots = bytes / 16;
        const uint64_t least = slots / (large ? 10 : 4);
        /* While the map grows a part is a tenth. */
        const uint64_t part = i & 1 ? slots / 10 : least;
        cr_assert(nacrei_partition_elements(least - 1, slots, bytes, l2, i & 1) == 0);
        cr_assert(nacrei_partition_elements(least, slots, bytes, l2, i & 1) == part);
        cr_assert(nacrei_partition_elements(slots, slots, bytes, l2, i & 1) != 0);
        cr_assert(nacrei_partition_elements(slots, slots, 4 * l2 - 1, l2, i & 1) == 0);
    }
    cr_assert(nacrei_partition_elements(10 * l2 / 16, l2, 16 * l2 - 1, l2, 0) != 0);
    cr_assert(nacrei_partition_elements(l2 / 10, l2, 16 * l2 - 1, l2, 0) == 0);
}

Test(partition, part_is_larger_than_the_peak_allows)
{
    /* Goal: parts cover the batch, and none has more elements than half of the slots, a tenth where
       the map grows. Method: random batches, tables and caches. */
    uint64_t state = 61;
    for (int i = 0; i < 100000; i++) {
        const uint64_t slots = (MIB << test_random_below(&state, 14)) * 4;
        const uint64_t l2 = 1 + test_random_below(&state, slots * 4);
        const uint64_t elements = slots / 4 + test_random_below(&state, slots * 3);
        const uint32_t growing = (uint32_t)test_random_below(&state, 2);
        const uint64_t part = nacrei_partition_elements(elements, slots, slots * 16, l2, growing);
        cr_assert(part != 0 && part <= elements && part <= slots / (growing ? 10 : 2),
                  "parts of %llu elements of %llu for %llu slots", (unsigned long long)part,
                  (unsigned long long)elements, (unsigned long long)slots);
    }
}

Test(partition, region_is_larger_than_the_cache)
{
    /* Goal: there are 1 to NACREI_BINS_MAX bins, whose regions are within two thirds of the cache,
       or four where elements are few, as long as there are fewer bins than the most. Method: random
       tables and caches, of a byte too. */
    uint64_t state = 62;
    for (int i = 0; i < 100000; i++) {
        const uint64_t bytes = 1 + test_random_below(&state, (uint64_t)1 << 38);
        const uint64_t l2 = 1 + (test_random(&state) >> 32 >> test_random_below(&state, 32));
        const uint64_t slots = bytes / 16, elements = test_random_below(&state, slots + 1);
        const uint64_t thirds = elements < slots / 4 ? 4 : 2;
        const uint64_t bins = nacrei_partition_bins(elements, slots, bytes, l2);
        cr_assert(bins >= 1 && bins <= NACREI_BINS_MAX, "%llu bins", (unsigned long long)bins);
        cr_assert(bins == NACREI_BINS_MAX || bytes * 3 <= bins * l2 * thirds,
                  "%llu bins for %llu bytes and a cache of %llu", (unsigned long long)bins,
                  (unsigned long long)bytes, (unsigned long long)l2);
    }
}
