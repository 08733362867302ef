/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels for any processor, and the choice between them and faster ones. */
#include "lib/cpu/kernels.h"

#include "lib/cpu/instances.h"

const nacrei_cpu_kernels *nacrei_cpu_kernels_for(uint32_t key_bytes, uint32_t value_bytes)
{
    const nacrei_cpu_kernels *kernels = nacrei_cpu_kernels_avx512_for(key_bytes, value_bytes);
    return kernels != NULL ? kernels : find_kernels(key_bytes, value_bytes);
}
