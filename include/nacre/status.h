/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statuses and errors.
 *
 * Every function that can fail returns a `nacre_status`. A status says what the host can know at
 * the call; what only the device finds out (a full table, say) is told by outcomes, counts and
 * fault bits (types.h). The reason behind a status goes into a `nacre_error` of the caller's, where
 * one is given: its message names the call, the parameter, its value and what is allowed.
 */
#ifndef NACRE_STATUS_H
#define NACRE_STATUS_H

#include <stdint.h>

#include "nacre/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t nacre_status;

/* The one list of statuses: X(name, value, text). Values never change; new ones come at the end. */
#define NACRE_STATUS_LIST(X)                                                             \
    X(NACRE_OK, 0, "success")                                                            \
    X(NACRE_ERROR_ARGUMENT, 1, "an argument is not allowed")                             \
    X(NACRE_ERROR_UNSUPPORTED, 2, "this build, backend or device cannot do it")          \
    X(NACRE_ERROR_NO_DEVICE, 3, "no usable device of the kind that was asked for")       \
    X(NACRE_ERROR_OUT_OF_MEMORY, 4, "memory was refused")                                \
    X(NACRE_ERROR_CAPACITY, 5, "more than the object may hold")                          \
    X(NACRE_ERROR_WOULD_WAIT, 6, "the call would have to wait or allocate, and may not") \
    X(NACRE_ERROR_CHANGED, 7, "the object changed under a cursor")                       \
    X(NACRE_ERROR_IO, 8, "reading or writing failed")                                    \
    X(NACRE_ERROR_FORMAT, 9, "the data is not what it claims to be")                     \
    X(NACRE_ERROR_DEVICE_LOST, 10, "the device's context is dead; only destroy works")   \
    X(NACRE_ERROR_INTERNAL, 11, "an invariant of the library is broken: a bug")

enum {
#define NACRE_STATUS_ENUMERATOR(name, value, text) name = value,
    NACRE_STATUS_LIST(NACRE_STATUS_ENUMERATOR)
#undef NACRE_STATUS_ENUMERATOR
};

/*
 * What went wrong, in the caller's own memory. Set `struct_size` (or call nacre_error_init) and
 * pass it on; it is written when a call fails and left alone when one succeeds.
 */
typedef struct nacre_error {
    uint32_t struct_size; /* sizeof(nacre_error), set by the caller */
    nacre_status status;  /* the status that the call returned */
    int32_t system_code;  /* the CUDA error or errno behind it; 0: none */
    int32_t reserved;
    uint64_t offset;   /* where in a file or buffer, for FORMAT and IO; else 0 */
    char message[256]; /* always ends in a zero byte */
} nacre_error;

/*
 * Makes `error` empty: size set, status NACRE_OK, no message. NULL is allowed and does nothing.
 *
 * **Thread safety** the error is the caller's. **Allocates** nothing. **Since** 0.1
 */
NACRE_API void nacre_error_init(nacre_error *error, uint32_t struct_size);

/*
 * The name of a status, as in "NACRE_ERROR_CAPACITY"; "unknown status" for other numbers. Never
 * NULL; static memory.
 *
 * **Thread safety** any thread. **Allocates** nothing. **Since** 0.1
 */
NACRE_API const char *nacre_status_name(nacre_status status);

/*
 * A sentence for a status. Never NULL; static memory.
 *
 * **Thread safety** any thread. **Allocates** nothing. **Since** 0.1
 */
NACRE_API const char *nacre_status_text(nacre_status status);

#ifdef __cplusplus
}
#endif
#endif
