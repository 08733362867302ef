/* SPDX-License-Identifier: Apache-2.0 */
/* Compaction of arrays: what host code does before its kernels. */
#include "device/call.h"
#include "device/device.h"

/* DEVICE_SELECT counts in 32 bits. */
#define SELECT_MAX ((uint64_t)INT32_MAX)

nacre_status nacrei_cuda_check_select(const char *call, uint64_t elements, uint32_t capturing,
                                      nacre_error *error)
{
    if (elements <= SELECT_MAX && !capturing) {
        return NACRE_OK;
    }
    return nacrei_fail(error, NACRE_ERROR_UNSUPPORTED, 0,
                       "%s: options.algorithm is 9 (device select) for %llu elements%s; allowed: "
                       "up to %llu outside of a capture",
                       call, (unsigned long long)elements, capturing ? " in a capture" : "",
                       (unsigned long long)SELECT_MAX);
}

static nacrei_arrays arrays_of(const nacrei_compact *compact)
{
    const nacre_compaction *what = &compact->what;
    const nacre_options *options = &compact->options;
    const nacrei_arrays arrays = {
        .items = what->items,
        .values = what->values,
        .count = compact->count,
        .count_device = options->count_device,
        .mask = options->mask,
        .mask_offset = options->mask_offset,
        .mask_kind = options->mask_kind,
        .mask_bits = options->mask_bits,
        .condition = compact->condition,
    };
    return arrays;
}

nacre_status nacrei_cuda_compact(nacre_device *head, const nacrei_compact *compact,
                                 nacre_error *error)
{
    static const char call[] = "nacre_compact";
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    const nacre_compaction *what = &compact->what;
    const uint32_t algorithm = compact->options.algorithm;
    const nacrei_arrays arrays = arrays_of(compact);
    const nacrei_target target = {what->items_out, what->values_out, what->capacity,
                                  (unsigned long long *)what->needed};
    uint64_t workspace_bytes = what->workspace_bytes;
    nacre_status status;
    nacrei_current current;
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    NACREI_TRY(nacrei_cuda_enter(device, error, call, &current));
    NACREI_CUDA(nacrei_cuda_prepare_compact(device));
    NACREI_CUDA(cudaStreamIsCapturing(compact->stream, &capture));
    if (algorithm == NACRE_COMPACT_DEVICE_SELECT) {
        NACREI_TRY(nacrei_cuda_check_select(call, compact->count,
                                            capture != cudaStreamCaptureStatusNone, error));
    }
    const nacrei_compact_launch launch = {.algorithm = algorithm,
                                          .multiprocessors = device->gpu.multiprocessors,
                                          .scratch = (nacrei_stable_scratch *)what->workspace,
                                          .temporary = what->workspace,
                                          .temporary_bytes = &workspace_bytes,
                                          .stream = compact->stream};
    NACREI_CUDA(
        nacrei_compact_arrays(&arrays, what->item_bytes, what->value_bytes, &target, &launch));
cleanup:
    nacrei_cuda_leave(&current);
    return status;
}

nacre_status nacrei_cuda_compact_workspace(const nacre_device *head, uint64_t count,
                                           uint32_t algorithm, uint64_t *bytes, nacre_error *error)
{
    static const char call[] = "nacre_compact_workspace";
    nacrei_cuda_device *device = (nacrei_cuda_device *)head;
    const nacrei_arrays arrays = {.count = count};
    const nacrei_target target = {NULL, NULL, 0, NULL};
    const nacrei_compact_launch launch = {.algorithm = algorithm, .temporary_bytes = bytes};
    nacre_status status;
    nacrei_current current;
    *bytes = algorithm == NACRE_COMPACT_STABLE ? sizeof(nacrei_stable_scratch) : 0;
    if (algorithm != NACRE_COMPACT_DEVICE_SELECT) {
        return NACRE_OK;
    }
    status = nacrei_cuda_check_select(call, count, 0, error);
    if (status != NACRE_OK) {
        return status;
    }
    NACREI_TRY(nacrei_cuda_enter(device, error, call, &current));
    NACREI_CUDA(nacrei_compact_arrays(&arrays, 8, 0, &target, &launch));
cleanup:
    nacrei_cuda_leave(&current);
    return status;
}
