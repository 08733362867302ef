/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of arguments, one per kind. Each returns NACRE_OK, or fails with a message that names the
 * call, the parameter, its value and what is allowed.
 */
#ifndef NACRE_LIB_CHECK_H
#define NACRE_LIB_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/backend.h"

/* 2^60 elements of 8 bytes are 2^63 bytes: below it no size in bytes overflows. */
#define NACREI_COUNT_MAX ((uint64_t)1 << 60)

/* What is allowed of a set's values. */
#define NACREI_NULL_FOR_A_SET "NULL, because value_bytes of the map is 0 (a set)"

/* The public call that is running, as far as messages and checks need it. */
typedef struct nacrei_call {
    const char *name;
    nacre_error *error;   /* the caller's; NULL: none, or not to be trusted yet */
    nacre_device *device; /* both NULL until the handle has been checked */
    nacre_map *map;
} nacrei_call;

/*
 * How every public call begins: declares its nacrei_call. With the build option NACRE_NVTX a range
 * of the call's name begins here, and ends where the function is left.
 */
#if NACRE_NVTX
#define NACREI_CALL(call, function, caller_error)                     \
    __attribute__((cleanup(nacrei_range_end)))                        \
    nacrei_call call = {.name = (function), .error = (caller_error)}; \
    nacrei_range_begin(&call)
void nacrei_range_begin(const nacrei_call *call);
void nacrei_range_end(nacrei_call *call);
#else
#define NACREI_CALL(call, function, caller_error) \
    nacrei_call call = {.name = (function), .error = (caller_error)}
#endif

#define NACREI_TRY(expression)                  \
    do {                                        \
        nacre_status try_status = (expression); \
        if (try_status != NACRE_OK) {           \
            return try_status;                  \
        }                                       \
    } while (0)

/* ARGUMENT: "CALL: PARAMETER is VALUE; allowed: ALLOWED". */
nacre_status nacrei_bad_number(const nacrei_call *call, const char *parameter, uint64_t value,
                               const char *allowed);
nacre_status nacrei_bad_pointer(const nacrei_call *call, const char *parameter, const void *value,
                                const char *allowed);

/* A number from 0 to `last`. */
nacre_status nacrei_check_range(const nacrei_call *call, const char *parameter, uint64_t value,
                                uint64_t last, const char *allowed);

/* A reserved field: 0. */
nacre_status nacrei_check_reserved(const nacrei_call *call, const char *parameter, uint64_t value);

/* A count of elements whose size in bytes does not overflow. */
nacre_status nacrei_check_count(const nacrei_call *call, const char *parameter, uint64_t count);

/* Keys that some memory could hold: CAPACITY above 2^63. */
nacre_status nacrei_check_keys(const nacrei_call *call, const char *parameter, uint64_t keys);

/* An output of `bytes` bytes, a handle or a pointer: zero until the call succeeds. */
static inline void nacrei_clear_output(void *output, uint32_t bytes)
{
    if (output != NULL) {
        memset(output, 0, bytes); /* it may be misaligned, which a check tells later */
    }
}

/* A host pointer, handle or output, that must be there and aligned. */
nacre_status nacrei_check_host(const nacrei_call *call, const char *parameter, const void *pointer,
                               uint32_t alignment);

/* A pointer that the device reads or writes, or NULL: alignment and, with `checks`, reach. */
nacre_status nacrei_check_memory(const nacrei_call *call, const char *parameter,
                                 const void *pointer, uint32_t alignment);

/* The same, and never NULL. */
nacre_status nacrei_check_array(const nacrei_call *call, const char *parameter, const void *pointer,
                                uint32_t alignment);

/* A stream that the call's device can take: on the CPU only NULL. */
nacre_status nacrei_check_stream(const nacrei_call *call, nacre_stream stream);

/* The call's handle; sets call->device, and call->map. */
nacre_status nacrei_check_device(nacrei_call *call, const nacre_device *device);
nacre_status nacrei_check_map(nacrei_call *call, const nacre_map *map);

/* A condition on a number of `bytes` bytes, `of` what it is about. */
nacre_status nacrei_check_condition(const nacrei_call *call, const nacre_condition *condition,
                                    uint32_t bytes, const char *of);

#endif
