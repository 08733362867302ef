/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Insertion: insert, insert_or_assign, insert_or_apply, find_or_insert. One thread per key finds
 * the key or claims a slot for it (claim.cuh), then does what the operation does to the value.
 *
 * Where slots change in two steps (nacre/cuda/slot.cuh) values are not to be read here: a lookup
 * follows that reads them (find_or_insert), or map_apply.cu, which combines them (insert_or_apply).
 */
#include "device/batch_meter.cuh"
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "nacre/cuda/claim.cuh"
#include "nacre/cuda/value.cuh"

namespace
{

/* What an element does once its key is there; returns what is told about it. */
template <typename Width, unsigned Operation>
__device__ __forceinline__ uint32_t settle(const nacrei_elements &elements, uint64_t index,
                                           const nacrei_found<Width> &place,
                                           typename Width::value_type value)
{
    typedef typename Width::value_type value_type;
    bool found = place.outcome == NACRE_OUTCOME_FOUND;
    if constexpr (Operation == NACREI_FIND_OR_INSERT && !Width::two_step) {
        if (found) {
            nacrei_element_value_out<Width>(elements, index, Width::value_of(place.slot));
        } else if (place.outcome == NACRE_OUTCOME_INSERTED) {
            nacrei_element_value_out<Width>(elements, index, value);
        } else if (elements.has_missing_value && elements.last) {
            nacrei_element_value_out<Width>(elements, index, (value_type)elements.missing_value);
        }
    }
    if constexpr (Operation == NACREI_INSERT_OR_ASSIGN || Operation == NACREI_INSERT_OR_APPLY) {
        if (found) {
            if constexpr (Width::value_bytes != 0 && Operation == NACREI_INSERT_OR_ASSIGN) {
                nacrei_assign_value<Width>(place.address, value);
            }
            if constexpr (Width::value_bytes != 0 && Operation == NACREI_INSERT_OR_APPLY &&
                          !Width::two_step) {
                nacrei_apply_value<Width>(place.address, value, elements.reduction, elements.type);
            }
            return NACRE_OUTCOME_ASSIGNED;
        }
    }
    return place.outcome;
}

/* PLAIN: no options; METERED: may not fit (claim.cuh), with any options. */
enum { PLAIN, OPTIONS, METERED };

template <unsigned Kind>
__device__ __forceinline__ auto meter_of(const nacrei_table &table, const nacrei_elements &elements)
{
    if constexpr (Kind == METERED) {
        /* Blocks beyond what a count on the device tells have nothing to do. */
        return nacrei_batch_meter::begin(table.control,
                                         (uint64_t)blockIdx.x * NACREI_UPDATE_THREADS <
                                             nacrei_elements_count(elements));
    } else {
        return nacrei_no_meter();
    }
}

template <typename Width, unsigned Operation, unsigned Kind>
__global__ void __launch_bounds__(NACREI_UPDATE_THREADS)
    insert_kernel(const nacrei_table table, const nacrei_elements elements)
{
    typedef typename Width::value_type value_type;
    nacrei_kernel_begin();
    const auto meter = meter_of<Kind>(table, elements);
    const uint64_t index = nacrei_element_index<NACREI_UPDATE_THREADS>();
    const bool exists = index < elements.count;
    bool takes_part = exists;
    if constexpr (Kind != PLAIN) {
        takes_part =
            index < nacrei_elements_count(elements) && nacrei_element_in_mask(elements, index);
    }
    if (Kind == METERED && elements.retry) {
        takes_part = exists && (elements.left_out[index / 32] >> (index % 32) & 1) != 0;
    }
    uint32_t outcome = NACRE_OUTCOME_SKIPPED;
    if (takes_part) {
        const typename Width::key_type key = nacrei_element_key<Width>(elements, index);
        value_type value = 0;
        if constexpr (Operation == NACREI_INSERT_OR_APPLY && Width::two_step) {
            value = (value_type)nacrei_reduction_identity(elements.reduction, elements.type);
        } else if constexpr (Width::value_bytes != 0) {
            value = elements.values != nullptr ? __ldcs((const value_type *)elements.values + index)
                                               : (value_type)nacrei_type_one(elements.type);
        }
        const nacrei_found<Width> place = nacrei_find_or_claim<Width>(
            table, nacrei_shape_of(table), nacrei_hash(key, table.seed),
            (typename Width::key_type)nacrei_key_store(key, Width::key_bytes), value, meter);
        outcome = settle<Width, Operation>(elements, index, place, value);
    }
    if (Kind != PLAIN && exists && (takes_part || !elements.retry)) {
        nacrei_element_outcome(elements, index, outcome);
    }
    if (Kind == METERED && elements.left_out != nullptr) {
        const uint32_t bits = __ballot_sync(~0u, outcome == NACRE_OUTCOME_FULL);
        if (threadIdx.x % 32 == 0 && exists) {
            elements.left_out[index / 32] = bits;
        }
    }
    meter.end(outcome == NACRE_OUTCOME_INSERTED);
    const bool full = outcome == NACRE_OUTCOME_FULL;
    const nacrei_sums sums = {outcome == NACRE_OUTCOME_INSERTED, takes_part && !full, full,
                              exists && !takes_part && !elements.retry};
    nacrei_block_end(table, elements, sums, 1, Kind == METERED,
                     Kind == METERED && elements.retry && takes_part);
}

template <typename Width, unsigned Operation>
cudaError_t launch(const nacrei_table *table, const nacrei_elements *elements, uint32_t metered,
                   cudaStream_t stream)
{
    void (*kernel)(const nacrei_table, const nacrei_elements) =
        metered                           ? insert_kernel<Width, Operation, METERED>
        : nacrei_elements_plain(elements) ? insert_kernel<Width, Operation, PLAIN>
                                          : insert_kernel<Width, Operation, OPTIONS>;
    return nacrei_launch_batch(kernel, table, elements, NACREI_UPDATE_THREADS,
                               NACREI_UPDATE_THREADS, stream);
}

} // namespace

template <typename Width>
cudaError_t nacrei_insert(const nacrei_table *table, const nacrei_elements *elements,
                          uint32_t operation, uint32_t metered, cudaStream_t stream)
{
    switch (operation) {
    case NACREI_INSERT:
        return launch<Width, NACREI_INSERT>(table, elements, metered, stream);
    case NACREI_INSERT_OR_ASSIGN:
        return launch<Width, NACREI_INSERT_OR_ASSIGN>(table, elements, metered, stream);
    case NACREI_INSERT_OR_APPLY:
        if constexpr (Width::value_bytes != 0) {
            return launch<Width, NACREI_INSERT_OR_APPLY>(table, elements, metered, stream);
        }
        break;
    case NACREI_FIND_OR_INSERT:
        if constexpr (Width::value_bytes != 0) {
            return launch<Width, NACREI_FIND_OR_INSERT>(table, elements, metered, stream);
        }
        break;
    default:
        break;
    }
    return cudaErrorInvalidValue;
}

template <typename Width, unsigned Operation>
static void prepare(cudaError_t *error)
{
    nacrei_prepare(insert_kernel<Width, Operation, PLAIN>, error);
    nacrei_prepare(insert_kernel<Width, Operation, OPTIONS>, error);
    nacrei_prepare(insert_kernel<Width, Operation, METERED>, error);
}

template <typename Width>
cudaError_t nacrei_insert_prepare(void)
{
    cudaError_t error = cudaSuccess;
    prepare<Width, NACREI_INSERT>(&error);
    prepare<Width, NACREI_INSERT_OR_ASSIGN>(&error);
    if constexpr (Width::value_bytes != 0) {
        prepare<Width, NACREI_INSERT_OR_APPLY>(&error);
        prepare<Width, NACREI_FIND_OR_INSERT>(&error);
    }
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                                 \
    template cudaError_t nacrei_insert<nacrei_width<key_bytes, value_bytes>>(             \
        const nacrei_table *, const nacrei_elements *, uint32_t, uint32_t, cudaStream_t); \
    template cudaError_t nacrei_insert_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
