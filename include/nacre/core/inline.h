/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a shared decision is declared: one body, compiled by the C compiler for the host and by nvcc
 * for both sides.
 */
#ifndef NACRE_CORE_INLINE_H
#define NACRE_CORE_INLINE_H

#include <stdint.h>

#if defined(__CUDACC__)
#define NACREI_INLINE static __host__ __device__ __forceinline__
#else
#define NACREI_INLINE static inline
#endif

#endif
