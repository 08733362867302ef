/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second step of insert_or_apply where slots change in two (nacre/cuda/slot.cuh): combines the
 * values of all elements whose keys are there. The first has given new keys the reduction's
 * identity, and an element without room has no key here, so that each element that is not FULL
 * counts once.
 */
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "nacre/cuda/table.cuh"
#include "nacre/cuda/value.cuh"

namespace
{

/*
 * The first value of a new key takes the identity's place bit by bit: the GPU's adders make numbers
 * too small to be normal zero and do not keep the bits of a NaN.
 */
template <typename Width>
__device__ __forceinline__ void apply(char *slot, typename Width::value_type now,
                                      typename Width::value_type value, uint32_t reduction,
                                      uint32_t type)
{
    typedef typename Width::value_type value_type;
    const value_type identity = (value_type)nacrei_reduction_identity(reduction, type);
    if (reduction != NACRE_REDUCTION_ADD || now != identity ||
        nacrei_swap_slot(Width::value_address(slot), now, value) != now) {
        nacrei_apply_value<Width>(slot, value, reduction, type);
    }
}

template <typename Width>
__global__ void __launch_bounds__(NACREI_UPDATE_THREADS)
    apply_kernel(const nacrei_table table, const nacrei_elements elements)
{
    nacrei_kernel_begin();
    if constexpr (Width::two_step) {
        typedef typename Width::value_type value_type;
        const uint64_t index = nacrei_element_index<NACREI_UPDATE_THREADS>();
        if (index >= nacrei_elements_count(elements) || !nacrei_element_in_mask(elements, index)) {
            return;
        }
        const typename Width::key_type key = nacrei_element_key<Width>(elements, index);
        typename Width::slot_type slot;
        const nacrei_place place = nacrei_locate<Width, NACREI_NEAR_KEPT>(
            table, nacrei_shape_of(table), nacrei_hash(key, table.seed),
            (typename Width::key_type)nacrei_key_store(key, Width::key_bytes), &slot);
        if (place.address != nullptr) {
            const value_type value = elements.values != nullptr
                                         ? __ldcs((const value_type *)elements.values + index)
                                         : (value_type)nacrei_type_one(elements.type);
            apply<Width>(place.address, Width::value_of(slot), value, elements.reduction,
                         elements.type);
        }
    }
}

} // namespace

template <typename Width>
cudaError_t nacrei_apply(const nacrei_table *table, const nacrei_elements *elements,
                         cudaStream_t stream)
{
    if constexpr (Width::slot_bytes == 16) {
        return nacrei_launch_batch(apply_kernel<Width>, table, elements, NACREI_UPDATE_THREADS,
                                   NACREI_UPDATE_THREADS, stream);
    }
    return cudaErrorInvalidValue;
}

template <typename Width>
cudaError_t nacrei_apply_prepare(nacrei_code *code)
{
    /* What the code was compiled for, not what the GPU can do: it may be older PTX. */
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)apply_kernel<Width>);
    if (error == cudaSuccess) {
        const uint32_t older = attributes.ptxVersion < 90;
        code->two_step = Width::slot_bytes == 16 && (NACREI_TWO_STEP || older);
        code->early = !older;
    }
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                    \
    template cudaError_t nacrei_apply<nacrei_width<key_bytes, value_bytes>>( \
        const nacrei_table *, const nacrei_elements *, cudaStream_t);        \
    template cudaError_t nacrei_apply_prepare<nacrei_width<key_bytes, value_bytes>>(nacrei_code *);
NACREI_WIDTHS(NACREI_INSTANTIATE)
