/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/views.h"

#include "lib/backend.h"
#include "nacre/cuda/map_view.cuh"

namespace
{

/* A block whose lanes are not threadIdx.x % 32. */
const dim3 block_shape(24, 5);
constexpr unsigned block_threads = 24 * 5;
constexpr unsigned blocks = 128;

__device__ unsigned thread_of_block()
{
    return threadIdx.y * blockDim.x + threadIdx.x;
}

template <typename View, uint32_t Type>
__device__ uint32_t apply(const View &view, typename View::key_type key,
                          typename View::value_type value, uint32_t reduction)
{
    switch (reduction) {
    case NACRE_REDUCTION_ADD:
        return view.template insert_or_apply<NACRE_REDUCTION_ADD, Type>(key, value);
    case NACRE_REDUCTION_MIN:
        return view.template insert_or_apply<NACRE_REDUCTION_MIN, Type>(key, value);
    default:
        return view.template insert_or_apply<NACRE_REDUCTION_MAX, Type>(key, value);
    }
}

template <unsigned K, unsigned V>
__device__ uint32_t step(const nacre_map_view<K, V, NACRE_ACCESS_READ> &view,
                         const views_batch &batch, uint64_t i)
{
    typedef nacre_map_view<K, V, NACRE_ACCESS_READ> view_type;
    const auto key = ((const typename view_type::key_type *)batch.keys)[i];
    bool found;
    if constexpr (V != 0) {
        if (batch.operation == NACREI_FIND) {
            found = view.find(key, (typename view_type::value_type *)batch.values_out + i);
            return found ? NACRE_OUTCOME_FOUND : NACRE_OUTCOME_MISSING;
        }
    }
    found = view.contains(key);
    if (batch.contained != nullptr) {
        batch.contained[i] = found;
    }
    return found ? NACRE_OUTCOME_FOUND : NACRE_OUTCOME_MISSING;
}

template <unsigned K, unsigned V>
__device__ uint32_t step(const nacre_map_view<K, V, NACRE_ACCESS_INSERT> &view,
                         const views_batch &batch, uint64_t i)
{
    typedef nacre_map_view<K, V, NACRE_ACCESS_INSERT> view_type;
    typedef typename view_type::value_type value_type;
    const auto key = ((const typename view_type::key_type *)batch.keys)[i];
    if constexpr (nacrei_width<K, V>::two_step) {
        return 0; /* does not compile; no such view is begun */
    } else if constexpr (V == 0) {
        return view.insert(key);
    } else {
        const value_type value = ((const value_type *)batch.values)[i];
        switch (batch.operation) {
        case NACREI_INSERT:
            return view.insert(key, value);
        case NACREI_INSERT_OR_ASSIGN:
            return view.insert_or_assign(key, value);
        case NACREI_FIND_OR_INSERT:
            return view.find_or_insert(key, value, (value_type *)batch.values_out + i);
        default:
            return batch.type == NACRE_TYPE_F32 || batch.type == NACRE_TYPE_F64 ? apply < view_type,
                   V == 4 ? NACRE_TYPE_F32 : NACRE_TYPE_F64 > (view, key, value, batch.reduction)
                                                                                : apply < view_type,
                   V == 4 ? NACRE_TYPE_I32 : NACRE_TYPE_I64 > (view, key, value, batch.reduction);
        }
    }
}

template <unsigned K, unsigned V>
__device__ uint32_t step(const nacre_map_view<K, V, NACRE_ACCESS_ERASE> &view,
                         const views_batch &batch, uint64_t i)
{
    typedef nacre_map_view<K, V, NACRE_ACCESS_ERASE> view_type;
    const auto key = ((const typename view_type::key_type *)batch.keys)[i];
    return view.erase(key) ? NACRE_OUTCOME_ERASED : NACRE_OUTCOME_MISSING;
}

__global__ void two_step_kernel(uint32_t *two_step)
{
    *two_step = nacrei_width<8, 8>::two_step;
}

template <typename View>
__global__ void run_kernel(const View view, const views_batch batch)
{
    for (uint64_t i = blockIdx.x * block_threads + thread_of_block(); i < batch.count;
         i += (uint64_t)gridDim.x * block_threads) {
        batch.outcomes[i] = (uint8_t)step(view, batch, i);
    }
}

/* What a thread should see of key number i after `outcome`. */
template <unsigned K, unsigned V, uint32_t Access>
__device__ bool right(const nacre_map_view<K, V, Access> &view, const views_batch &batch,
                      uint64_t i)
{
    typedef nacre_map_view<K, V, Access> view_type;
    const auto key = ((const typename view_type::key_type *)batch.keys)[i];
    if constexpr (Access == NACRE_ACCESS_INSERT && V != 0) {
        typename view_type::value_type value;
        return view.find(key, &value) &&
               value == ((const typename view_type::value_type *)batch.values)[i];
    } else {
        return view.contains(key) == (Access == NACRE_ACCESS_INSERT);
    }
}

template <typename View>
__global__ void look_kernel(const View view, const views_batch batch, unsigned long long *wrong)
{
    const uint64_t first = blockIdx.x * block_threads, step_of_grid = gridDim.x * block_threads;
    for (uint64_t base = first; base < batch.count; base += step_of_grid) { /* by whole blocks */
        const uint64_t i = base + thread_of_block();
        const uint64_t neighbour = base + (thread_of_block() + 37) % block_threads;
        if (i < batch.count) {
            right(view, batch, i); /* brings what was there before close to the thread */
            step(view, batch, i);
            if (!right(view, batch, i)) {
                atomicAdd(wrong, 1ull);
            }
        }
        __syncthreads();
        if (neighbour < batch.count && !right(view, batch, neighbour)) {
            atomicAdd(wrong, 1ull);
        }
    }
}

template <typename View>
__global__ void list_kernel(const View view, void *keys_out, void *values_out, uint64_t capacity,
                            unsigned long long *needed)
{
    view.for_each_slot(blockIdx.x * block_threads + thread_of_block(), gridDim.x * block_threads,
                       [=](typename View::key_type key, typename View::value_type value) {
                           const uint64_t place = atomicAdd(needed, 1ull);
                           if (place < capacity) {
                               ((typename View::key_type *)keys_out)[place] = key;
                               if (values_out != nullptr) {
                                   ((typename View::value_type *)values_out)[place] = value;
                               }
                           }
                       });
}

template <typename View>
__global__ void erase_odd_kernel(const View view)
{
    view.for_each_slot(blockIdx.x * block_threads + thread_of_block(), gridDim.x * block_threads,
                       [=](typename View::key_type key, typename View::value_type) {
                           if (key % 2 != 0) {
                               view.erase(key);
                           }
                       });
}

template <typename View>
View typed(const nacrei_view *view)
{
    View copy;
    static_assert(sizeof copy == sizeof *view, "a view is its bytes");
    memcpy((void *)&copy, view, sizeof copy);
    return copy;
}

struct run {
    const views_batch *batch;
    template <typename View>
    void on(const View &view, cudaStream_t stream) const
    {
        run_kernel<<<blocks, block_shape, 0, stream>>>(view, *batch);
    }
};

struct look {
    const views_batch *batch;
    uint64_t *wrong;
    template <unsigned K, unsigned V, uint32_t Access>
    void on(const nacre_map_view<K, V, Access> &view, cudaStream_t stream) const
    {
        if constexpr (Access != NACRE_ACCESS_READ) {
            look_kernel<<<blocks, block_shape, 0, stream>>>(view, *batch,
                                                            (unsigned long long *)wrong);
        }
    }
};

struct list {
    void *keys_out, *values_out;
    uint64_t capacity, *needed;
    template <typename View>
    void on(const View &view, cudaStream_t stream) const
    {
        list_kernel<<<blocks, block_shape, 0, stream>>>(view, keys_out, values_out, capacity,
                                                        (unsigned long long *)needed);
    }
};

struct erase_odd {
    template <unsigned K, unsigned V, uint32_t Access>
    void on(const nacre_map_view<K, V, Access> &view, cudaStream_t stream) const
    {
        if constexpr (Access == NACRE_ACCESS_ERASE) {
            erase_odd_kernel<<<blocks, block_shape, 0, stream>>>(view);
        }
    }
};

template <unsigned K, unsigned V, typename Work>
void with_widths(const nacrei_view *view, const Work &work, cudaStream_t stream)
{
    switch (view->access) {
    case NACRE_ACCESS_READ:
        return work.on(typed<nacre_map_view<K, V, NACRE_ACCESS_READ>>(view), stream);
    case NACRE_ACCESS_INSERT:
        return work.on(typed<nacre_map_view<K, V, NACRE_ACCESS_INSERT>>(view), stream);
    default:
        return work.on(typed<nacre_map_view<K, V, NACRE_ACCESS_ERASE>>(view), stream);
    }
}

template <typename Work>
int with_view(const nacrei_view *view, uint32_t key_bytes, uint32_t value_bytes, const Work &work,
              cudaStream_t stream)
{
    switch (key_bytes * 16 + value_bytes) {
    case 8 * 16 + 8:
        with_widths<8, 8>(view, work, stream);
        break;
    case 8 * 16 + 4:
        with_widths<8, 4>(view, work, stream);
        break;
    case 8 * 16 + 0:
        with_widths<8, 0>(view, work, stream);
        break;
    case 4 * 16 + 8:
        with_widths<4, 8>(view, work, stream);
        break;
    case 4 * 16 + 4:
        with_widths<4, 4>(view, work, stream);
        break;
    default:
        with_widths<4, 0>(view, work, stream);
        break;
    }
    return cudaGetLastError();
}

} // namespace

int views_two_step(uint32_t *two_step, nacre_stream stream)
{
    two_step_kernel<<<1, 1, 0, stream>>>(two_step);
    return cudaGetLastError();
}

int views_run(const nacrei_view *view, uint32_t key_bytes, uint32_t value_bytes,
              const views_batch *batch, nacre_stream stream)
{
    return with_view(view, key_bytes, value_bytes, run{batch}, stream);
}

int views_run_and_look(const nacrei_view *view, uint32_t key_bytes, uint32_t value_bytes,
                       const views_batch *batch, uint64_t *wrong, nacre_stream stream)
{
    return with_view(view, key_bytes, value_bytes, look{batch, wrong}, stream);
}

int views_list(const nacrei_view *view, uint32_t key_bytes, uint32_t value_bytes, void *keys_out,
               void *values_out, uint64_t capacity, uint64_t *needed, nacre_stream stream)
{
    const cudaError_t error = cudaMemsetAsync(needed, 0, sizeof *needed, stream);
    return error != cudaSuccess ? error
                                : with_view(view, key_bytes, value_bytes,
                                            list{keys_out, values_out, capacity, needed}, stream);
}

int views_erase_odd(const nacrei_view *view, uint32_t key_bytes, uint32_t value_bytes,
                    nacre_stream stream)
{
    return with_view(view, key_bytes, value_bytes, erase_odd{}, stream);
}
