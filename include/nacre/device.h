/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device: the one place for backend, allocator, threads and log.
 *
 * A device is opened once and serves any number of maps, from any number of threads; each object
 * holds a reference to it, so that closing it before its objects is allowed. AUTO takes a CUDA
 * device where one is usable and the CPU otherwise; nacre_device_describe says what was taken and
 * why.
 *
 * The stream and memory calls below are here so that one source runs on both backends. A program
 * that has CUDA streams and device memory of its own uses those.
 */
#ifndef NACRE_DEVICE_H
#define NACRE_DEVICE_H

#include <stdint.h>

#include "nacre/export.h"
#include "nacre/status.h"
#include "nacre/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nacre_device nacre_device;

/*
 * A program's own allocator. Called only on threads that are inside nacre calls, and by several at
 * once: it has to be thread-safe, and so has the log, whose text is there during the call. `space`
 * is NACRE_SPACE_...: on the CPU all are memory of the host; PINNED is written by the host and by
 * the device. (Scratch memory of the CPU's own threads is the system's.) `allocate` returns a
 * multiple of `alignment` (a power of two, up to 4096), or NULL to refuse: the library then reports
 * it and loses nothing. A pointer that is not aligned is released again, logged as an error, and
 * taken for a refusal. `release` is told the size of the allocation and the stream in whose order
 * the memory is free (always NULL in this version: the memory is idle). Neither these functions nor
 * the log may call nacre.
 */
typedef struct nacre_allocator {
    void *user;
    void *(*allocate)(void *user, uint64_t bytes, uint64_t alignment, uint32_t space,
                      nacre_stream stream);
    void (*release)(void *user, void *pointer, uint64_t bytes, uint32_t space, nacre_stream stream);
} nacre_allocator;

typedef struct nacre_device_config {
    uint32_t struct_size;
    uint32_t backend; /* NACRE_BACKEND_...; default AUTO */
    int32_t ordinal;  /* which CUDA device; default 0 */
    uint32_t threads; /* CPU: threads of a large batch; 0 (default): as many as the process may
                                  use by affinity and cgroup; 1: none is ever started; at most 4096 */
    uint32_t checks;  /* 1: each pointer of a batch is checked to be readable by the device, at
                                  a microsecond per pointer; default 0 */
    uint32_t reserved;
    nacre_allocator allocator; /* both functions or neither; default: the system's */
    /* Told what no status tells, and of memory refused to growth; default NULL: silence. */
    void (*log)(void *user, uint32_t level, const char *text);
    void *log_user;
    nacre_error *error; /* filled when opening fails; may be NULL */
} nacre_device_config;

/*
 * Writes the defaults: backend AUTO, ordinal 0, threads as allowed, no checks, no log.
 *
 * **Thread safety** the config is the caller's. **Allocates** nothing. **Since** 0.1
 */
NACRE_API void nacre_device_config_init(nacre_device_config *config, uint32_t struct_size);

/*
 * Opens a device. `config` NULL means every default. On success *device is owned by the caller, who
 * closes it; on failure it is NULL.
 *
 * ARGUMENT: a bad config or `device` NULL. NO_DEVICE: CUDA was asked for and there is no usable
 * device of that ordinal; the message says why. UNSUPPORTED: CUDA was asked for and the library was
 * built without it. OUT_OF_MEMORY. DEVICE_LOST: the process's context on the GPU died in earlier
 * work. AUTO falls back to the CPU, and logs a warning where the machine
 * has an NVIDIA device that cannot be used.
 *
 * **Thread safety** any thread. **Allocates** the device; on CUDA a context, if the process has
 * none; on the CPU the first large batches start the threads, and take some MB of scratch for each,
 * which the device keeps until it is closed. **Since** 0.1
 */
NACRE_API nacre_status nacre_device_open(const nacre_device_config *config, nacre_device **device);

/*
 * Gives up the caller's reference. The device is freed with its last object: maps keep it, memory
 * and streams do not, so those come first. NULL is allowed.
 *
 * **Thread safety** any thread, once per open. **Since** 0.1
 */
NACRE_API void nacre_device_close(nacre_device *device);

/*
 * Says what was opened: *backend (CPU or CUDA), *ordinal (-1 on the CPU), and one line of text,
 * such as "cuda:0 NVIDIA H200, sm_90, 139 GiB" or "cpu, 16 threads; not cuda: driver 12.2 is older
 * than runtime 13.0". Each output may be NULL; `text` holds `text_bytes` bytes and is cut, with its
 * zero, where it is too small.
 *
 * ARGUMENT: `device` NULL.
 *
 * **Thread safety** any thread. **Allocates** nothing. **Since** 0.1
 */
NACRE_API nacre_status nacre_device_describe(const nacre_device *device, uint32_t *backend,
                                             int32_t *ordinal, char *text, uint64_t text_bytes);

/*
 * 1 where this build of the library has kernels for these widths on that backend, else 0. AUTO asks
 * for any backend. Keys have 4 or 8 bytes, values 0 (a set), 4 or 8.
 *
 * **Thread safety** any thread. **Allocates** nothing. **Since** 0.1
 */
NACRE_API uint32_t nacre_build_supports(uint32_t backend, uint32_t key_bytes, uint32_t value_bytes);

/*
 * Creates a stream that does not synchronise with the default one. On the CPU *stream is NULL,
 * which is its only stream. Owned by the caller.
 *
 * ARGUMENT, OUT_OF_MEMORY, DEVICE_LOST.
 *
 * **Thread safety** any thread. **Since** 0.1
 */
NACRE_API nacre_status nacre_stream_create(nacre_device *device, nacre_stream *stream,
                                           nacre_error *error);

/*
 * Destroys a stream made by nacre_stream_create; work already enqueued finishes. NULL is allowed.
 *
 * ARGUMENT (a default stream, or a stream on the CPU), DEVICE_LOST.
 *
 * **Thread safety** any thread. **Since** 0.1
 */
NACRE_API nacre_status nacre_stream_destroy(nacre_device *device, nacre_stream stream,
                                            nacre_error *error);

/*
 * The host waits until all work of the stream has finished.
 *
 * ARGUMENT. WOULD_WAIT: the stream is capturing. DEVICE_LOST: the device's context died, also in
 * work enqueued earlier.
 *
 * **Thread safety** any thread. **Since** 0.1
 */
NACRE_API nacre_status nacre_stream_wait(nacre_device *device, nacre_stream stream,
                                         nacre_error *error);

/*
 * Allocates `bytes` bytes in `space` (NACRE_SPACE_...), aligned to 256. On the CPU all spaces are
 * host memory. *pointer is owned by the caller, who releases it on the same device; 0 bytes give
 * NULL.
 *
 * ARGUMENT (an unknown space), OUT_OF_MEMORY, DEVICE_LOST; *pointer is NULL then.
 *
 * **Thread safety** any thread. **Allocates** by the device's allocator. **Since** 0.1
 */
NACRE_API nacre_status nacre_memory_allocate(nacre_device *device, uint64_t bytes, uint32_t space,
                                             void **pointer, nacre_error *error);

/*
 * Releases memory of nacre_memory_allocate. All work that uses it must have finished. NULL is
 * allowed.
 *
 * ARGUMENT: not a pointer of this device's.
 *
 * **Thread safety** any thread. **Since** 0.1
 */
NACRE_API nacre_status nacre_memory_release(nacre_device *device, void *pointer,
                                            nacre_error *error);

/*
 * Copies `bytes` bytes between any two spaces, in stream order. Where the host's side is pageable
 * memory the call returns when that side has been read or written. 0 bytes are legal, with NULL
 * too. In a CUDA graph the copy is made at each replay, of and to the memory as it is then.
 *
 * ARGUMENT (NULL with bytes, more than 2^60 bytes), DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** returns when enqueued. **Since** 0.1
 */
NACRE_API nacre_status nacre_memory_copy(nacre_device *device, const void *from, uint64_t bytes,
                                         void *to, nacre_error *error, nacre_stream stream);

/*
 * Writes `byte` into each of `bytes` bytes of memory that the device can write, in stream order.
 *
 * ARGUMENT (a byte above 255), DEVICE_LOST.
 *
 * **Thread safety** any thread. **Stream** returns when enqueued. **Since** 0.1
 */
NACRE_API nacre_status nacre_memory_fill(nacre_device *device, void *pointer, uint64_t bytes,
                                         uint32_t byte, nacre_error *error, nacre_stream stream);

#ifdef __cplusplus
}
#endif
#endif
