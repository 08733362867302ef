/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands between lib/cpu/kernels.c and the kernels for AVX-512: there are none. A test linked with
 * this, and with --wrap of the function, runs the kernels for any processor wherever it runs.
 */
#include <stddef.h>

#include "lib/cpu/kernels.h"

const nacrei_cpu_kernels *__wrap_nacrei_cpu_kernels_avx512_for(uint32_t key_bytes,
                                                               uint32_t value_bytes);

const nacrei_cpu_kernels *__wrap_nacrei_cpu_kernels_avx512_for(uint32_t key_bytes,
                                                               uint32_t value_bytes)
{
    (void)key_bytes;
    (void)value_bytes;
    return NULL;
}
