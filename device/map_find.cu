/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups: find, contains, assign, which is a lookup that writes, and the probe before an insertion
 * that may not fit. A lookup reads one submap, and in most cases one pair of buckets of it. How the
 * threads look together depends on how many keys there are.
 */
#include "device/elements.cuh"
#include "device/kernels_internal.cuh"
#include "device/pairs.cuh"
#include "nacre/cuda/table.cuh"
#include "nacre/cuda/value.cuh"

/* The hash bits that choose a sample lie above those that choose a bit of a chunk. */
#define NACREI_SAMPLE_SHIFT 24

namespace
{

/* Threads that look for a key together: each of few; each that the first pair does not settle. */
constexpr unsigned lanes_of_few = 8, lanes_of_rest = 4;

/*
 * Elements up to which threads look for a key together from the start; up to which a thread looks
 * at the first bucket alone; and up to which the longest path counts more than the memory's rate.
 */
constexpr uint64_t few = (uint64_t)1 << 14, alone = (uint64_t)1 << 18, some = (uint64_t)1 << 22;

/*
 * Lookups that take as long as the longest path. Lanes: threads that look for a key together, or 1,
 * where the threads of a warp do.
 */
template <typename Width, unsigned Operation, bool Plain, unsigned Lanes>
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
    if (Lanes == 1 || takes_part) { /* by the warp all its threads look */
        const typename Width::key_type key =
            takes_part ? nacrei_element_key<Width>(elements, index) : typename Width::key_type(0);
        typename Width::slot_type slot;
        const auto stored = (typename Width::key_type)nacrei_key_store(key, Width::key_bytes);
        const uint64_t hash = nacrei_hash(key, table.seed);
        const nacrei_shape shape = nacrei_shape_of(table);
        const char *address;
        if constexpr (Lanes == 1) {
            address = nacrei_locate_in_warp<Width, lanes_of_rest, Operation == NACREI_FIND>(
                table, shape, takes_part, elements.cached || elements.count <= alone, hash, stored,
                &slot);
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

/*
 * Elements of a warp where there are many, and blocks on a multiprocessor that registers are to
 * allow: 8 are all the threads that some have.
 */
constexpr uint32_t share = 512;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
constexpr unsigned many_blocks = 9;
#else
constexpr unsigned many_blocks = 8;
#endif

/*
 * What a warp has to look for, in shared memory, since the order in which keys are settled is no
 * order of the arrays: each word is a key, until its value is known.
 */
template <typename Width, unsigned Operation>
struct warp_share {
    typedef typename Width::key_type key_type;
    typedef typename Width::value_type value_type;
    static constexpr bool values = Operation == NACREI_FIND;
    static constexpr uint8_t done =
        Operation == NACREI_ASSIGN ? NACRE_OUTCOME_ASSIGNED : NACRE_OUTCOME_FOUND;
    typedef typename nacrei_word<values && sizeof(value_type) == 8 ? 8 : sizeof(key_type)>::type
        word_type;

    word_type words[share];
    uint8_t outcomes[share]; /* MISSING: also those that have not had their turn */

    __device__ __forceinline__ bool wanted(uint32_t i) const
    {
        return outcomes[i] == NACRE_OUTCOME_MISSING;
    }

    __device__ __forceinline__ void found(const nacrei_elements &elements, uint64_t index,
                                          uint32_t i, char *address, value_type value)
    {
        outcomes[i] = done;
        if constexpr (values) {
            words[i] = value;
        }
        if constexpr (Operation == NACREI_ASSIGN) {
            nacrei_assign_value<Width>(address,
                                       __ldcs((const value_type *)elements.values + index));
        }
    }
};

/*
 * The threads of a warp look together, and each takes the next key when its own is settled, so that
 * loads stay under way when one path is long.
 */
template <typename Width, unsigned Operation>
__device__ __forceinline__ void look_together(const nacrei_table &table,
                                              const nacrei_elements &elements, uint64_t begin,
                                              warp_share<Width, Operation> &keys)
{
    typedef typename Width::key_type key_type;
    const nacrei_shape shape = nacrei_shape_of(table);
    const uint32_t lower = (1u << threadIdx.x % 32) - 1;
    key_type stored = 0;
    uint64_t hash = 0;
    uint32_t own = 0, next = 0;
    bool open = false, asks = false; /* asks: whether the pair's signatures send it on */
    nacrei_cursor cursor;
    cursor.submap = nullptr;
    cursor.probe.bucket = 0;
    for (;;) {
        const uint32_t idle = __ballot_sync(~0u, !open);
        if (!open) {
            own = next + (uint32_t)__popc(idle & lower);
            if (own < share && keys.wanted(own)) {
                const key_type key = (key_type)keys.words[own];
                hash = nacrei_hash(key, table.seed);
                stored = (key_type)nacrei_key_store(key, Width::key_bytes);
                cursor = nacrei_cursor_begin(table, shape, hash);
                open = true;
            }
        }
        next += (uint32_t)__popc(idle);
        if (__all_sync(~0u, !open)) {
            if (next >= share) {
                return;
            }
            continue;
        }
        const bool side = open && stored < Width::empty_patterns;
        const bool beyond = asks && nacrei_beyond_pair<NACREI_NEAR_KEPT>(
                                        table, cursor, nacrei_signature_pair(hash));
        char *pair = nacrei_pair_address<Width>(cursor);
        const nacrei_pair_scan<Width> scan =
            nacrei_scan_pairs<Width, warp_share<Width, Operation>::values>(
                __ballot_sync(~0u, open && !asks && !side), pair, cursor.probe.bucket & 1, stored);
        if (side) {
            char *address = nacrei_side_address<Width>(table, stored);
            const typename Width::slot_type slot = Width::load(address);
            if (!Width::is_empty(slot)) {
                keys.found(elements, begin + own, own, address, Width::value_of(slot));
            }
            open = false;
        } else if (asks) {
            open = beyond && nacrei_cursor_skip(table, hash, 2, &cursor);
            asks = false;
        } else if (open && scan.met) {
            keys.found(elements, begin + own, own, pair + scan.offset, scan.value);
            open = false;
        } else if (open) {
            open = asks = nacrei_pair_sends_on<Width>(scan, hash);
        }
    }
}

/* Each thread of a warp looks for its keys alone. */
template <typename Width, unsigned Operation>
__device__ __forceinline__ void look_alone(const nacrei_table &table,
                                           const nacrei_elements &elements, uint64_t begin,
                                           warp_share<Width, Operation> &keys)
{
    typedef typename Width::key_type key_type;
    const nacrei_shape shape = nacrei_shape_of(table);
    for (uint32_t i = threadIdx.x % 32; i < share; i += 32) {
        if (keys.wanted(i)) {
            const key_type key = (key_type)keys.words[i];
            typename Width::slot_type slot;
            char *address = nacrei_locate<Width, NACREI_NEAR_KEPT>(
                                table, shape, nacrei_hash(key, table.seed),
                                (key_type)nacrei_key_store(key, Width::key_bytes), &slot)
                                .address;
            if (address != nullptr) {
                keys.found(elements, begin + i, i, address, Width::value_of(slot));
            }
        }
        __syncwarp();
    }
}

/*
 * Lookups of many keys. Each warp has a share of them, and looks for them together, unless caches
 * answer sooner than others could help: the L2 cache, where it holds the table, or the L1 cache,
 * where keys come often, as the warp finds when it meets one twice among its first.
 */
template <typename Width, unsigned Operation, bool Plain>
__global__ void __launch_bounds__(NACREI_LOOKUP_THREADS, many_blocks)
    lookup_many_kernel(const nacrei_table table, const nacrei_elements elements)
{
    typedef warp_share<Width, Operation> share_type;
    constexpr uint32_t warps = NACREI_LOOKUP_THREADS / 32;
    __shared__ share_type shares[warps];
    nacrei_kernel_begin();
    const uint32_t lane = threadIdx.x % 32;
    share_type &keys = shares[threadIdx.x / 32];
    const uint64_t begin = ((uint64_t)blockIdx.x * warps + threadIdx.x / 32) * share;
    const uint64_t count = Plain ? elements.count : nacrei_elements_count(elements);
    for (uint32_t i = lane; i < share; i += 32) {
        const bool takes_part =
            begin + i < count && (Plain || nacrei_element_in_mask(elements, begin + i));
        keys.outcomes[i] = takes_part ? NACRE_OUTCOME_MISSING : NACRE_OUTCOME_SKIPPED;
        keys.words[i] = takes_part ? nacrei_element_key<Width>(elements, begin + i) : 0;
    }
    __syncwarp();
    const uint32_t equal = __match_any_sync(~0u, keys.words[lane]);
    const bool twice = __any_sync(~0u, keys.wanted(lane) && (equal & (equal - 1)) != 0);
    if (twice || elements.cached) {
        look_alone<Width, Operation>(table, elements, begin, keys);
    } else {
        look_together<Width, Operation>(table, elements, begin, keys);
    }
    __syncwarp();
    nacrei_totals totals = {0, 0, 0, 0, 0};
    for (uint32_t i = lane; i < share; i += 32) {
        const uint64_t index = begin + i;
        const uint32_t outcome = keys.outcomes[i];
        const bool skipped = outcome == NACRE_OUTCOME_SKIPPED, found = outcome == share_type::done;
        if constexpr (Operation == NACREI_CONTAINS) {
            if (!skipped) {
                __stcs((unsigned char *)elements.contained + index, (unsigned char)found);
            }
        }
        if constexpr (Operation == NACREI_FIND) {
            if (!skipped && (found || elements.has_missing_value)) {
                nacrei_element_value_out<Width>(
                    elements, index,
                    (typename Width::value_type)(found ? keys.words[i] : elements.missing_value));
            }
        }
        if constexpr (!Plain) {
            const bool exists = index < elements.count;
            if (exists) {
                nacrei_element_outcome(elements, index, outcome);
            }
            if (elements.counts != nullptr) {
                totals.done += (uint32_t)__syncthreads_count(found);
                totals.skipped += (uint32_t)__syncthreads_count(exists && skipped);
            }
        }
    }
    if constexpr (!Plain) {
        if (elements.counts != nullptr && threadIdx.x == 0) {
            nacrei_block_tell(table, elements, totals, 1, false);
        }
    }
}

template <typename Width, unsigned Operation>
cudaError_t launch(const nacrei_table *table, const nacrei_elements *elements, cudaStream_t stream)
{
    const bool plain = nacrei_elements_plain(elements);
    if (elements->count <= few) {
        return nacrei_launch_batch(plain ? lookup_kernel<Width, Operation, true, lanes_of_few>
                                         : lookup_kernel<Width, Operation, false, lanes_of_few>,
                                   table, elements, NACREI_LOOKUP_THREADS,
                                   NACREI_LOOKUP_THREADS / lanes_of_few, stream);
    }
    if (elements->count <= some) {
        return nacrei_launch_batch(plain ? lookup_kernel<Width, Operation, true, 1>
                                         : lookup_kernel<Width, Operation, false, 1>,
                                   table, elements, NACREI_LOOKUP_THREADS, NACREI_LOOKUP_THREADS,
                                   stream);
    }
    return nacrei_launch_batch(plain ? lookup_many_kernel<Width, Operation, true>
                                     : lookup_many_kernel<Width, Operation, false>,
                               table, elements, NACREI_LOOKUP_THREADS,
                               NACREI_LOOKUP_THREADS / 32 * share, stream);
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
    nacrei_prepare(lookup_kernel<Width, Operation, true, lanes_of_few>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, false, lanes_of_few>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, true, 1>, error);
    nacrei_prepare(lookup_kernel<Width, Operation, false, 1>, error);
    nacrei_prepare(lookup_many_kernel<Width, Operation, true>, error);
    nacrei_prepare(lookup_many_kernel<Width, Operation, false>, error);
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
