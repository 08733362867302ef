/* SPDX-License-Identifier: Apache-2.0 */
/* How a failing call says why. */
#ifndef NACRE_LIB_ERROR_H
#define NACRE_LIB_ERROR_H

#include <stdint.h>

#include "nacre/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Writes status, system code and message into `error`, as far as its struct_size reaches (NULL:
 * nowhere), and returns `status`, so that a caller can `return nacrei_fail(...)`. The message names
 * the call, the parameter, its value and what is allowed: "nacre_map_create: key_bytes is 3;
 * allowed: 4, 8".
 */
nacre_status nacrei_fail(nacre_error *error, nacre_status status, int32_t system_code,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/*
 * CAPACITY: `keys` keys, told as `parameter`, take more than `bytes_max` bytes; `limit` names what
 * those are.
 */
nacre_status nacrei_fail_capacity(nacre_error *error, const char *call, const char *parameter,
                                  uint64_t keys, uint64_t bytes_max, const char *limit);

#ifdef __cplusplus
}
#endif
#endif
