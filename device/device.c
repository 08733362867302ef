/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device: opening, describing, streams, memory, errors. */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/call.h"
#include "device/map.h"
#include "lib/device.h"
#include "lib/widths.h"

nacre_status nacrei_cuda_fail(nacrei_cuda_device *device, nacre_error *error, const char *call,
                              const char *expression, cudaError_t result)
{
    nacre_status status = NACRE_ERROR_INTERNAL;
    (void)cudaGetLastError(); /* so that it does not show up in the program's own checks */
    switch (result) {
    case cudaErrorMemoryAllocation:
        status = NACRE_ERROR_OUT_OF_MEMORY;
        break;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidResourceHandle:
        /* What the library makes is valid; handles and pointers of the caller's may not be. */
        return nacrei_fail(error, NACRE_ERROR_ARGUMENT, (int32_t)result,
                           "%s: a stream or pointer is stale, or of another device (%s from "
                           "%.60s); allowed: live ones of this device",
                           call, cudaGetErrorName(result), expression);
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorDevicesUnavailable:
        status = NACRE_ERROR_NO_DEVICE;
        break;
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureIsolation:
        status = NACRE_ERROR_WOULD_WAIT;
        break;
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorCudartUnloading:
        status = NACRE_ERROR_DEVICE_LOST;
        break;
    default:
        break;
    }
    if (device != NULL && status == NACRE_ERROR_DEVICE_LOST) {
        __atomic_store_n(&device->lost, 1u, __ATOMIC_RELAXED); /* a flag; nothing hangs on it */
    }
    return nacrei_fail(error, status, (int32_t)result, "%s: %s (%s) from %.80s", call,
                       cudaGetErrorName(result), cudaGetErrorString(result), expression);
}

nacre_status nacrei_cuda_fail_capturing(nacre_error *error, nacre_status status, const char *call)
{
    return nacrei_fail(error, status, 0, "%s: stream is capturing; allowed: one that is not", call);
}

nacre_status nacrei_cuda_enter(nacrei_cuda_device *device, nacre_error *error, const char *call,
                               nacrei_current *current)
{
    nacre_status status = NACRE_OK;
    int before;
    current->before = -1;
    current->relaxed = 0;
    if (__atomic_load_n(&device->lost, __ATOMIC_RELAXED) != 0) {
        return nacrei_fail(error, NACRE_ERROR_DEVICE_LOST, 0,
                           "%s: the context of cuda:%d died in earlier work", call,
                           device->head.ordinal);
    }
    NACREI_CUDA(cudaGetDevice(&before));
    if (before != device->head.ordinal) {
        NACREI_CUDA(cudaSetDevice(device->head.ordinal));
        current->before = before;
    }
    current->mode = cudaStreamCaptureModeRelaxed;
    NACREI_CUDA(cudaThreadExchangeStreamCaptureMode(&current->mode));
    current->relaxed = 1;
cleanup:
    return status;
}

void nacrei_cuda_leave(nacrei_current *current)
{
    if (current->relaxed) {
        (void)cudaThreadExchangeStreamCaptureMode(&current->mode);
    }
    if (current->before >= 0) {
        (void)cudaSetDevice(current->before);
    }
}

uint32_t nacrei_width_index(uint32_t key_bytes, uint32_t value_bytes)
{
#define NACREI_MATCH(key, value, index)                 \
    if (key_bytes == (key) && value_bytes == (value)) { \
        return index;                                   \
    }
    NACREI_WIDTHS(NACREI_MATCH)
#undef NACREI_MATCH
    return NACREI_WIDTHS_COUNT;
}

static uint32_t cuda_supports(uint32_t key_bytes, uint32_t value_bytes)
{
    return nacrei_width_index(key_bytes, value_bytes) < NACREI_WIDTHS_COUNT;
}

cudaError_t nacrei_cuda_prepare(nacrei_cuda_device *device, uint32_t width)
{
    cudaError_t result = cudaSuccess;
    int driver = 0;
    pthread_mutex_lock(&device->lock);
    if (!device->prepared[width]) {
        result = nacrei_map_kernels_of[width].prepare(&device->gpu, &device->code[width]);
        /* Older drivers cannot capture launches that may be early. */
        if (cudaDriverGetVersion(&driver) != cudaSuccess || driver < 12040) {
            device->code[width].early = 0;
        }
        device->prepared[width] = result == cudaSuccess;
    }
    pthread_mutex_unlock(&device->lock);
    return result;
}

cudaError_t nacrei_cuda_prepare_compact(nacrei_cuda_device *device)
{
    cudaError_t result = cudaSuccess;
    pthread_mutex_lock(&device->lock);
    if (!device->prepared_compact) {
        result = nacrei_compact_prepare();
        device->prepared_compact = result == cudaSuccess;
    }
    pthread_mutex_unlock(&device->lock);
    return result;
}

/* Why CUDA cannot be used here, in the caller's words; NO_DEVICE. */
static nacre_status no_device(nacre_error *error, uint32_t *present, cudaError_t result)
{
    int driver = 0, runtime = 0;
    (void)cudaGetLastError();
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    *present = access("/dev/nvidiactl", F_OK) == 0;
    if (driver == 0) {
        return nacrei_fail(error, NACRE_ERROR_NO_DEVICE, (int32_t)result,
                           "nacre_device_open: no NVIDIA driver is installed");
    }
    if (driver < runtime && result == cudaErrorInsufficientDriver) {
        return nacrei_fail(error, NACRE_ERROR_NO_DEVICE, (int32_t)result,
                           "nacre_device_open: driver %d.%d is older than runtime %d.%d",
                           driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    }
    return nacrei_fail(error, NACRE_ERROR_NO_DEVICE, (int32_t)result, "nacre_device_open: %s",
                       cudaGetErrorString(result));
}

static void describe(nacrei_cuda_device *device, const struct cudaDeviceProp *properties)
{
    snprintf(device->head.description, sizeof device->head.description,
             "cuda:%d %s, sm_%d%d, %.0f GiB", device->head.ordinal, properties->name,
             properties->major, properties->minor,
             (double)properties->totalGlobalMem / (1024.0 * 1024.0 * 1024.0));
}

/*
 * A pool of the device object's own, so that it neither feeds on the program's nor shrinks with it.
 * It keeps what it has borrowed, but no more than this share of the device's memory: to grow it
 * takes 0.7 ms for a GB, as long as to partition 60 million elements. Where memory is short it
 * refuses, rather than make one stream wait for what another has yet to give back.
 */
#define POOL_KEPT_SHARE 64

static cudaMemPool_t create_pool(const nacrei_cuda_device *device)
{
    int supported = 0;
    cudaMemPool_t pool = NULL;
    struct cudaMemPoolProps properties;
    uint64_t kept = device->memory_total_bytes / POOL_KEPT_SHARE;
    int no = 0;
    memset(&properties, 0, sizeof properties);
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device->head.ordinal;
    if (cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device->head.ordinal) !=
            cudaSuccess ||
        !supported || cudaMemPoolCreate(&pool, &properties) != cudaSuccess) {
        (void)cudaGetLastError();
        return NULL;
    }
    if (cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept) != cudaSuccess ||
        cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no) !=
            cudaSuccess) {
        (void)cudaGetLastError();
        (void)cudaMemPoolDestroy(pool);
        return NULL;
    }
    return pool;
}

static nacre_status cuda_device_open(const nacre_device_config *config, nacre_device **opened,
                                     uint32_t *present, nacre_error *error)
{
    static const char call[] = "nacre_device_open";
    nacre_status status;
    int count = 0;
    nacrei_current current;
    struct cudaDeviceProp properties;
    nacrei_cuda_device *device = NULL;
    *opened = NULL;
    *present = 0;

    cudaError_t result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess || count == 0) {
        return no_device(error, present, result != cudaSuccess ? result : cudaErrorNoDevice);
    }
    *present = 1;
    if (config->ordinal < 0 || config->ordinal >= count) {
        return nacrei_fail(error, NACRE_ERROR_NO_DEVICE, 0,
                           "nacre_device_open: ordinal is %d; allowed: 0 to %d", config->ordinal,
                           count - 1);
    }
    device = (nacrei_cuda_device *)calloc(1, sizeof *device);
    if (device == NULL) {
        return nacrei_fail(error, NACRE_ERROR_OUT_OF_MEMORY, 0,
                           "nacre_device_open: no host memory for the device");
    }
    pthread_mutex_init(&device->lock, NULL);
    device->head.backend = &nacrei_cuda_backend;
    device->head.ordinal = config->ordinal;
    device->head.threads = 1;
    device->head.checks = config->checks;
    device->head.allocator = config->allocator;
    device->head.log = config->log;
    device->head.log_user = config->log_user;

    NACREI_TRY(nacrei_cuda_enter(device, error, call, &current));
    NACREI_CUDA(cudaGetDeviceProperties(&properties, config->ordinal));
    device->gpu.multiprocessors = (uint32_t)properties.multiProcessorCount;
    device->gpu.compute_capability = (uint32_t)(10 * properties.major + properties.minor);
    device->gpu.shared_bytes_max = (uint32_t)properties.sharedMemPerBlockOptin;
    device->gpu.l2_bytes = (uint32_t)properties.l2CacheSize;
    device->memory_total_bytes = properties.totalGlobalMem;
    describe(device, &properties);
    /* The first kernel that loads tells whether this build has code for the GPU. */
    for (uint32_t width = 0; width < NACREI_WIDTHS_COUNT; width++) {
        if (nacrei_map_kernels_of[width].prepare != NULL) {
            NACREI_CUDA(nacrei_cuda_prepare(device, width));
            break;
        }
    }
    if (config->allocator.allocate == NULL) {
        nacrei_ranges_find(&device->ranges, config->ordinal);
        device->pool = create_pool(device);
    }
    *opened = &device->head;
    device = NULL;
cleanup:
    nacrei_cuda_leave(&current);
    free(device);
    return status;
}

static void cuda_device_free(nacre_device *head)
{
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    nacrei_current current;
    (void)nacrei_cuda_enter(device, NULL, "nacre_device_close", &current);
    if (device->pool != NULL) {
        /* What is borrowed goes when the stream gives it back. */
        (void)cudaMemPoolDestroy(device->pool);
    }
    nacrei_cuda_leave(&current);
    pthread_mutex_destroy(&device->lock);
    free(device);
}

uint32_t nacrei_cuda_trim(nacrei_cuda_device *device)
{
    (void)cudaGetLastError(); /* what the refusal has left */
    return device->pool != NULL && cudaMemPoolTrimTo(device->pool, 0) == cudaSuccess;
}

cudaError_t nacrei_cuda_allocate(nacrei_cuda_device *device, uint64_t bytes, uint32_t space,
                                 void **pointer)
{
    const nacre_allocator *allocator = &device->head.allocator;
    cudaError_t result = cudaSuccess;
    *pointer = NULL;
    if (allocator->allocate != NULL) {
        *pointer = nacrei_device_allocate(&device->head, bytes, 256, space);
    } else if (space == NACRE_SPACE_DEVICE) {
        result = cudaMalloc(pointer, (size_t)bytes);
        if (result == cudaErrorMemoryAllocation && nacrei_cuda_trim(device)) {
            result = cudaMalloc(pointer, (size_t)bytes);
        }
    } else if (space == NACRE_SPACE_PINNED) {
        result = cudaHostAlloc(pointer, (size_t)bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    } else if (posix_memalign(pointer, 256, (size_t)bytes) != 0) {
        *pointer = NULL;
    }
    if (result != cudaSuccess) {
        (void)cudaGetLastError();
        *pointer = NULL;
        return result;
    }
    return *pointer != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

void nacrei_cuda_release(nacrei_cuda_device *device, void *pointer, uint64_t bytes, uint32_t space)
{
    const nacre_allocator *allocator = &device->head.allocator;
    if (pointer == NULL) {
        return;
    }
    if (allocator->release != NULL) {
        allocator->release(allocator->user, pointer, bytes, space, NULL);
    } else if (space == NACRE_SPACE_DEVICE) {
        (void)cudaFree(pointer);
    } else if (space == NACRE_SPACE_PINNED) {
        (void)cudaFreeHost(pointer);
    } else {
        free(pointer);
    }
}

static nacre_status cuda_stream_create(nacre_device *head, nacre_stream *stream, nacre_error *error)
{
    static const char call[] = "nacre_stream_create";
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    nacre_status status;
    nacrei_current current;
    *stream = NULL;
    NACREI_TRY(nacrei_cuda_enter(device, error, call, &current));
    NACREI_CUDA(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
cleanup:
    nacrei_cuda_leave(&current);
    return status;
}

static nacre_status cuda_stream_destroy(nacre_device *head, nacre_stream stream, nacre_error *error)
{
    static const char call[] = "nacre_stream_destroy";
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    nacre_status status;
    nacrei_current current;
    if (stream == NULL) {
        return NACRE_OK;
    }
    NACREI_TRY(nacrei_cuda_enter(device, error, call, &current));
    NACREI_CUDA(cudaStreamDestroy(stream));
cleanup:
    nacrei_cuda_leave(&current);
    return status;
}

static nacre_status cuda_stream_wait(nacre_device *head, nacre_stream stream, nacre_error *error)
{
    static const char call[] = "nacre_stream_wait";
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    nacre_status status;
    nacrei_current current;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    NACREI_TRY(nacrei_cuda_enter(device, error, call, &current));
    NACREI_CUDA(cudaStreamIsCapturing(stream, &capture));
    if (capture != cudaStreamCaptureStatusNone) {
        status = nacrei_cuda_fail_capturing(error, NACRE_ERROR_WOULD_WAIT, call);
        goto cleanup;
    }
    NACREI_CUDA(cudaStreamSynchronize(stream));
cleanup:
    nacrei_cuda_leave(&current);
    return status;
}

static nacre_status cuda_memory_allocate(nacre_device *head, uint64_t bytes, uint32_t space,
                                         void **pointer, nacre_error *error)
{
    static const char call[] = "nacre_memory_allocate";
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    nacre_status status;
    nacrei_current current;
    *pointer = NULL;
    NACREI_TRY(nacrei_cuda_enter(device, error, call, &current));
    NACREI_CUDA(nacrei_cuda_allocate(device, bytes, space, pointer));
cleanup:
    nacrei_cuda_leave(&current);
    return status;
}

static void cuda_memory_release(nacre_device *head, void *pointer, uint64_t bytes, uint32_t space)
{
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    nacrei_current current;
    (void)nacrei_cuda_enter(device, NULL, "nacre_memory_release", &current);
    nacrei_cuda_release(device, pointer, bytes, space);
    nacrei_cuda_leave(&current);
}

static nacre_status cuda_memory_copy(nacre_device *head, const void *from, uint64_t bytes, void *to,
                                     nacre_error *error, nacre_stream stream)
{
    static const char call[] = "nacre_memory_copy";
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    nacre_status status;
    nacrei_current current;
    NACREI_TRY(nacrei_cuda_enter(device, error, call, &current));
    NACREI_CUDA(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDefault, stream));
cleanup:
    nacrei_cuda_leave(&current);
    return status;
}

static nacre_status cuda_memory_fill(nacre_device *head, void *pointer, uint64_t bytes,
                                     uint32_t byte, nacre_error *error, nacre_stream stream)
{
    static const char call[] = "nacre_memory_fill";
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    nacre_status status;
    nacrei_current current;
    NACREI_TRY(nacrei_cuda_enter(device, error, call, &current));
    NACREI_CUDA(cudaMemsetAsync(pointer, (int)byte, (size_t)bytes, stream));
cleanup:
    nacrei_cuda_leave(&current);
    return status;
}

static const char *cuda_memory_unreachable(nacre_device *head, const void *pointer)
{
    struct cudaPointerAttributes attributes;
    (void)head;
    if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
        (void)cudaGetLastError();
        return "not memory that CUDA knows";
    }
    return attributes.type == cudaMemoryTypeUnregistered
               ? "pageable host memory, which the device cannot reach"
               : NULL;
}

const nacrei_backend nacrei_cuda_backend = {
    .kind = NACRE_BACKEND_CUDA,
    .name = "cuda",
    .supports = cuda_supports,
    .device_open = cuda_device_open,
    .device_free = cuda_device_free,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .stream_wait = cuda_stream_wait,
    .memory_allocate = cuda_memory_allocate,
    .memory_release = cuda_memory_release,
    .memory_copy = cuda_memory_copy,
    .memory_fill = cuda_memory_fill,
    .memory_unreachable = cuda_memory_unreachable,
    .map_estimate = nacrei_cuda_map_estimate,
    .map_create = nacrei_cuda_map_create,
    .map_destroy = nacrei_cuda_map_destroy,
    .map_clear = nacrei_cuda_map_clear,
    .map_reserve = nacrei_cuda_map_reserve,
    .map_maintain = nacrei_cuda_map_maintain,
    .map_shrink = nacrei_cuda_map_shrink,
    .map_info = nacrei_cuda_map_info,
    .map_size = nacrei_cuda_map_size,
    .map_size_async = nacrei_cuda_map_size_async,
    .map_faults = nacrei_cuda_map_faults,
    .map_statistics = nacrei_cuda_map_statistics,
    .map_check = nacrei_cuda_map_check,
    .map_batch = nacrei_cuda_map_batch,
    .map_match = nacrei_cuda_map_match,
    .map_retrieve = nacrei_cuda_map_retrieve,
    .map_erase_if = nacrei_cuda_map_erase_if,
    .compact = nacrei_cuda_compact,
    .compact_workspace = nacrei_cuda_compact_workspace,
    .map_view_begin = nacrei_cuda_map_view_begin,
    .map_view_end = nacrei_cuda_map_view_end,
};
