/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ends of a view: its room and its counters (nacre/cuda/view_meter.cuh). The room of an
 * open view is no longer the map's: it is taken out of the admission limit, so that metered
 * insertions leave it alone without knowing of views.
 */
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"

namespace
{

/* By one block; a thread for each counter. */
__global__ void __launch_bounds__(NACREI_VIEW_COUNTERS)
    begin_kernel(nacrei_control *control, nacrei_view_counts *counts, uint64_t new_keys)
{
    __shared__ uint64_t shared_room;
    if (threadIdx.x == 0) {
        /*
         * First what is taken: another view that ends meanwhile has given its room back before it
         * says that keys of it are taken, and none counts twice.
         */
        const uint64_t taken = nacrei_load_relaxed(&control->taken);
        __threadfence();
        const uint64_t capacity = nacrei_load_relaxed(&control->capacity_keys);
        const uint64_t left = taken < capacity ? capacity - taken : 0;
        shared_room = new_keys < left ? new_keys : left;
        /* Relaxed: views that begin beside each other have room for certain; see map_view.c. */
        atomicAdd((unsigned long long *)&control->capacity_keys,
                  0ull - (unsigned long long)shared_room);
        counts->room = shared_room;
    }
    __syncthreads();
    const uint64_t room = shared_room;
    counts->counters[threadIdx.x].room =
        (int64_t)(room / NACREI_VIEW_COUNTERS + (threadIdx.x < room % NACREI_VIEW_COUNTERS));
}

__global__ void __launch_bounds__(NACREI_VIEW_COUNTERS)
    end_kernel(const nacrei_table table, nacrei_view_counts *counts, const nacrei_elements elements,
               int sign)
{
    __shared__ unsigned long long changed, refused;
    if (threadIdx.x == 0) {
        changed = refused = 0;
    }
    __syncthreads();
    nacrei_view_counter *counter = &counts->counters[threadIdx.x];
    /* Relaxed sums, in shared memory; read after the barrier. */
    atomicAdd(&changed, (unsigned long long)counter->changed);
    atomicAdd(&refused, (unsigned long long)counter->refused);
    counter->room = 0;
    counter->changed = counter->refused = 0;
    __syncthreads();
    if (threadIdx.x != 0) {
        return;
    }
    const int64_t delta = sign * (int64_t)changed;
    /* Relaxed sums: batches of other streams may add to them meanwhile. */
    atomicAdd((unsigned long long *)&table.control->capacity_keys,
              (unsigned long long)counts->room);
    __threadfence(); /* before `taken`; pairs with the fence of a view that begins */
    atomicAdd((unsigned long long *)&table.control->size, (unsigned long long)delta);
    atomicAdd((unsigned long long *)&table.control->taken, (unsigned long long)delta);
    counts->room = 0;
    counts->full = 0;
    if (refused != 0) {
        table.hints->full = 1;
    }
    if (elements.report != nullptr) {
        nacrei_tell_host(table, elements, delta, refused);
    } else {
        nacrei_show_size(table.control, table.hints);
    }
}

} // namespace

cudaError_t nacrei_view_begin(const nacrei_table *table, nacrei_view_counts *counts,
                              uint64_t new_keys, cudaStream_t stream)
{
    return nacrei_launch(begin_kernel, 1, NACREI_VIEW_COUNTERS, 0, stream, table->control, counts,
                         new_keys);
}

cudaError_t nacrei_view_end(const nacrei_table *table, nacrei_view_counts *counts,
                            const nacrei_elements *elements, int sign, cudaStream_t stream)
{
    return nacrei_launch(end_kernel, 1, NACREI_VIEW_COUNTERS, 0, stream, *table, counts, *elements,
                         sign);
}

cudaError_t nacrei_view_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(begin_kernel, &error);
    nacrei_prepare(end_kernel, &error);
    return error;
}
