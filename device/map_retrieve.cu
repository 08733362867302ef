/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retrieval and counting: a map's slots as the elements of a compaction (compact/map_source.cuh).
 */
#include "device/compact/launch.cuh"
#include "device/compact/map_source.cuh"
#include "device/compact/select.cuh"

/* Slots of 4 bytes have AUTO and STABLE only. */
template <typename Width>
static constexpr bool all_algorithms = Width::slot_bytes != 4;

template <typename Width>
cudaError_t nacrei_retrieve(const nacrei_slot_walk *given, const nacrei_target *target,
                            const nacrei_compact_launch *launch)
{
    typedef nacrei_map_source<Width> source;
    nacrei_slot_walk walk = *given;
    nacrei_walk_lay_out(&walk, Width::slot_bytes,
                        launch->algorithm == NACRE_COMPACT_STABLE ? nacrei_stable_vectors<source>
                                                                  : nacrei_tile_vectors<source>);
    if constexpr (all_algorithms<Width>) {
        if (launch->algorithm == NACRE_COMPACT_DEVICE_SELECT) {
            return nacrei_device_select<source>(walk, walk.last - walk.first, *target, launch);
        }
    }
    return nacrei_compact_start<source, all_algorithms<Width>>(walk, *target, walk.tiles.count,
                                                               launch);
}

template <typename Width>
cudaError_t nacrei_retrieve_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_compact_load<nacrei_map_source<Width>, all_algorithms<Width>>(&error);
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                                \
    template cudaError_t nacrei_retrieve<nacrei_width<key_bytes, value_bytes>>(          \
        const nacrei_slot_walk *, const nacrei_target *, const nacrei_compact_launch *); \
    template cudaError_t nacrei_retrieve_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
