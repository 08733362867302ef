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
    uint64_t first;     /* number of the walk's first tile */
    uint64_t count;     /* of the walk */
    uint32_t of_submap; /* tiles that a submap has */
    uint32_t bytes;     /* of a tile */
} nacrei_walk_tiles;

/* `vectors`: of 16 bytes, that each thread takes; `submaps`: with the stash. */
NACREI_INLINE nacrei_walk_tiles nacrei_walk_tiles_of(const nacrei_slot_walk *walk, uint64_t submaps,
                                                     uint32_t slot_bytes, uint32_t vectors)
{
    nacrei_walk_tiles tiles;
    const uint32_t submap_bytes = (walk->table.bucket_mask + 1) * NACREI_BUCKET_BYTES;
    const uint64_t slots = submap_bytes / slot_bytes;
    uint64_t from = walk->first / slots, to = (walk->last - 1) / slots + 1;
    from = from < submaps ? from : submaps;
    to = to < submaps ? to : submaps;
    tiles.bytes = vectors * NACREI_COMPACT_THREADS * 16;
    tiles.of_submap = (submap_bytes + tiles.bytes - 1) / tiles.bytes;
    tiles.first = from * tiles.of_submap;
    tiles.count = (to - from) * tiles.of_submap + (walk->last > submaps * slots);
    return tiles;
}

#endif
