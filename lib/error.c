/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/structs.h"

void nacre_error_init(nacre_error *error, uint32_t struct_size)
{
    static const nacre_error empty;
    nacrei_struct_init(error, struct_size, &empty, sizeof empty);
}

nacre_status nacrei_fail(nacre_error *error, nacre_status status, int32_t system_code,
                         const char *format, ...)
{
    if (error == NULL) {
        return status;
    }
    /* Composed aside, because the message at hand may be one of the arguments. */
    nacre_error composed;
    memset(&composed, 0, sizeof composed);
    composed.status = status;
    composed.system_code = system_code;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(composed.message, sizeof composed.message, format, arguments);
    va_end(arguments);

    nacrei_struct_write(error, &composed, sizeof composed);
    uint32_t bytes;
    memcpy(&bytes, error, sizeof bytes); /* like all structs of callers it may lie anywhere */
    if (bytes > offsetof(nacre_error, message) && bytes < sizeof composed) {
        ((char *)error)[bytes - 1] = '\0';
    }
    return status;
}

nacre_status nacrei_fail_capacity(nacre_error *error, const char *call, const char *parameter,
                                  uint64_t keys, uint64_t bytes_max, const char *limit)
{
    return nacrei_fail(error, NACRE_ERROR_CAPACITY, 0,
                       "%s: %s is %" PRIu64 "; allowed: what fits into %" PRIu64 " bytes, %s", call,
                       parameter, keys, bytes_max, limit);
}
