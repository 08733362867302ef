/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/device.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/check.h"
#include "lib/ledger.h"
#include "lib/registry.h"
#include "lib/structs.h"

/* More threads than any machine has: a number beyond is a mistake. */
#define THREADS_MAX 4096u

static const nacre_device_config defaults = {.struct_size = sizeof defaults};

void nacre_device_config_init(nacre_device_config *config, uint32_t struct_size)
{
    nacrei_struct_init(config, struct_size, &defaults, sizeof defaults);
}

static nacre_status check_config(const nacrei_call *call, const nacre_device_config *config)
{
    NACREI_TRY(nacrei_check_range(call, "backend", config->backend, NACRE_BACKEND_CUDA,
                                  "0 (auto), 1 (cpu), 2 (cuda)"));
    /* On the CPU the ordinal does not count: nacre_device_describe says -1 there. */
    if (config->ordinal < 0 && config->backend != NACRE_BACKEND_CPU) {
        return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0,
                           "%s: ordinal is %" PRId32 "; allowed: 0 and greater", call->name,
                           config->ordinal);
    }
    NACREI_TRY(nacrei_check_range(call, "threads", config->threads, THREADS_MAX,
                                  "0 (as many as the process may use) to 4096"));
    NACREI_TRY(nacrei_check_range(call, "checks", config->checks, 1, "0, 1"));
    NACREI_TRY(nacrei_check_reserved(call, "reserved", config->reserved));
    const nacre_allocator *allocator = &config->allocator;
    if ((allocator->allocate == NULL) != (allocator->release == NULL)) {
        return nacrei_bad_pointer(
            call, allocator->allocate == NULL ? "allocator.allocate" : "allocator.release", NULL,
            "both functions or neither");
    }
    return NACRE_OK;
}

nacre_status nacre_device_open(const nacre_device_config *config, nacre_device **device)
{
    NACREI_CALL(call, "nacre_device_open", NULL);
    nacrei_clear_output(device, sizeof *device);
    nacre_device_config complete = defaults;
    NACREI_TRY(nacrei_struct_read(&call, "nacre_device_config", config, &complete, sizeof complete,
                                  &complete.error));
    complete.error = NULL;
    NACREI_TRY(nacrei_check_host(&call, "device", device, sizeof *device));
    NACREI_TRY(check_config(&call, &complete));

    nacre_device *opened = NULL;
    NACREI_TRY(nacrei_registry_open(&call, &complete, &opened));
    opened->references = 1;
    opened->ledger = nacrei_ledger_create();
    if (opened->ledger == NULL) {
        opened->backend->device_free(opened);
        return nacrei_fail(call.error, NACRE_ERROR_OUT_OF_MEMORY, 0,
                           "%s: no host memory for the list of allocations", call.name);
    }
    *device = opened;
    return NACRE_OK;
}

void nacrei_device_retain(nacre_device *device)
{
    /* Relaxed: whoever retains holds a reference, or is inside a call on the device. */
    __atomic_fetch_add(&device->references, 1, __ATOMIC_RELAXED);
}

void nacrei_device_release(nacre_device *device)
{
    /* Release: what a thread did comes before the free; acquire: whoever frees sees it all. */
    if (__atomic_sub_fetch(&device->references, 1, __ATOMIC_ACQ_REL) == 0) {
        nacrei_ledger_destroy(device->ledger);
        device->backend->device_free(device);
    }
}

void *nacrei_device_allocate(const nacre_device *device, uint64_t bytes, uint64_t alignment,
                             uint32_t space)
{
    const nacre_allocator *allocator = &device->allocator;
    void *pointer = allocator->allocate(allocator->user, bytes, alignment, space, NULL);
    if ((uintptr_t)pointer % alignment == 0) {
        return pointer;
    }
    /* Keys would be put where no lookup finds them. */
    nacrei_log(device, NACRE_LOG_ERROR,
               "allocator.allocate returned 0x%" PRIxPTR " for an alignment of %" PRIu64
               "; allowed: a multiple of it; taken for a refusal",
               (uintptr_t)pointer, alignment);
    allocator->release(allocator->user, pointer, bytes, space, NULL);
    return NULL;
}

void nacre_device_close(nacre_device *device)
{
    if (device != NULL) {
        nacrei_device_release(device);
    }
}

nacre_status nacre_device_describe(const nacre_device *device, uint32_t *backend, int32_t *ordinal,
                                   char *text, uint64_t text_bytes)
{
    if (device == NULL || (uintptr_t)backend % sizeof *backend != 0 ||
        (uintptr_t)ordinal % sizeof *ordinal != 0) {
        return NACRE_ERROR_ARGUMENT;
    }
    if (backend != NULL) {
        *backend = device->backend->kind;
    }
    if (ordinal != NULL) {
        *ordinal = device->ordinal;
    }
    if (text != NULL && text_bytes > 0) {
        size_t length = strlen(device->description);
        if (length >= text_bytes) {
            length = (size_t)text_bytes - 1;
        }
        memcpy(text, device->description, length);
        text[length] = '\0';
    }
    return NACRE_OK;
}

void nacrei_log(const nacre_device *device, uint32_t level, const char *format, ...)
{
    if (device->log == NULL) {
        return;
    }
    char text[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    device->log(device->log_user, level, text);
}

nacre_status nacre_stream_create(nacre_device *device, nacre_stream *stream, nacre_error *error)
{
    NACREI_CALL(call, "nacre_stream_create", error);
    nacrei_clear_output(stream, sizeof *stream);
    NACREI_TRY(nacrei_check_device(&call, device));
    NACREI_TRY(nacrei_check_host(&call, "stream", stream, sizeof *stream));
    return device->backend->stream_create(device, stream, error);
}

nacre_status nacre_stream_destroy(nacre_device *device, nacre_stream stream, nacre_error *error)
{
    NACREI_CALL(call, "nacre_stream_destroy", error);
    NACREI_TRY(nacrei_check_device(&call, device));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    if (stream == NULL) {
        return NACRE_OK;
    }
    if ((uintptr_t)stream <= 2) {
        return nacrei_bad_pointer(&call, "stream", stream,
                                  "a stream of nacre_stream_create, not a default stream");
    }
    return device->backend->stream_destroy(device, stream, error);
}

nacre_status nacre_stream_wait(nacre_device *device, nacre_stream stream, nacre_error *error)
{
    NACREI_CALL(call, "nacre_stream_wait", error);
    NACREI_TRY(nacrei_check_device(&call, device));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    return device->backend->stream_wait(device, stream, error);
}

nacre_status nacre_memory_allocate(nacre_device *device, uint64_t bytes, uint32_t space,
                                   void **pointer, nacre_error *error)
{
    NACREI_CALL(call, "nacre_memory_allocate", error);
    nacrei_clear_output(pointer, sizeof *pointer);
    NACREI_TRY(nacrei_check_device(&call, device));
    NACREI_TRY(nacrei_check_host(&call, "pointer", pointer, sizeof *pointer));
    NACREI_TRY(nacrei_check_range(&call, "space", space, NACRE_SPACE_HOST,
                                  "0 (device), 1 (pinned), 2 (host)"));
    if (bytes == 0) {
        return NACRE_OK;
    }
    /* So that a backend can round up. */
    if (bytes > NACREI_COUNT_MAX) {
        return nacrei_fail(error, NACRE_ERROR_OUT_OF_MEMORY, 0,
                           "%s: bytes is %" PRIu64
                           "; allowed: up to 2^60, and what memory can hold",
                           call.name, bytes);
    }
    if (!nacrei_ledger_reserve(device->ledger)) {
        return nacrei_fail(error, NACRE_ERROR_OUT_OF_MEMORY, 0,
                           "%s: no host memory for one allocation more", call.name);
    }
    nacre_status status = device->backend->memory_allocate(device, bytes, space, pointer, error);
    nacrei_ledger_entry entry = {status == NACRE_OK ? *pointer : NULL, bytes, space};
    nacrei_ledger_add(device->ledger, entry);
    return status;
}

nacre_status nacre_memory_release(nacre_device *device, void *pointer, nacre_error *error)
{
    NACREI_CALL(call, "nacre_memory_release", error);
    NACREI_TRY(nacrei_check_device(&call, device));
    if (pointer == NULL) {
        return NACRE_OK;
    }
    nacrei_ledger_entry entry = nacrei_ledger_take(device->ledger, pointer);
    if (entry.pointer == NULL) {
        return nacrei_bad_pointer(&call, "pointer", pointer,
                                  "one that nacre_memory_allocate gave on this device");
    }
    device->backend->memory_release(device, entry.pointer, entry.bytes, entry.space);
    return NACRE_OK;
}

nacre_status nacre_memory_copy(nacre_device *device, const void *from, uint64_t bytes, void *to,
                               nacre_error *error, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_memory_copy", error);
    NACREI_TRY(nacrei_check_device(&call, device));
    NACREI_TRY(nacrei_check_count(&call, "bytes", bytes));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    if (bytes == 0) {
        return NACRE_OK;
    }
    NACREI_TRY(nacrei_check_host(&call, "from", from, 1));
    NACREI_TRY(nacrei_check_host(&call, "to", to, 1));
    return device->backend->memory_copy(device, from, bytes, to, error, stream);
}

nacre_status nacre_memory_fill(nacre_device *device, void *pointer, uint64_t bytes, uint32_t byte,
                               nacre_error *error, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_memory_fill", error);
    NACREI_TRY(nacrei_check_device(&call, device));
    NACREI_TRY(nacrei_check_count(&call, "bytes", bytes));
    NACREI_TRY(nacrei_check_range(&call, "byte", byte, 255, "0 to 255"));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    if (bytes == 0) {
        return NACRE_OK;
    }
    NACREI_TRY(nacrei_check_array(&call, "pointer", pointer, 1));
    return device->backend->memory_fill(device, pointer, bytes, byte, error, stream);
}
