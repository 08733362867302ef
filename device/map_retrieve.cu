/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retrieval and counting: a map's slots as the elements of a compaction (compact/map_source.cuh).
 */
#include "device/compact/launch.cuh"
#include "device/compact/map_source.cuh"
#include "device/compact/select.cuh"

/* Slots of 4 bytes have AUTO and STABLE only. */
template <typename Width>
static constexpr bool six = Width::slot_bytes != 4;

template <typename Width>
cudaError_t nacrei_retrieve(const nacrei_slot_walk *walk, uint64_t submap_count,
                            const nacrei_target *target, const nacrei_compact_launch *launch)
{
    typedef nacrei_map_source<Width, true> selected;
    typedef nacrei_map_source<Width, false> everything;
    const uint64_t tiles =
        nacrei_walk_tiles_of(walk, submap_count + 1, Width::slot_bytes, NACREI_TILE_VECTORS).count;
    if constexpr (six<Width>) {
        if (launch->algorithm == NACRE_COMPACT_DEVICE_SELECT) {
            return nacrei_device_select<selected>(*walk, walk->last - walk->first, *target, launch);
        }
        if (launch->algorithm != NACRE_COMPACT_AUTO && launch->algorithm != NACRE_COMPACT_STABLE) {
            return nacrei_compact_start<selected, true>(*walk, *target, tiles, launch);
        }
    }
    return walk->everything ? nacrei_compact_start<everything, false>(*walk, *target, tiles, launch)
                            : nacrei_compact_start<selected, false>(*walk, *target, tiles, launch);
}

template <typename Width>
cudaError_t nacrei_retrieve_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_compact_load<nacrei_map_source<Width, false>, false>(&error);
    nacrei_compact_load<nacrei_map_source<Width, true>, six<Width>>(&error);
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                                          \
    template cudaError_t nacrei_retrieve<nacrei_width<key_bytes, value_bytes>>(                    \
        const nacrei_slot_walk *, uint64_t, const nacrei_target *, const nacrei_compact_launch *); \
    template cudaError_t nacrei_retrieve_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
