/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups: find, contains, assign, which is a lookup that writes, and the probe before an insertion
 * that may not fit. One thread per key; a lookup reads one submap, and in most cases one bucket of
 * it.
 */
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "nacre/cuda/table.cuh"
#include "nacre/cuda/value.cuh"

/* The hash bits that choose a sample lie above those that choose a bit of a chunk. */
#define NACREI_SAMPLE_SHIFT 24

namespace
{

/* Small: a batch that is over before the GPU is full. */
template <typename Width, unsigned Operation, bool Plain, bool Small>
__global__ void __launch_bounds__(NACREI_LOOKUP_THREADS)
    lookup_kernel(const nacrei_table table, const nacrei_elements elements)
{
    typedef typename Width::value_type value_type;
    const uint64_t index = nacrei_element_index<NACREI_LOOKUP_THREADS>();
    bool takes_part = index < elements.count;
    if constexpr (!Plain) {
        takes_part = takes_part && index < nacrei_elements_count(elements) &&
                     nacrei_element_in_mask(elements, index);
    }
    bool found = false;
    if (takes_part) {
        const typename Width::key_type key = nacrei_element_key<Width>(elements, index);
        typename Width::slot_type slot;
        const auto stored = (typename Width::key_type)nacrei_key_store(key, Width::key_bytes);
        const uint64_t hash = nacrei_hash(key, table.seed);
        const nacrei_shape shape = nacrei_shape_of(table);
        const nacrei_place place =
            Small ? nacrei_locate_by_pairs<Width>(table, shape, hash, stored, &slot)
                  : nacrei_locate<Width, NACREI_NEAR_KEPT>(table, shape, hash, stored, &slot);
        found = place.address != nullptr;
        if constexpr (Operation == NACREI_CONTAINS) {
            __stcs((unsigned char *)elements.contained + index, (unsigned char)found);
        } else if constexpr (Operation == NACREI_ASSIGN) {
            if (found) {
                nacrei_assign_value<Width>(place.address,
                                           __ldcs((const value_type *)elements.values + index));
            }
        } else if (found || elements.has_missing_value) {
            nacrei_element_value_out<Width>(elements, index,
                                            found ? Width::value_of(slot)
                                                  : (value_type)elements.missing_value);
        }
    }
    if constexpr (!Plain) {
        constexpr uint32_t done =
            Operation == NACREI_ASSIGN ? NACRE_OUTCOME_ASSIGNED : NACRE_OUTCOME_FOUND;
        if (index < elements.count) {
            nacrei_element_outcome(elements, index,
                                   !takes_part ? NACRE_OUTCOME_SKIPPED
                                   : found     ? done
                                               : NACRE_OUTCOME_MISSING);
        }
        if (elements.counts != nullptr) {
            const nacrei_sums sums = {0, found, 0, !takes_part && index < elements.count};
            nacrei_block_end(table, elements, sums, 1, false, false);
        }
    }
}

/* Elements up to which a lookup is bound by the longest path, and not by the memory's rate. */
constexpr uint64_t small_batch = (uint64_t)1 << 14;

template <typename Width, unsigned Operation>
cudaError_t launch(const nacrei_table *table, const nacrei_elements *elements, cudaStream_t stream)
{
    const bool plain = nacrei_elements_plain(elements);
    void (*kernel)(const nacrei_table, const nacrei_elements) =
        elements->count <= small_batch ? (plain ? lookup_kernel<Width, Operation, true, true>
                                                : lookup_kernel<Width, Operation, false, true>)
        : plain                        ? lookup_kernel<Width, Operation, true, false>
                                       : lookup_kernel<Width, Operation, false, false>;
    return nacrei_launch(kernel, nacrei_batch_blocks(elements->count, NACREI_LOOKUP_THREADS),
                         NACREI_LOOKUP_THREADS, 0, stream, *table, *elements);
}

/*
 * Counts the elements whose keys are missing, and bounds from below how many different keys those
 * are: each sets a bit chosen by its hash, and only the first to set it counts. Told as the
 * report's `refused` and `delta`. Of all keys it looks at one in sample_mask + 1, equal keys
 * together.
 */
template <typename Width>
__global__ void __launch_bounds__(NACREI_LOOKUP_THREADS)
    probe_kernel(const nacrei_table table, const nacrei_elements elements, uint64_t sample_mask,
                 uint32_t *bits)
{
    const uint64_t index = nacrei_element_index<NACREI_LOOKUP_THREADS>();
    bool missing = false, first = false;
    if (index < nacrei_elements_count(elements) && nacrei_element_in_mask(elements, index)) {
        const typename Width::key_type key = nacrei_element_key<Width>(elements, index);
        const uint64_t hash = nacrei_hash(key, table.seed);
        /* Another bijection on top: keys of one submap must not share bits. */
        const uint64_t place = nacrei_hash(hash, 1);
        if ((place >> NACREI_SAMPLE_SHIFT & sample_mask) == 0) {
            typename Width::slot_type slot;
            missing = nacrei_locate<Width, NACREI_NEAR_KEPT>(
                          table, nacrei_shape_of(table), hash,
                          (typename Width::key_type)nacrei_key_store(key, Width::key_bytes), &slot)
                          .address == nullptr;
        }
        if (missing) {
            const uint64_t number = place % NACREI_CHUNK_ELEMENTS;
            const uint32_t bit = 1u << number % 32;
            first = (atomicOr(&bits[number / 32], bit) & bit) == 0; /* relaxed: only counted */
        }
    }
    const nacrei_sums sums = {first, 0, missing, 0};
    nacrei_block_end(table, elements, sums, 1, true, false);
}

} // namespace

template <typename Width>
cudaError_t nacrei_probe_batch(const nacrei_table *table, const nacrei_elements *elements,
                               uint64_t sample_mask, uint32_t *bits, cudaStream_t stream)
{
    cudaError_t error = cudaMemsetAsync(bits, 0, NACREI_CHUNK_ELEMENTS / 8, stream);
    if (error != cudaSuccess) {
        return error;
    }
    return nacrei_launch(probe_kernel<Width>,
                         nacrei_batch_blocks(elements->count, NACREI_LOOKUP_THREADS),
                         NACREI_LOOKUP_THREADS, 0, stream, *table, *elements, sample_mask, bits);
}

template <typename Width>
cudaError_t nacrei_lookup(const nacrei_table *table, const nacrei_elements *elements,
                          uint32_t operation, cudaStream_t stream)
{
    if (operation == NACREI_CONTAINS) {
        return launch<Width, NACREI_CONTAINS>(table, elements, stream);
    }
    if constexpr (Width::value_bytes != 0) {
        return operation == NACREI_FIND ? launch<Width, NACREI_FIND>(table, elements, stream)
                                        : launch<Width, NACREI_ASSIGN>(table, elements, stream);
    }
    return cudaErrorInvalidValue;
}

template <typename Width, unsigned Operation>
static void prepare(cudaError_t *error)
{
    nacrei_prepare(lookup_kernel<Width, Operation, true, true>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, true, false>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, false, true>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, false, false>, error);
}

template <typename Width>
cudaError_t nacrei_lookup_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(probe_kernel<Width>, &error);
    prepare<Width, NACREI_CONTAINS>(&error);
    if constexpr (Width::value_bytes != 0) {
        prepare<Width, NACREI_FIND>(&error);
        prepare<Width, NACREI_ASSIGN>(&error);
    }
    return error;
}

#define NACREI_INSTANTIATE(key_bytes, value_bytes, index)                                   \
    template cudaError_t nacrei_lookup<nacrei_width<key_bytes, value_bytes>>(               \
        const nacrei_table *, const nacrei_elements *, uint32_t, cudaStream_t);             \
    template cudaError_t nacrei_probe_batch<nacrei_width<key_bytes, value_bytes>>(          \
        const nacrei_table *, const nacrei_elements *, uint64_t, uint32_t *, cudaStream_t); \
    template cudaError_t nacrei_lookup_prepare<nacrei_width<key_bytes, value_bytes>>(void);
NACREI_WIDTHS(NACREI_INSTANTIATE)
