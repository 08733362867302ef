/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The elements of a batch on the device: which take part, their keys and values, what is told about
 * each, and the sums that a batch tells at its end. Counting costs no atomic per thread or warp: a
 * block adds up what its threads kept in registers (one address taking an atomic per warp cost a
 * quarter of the insert rate).
 */
#ifndef NACRE_DEVICE_ELEMENTS_CUH
#define NACRE_DEVICE_ELEMENTS_CUH

#include "device/elements.h"
#include "device/kernels_internal.cuh"
#include "nacre/cuda/slot.cuh"
#include "nacre/cuda/table.h"
#include "nacre/types.h"

/*
 * Threads of a block. Lookups are done when their slowest is: smaller blocks end sooner (hits at
 * load 0.9: 16.0 G/s in blocks of 256, 16.5 in blocks of 128). Updates tell at the end of each
 * block what was done, by an atomic on one address: fewer blocks are better.
 */
#define NACREI_LOOKUP_THREADS 128
#define NACREI_UPDATE_THREADS 256

static_assert(NACREI_LAUNCH_ELEMENTS < NACREI_TALLY_BLOCK &&
                  NACREI_LAUNCH_ELEMENTS / NACREI_LOOKUP_THREADS < UINT64_MAX / NACREI_TALLY_BLOCK,
              "keys or blocks of a launch overflow their part of nacrei_tally.marks");

/*
 * Blocks for all elements, however many, mostly of a thread per element. Where lanes that are done
 * begin their next element while others still probe, loads and stores of neighbours no longer
 * coalesce (two thirds of the lookup rate), unless they go through shared memory (map_find.cu). A
 * captured batch whose count is told on the device launches threads for its greatest count; those
 * beyond have nothing to do.
 */
static inline uint32_t nacrei_batch_blocks(uint64_t count, uint64_t block_elements)
{
    return (uint32_t)((count + block_elements - 1) / block_elements);
}

/*
 * Launches a kernel whose blocks take `block_elements` elements each, where the batch allows it
 * while the kernel before it in the stream ends: so it begins by nacrei_kernel_begin. That takes
 * half a microsecond off the way from one call of a graph to the next.
 */
template <typename... Parameters>
static cudaError_t
nacrei_launch_batch(void (*kernel)(const nacrei_table, const nacrei_elements, Parameters...),
                    const nacrei_table *table, const nacrei_elements *elements, uint32_t threads,
                    uint64_t block_elements, cudaStream_t stream,
                    typename nacrei_as<Parameters>::type... parameters)
{
    void *addresses[] = {(void *)table, (void *)elements, (void *)&parameters...};
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t config = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(nacrei_batch_blocks(elements->count, block_elements));
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = elements->early;
    return cudaLaunchKernelExC(&config, (const void *)kernel, addresses);
}

/*
 * First of all in such a kernel: the next may come, once all blocks of this one have, and this one
 * waits until what comes before has ended and is visible to it.
 */
__device__ __forceinline__ void nacrei_kernel_begin(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\t"
                 "griddepcontrol.wait;" ::
                     : "memory");
#endif
}

template <unsigned Threads>
__device__ __forceinline__ uint64_t nacrei_element_index(void)
{
    return (uint64_t)blockIdx.x * Threads + threadIdx.x;
}

__device__ __forceinline__ uint64_t nacrei_elements_count(const nacrei_elements &elements)
{
    if (elements.count_device == nullptr) {
        return elements.count;
    }
    uint64_t count = *elements.count_device;
    count = count > elements.first ? count - elements.first : 0;
    return count < elements.count ? count : elements.count;
}

__device__ __forceinline__ bool nacrei_element_in_mask(const nacrei_elements &elements,
                                                       uint64_t index)
{
    uint64_t place = elements.mask_offset + index;
    if (elements.mask_kind == NACRE_MASK_BITS) {
        return (((const uint8_t *)elements.mask)[place / 8] >> (place % 8) & 1) != 0;
    }
    if (elements.mask_kind == NACRE_MASK_BYTES) {
        return (((const uint8_t *)elements.mask)[place] & elements.mask_bits) != 0;
    }
    return true;
}

/* Batches are read once: streaming loads keep them from pushing signatures out of the L2 cache. */
template <typename Width>
__device__ __forceinline__ typename Width::key_type
nacrei_element_key(const nacrei_elements &elements, uint64_t index)
{
    return __ldcs((const typename Width::key_type *)elements.keys + index);
}

template <typename Width>
__device__ __forceinline__ void nacrei_element_value_out(const nacrei_elements &elements,
                                                         uint64_t index,
                                                         typename Width::value_type value)
{
    __stcs((typename Width::value_type *)elements.values_out + index, value);
}

__device__ __forceinline__ void nacrei_element_outcome(const nacrei_elements &elements,
                                                       uint64_t index, uint32_t outcome)
{
    if (elements.outcomes != nullptr) {
        elements.outcomes[index] = (uint8_t)outcome;
    }
}

/* What one thread has done with its element: each 0 or 1. */
struct nacrei_sums {
    bool delta; /* a key was inserted or erased */
    bool done;
    bool refused;
    bool skipped;
};

/*
 * After the size has been shown to the host, and a fence: shows it again where it has changed
 * since. Else what another block read before this one's change could be what is shown last.
 */
__device__ __forceinline__ void nacrei_show_newer_size(const nacrei_table &table, uint64_t shown)
{
    for (;;) {
        const uint64_t size = nacrei_load_relaxed(&table.control->size);
        if (size == shown) {
            return;
        }
        table.hints->size = shown = size;
        __threadfence_system(); /* shown before the next look */
    }
}

/*
 * Shows the host the size. One thread of a block, after the block's change. Of those that come
 * together one shows it for all, and looks again where another has left a mark: if each looked for
 * itself, all would go on, and keep their blocks on the GPU, until no block changed the size.
 */
static __device__ __noinline__ void nacrei_show_size(nacrei_control *control,
                                                     volatile nacrei_hints *hints)
{
    uint32_t *unshown = &control->unshown;
    __threadfence(); /* the change before its mark; pairs with the first fence below */
    if (atomicAdd(unshown, 1u) != 0) {
        return;
    }
    uint32_t marks;
    uint64_t size;
    do {
        marks = nacrei_load_relaxed(unshown);
        __threadfence();
        size = nacrei_load_relaxed(&control->size);
        hints->size = size;
        __threadfence_system(); /* shown before the next look, and before another may show */
    } while (nacrei_load_relaxed(&control->size) != size || atomicCAS(unshown, marks, 0u) != marks);
}

/* The end of a batch that has a number: the host may know. One thread, after all others. */
__device__ __forceinline__ void nacrei_tell_host(const nacrei_table &table,
                                                 const nacrei_elements &elements, int64_t delta,
                                                 uint64_t refused)
{
    volatile nacrei_report *report = elements.report;
    const uint64_t size = nacrei_load_relaxed(&table.control->size);
    report->delta = delta;
    report->size = size;
    table.hints->size = size;
    report->refused = refused;
    __threadfence_system(); /* content before number; pairs with the host's acquire load */
    report->sequence = elements.sequence;
    nacrei_show_newer_size(table, size);
}

/* What one block has done with its elements. */
struct nacrei_totals {
    uint64_t delta;
    uint64_t done;
    uint32_t refused;
    uint32_t skipped;
    uint32_t tried; /* elements of a retry, which an earlier pass had counted as refused */
};

/*
 * One thread of a block adds what the block has done to the batch's sums; that of the last block
 * adds the batch to the size and tells the host. `sign` is +1 for insertions, -1 for erasure.
 * Metered insertions have added to the size already (batch_meter.cuh).
 */
__device__ __forceinline__ void nacrei_block_tell(const nacrei_table &table,
                                                  const nacrei_elements &elements,
                                                  const nacrei_totals &totals, int sign,
                                                  bool metered)
{
    const uint64_t delta = totals.delta, done = totals.done;
    const uint32_t refused = totals.refused, skipped = totals.skipped, tried = totals.tried;
    /* All atomics here are relaxed sums, one per block. */
    const int64_t change = sign * (int64_t)delta;
    if (elements.counts != nullptr) {
        unsigned long long *counts = (unsigned long long *)elements.counts;
        if (done != 0) {
            atomicAdd(&counts[0], (unsigned long long)done);
        }
        if (refused != tried) {
            atomicAdd(&counts[1], (unsigned long long)((int64_t)refused - (int64_t)tried));
        }
        if (skipped != 0) {
            atomicAdd(&counts[2], (unsigned long long)skipped);
        }
    }
    if (refused != 0 && elements.fault != 0) {
        table.hints->full = 1;
    }
    nacrei_control *control = table.control;
    if (elements.report == nullptr) {
        if (change != 0) {
            if (!metered) {
                atomicAdd((unsigned long long *)&control->size, (unsigned long long)change);
                atomicAdd((unsigned long long *)&control->taken, (unsigned long long)change);
            }
            nacrei_show_size(control, table.hints);
        }
        return;
    }
    nacrei_tally *tally = elements.tally;
    if (refused != 0) {
        atomicAdd((unsigned long long *)&tally->refused, (unsigned long long)refused);
    }
    if (refused != 0 || metered) {
        __threadfence(); /* before this block's mark; pairs with the fence of the last block */
    }
    const uint64_t mark = NACREI_TALLY_BLOCK + delta;
    const uint64_t marks = atomicAdd((unsigned long long *)&tally->marks, mark) + mark;
    if (marks / NACREI_TALLY_BLOCK != gridDim.x) {
        return;
    }
    __threadfence(); /* what the others refused and metered, after their marks */
    const int64_t total = sign * (int64_t)(marks % NACREI_TALLY_BLOCK);
    if (total != 0 && !metered) {
        atomicAdd((unsigned long long *)&control->size, (unsigned long long)total);
        atomicAdd((unsigned long long *)&control->taken, (unsigned long long)total);
    }
    const uint64_t left_out = atomicExch((unsigned long long *)&tally->refused, 0ull);
    tally->marks = 0;
    nacrei_tell_host(table, elements, total, left_out);
}

/* The end of a block whose threads had an element each; by all of them. */
__device__ __forceinline__ void nacrei_block_end(const nacrei_table &table,
                                                 const nacrei_elements &elements, nacrei_sums sums,
                                                 int sign, bool metered, uint32_t attempted)
{
    nacrei_totals totals = {0, 0, 0, 0, 0};
    totals.delta = (uint32_t)__syncthreads_count(sums.delta);
    totals.refused = (uint32_t)__syncthreads_count(sums.refused);
    if (elements.counts != nullptr) {
        totals.done = (uint32_t)__syncthreads_count(sums.done);
        totals.skipped = (uint32_t)__syncthreads_count(sums.skipped);
        totals.tried = (uint32_t)__syncthreads_count(attempted);
    }
    if (threadIdx.x == 0) {
        nacrei_block_tell(table, elements, totals, sign, metered);
    }
}

#endif
