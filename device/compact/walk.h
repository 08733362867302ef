/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk over the slots of a map: which of them, and in which tiles. Plain C; the layout is the
 * same on both sides.
 */
#ifndef NACRE_DEVICE_COMPACT_WALK_H
#define NACRE_DEVICE_COMPACT_WALK_H

#include "device/compact/compact.h"
#include "nacre/cuda/table.h"

typedef struct nacrei_slot_walk {
    nacrei_table table;
    nacrei_condition condition;
    uint32_t field;
    uint32_t everything;  /* no condition, no range */
    uint64_t first, last; /* slots, as a cursor walks: the stash's, the submaps', the side slots */
} nacrei_slot_walk;

typedef struct nacrei_walk_tiles {
    uint64_t first;        /* number of the walk's first tile */
    uint64_t count;        /* of the walk */
    uint32_t submap_shift; /* a submap has 2^this tiles */
    uint32_t slots_shift;  /* and 2^this slots */
    uint32_t bytes_shift;  /* a tile has 2^this bytes */
} nacrei_walk_tiles;

/* Of a power of two. */
NACREI_INLINE uint32_t nacrei_log2(uint32_t x)
{
#if defined(__CUDA_ARCH__)
    return 31u - (uint32_t)__clz((int)x);
#else
    return 31u - (uint32_t)__builtin_clz(x);
#endif
}

/*
 * `vectors`: of 16 bytes, that each thread takes; `submaps`: with the stash. All sizes are powers
 * of two: each tile works this out for itself, and divisions would take a tenth of its time.
 */
NACREI_INLINE nacrei_walk_tiles nacrei_walk_tiles_of(const nacrei_slot_walk *walk, uint64_t submaps,
                                                     uint32_t slot_bytes, uint32_t vectors)
{
    nacrei_walk_tiles tiles;
    const uint32_t submap_bytes_shift =
        nacrei_log2(walk->table.bucket_mask + 1) + nacrei_log2(NACREI_BUCKET_BYTES);
    tiles.slots_shift = submap_bytes_shift - nacrei_log2(slot_bytes);
    tiles.bytes_shift = nacrei_log2(vectors * NACREI_COMPACT_THREADS * 16);
    tiles.submap_shift =
        submap_bytes_shift > tiles.bytes_shift ? submap_bytes_shift - tiles.bytes_shift : 0;
    uint64_t from = walk->first >> tiles.slots_shift;
    uint64_t to = ((walk->last - 1) >> tiles.slots_shift) + 1;
    from = from < submaps ? from : submaps;
    to = to < submaps ? to : submaps;
    tiles.first = from << tiles.submap_shift;
    tiles.count = ((to - from) << tiles.submap_shift) + (walk->last > submaps << tiles.slots_shift);
    return tiles;
}

#endif
