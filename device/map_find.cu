/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups: find, contains, assign, which is a lookup that writes, and the probe before an insertion
 * that may not fit. A thread per key, or several where there are few; a lookup reads one submap,
 * and in most cases one bucket of it.
 */
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "nacre/cuda/table.cuh"
#include "nacre/cuda/value.cuh"

/* The hash bits that choose a sample lie above those that choose a bit of a chunk. */
#define NACREI_SAMPLE_SHIFT 24

namespace
{

/*
 * Lanes: threads that look for a key together; Rest: those that look together for a key that a
 * thread alone has not found in its first bucket, or 0.
 */
template <typename Width, unsigned Operation, bool Plain, unsigned Lanes, unsigned Rest>
__global__ void __launch_bounds__(NACREI_LOOKUP_THREADS)
    lookup_kernel(const nacrei_table table, const nacrei_elements elements)
{
    typedef typename Width::value_type value_type;
    nacrei_kernel_begin();
    const uint64_t index = nacrei_element_index<NACREI_LOOKUP_THREADS>() / Lanes;
    const bool first = threadIdx.x % Lanes == 0; /* the thread that speaks for its element */
    bool takes_part = index < elements.count;
    if constexpr (!Plain) {
        takes_part = takes_part && index < nacrei_elements_count(elements) &&
                     nacrei_element_in_mask(elements, index);
    }
    bool found = false;
    if (Rest != 0 || takes_part) { /* by the warp all its threads look */
        const typename Width::key_type key =
            takes_part ? nacrei_element_key<Width>(elements, index) : typename Width::key_type(0);
        typename Width::slot_type slot;
        const auto stored = (typename Width::key_type)nacrei_key_store(key, Width::key_bytes);
        const uint64_t hash = nacrei_hash(key, table.seed);
        const nacrei_shape shape = nacrei_shape_of(table);
        const char *address;
        if constexpr (Rest != 0) {
            address =
                nacrei_locate_in_warp<Width, Rest>(table, shape, takes_part, hash, stored, &slot);
            found = address != nullptr;
        } else if constexpr (Lanes == 1) {
            address =
                nacrei_locate<Width, NACREI_NEAR_KEPT>(table, shape, hash, stored, &slot).address;
            found = address != nullptr;
        } else {
            address =
                nacrei_locate_by_lanes<Width, Lanes>(table, shape, hash, stored, &slot, &found);
        }
        if (takes_part) {
            const bool speaks = found ? address != nullptr : first;
            if constexpr (Operation == NACREI_CONTAINS) {
                if (first) {
                    __stcs((unsigned char *)elements.contained + index, (unsigned char)found);
                }
            } else if constexpr (Operation == NACREI_ASSIGN) {
                if (address != nullptr) {
                    nacrei_assign_value<Width>((char *)address,
                                               __ldcs((const value_type *)elements.values + index));
                }
            } else if (speaks && (found || elements.has_missing_value)) {
                nacrei_element_value_out<Width>(elements, index,
                                                found ? Width::value_of(slot)
                                                      : (value_type)elements.missing_value);
            }
        }
    }
    if constexpr (!Plain) {
        constexpr uint32_t done =
            Operation == NACREI_ASSIGN ? NACRE_OUTCOME_ASSIGNED : NACRE_OUTCOME_FOUND;
        if (first && index < elements.count) {
            nacrei_element_outcome(elements, index,
                                   !takes_part ? NACRE_OUTCOME_SKIPPED
                                   : found     ? done
                                               : NACRE_OUTCOME_MISSING);
        }
        if (elements.counts != nullptr) {
            const nacrei_sums sums = {0, first && found, 0,
                                      first && !takes_part && index < elements.count};
            nacrei_block_end(table, elements, sums, 1, false, false);
        }
    }
}

template <typename Width, unsigned Operation, unsigned Lanes, unsigned Rest>
cudaError_t launch_lanes(const nacrei_table *table, const nacrei_elements *elements,
                         cudaStream_t stream)
{
    return nacrei_launch_batch(
        nacrei_elements_plain(elements) ? lookup_kernel<Width, Operation, true, Lanes, Rest>
                                        : lookup_kernel<Width, Operation, false, Lanes, Rest>,
        table, elements, NACREI_LOOKUP_THREADS, NACREI_LOOKUP_THREADS / Lanes, stream);
}

/*
 * Elements up to which a lookup takes as long as the longest path, and not as the memory's rate has
 * it: lanes look for them together, or for the rest of them.
 */
constexpr uint64_t few = (uint64_t)1 << 14, some = (uint64_t)1 << 18;
constexpr unsigned lanes_of_few = 8, lanes_of_rest = 4;

template <typename Width, unsigned Operation>
cudaError_t launch(const nacrei_table *table, const nacrei_elements *elements, cudaStream_t stream)
{
    return elements->count <= few
               ? launch_lanes<Width, Operation, lanes_of_few, 0>(table, elements, stream)
           : elements->count <= some
               ? launch_lanes<Width, Operation, 1, lanes_of_rest>(table, elements, stream)
               : launch_lanes<Width, Operation, 1, 0>(table, elements, stream);
}

/* Whether a key is missing, told by the first of its lanes. */
template <typename Width, unsigned Lanes>
__device__ __forceinline__ bool is_missing(const nacrei_table &table, typename Width::key_type key,
                                           uint64_t hash)
{
    const auto stored = (typename Width::key_type)nacrei_key_store(key, Width::key_bytes);
    const nacrei_shape shape = nacrei_shape_of(table);
    typename Width::slot_type slot;
    if constexpr (Lanes == 1) {
        return nacrei_locate<Width, NACREI_NEAR_KEPT>(table, shape, hash, stored, &slot).address ==
               nullptr;
    } else {
        bool found;
        (void)nacrei_locate_by_lanes<Width, Lanes>(table, shape, hash, stored, &slot, &found);
        return !found && threadIdx.x % Lanes == 0;
    }
}

/* Elements of a block of the probe. */
constexpr unsigned probe_elements = 8 * NACREI_LOOKUP_THREADS, lanes_of_sample = 2;

/*
 * Counts the elements whose keys are missing, and bounds from below how many different keys those
 * are: each sets a bit chosen by its hash, and only the first to set it counts. Told as the
 * report's `refused` and `delta`. Of all keys it looks up one in sample_mask + 1, equal keys
 * together; a block gathers those, so that all its threads have work.
 */
template <typename Width, unsigned Lanes>
__global__ void __launch_bounds__(NACREI_LOOKUP_THREADS)
    probe_kernel(const nacrei_table table, const nacrei_elements elements, uint64_t sample_mask,
                 uint32_t *bits)
{
    __shared__ typename Width::key_type chosen[probe_elements];
    __shared__ unsigned chosen_count, missing_count, first_count;
    nacrei_kernel_begin();
    if (threadIdx.x == 0) {
        chosen_count = missing_count = first_count = 0;
    }
    __syncthreads();
    const uint64_t begin = (uint64_t)blockIdx.x * probe_elements;
    const uint64_t count = nacrei_elements_count(elements);
#pragma unroll
    for (unsigned i = threadIdx.x; i < probe_elements; i += NACREI_LOOKUP_THREADS) {
        if (begin + i < count && nacrei_element_in_mask(elements, begin + i)) {
            const typename Width::key_type key = nacrei_element_key<Width>(elements, begin + i);
            /* Another bijection on top: keys of one submap must not share bits. */
            const uint64_t place = nacrei_hash(nacrei_hash(key, table.seed), 1);
            if ((place >> NACREI_SAMPLE_SHIFT & sample_mask) == 0) {
                chosen[atomicAdd(&chosen_count, 1u)] = key; /* relaxed: only a place */
            }
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x / Lanes; i < chosen_count; i += NACREI_LOOKUP_THREADS / Lanes) {
        const uint64_t hash = nacrei_hash(chosen[i], table.seed);
        if (is_missing<Width, Lanes>(table, chosen[i], hash)) {
            const uint64_t number = nacrei_hash(hash, 1) % NACREI_CHUNK_ELEMENTS;
            const uint32_t bit = 1u << number % 32;
            atomicAdd(&missing_count, 1u); /* these three relaxed: only counted */
            if ((atomicOr(&bits[number / 32], bit) & bit) == 0) {
                atomicAdd(&first_count, 1u);
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        const nacrei_totals totals = {first_count, 0, missing_count, 0, 0};
        nacrei_block_tell(table, elements, totals, 1, true);
    }
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
    /* A sample takes as long as its longest path. */
    return nacrei_launch_batch(
        sample_mask != 0 ? probe_kernel<Width, lanes_of_sample> : probe_kernel<Width, 1>, table,
        elements, NACREI_LOOKUP_THREADS, probe_elements, stream, sample_mask, bits);
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
    nacrei_prepare(lookup_kernel<Width, Operation, true, 1, 0>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, false, 1, 0>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, true, 1, lanes_of_rest>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, false, 1, lanes_of_rest>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, true, lanes_of_few, 0>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, false, lanes_of_few, 0>, error);
}

template <typename Width>
cudaError_t nacrei_lookup_prepare(void)
{
    cudaError_t error = cudaSuccess;
    nacrei_prepare(probe_kernel<Width, 1>, &error);
    nacrei_prepare(probe_kernel<Width, lanes_of_sample>, &error);
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
