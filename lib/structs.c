/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/structs.h"

#include <string.h>

#include "nacre/compact.h"
#include "nacre/device.h"
#include "nacre/map.h"

/*
 * Each struct holds a pointer or a 64-bit number, so that its size is a multiple of 8 in every
 * version; and a size that is one never cuts a field in two.
 */
_Static_assert(sizeof(nacre_error) % 8 == 0, "struct_size of nacre_error");
_Static_assert(sizeof(nacre_options) % 8 == 0, "struct_size of nacre_options");
_Static_assert(sizeof(nacre_device_config) % 8 == 0, "struct_size of nacre_device_config");
_Static_assert(sizeof(nacre_map_config) % 8 == 0, "struct_size of nacre_map_config");
_Static_assert(sizeof(nacre_map_info) % 8 == 0, "struct_size of nacre_map_info");
_Static_assert(sizeof(nacre_map_statistics) % 8 == 0, "struct_size of nacre_map_statistics");
_Static_assert(sizeof(nacre_select) % 8 == 0, "struct_size of nacre_select");
_Static_assert(sizeof(nacre_compaction) % 8 == 0, "struct_size of nacre_compaction");

static uint32_t size_of(const void *given)
{
    uint32_t struct_size;
    memcpy(&struct_size, given, sizeof struct_size);
    return struct_size;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void nacrei_struct_init(void *to, uint32_t struct_size, const void *defaults, uint32_t known_bytes)
{
    if (to == NULL || struct_size < sizeof struct_size) {
        return;
    }
    if (struct_size > NACREI_STRUCT_BYTES_MAX) {
        memset(to, 0, sizeof struct_size);
        return;
    }
    memset(to, 0, struct_size);
    memcpy(to, defaults, smaller(struct_size, known_bytes));
    memcpy(to, &struct_size, sizeof struct_size);
}

nacre_status nacrei_struct_read(nacrei_call *call, const char *name, const void *given,
                                void *complete, uint32_t known_bytes, nacre_error **error_field)
{
    if (given != NULL) {
        uint32_t bytes = size_of(given);
        if (bytes < 8 || bytes % 8 != 0 || bytes > NACREI_STRUCT_BYTES_MAX) {
            return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0,
                               "%s: struct_size of %s is %u; allowed: a multiple of 8 from 8 to "
                               "%u, best its sizeof (%u in this library)",
                               call->name, name, (unsigned)bytes, NACREI_STRUCT_BYTES_MAX,
                               (unsigned)known_bytes);
        }
        memcpy(complete, given, smaller(bytes, known_bytes));
        if (error_field != NULL) {
            call->error = *error_field;
        }
        for (uint32_t i = known_bytes; i < bytes; i++) {
            unsigned byte = ((const unsigned char *)given)[i];
            if (byte != 0) {
                return nacrei_fail(
                    call->error, NACRE_ERROR_ARGUMENT, 0,
                    "%s: byte %u of %s is %u; allowed: 0, because this library knows "
                    "%u of its %u bytes",
                    call->name, (unsigned)i, name, byte, (unsigned)known_bytes, (unsigned)bytes);
            }
        }
    }
    memcpy(complete, &known_bytes, sizeof known_bytes);
    return NACRE_OK;
}

void nacrei_struct_write(void *to, const void *complete, uint32_t known_bytes)
{
    uint32_t bytes = smaller(size_of(to), known_bytes);
    if (bytes > sizeof bytes) {
        memcpy((char *)to + sizeof bytes, (const char *)complete + sizeof bytes,
               bytes - sizeof bytes);
    }
}
