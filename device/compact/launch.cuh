/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an algorithm to its kernel. AllAlgorithms: the source has every one, not only AUTO and
 * STABLE.
 */
#ifndef NACRE_DEVICE_COMPACT_LAUNCH_CUH
#define NACRE_DEVICE_COMPACT_LAUNCH_CUH

#include "device/compact/stable.cuh"
#include "device/kernels_internal.cuh"

/* Blocks of the tile kernels on an SM where the grid is fixed. */
#define NACREI_TILE_BLOCKS 6

template <typename Source>
using nacrei_tile_kernel_type = void (*)(const typename Source::parameters, const nacrei_target);

/* AUTO is warp-aggregated, which no other beats by more than a hundredth (README.md). */
template <typename Source, bool AllAlgorithms>
static nacrei_tile_kernel_type<Source> nacrei_tile_kernel_of(uint32_t algorithm)
{
    if constexpr (AllAlgorithms) {
        switch (algorithm) {
        case NACRE_COMPACT_GLOBAL_ATOMIC:
            return nacrei_global_atomic_kernel<Source>;
        case NACRE_COMPACT_BLOCK_ATOMIC:
            return nacrei_tile_kernel<Source, nacrei_by_block_atomic>;
        case NACRE_COMPACT_TILE_4:
            return nacrei_tile_kernel<Source, nacrei_by_tile<4>::of>;
        case NACRE_COMPACT_TILE_8:
            return nacrei_tile_kernel<Source, nacrei_by_tile<8>::of>;
        case NACRE_COMPACT_TILE_16:
            return nacrei_tile_kernel<Source, nacrei_by_tile<16>::of>;
        case NACRE_COMPACT_TILE_32:
            return nacrei_tile_kernel<Source, nacrei_by_tile<32>::of>;
        case NACRE_COMPACT_BLOCK_SCAN:
            return nacrei_tile_kernel<Source, nacrei_by_block_scan>;
        default:
            break;
        }
    }
    return nacrei_tile_kernel<Source, nacrei_by_warp>;
}

/* `tiles`: of NACREI_TILE_VECTORS vectors, as far as the host knows. */
template <typename Source, bool AllAlgorithms>
static cudaError_t nacrei_compact_start(const typename Source::parameters &from,
                                        const nacrei_target &target, uint64_t tiles,
                                        const nacrei_compact_launch *launch)
{
    cudaError_t error;
    if (launch->algorithm == NACRE_COMPACT_STABLE) {
        error = cudaMemsetAsync(launch->scratch, 0, sizeof *launch->scratch, launch->stream);
        return error != cudaSuccess ? error
                                    : nacrei_launch(nacrei_stable_kernel<Source>,
                                                    launch->multiprocessors * NACREI_STABLE_BLOCKS,
                                                    NACREI_COMPACT_THREADS, 0, launch->stream, from,
                                                    target, launch->scratch);
    }
    error = cudaMemsetAsync(target.needed, 0, sizeof *target.needed, launch->stream);
    if (error != cudaSuccess || (tiles == 0 && !launch->fixed_grid)) {
        return error;
    }
    const uint64_t most =
        launch->fixed_grid ? launch->multiprocessors * NACREI_TILE_BLOCKS : (uint64_t)INT32_MAX;
    return nacrei_launch(nacrei_tile_kernel_of<Source, AllAlgorithms>(launch->algorithm),
                         (uint32_t)(launch->fixed_grid || tiles > most ? most : tiles),
                         NACREI_COMPACT_THREADS, 0, launch->stream, from, target);
}

/* Loads the kernels of a source. */
template <typename Source, bool AllAlgorithms>
static void nacrei_compact_load(cudaError_t *error)
{
    if constexpr (AllAlgorithms) {
        for (uint32_t algorithm = NACRE_COMPACT_GLOBAL_ATOMIC;
             algorithm < NACRE_COMPACT_DEVICE_SELECT; algorithm++) {
            nacrei_prepare(nacrei_tile_kernel_of<Source, true>(algorithm), error);
        }
    }
    nacrei_prepare(nacrei_tile_kernel_of<Source, false>(NACRE_COMPACT_AUTO), error);
    nacrei_prepare(nacrei_stable_kernel<Source>, error);
    /* All of the SM's memory as shared memory: its blocks fit no otherwise. */
    const cudaError_t result = cudaFuncSetAttribute((const void *)nacrei_stable_kernel<Source>,
                                                    cudaFuncAttributePreferredSharedMemoryCarveout,
                                                    cudaSharedmemCarveoutMaxShared);
    *error = *error == cudaSuccess ? result : *error;
}

#endif
