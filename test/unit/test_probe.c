/* SPDX-License-Identifier: Apache-2.0 */
/* The probe path. */
#include <criterion/criterion.h>
#include <string.h>

#include "nacre/core/probe.h"
#include "support/random.h"

Test(probe, bucket_is_visited_twice_or_never)
{
    /* Goal: a path visits every bucket once before it repeats one, for any hash. Method: walk
       random paths, and those with every step, in submaps of 8 to 2048 buckets. */
    uint64_t state = 31;
    for (uint32_t count = 8; count <= 2048; count *= 2) {
        for (uint32_t i = 0; i < 600; i++) {
            unsigned char seen[2048] = {0};
            uint64_t hash = test_random(&state);
            hash = (hash & ~((uint64_t)511 << 11)) | (uint64_t)(i & 511) << 11;
            nacrei_probe probe = nacrei_probe_begin(hash, count - 1);
            for (uint32_t n = 0; n < count; n++) {
                cr_assert(probe.bucket < count, "outside of the submap");
                cr_assert(probe.length == n);
                cr_assert(!seen[probe.bucket],
                          "%u buckets, hash 0x%llx: bucket %u twice in %u steps", count,
                          (unsigned long long)hash, probe.bucket, n);
                seen[probe.bucket] = 1;
                nacrei_probe_next(&probe, count - 1);
            }
        }
    }
}

Test(probe, second_bucket_costs_another_access)
{
    /* Goal: every second step stays in the same 64 bytes. Method: buckets 2n and 2n + 1 of a path
       differ in bit 0 only. */
    uint64_t state = 32;
    for (int i = 0; i < 1000; i++) {
        nacrei_probe probe = nacrei_probe_begin(test_random(&state), 2047);
        for (int n = 0; n < 100; n++) {
            uint32_t first = probe.bucket;
            nacrei_probe_next(&probe, 2047);
            cr_assert((first ^ probe.bucket) == 1);
            nacrei_probe_next(&probe, 2047);
        }
    }
}

Test(probe, keys_of_one_home_stay_together)
{
    /* Goal: keys that share a home part afterwards. Method: third buckets of 512 keys of one home,
       each with another step, are 512 different ones. */
    unsigned char seen[2048] = {0};
    for (uint64_t step = 0; step < 512; step++) {
        nacrei_probe probe = nacrei_probe_begin(step << NACREI_HASH_STEP_SHIFT | 100, 2047);
        nacrei_probe_next(&probe, 2047);
        nacrei_probe_next(&probe, 2047);
        cr_assert(!seen[probe.bucket]);
        seen[probe.bucket] = 1;
    }
}

Test(probe, path_misses_a_bucket)
{
    /* Goal: a path ends when it has seen every bucket, and not before: a key can always be placed
       in a submap that has a free slot. Method: all sizes. */
    for (uint32_t count = 8; count <= 2048; count *= 2) {
        cr_assert(nacrei_probe_limit(count - 1) == count);
    }
}

Test(probe, skip_is_not_so_many_steps)
{
    /* Goal: skipping n buckets leads where n steps lead. Method: from 0 to 8 steps on, skips of 0
       to 39, along random paths. */
    uint64_t state = 33;
    for (int i = 0; i < 200; i++) {
        nacrei_probe from = nacrei_probe_begin(test_random(&state), 63);
        for (uint32_t before = 0; before < 9; before++) {
            nacrei_probe next = from;
            for (uint32_t count = 0; count < 40; count++) {
                nacrei_probe skip = from;
                nacrei_probe_skip(&skip, count, 63);
                cr_assert_eq(skip.bucket, next.bucket, "%u after %u", count, before);
                cr_assert_eq(skip.length, next.length);
                nacrei_probe_next(&next, 63);
            }
            nacrei_probe_next(&from, 63);
        }
    }
}
