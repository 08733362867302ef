/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests that call CUDA themselves; only where NACRE_HAVE_CUDA. */
#ifndef NACRE_TEST_CUDA_H
#define NACRE_TEST_CUDA_H

#include <cuda_runtime_api.h>

#include "support/harness.h"

#define CUDA(t, call)                                                        \
    do {                                                                     \
        cudaError_t result = (cudaError_t)(call);                            \
        CHECK((t), result == cudaSuccess, "%s", cudaGetErrorString(result)); \
    } while (0)

/* Of the GPU that rows run on. */
static inline uint64_t test_gpu_attribute(test *t, enum cudaDeviceAttr attribute)
{
    int value = 0, ordinal = 0;
    OK(t, nacre_device_describe(t->device, NULL, &ordinal, NULL, 0));
    CUDA(t, cudaDeviceGetAttribute(&value, attribute, ordinal));
    return (uint64_t)value;
}

#endif
