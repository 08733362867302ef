/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction of arrays: the kernels for each width of items and values, and the choice among them.
 */
#include "device/compact/array_source.cuh"
#include "device/compact/launch.cuh"
#include "device/compact/select.cuh"

/* X(item_bytes, value_bytes, all algorithms) */
#define NACREI_ARRAYS(X) \
    X(1, 0, false)       \
    X(2, 0, false)       \
    X(4, 0, false)       \
    X(8, 0, true)        \
    X(16, 0, false)      \
    X(4, 4, false)       \
    X(4, 8, false)       \
    X(8, 4, false)       \
    X(8, 8, false)

extern "C" cudaError_t nacrei_compact_prepare(void)
{
    cudaError_t error = cudaSuccess;
#define NACREI_LOAD(item, value, all_algorithms) \
    nacrei_compact_load<nacrei_array_source<item, value>, all_algorithms>(&error);
    NACREI_ARRAYS(NACREI_LOAD)
#undef NACREI_LOAD
    return error;
}

template <typename Source, bool AllAlgorithms>
static cudaError_t start(const nacrei_arrays *arrays, const nacrei_target *target,
                         const nacrei_compact_launch *launch)
{
    if constexpr (AllAlgorithms) {
        if (launch->algorithm == NACRE_COMPACT_DEVICE_SELECT) {
            return nacrei_device_select<Source>(*arrays, arrays->count, *target, launch);
        }
    }
    /* One more: the first vector may begin before the array. */
    const uint64_t of_tile =
        (uint64_t)nacrei_tile_vectors<Source> * Source::elements * NACREI_COMPACT_THREADS;
    const uint64_t tiles = arrays->count == 0 ? 0 : arrays->count / of_tile + 2;
    return nacrei_compact_start<Source, AllAlgorithms>(*arrays, *target, tiles, launch);
}

extern "C" cudaError_t nacrei_compact_arrays(const nacrei_arrays *arrays, uint32_t item_bytes,
                                             uint32_t value_bytes, const nacrei_target *target,
                                             const nacrei_compact_launch *launch)
{
#define NACREI_START(item, value, all_algorithms)                                               \
    if (item_bytes == (item) && value_bytes == (value)) {                                       \
        return start<nacrei_array_source<item, value>, all_algorithms>(arrays, target, launch); \
    }
    NACREI_ARRAYS(NACREI_START)
#undef NACREI_START
    return cudaErrorInvalidValue;
}
