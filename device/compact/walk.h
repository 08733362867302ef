/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk over the slots of a map: which of them, and in which tiles. Plain C; the layout is the
 * same on both sides.
 */
#ifndef NACRE_DEVICE_COMPACT_WALK_H
#define NACRE_DEVICE_COMPACT_WALK_H

#include "device/compact/compact.h"
#include "nacre/cuda/table.h"

typedef struct nacrei_walk_tiles {
    uint64_t first;        /* number of the walk's first tile */
    uint64_t count;        /* of the walk; of no meaning in a capture */
    uint32_t submap_shift; /* a submap has 2^this tiles */
    uint32_t slots_shift;  /* and 2^this slots */
} nacrei_walk_tiles;

typedef struct nacrei_slot_walk {
    nacrei_table table;
    nacrei_condition condition;
    uint32_t field;
    uint32_t everything;  /* no condition, no range */
    uint64_t first, last; /* slots, as a cursor walks: the stash's, the submaps', the side slots */
    nacrei_walk_tiles tiles;
} nacrei_slot_walk;

/* Of a power of two. */
static inline uint32_t nacrei_log2(uint32_t x)
{
    return 31u - (uint32_t)__builtin_clz(x);
}

/*
 * The tiles of a walk whose threads take so many vectors of 16 bytes. All sizes are powers of two.
 * Here and not in each tile: it took a tenth of a tile's instructions.
 */
static inline void nacrei_walk_lay_out(nacrei_slot_walk *walk, uint32_t slot_bytes,
                                       uint32_t vectors)
{
    const uint32_t submap_bytes_shift =
        nacrei_log2(walk->table.bucket_mask + 1) + nacrei_log2(NACREI_BUCKET_BYTES);
    const uint32_t slots_shift = submap_bytes_shift - nacrei_log2(slot_bytes);
    const uint32_t tile_bytes_shift = nacrei_log2(vectors * NACREI_COMPACT_THREADS * 16);
    const uint32_t submap_shift =
        submap_bytes_shift > tile_bytes_shift ? submap_bytes_shift - tile_bytes_shift : 0;
    const uint64_t submaps = walk->table.submap_count + 1;
    uint64_t from = walk->first >> slots_shift;
    uint64_t to = ((walk->last - 1) >> slots_shift) + 1;
    from = from < submaps ? from : submaps;
    to = to < submaps ? to : submaps;
    walk->tiles.first = from << submap_shift;
    walk->tiles.count = ((to - from) << submap_shift) + (walk->last > submaps << slots_shift);
    walk->tiles.submap_shift = submap_shift;
    walk->tiles.slots_shift = slots_shift;
}

#endif
