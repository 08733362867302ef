/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a batch is partitioned, and how finely: numbers alone, so that they are tested without a
 * GPU.
 *
 * It pays where the table is larger than the L2 cache and a bin of the batch touches a good part of
 * its region: from a quarter of the slots on, by what was measured (README.md), and from a tenth
 * where the table is so large that its signatures do not stay in the cache either.
 */
#ifndef NACRE_DEVICE_PARTITION_H
#define NACRE_DEVICE_PARTITION_H

#include "device/elements.h"

/* The table is at least so many times as large as the L2 cache; and where it counts as large. */
#define NACREI_PARTITION_CACHES_LEAST 4
#define NACREI_PARTITION_CACHES_LARGE 16

/* Of the slots: elements of a batch that is worth it. */
#define NACREI_PARTITION_SHARE_LEAST       4
#define NACREI_PARTITION_SHARE_LEAST_LARGE 10

/*
 * Of the slots: elements of a part that is copied at once. While a map grows its memory peaks at no
 * more than 1.10 of what it holds afterwards, copies included.
 */
#define NACREI_PARTITION_SHARE_MOST         2
#define NACREI_PARTITION_SHARE_MOST_GROWING 10

/*
 * Elements that are copied at a time; 0: the batch goes as it is. Some virtual GPUs do not tell the
 * size of their cache (0): there nobody knows whether it pays.
 */
static inline uint64_t nacrei_partition_elements(uint64_t elements, uint64_t slots,
                                                 uint64_t table_bytes, uint64_t l2_bytes,
                                                 uint32_t growing)
{
    const uint64_t share = table_bytes < NACREI_PARTITION_CACHES_LARGE * l2_bytes
                               ? NACREI_PARTITION_SHARE_LEAST
                               : NACREI_PARTITION_SHARE_LEAST_LARGE;
    if (l2_bytes == 0 || table_bytes < NACREI_PARTITION_CACHES_LEAST * l2_bytes ||
        elements < slots / share) {
        return 0;
    }
    if (growing) {
        const uint64_t most = slots / NACREI_PARTITION_SHARE_MOST_GROWING;
        return most < elements ? most : elements;
    }
    const uint64_t parts = elements / (slots / NACREI_PARTITION_SHARE_MOST) + 1;
    return (elements + parts - 1) / parts;
}

/*
 * Bins: the region of each is at most two thirds of the L2 cache, as long as there are enough;
 * twice that where less than a quarter of its slots are looked for, since then the elements that are
 * under way belong to several bins (README.md has the figures).
 */
static inline uint64_t nacrei_partition_bins(uint64_t elements, uint64_t slots,
                                             uint64_t table_bytes, uint64_t l2_bytes)
{
    const uint64_t thirds = elements < slots / 4 ? 4 : 2;
    const uint64_t regions = table_bytes * 3 / (l2_bytes * thirds) + 1;
    return regions < NACREI_BINS_MAX ? regions : NACREI_BINS_MAX;
}

#endif
