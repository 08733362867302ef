/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goal and method of test_bad_input.c, for devices, streams and memory.
 */
#include "contract/refused.h"
#include "support/array.h"

#if NACRE_HAVE_CUDA
#include "support/cuda.h"
#endif

NACRE_CONTRACT_TEST_ONCE(bad_device, config_of_a_device)
{
    nacre_device *device;
    nacre_device_config good;
    nacre_device_config_init(&good, sizeof good);
    good.backend = t->backend;
    good.threads = 1;
    good.error = &t->error;
#define SPOIL(field, value, wanted, ...)                                               \
    do {                                                                               \
        nacre_device_config spoilt = good;                                             \
        spoilt.field = (value);                                                        \
        device = t->device;                                                            \
        REFUSED(t, wanted, nacre_device_open(&spoilt, &device),                        \
                "nacre_device_open: " __VA_ARGS__);                                    \
        CHECK(t, device == NULL, "a failing open left *device at %p", (void *)device); \
    } while (0)
    SPOIL(backend, 3, NACRE_ERROR_ARGUMENT, "backend is 3");
    SPOIL(threads, 100000, NACRE_ERROR_ARGUMENT, "threads is 100000");
    SPOIL(checks, 2, NACRE_ERROR_ARGUMENT, "checks is 2");
    SPOIL(reserved, 1, NACRE_ERROR_ARGUMENT, "reserved is 1");
    if (t->backend == NACRE_BACKEND_CUDA) {
        SPOIL(ordinal, -1, NACRE_ERROR_ARGUMENT, "ordinal is -1");
        nacre_device_config spoilt = good;
        spoilt.ordinal = 1000;
        STATUS(t, NACRE_ERROR_NO_DEVICE, nacre_device_open(&spoilt, &device));
        CHECK(t, strstr(t->error.message, "1000") != NULL, "message \"%s\"", t->error.message);
    }
    if (nacre_build_supports(NACRE_BACKEND_CUDA, 8, 8) == 0) {
        SPOIL(backend, NACRE_BACKEND_CUDA, NACRE_ERROR_UNSUPPORTED, "backend is 2");
    }
#undef SPOIL
    BAD(t, nacre_device_open(&good, NULL), "nacre_device_open: device is NULL");
    STATUS(t, NACRE_ERROR_ARGUMENT, nacre_device_open(NULL, NULL));
    STATUS(t, NACRE_ERROR_ARGUMENT, nacre_device_describe(NULL, NULL, NULL, NULL, 0));
    nacre_device_close(NULL);
}

NACRE_CONTRACT_TEST_ONCE(bad_device, output_at_an_odd_address_is_written)
{
    /* Goal: where a handle or a pointer is to go is checked like other outputs; a nacre_error may
       lie anywhere, as all structs may. Method: each output one byte off. */
    char room[sizeof(nacre_error) + 16];
    nacre_error error;
    char *odd = room + 1 + (-(uintptr_t)room & 7); /* 1 past a multiple of 8 */
    nacre_device_config device_config;
    nacre_map_config config = test_map_config(t);
    nacre_device_config_init(&device_config, sizeof device_config);
    device_config.backend = t->backend;
    device_config.error = &t->error;
    BAD(t, nacre_device_open(&device_config, (nacre_device **)(void *)odd),
        "nacre_device_open: device is %p", (void *)odd);
    BAD(t, nacre_map_create(t->device, &config, (nacre_map **)(void *)odd),
        "nacre_map_create: map is %p", (void *)odd);
    BAD(t, nacre_stream_create(t->device, (nacre_stream *)(void *)odd, &t->error),
        "nacre_stream_create: stream is %p", (void *)odd);
    BAD(t, nacre_memory_allocate(t->device, 8, NACRE_SPACE_DEVICE, (void **)(void *)odd, &t->error),
        "nacre_memory_allocate: pointer is %p", (void *)odd);
    STATUS(t, NACRE_ERROR_ARGUMENT,
           nacre_device_describe(t->device, (uint32_t *)(void *)odd, NULL, NULL, 0));
    STATUS(t, NACRE_ERROR_ARGUMENT,
           nacre_device_describe(t->device, NULL, (int32_t *)(void *)odd, NULL, 0));
    nacre_error_init((nacre_error *)(void *)odd, sizeof error);
    STATUS(t, NACRE_ERROR_ARGUMENT,
           nacre_stream_create(t->device, NULL, (nacre_error *)(void *)odd));
    memcpy(&error, odd, sizeof error);
    CHECK(t, strstr(error.message, "nacre_stream_create: stream is") != NULL, "message \"%s\"",
          error.message);
}

static void *never_allocate(void *user, uint64_t bytes, uint64_t alignment, uint32_t space,
                            nacre_stream stream)
{
    (void)user, (void)bytes, (void)alignment, (void)space, (void)stream;
    return NULL;
}

static void never_release(void *user, void *pointer, uint64_t bytes, uint32_t space,
                          nacre_stream stream)
{
    (void)user, (void)pointer, (void)bytes, (void)space, (void)stream;
}

NACRE_CONTRACT_TEST_ONCE(bad_device, half_an_allocator)
{
    nacre_device *device;
    nacre_device_config config;
    nacre_device_config_init(&config, sizeof config);
    config.backend = t->backend;
    config.error = &t->error;
    config.allocator.allocate = never_allocate;
    BAD(t, nacre_device_open(&config, &device), "nacre_device_open: allocator.release is NULL");
    config.allocator.allocate = NULL;
    config.allocator.release = never_release;
    BAD(t, nacre_device_open(&config, &device), "nacre_device_open: allocator.allocate is NULL");
}

NACRE_CONTRACT_TEST_ONCE(bad_device, memory_and_streams)
{
    nacre_error *e = &t->error;
    nacre_device *d = t->device;
    void *pointer = t;
    nacre_stream stream;
    BAD(t, nacre_stream_create(NULL, &stream, e), "nacre_stream_create: device is NULL");
    BAD(t, nacre_stream_create(d, NULL, e), "nacre_stream_create: stream is NULL");
    BAD(t, nacre_stream_destroy(NULL, NULL, e), "nacre_stream_destroy: device is NULL");
    OK(t, nacre_stream_destroy(d, NULL, e));
    BAD(t, nacre_stream_wait(NULL, NULL, e), "nacre_stream_wait: device is NULL");
    BAD(t, nacre_memory_allocate(NULL, 8, 0, &pointer, e), "nacre_memory_allocate: device is NULL");
    BAD(t, nacre_memory_allocate(d, 8, 0, NULL, e), "nacre_memory_allocate: pointer is NULL");
    BAD(t, nacre_memory_allocate(d, 8, 3, &pointer, e), "nacre_memory_allocate: space is 3");
    for (uint32_t space = NACRE_SPACE_DEVICE; space <= NACRE_SPACE_HOST; space++) {
        pointer = t;
        REFUSED(t, NACRE_ERROR_OUT_OF_MEMORY,
                nacre_memory_allocate(d, UINT64_MAX, space, &pointer, e),
                "nacre_memory_allocate: bytes is 18446744073709551615");
        CHECK(t, pointer == NULL, "a failing allocate left %p", pointer);
        pointer = t;
        OK(t, nacre_memory_allocate(d, 0, space, &pointer, e));
        CHECK(t, pointer == NULL, "0 bytes are %p", pointer);
    }
    OK(t, nacre_memory_release(d, NULL, e));
    BAD(t, nacre_memory_release(NULL, NULL, e), "nacre_memory_release: device is NULL");
    BAD(t, nacre_memory_release(d, t, e), "nacre_memory_release: pointer is %p", (void *)t);
    OK(t, nacre_memory_allocate(d, 8, NACRE_SPACE_DEVICE, &pointer, e));
    OK(t, nacre_memory_release(d, pointer, e));
    BAD(t, nacre_memory_release(d, pointer, e), "nacre_memory_release: pointer is %p", pointer);
    test_array array = test_array_new(t, 16, 8);
    BAD(t, nacre_memory_copy(NULL, array.data, 8, array.data, e, t->stream),
        "nacre_memory_copy: device is NULL");
    BAD(t, nacre_memory_copy(d, NULL, 8, array.data, e, t->stream),
        "nacre_memory_copy: from is NULL");
    BAD(t, nacre_memory_copy(d, array.data, 8, NULL, e, t->stream),
        "nacre_memory_copy: to is NULL");
    BAD(t, nacre_memory_copy(d, array.data, UINT64_MAX, array.data, e, t->stream),
        "nacre_memory_copy: bytes is 18446744073709551615");
    OK(t, nacre_memory_copy(d, NULL, 0, NULL, e, t->stream));
    BAD(t, nacre_memory_fill(NULL, array.data, 8, 0, e, t->stream),
        "nacre_memory_fill: device is NULL");
    BAD(t, nacre_memory_fill(d, NULL, 8, 0, e, t->stream), "nacre_memory_fill: pointer is NULL");
    BAD(t, nacre_memory_fill(d, array.data, 8, 256, e, t->stream),
        "nacre_memory_fill: byte is 256");
    BAD(t, nacre_memory_fill(d, array.data, UINT64_MAX, 0, e, t->stream),
        "nacre_memory_fill: bytes is 18446744073709551615");
    OK(t, nacre_memory_fill(d, NULL, 0, 0, e, t->stream));
    test_array_free(t, &array);
}

#if NACRE_HAVE_CUDA
NACRE_CONTRACT_TEST_ONCE(bad_device, callers_mistake_is_told_as_a_bug)
{
    /* Goal: a pointer that CUDA does not take is the caller's mistake, ARGUMENT, and the device
       goes on. Method: host memory is filled through a device without checks; where a GPU reaches host
       memory, that works instead. */
    if (t->backend != NACRE_BACKEND_CUDA) {
        return;
    }
    nacre_device *device = NULL;
    nacre_device_config config;
    nacre_device_config_init(&config, sizeof config);
    config.backend = t->backend;
    config.error = &t->error;
    OK(t, nacre_device_open(&config, &device));
    void *host = test_host(t, 4096), *memory = NULL;
    if (test_gpu_attribute(t, cudaDevAttrPageableMemoryAccess) != 0) {
        printf("SKIPPED %s on %s: this GPU reaches host memory\n", t->name, t->backend_name);
    } else {
        BAD(t, nacre_memory_fill(device, host, 4096, 1, &t->error, t->stream),
            "nacre_memory_fill: a stream or pointer is stale");
    }
    OK(t, nacre_memory_allocate(device, 4096, NACRE_SPACE_DEVICE, &memory, &t->error));
    OK(t, nacre_memory_fill(device, memory, 4096, 1, &t->error, t->stream));
    OK(t, nacre_stream_wait(device, t->stream, &t->error));
    OK(t, nacre_memory_release(device, memory, &t->error));
    nacre_device_close(device);
    free(host);
}
#endif

typedef struct astray {
    uint64_t live;
    uint64_t logged;
} astray;

/* As malloc does, it ignores the alignment. */
static void *allocate_astray(void *user, uint64_t bytes, uint64_t alignment, uint32_t space,
                             nacre_stream stream)
{
    (void)alignment, (void)space, (void)stream;
    char *memory = aligned_alloc(4096, 4096 + (size_t)(bytes + 4095) / 4096 * 4096);
    ((astray *)user)->live += memory != NULL;
    return memory == NULL ? NULL : memory + 16;
}

static void release_astray(void *user, void *pointer, uint64_t bytes, uint32_t space,
                           nacre_stream stream)
{
    (void)bytes, (void)space, (void)stream;
    ((astray *)user)->live--;
    free((char *)pointer - 16);
}

static void log_astray(void *user, uint32_t level, const char *text)
{
    ((astray *)user)->logged += level == NACRE_LOG_ERROR && strstr(text, "alignment") != NULL;
}

NACRE_CONTRACT_TEST_ONCE(bad_device, keys_are_lost_in_misaligned_memory)
{
    /* Goal: memory that is not aligned is refused, told, and given back. Method: an allocator that
       ignores the alignment. */
    astray a = {0, 0};
    nacre_device *device;
    nacre_map *map = NULL;
    void *memory = NULL;
    nacre_device_config config;
    nacre_device_config_init(&config, sizeof config);
    config.backend = t->backend;
    config.allocator.user = config.log_user = &a;
    config.allocator.allocate = allocate_astray;
    config.allocator.release = release_astray;
    config.log = log_astray;
    OK(t, nacre_device_open(&config, &device));
    STATUS(t, NACRE_ERROR_OUT_OF_MEMORY, nacre_map_create(device, NULL, &map));
    STATUS(t, NACRE_ERROR_OUT_OF_MEMORY,
           nacre_memory_allocate(device, 100, NACRE_SPACE_HOST, &memory, &t->error));
    CHECK(t, map == NULL && memory == NULL && a.live == 0 && a.logged >= 2,
          "%llu allocations live, %llu times logged", (unsigned long long)a.live,
          (unsigned long long)a.logged);
    nacre_device_close(device);
}
