/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map inside of the program's own kernels: what ../map_view.h explains, as a class for nvcc
 * (C++17). Everything else in this folder is what the class shares with the library's own kernels;
 * names that begin with nacrei_ are not for use and may change at any time.
 *
 *     typedef nacre_map_view<8, 8, NACRE_ACCESS_INSERT> counter; // bytes of keys, values; access
 *
 *     __global__ void count(counter view, const uint64_t *keys, uint64_t n)
 *     {
 *         uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
 *         if (i < n) {
 *             view.insert_or_apply<NACRE_REDUCTION_ADD, NACRE_TYPE_U64>(keys[i], 1);
 *         }
 *     }
 *
 *     counter view;
 *     nacre_status status = view.begin(map, n, NULL, stream);    // room for n new keys
 *     if (status == NACRE_OK) {
 *         count<<<(n + 255) / 256, 256, 0, stream>>>(view, keys, n);
 *         status = view.end(map, NULL, stream);
 *     }
 *
 * A view is copied into kernel parameters like a number. Each operation is for one thread and one
 * key: threads of a warp may call different ones, or none. What an access does not allow does not
 * compile. Insertions answer with NACRE_OUTCOME_INSERTED, FOUND or ASSIGNED, or FULL.
 *
 * A thread sees what it did itself, what was done before its kernel began, and what other threads
 * did before a barrier or fence that orders the two. A lookup beside an insertion or erasure of the
 * same key may or may not see it; what it sees is whole.
 *
 * Pairs of 8 + 8, 8 + 4 and 4 + 8 bytes are inserted by kernels compiled for compute capability 9.0
 * or newer only. In a program for older ones, too, the body of such a kernel stands between
 * `#if __CUDA_ARCH__ >= 900` and `#endif`.
 */
#ifndef NACRE_CUDA_MAP_VIEW_CUH
#define NACRE_CUDA_MAP_VIEW_CUH

#include "nacre/cuda/claim.cuh"
#include "nacre/cuda/erase.cuh"
#include "nacre/cuda/table.cuh"
#include "nacre/cuda/value.cuh"
#include "nacre/cuda/view_meter.cuh"
#include "nacre/map_view.h"

static_assert(sizeof(nacrei_view) == 72, "map_view.h tells view_bytes");

template <unsigned KeyBytes, unsigned ValueBytes, uint32_t Access>
class nacre_map_view
{
    static_assert(KeyBytes == 4 || KeyBytes == 8, "keys have 4 or 8 bytes");
    static_assert(ValueBytes == 0 || ValueBytes == 4 || ValueBytes == 8,
                  "values have 0 (a set), 4 or 8 bytes");
    static_assert(Access == NACRE_ACCESS_READ || Access == NACRE_ACCESS_INSERT ||
                      Access == NACRE_ACCESS_ERASE,
                  "the access is one of NACRE_ACCESS_...");

    typedef nacrei_width<KeyBytes, ValueBytes> width;
    typedef typename width::slot_type slot_type;

  public:
    typedef typename width::key_type key_type;     /* uint32_t or uint64_t */
    typedef typename width::value_type value_type; /* of a set: not used */

    /* nacre_map_view_begin and _end; new_keys is 0 but for INSERT. */
    nacre_status begin(nacre_map *map, uint64_t new_keys, nacre_error *error, nacre_stream stream)
    {
        return nacre_map_view_begin(map, Access, new_keys, KeyBytes, ValueBytes, &view_,
                                    sizeof view_, error, stream);
    }

    nacre_status end(nacre_map *map, nacre_error *error, nacre_stream stream)
    {
        return nacre_map_view_end(map, &view_, sizeof view_, error, stream);
    }

    /* True if the key is there; then *value is its value, else it is left alone. */
    __device__ __forceinline__ bool find(key_type key, value_type *value) const
    {
        static_assert(ValueBytes != 0, "a set has no values: use contains");
        slot_type slot;
        const bool found = locate(key, &slot);
        if (found) {
            *value = width::value_of(slot);
        }
        return found;
    }

    __device__ __forceinline__ bool contains(key_type key) const
    {
        slot_type slot;
        return locate(key, &slot);
    }

    /* Into a set. INSERTED, FOUND, FULL. */
    __device__ __forceinline__ uint32_t insert(key_type key) const
    {
        static_assert(ValueBytes == 0, "only a set takes a key without a value");
        return claim(key, 0).outcome;
    }

    /* A key that is there keeps its value. INSERTED, FOUND, FULL. */
    __device__ __forceinline__ uint32_t insert(key_type key, value_type value) const
    {
        static_assert(ValueBytes != 0, "a set takes a key without a value");
        return claim(key, value).outcome;
    }

    /* INSERTED, ASSIGNED, FULL. */
    __device__ __forceinline__ uint32_t insert_or_assign(key_type key, value_type value) const
    {
        static_assert(ValueBytes != 0, "a set has no values: use insert");
        const nacrei_found<width> place = claim(key, value);
        if (place.outcome != NACRE_OUTCOME_FOUND) {
            return place.outcome;
        }
        nacrei_assign_value<width>(place.address, value);
        return NACRE_OUTCOME_ASSIGNED;
    }

    /* NACRE_REDUCTION_..., and the NACRE_TYPE_... of a value. INSERTED, ASSIGNED, FULL. */
    template <uint32_t Reduction, uint32_t Type>
    __device__ __forceinline__ uint32_t insert_or_apply(key_type key, value_type value) const
    {
        constexpr bool is_float = Type == NACRE_TYPE_F32 || Type == NACRE_TYPE_F64;
        constexpr bool is_4 =
            Type == NACRE_TYPE_I32 || Type == NACRE_TYPE_U32 || Type == NACRE_TYPE_F32;
        static_assert(ValueBytes == (is_4 ? 4 : 8), "the type has the size of a value");
        static_assert(Reduction <= (is_float ? NACRE_REDUCTION_MAX : NACRE_REDUCTION_XOR),
                      "a reduction of that type: and, or, xor are for integers");
        const nacrei_found<width> place = claim(key, value);
        if (place.outcome != NACRE_OUTCOME_FOUND) {
            return place.outcome;
        }
        nacrei_apply_value<width>(place.address, value, Reduction, Type);
        return NACRE_OUTCOME_ASSIGNED;
    }

    /* *now becomes the value that the key has now; FULL leaves it alone. INSERTED, FOUND, FULL. */
    __device__ __forceinline__ uint32_t find_or_insert(key_type key, value_type value,
                                                       value_type *now) const
    {
        static_assert(ValueBytes != 0, "a set has no values: use insert");
        const nacrei_found<width> place = claim(key, value);
        if (place.outcome != NACRE_OUTCOME_FULL) {
            *now = place.outcome == NACRE_OUTCOME_FOUND ? width::value_of(place.slot) : value;
        }
        return place.outcome;
    }

    /* True if this thread has erased the key. */
    __device__ __forceinline__ bool erase(key_type key) const
    {
        static_assert(Access == NACRE_ACCESS_ERASE, "erase needs NACRE_ACCESS_ERASE");
        const bool erased =
            nacrei_erase_key<width>(view_.table, nacrei_shape_of(view_.table),
                                    nacrei_hash(key, view_.table.seed), stored_of(key));
        if (erased) {
            nacrei_view_add(&counter()->changed, 1);
        }
        return erased;
    }

    /*
     * Calls function(key, value) for the keys in slots number `first`, first + step, ...: with
     * first = the number of the thread and step = that of all threads, each key has one call. A set
     * calls with value 0. In an ERASE view the function may erase the key.
     */
    template <typename Function>
    __device__ __forceinline__ void for_each_slot(uint64_t first, uint64_t step,
                                                  Function function) const
    {
        const nacrei_shape shape = nacrei_shape_of(view_.table);
        const uint64_t in_submap = ((uint64_t)view_.table.bucket_mask + 1) * width::slots;
        const uint64_t sides = width::empty_patterns;
        const uint64_t slots = sides + (shape.submap_count + 1) * in_submap; /* with the stash */
        for (uint64_t i = first; i < slots; i += step) {
            const char *address;
            if (i < sides) {
                address = nacrei_side_address<width>(view_.table, (key_type)i);
            } else {
                address = nacrei_submap_address(view_.table, (i - sides) / in_submap) +
                          (i - sides) % in_submap * width::slot_bytes;
            }
            const slot_type slot = width::load(address);
            if (!width::is_empty(slot)) {
                const key_type stored = i < sides ? (key_type)i : width::key_of(slot);
                function(stored_of(stored), width::value_of(slot)); /* its own inverse */
            }
        }
    }

  private:
    nacrei_view view_;

    static __device__ __forceinline__ key_type stored_of(key_type key)
    {
        return (key_type)nacrei_key_store(key, KeyBytes);
    }

    __device__ __forceinline__ nacrei_view_counter *counter() const
    {
        return &view_.counts->counters[nacrei_view_own_counter()];
    }

    /*
     * Beside insertions a lookup walks as they do, at device scope: signatures that the L1 cache
     * holds may be older than a key that this thread, or one before a barrier, has found to be
     * there.
     */
    __device__ __forceinline__ bool locate(key_type key, slot_type *slot) const
    {
        constexpr nacrei_scope scope = Access == NACRE_ACCESS_READ ? NACREI_NEAR_KEPT : NACREI_NEAR;
        const nacrei_shape shape = nacrei_shape_of(view_.table);
        const uint64_t hash = nacrei_hash(key, view_.table.seed);
        const key_type stored = stored_of(key);
        if constexpr (Access == NACRE_ACCESS_INSERT) {
            if (stored >= width::empty_patterns) {
                const nacrei_walk<width> walk =
                    nacrei_walk_path<width>(view_.table, shape, hash, stored, false);
                *slot = walk.slot;
                return walk.found;
            }
        }
        return nacrei_locate<width, scope>(view_.table, shape, hash, stored, slot).address !=
               nullptr;
    }

    __device__ __forceinline__ nacrei_found<width> claim(key_type key, value_type value) const
    {
        static_assert(Access == NACRE_ACCESS_INSERT, "insertions need NACRE_ACCESS_INSERT");
        static_assert(!width::two_step,
                      "pairs of 8 + 8, 8 + 4 and 4 + 8 bytes are inserted from sm_90 on");
        const nacrei_found<width> place = nacrei_find_or_claim<width>(
            view_.table, nacrei_shape_of(view_.table), nacrei_hash(key, view_.table.seed),
            stored_of(key), value, nacrei_view_meter{view_.counts, false});
        if (place.outcome == NACRE_OUTCOME_FULL) {
            nacrei_view_add(&counter()->refused, 1);
        }
        return place;
    }
};

#endif
