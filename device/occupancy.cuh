/* SPDX-License-Identifier: Apache-2.0 */
/* How many blocks a launch bound may ask to share a multiprocessor. */
#ifndef NACRE_DEVICE_OCCUPANCY_CUH
#define NACRE_DEVICE_OCCUPANCY_CUH

/*
 * `blocks`, or as many of so many threads as there is room for: a multiprocessor has 1024 threads
 * below compute capability 8.0, and 1536 or 2048 from there on. Asked for more, the compiler drops
 * the bound with a warning, and registers are not limited at all.
 */
constexpr unsigned nacrei_blocks_that_fit(unsigned threads, unsigned blocks)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    constexpr unsigned most = 1024;
#else
    constexpr unsigned most = 2048;
#endif
    return blocks * threads <= most ? blocks : most / threads;
}

#endif
