/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calling CUDA: each call through one macro that maps the error, fills the message, clears the last
 * error and jumps to the one cleanup label of the function.
 */
#ifndef NACRE_DEVICE_CALL_H
#define NACRE_DEVICE_CALL_H

#include <cuda_runtime_api.h>

#include "device/device.h"

/*
 * Expects in scope: `status`, a label `cleanup`, `device` (nacrei_cuda_device *), `call` (the
 * public function's name) and `error`.
 */
#define NACREI_CUDA(expression)                                                         \
    do {                                                                                \
        cudaError_t nacrei_result = (expression);                                       \
        if (nacrei_result != cudaSuccess) {                                             \
            status = nacrei_cuda_fail(device, error, call, #expression, nacrei_result); \
            goto cleanup;                                                               \
        }                                                                               \
    } while (0)

/* Jumps to cleanup with a status that a function of ours has returned, unless it is OK. */
#define NACREI_TRY(expression)    \
    do {                          \
        status = (expression);    \
        if (status != NACRE_OK) { \
            goto cleanup;         \
        }                         \
    } while (0)

/*
 * The status of a CUDA error, with its message; remembers in the device when the context is dead.
 */
nacre_status nacrei_cuda_fail(nacrei_cuda_device *device, nacre_error *error, const char *call,
                              const char *expression, cudaError_t result);

/* A call that cannot be captured: its message. */
nacre_status nacrei_cuda_fail_capturing(nacre_error *error, nacre_status status, const char *call);

/*
 * Makes the device current for the calling thread, and what was current before, again. In between,
 * allocating and asking for events breaks no capture that some other thread is making. Every entry
 * point of the backend stands between the two; leave may follow an enter that failed.
 */
nacre_status nacrei_cuda_enter(nacrei_cuda_device *device, nacre_error *error, const char *call,
                               nacrei_current *current);
void nacrei_cuda_leave(nacrei_current *current);

#endif
