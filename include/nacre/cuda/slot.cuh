/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots on the device: loading a bucket, claiming a slot, reading and writing values, for each
 * width. The layout is nacre/core/slot.h's; here are the memory operations.
 *
 * All accesses to slots are relaxed: an insertion may run beside lookups and other insertions of
 * the same map, and each access must be whole. Order between batches comes from the kernel
 * boundary.
 *
 * Searches load at block scope ("near"): the L1 cache may answer, so that both halves of a bucket
 * cost one request to the L2 cache (at device scope they cost two: 18 instead of 26 G lookups/s).
 * What the L1 cache holds is never older than the kernel, and beside lookups and insertions slots
 * are only ever filled: an older state has holes that are holes no more, and nothing else. A lookup
 * that sees one sees a state in which the keys of earlier batches already were; an insertion that
 * acts on one fails to claim the hole, and looks again at device scope.
 *
 * Below compute capability 9.0, where GPUs compare and swap at most 8 bytes, slots of 16 bytes
 * change in two steps: the key's word decides, and the value follows. In a batch that changes such
 * slots nobody reads values, and nobody takes the signature in a hole for true but to claim that
 * hole, which fails if the hole is none; nothing else runs beside such a batch (device/order.h). So
 * no batch depends on both halves of a slot being read at one time; a find beside the erasure of
 * its key, through a view, takes one load instruction to do so.
 */
#ifndef NACRE_CUDA_SLOT_CUH
#define NACRE_CUDA_SLOT_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#include "nacre/core/slot.h"

/*
 * 1 in code where slots of 16 bytes change in two steps. The build option NACRE_FORCE_TWO_STEP
 * makes it so on every GPU, for tests.
 */
#if defined(NACRE_FORCE_TWO_STEP) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900)
#define NACREI_TWO_STEP 1
#else
#define NACREI_TWO_STEP 0
#endif

/* A slot of 16 bytes, moved as one 128-bit value. */
struct alignas(16) nacrei_slot16 {
    uint64_t key;
    uint64_t value;
};

#define NACREI_LOAD16(how, slot, address)                   \
    asm volatile("{\n\t"                                    \
                 ".reg .b128 whole;\n\t"                    \
                 "ld.relaxed." how ".b128 whole, [%2];\n\t" \
                 "mov.b128 {%0, %1}, whole;\n\t"            \
                 "}"                                        \
                 : "=l"(slot.key), "=l"(slot.value)         \
                 : "l"(address)                             \
                 : "memory")

template <bool Near>
__device__ __forceinline__ nacrei_slot16 nacrei_load16(const void *address)
{
    nacrei_slot16 slot;
    if constexpr (Near) {
        NACREI_LOAD16("cta.global", slot, address);
    } else {
        NACREI_LOAD16("gpu.global", slot, address);
    }
    return slot;
}

/* At block scope, past the L1 cache, where the rest of the line would be in the way of others. */
__device__ __forceinline__ nacrei_slot16 nacrei_load16_once(const void *address)
{
    nacrei_slot16 slot;
    NACREI_LOAD16("cta.global.L1::no_allocate", slot, address);
    return slot;
}
#undef NACREI_LOAD16

__device__ __forceinline__ uint32_t nacrei_load_near(const uint32_t *address)
{
    uint32_t word;
    asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(word) : "l"(address) : "memory");
    return word;
}

/* The same; from compute capability 8.0 on the L2 cache is asked to keep what was read. */
__device__ __forceinline__ uint32_t nacrei_load_near_kept(const uint32_t *address)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return nacrei_load_near(address);
#else
    uint32_t word;
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.relaxed.cta.global.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(word)
                 : "l"(address), "l"(policy)
                 : "memory");
    return word;
#endif
}

template <typename Word>
__device__ __forceinline__ Word nacrei_load_relaxed(const Word *address)
{
    Word word;
    if constexpr (sizeof(Word) == 8) {
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(address) : "memory");
    } else {
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(address) : "memory");
    }
    return word;
}

template <typename Word>
__device__ __forceinline__ void nacrei_store_relaxed(Word *address, Word word)
{
    if constexpr (sizeof(Word) == 8) {
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(address), "l"(word) : "memory");
    } else {
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(address), "r"(word) : "memory");
    }
}

/* Adds to a sum; what this thread did before is seen by whoever reads the sum and acquires it. */
static __device__ __forceinline__ void nacrei_add_release(uint64_t *sum, uint64_t number)
{
    asm volatile("red.release.gpu.global.add.u64 [%0], %1;" : : "l"(sum), "l"(number) : "memory");
}

/*
 * Compare and swap of a whole slot; returns what was there. Relaxed: nothing is published through
 * the slot but the slot.
 */
#if !NACREI_TWO_STEP
__device__ __forceinline__ nacrei_slot16 nacrei_swap_slot(void *address, nacrei_slot16 expected,
                                                          nacrei_slot16 desired)
{
    nacrei_slot16 old = expected;
    asm volatile("{\n\t"
                 ".reg .b128 compare, swap, was;\n\t"
                 "mov.b128 compare, {%3, %4};\n\t"
                 "mov.b128 swap, {%5, %6};\n\t"
                 "atom.global.relaxed.gpu.cas.b128 was, [%2], compare, swap;\n\t"
                 "mov.b128 {%0, %1}, was;\n\t"
                 "}"
                 : "=l"(old.key), "=l"(old.value)
                 : "l"(address), "l"(expected.key), "l"(expected.value), "l"(desired.key),
                   "l"(desired.value)
                 : "memory");
    return old;
}
#endif

__device__ __forceinline__ uint64_t nacrei_swap_slot(void *address, uint64_t expected,
                                                     uint64_t desired)
{
    return atomicCAS((unsigned long long *)address, (unsigned long long)expected,
                     (unsigned long long)desired);
}

__device__ __forceinline__ uint32_t nacrei_swap_slot(void *address, uint32_t expected,
                                                     uint32_t desired)
{
    return atomicCAS((unsigned int *)address, expected, desired);
}

__device__ __forceinline__ bool nacrei_same_slot(nacrei_slot16 a, nacrei_slot16 b)
{
    return a.key == b.key && a.value == b.value;
}
__device__ __forceinline__ bool nacrei_same_slot(uint64_t a, uint64_t b)
{
    return a == b;
}
__device__ __forceinline__ bool nacrei_same_slot(uint32_t a, uint32_t b)
{
    return a == b;
}

template <unsigned Bytes>
struct nacrei_word;
template <>
struct nacrei_word<0> {
    typedef uint32_t type; /* a set: stands where a value's type is named, never stored */
};
template <>
struct nacrei_word<4> {
    typedef uint32_t type;
};
template <>
struct nacrei_word<8> {
    typedef uint64_t type;
};

/* Everything about one pair of widths. */
template <unsigned KeyBytes, unsigned ValueBytes>
struct nacrei_width {
    static constexpr unsigned key_bytes = KeyBytes;
    static constexpr unsigned value_bytes = ValueBytes;
    static constexpr unsigned slot_bytes =
        ValueBytes == 0 ? KeyBytes : (KeyBytes == 4 && ValueBytes == 4 ? 8 : 16);
    static constexpr unsigned slots = NACREI_BUCKET_BYTES / slot_bytes;
    static constexpr unsigned empty_patterns = ValueBytes == 0 ? 32 : 1;
    static constexpr unsigned value_offset = slot_bytes == 8 ? 4 : 8;
    static constexpr bool two_step = slot_bytes == 16 && NACREI_TWO_STEP; /* in device code */

    typedef typename nacrei_word<KeyBytes>::type key_type;
    typedef typename nacrei_word<ValueBytes>::type value_type;

    template <unsigned Bytes, typename Dummy = void>
    struct raw {
        typedef typename nacrei_word<Bytes>::type type;
    };
    template <typename Dummy>
    struct raw<16, Dummy> {
        typedef nacrei_slot16 type;
    };
    typedef typename raw<slot_bytes>::type slot_type;

    struct bucket {
        slot_type slot[slots];
    };

    static __device__ __forceinline__ key_type key_of(const slot_type &slot)
    {
        if constexpr (slot_bytes == 16) {
            return (key_type)slot.key;
        } else {
            return (key_type)slot; /* of (4,4) the low half */
        }
    }

    static __device__ __forceinline__ value_type value_of(const slot_type &slot)
    {
        if constexpr (slot_bytes == 16) {
            return (value_type)slot.value;
        } else if constexpr (ValueBytes == 0) {
            return 0;
        } else {
            return (value_type)(slot >> 32);
        }
    }

    static __device__ __forceinline__ slot_type make(key_type key, value_type value)
    {
        if constexpr (slot_bytes == 16) {
            return nacrei_slot16{(uint64_t)key, (uint64_t)value};
        } else if constexpr (ValueBytes == 0) {
            return key;
        } else {
            return (uint64_t)value << 32 | key;
        }
    }

    /* The slot that thread `from` of the warp passes; all its threads call it. */
    static __device__ __forceinline__ slot_type shuffle(const slot_type &slot, int from)
    {
        if constexpr (slot_bytes == 16) {
            return nacrei_slot16{__shfl_sync(~0u, slot.key, from),
                                 __shfl_sync(~0u, slot.value, from)};
        } else {
            return __shfl_sync(~0u, slot, from);
        }
    }

    static __device__ __forceinline__ bool is_empty(const slot_type &slot)
    {
        return key_of(slot) < empty_patterns;
    }

    /*
     * An empty slot carries its bucket's overflow signature, and whether keys went on to the
     * neighbour: in the value half, or as the pattern of a set.
     */
    static __device__ __forceinline__ slot_type make_empty(uint32_t signature)
    {
        return ValueBytes == 0 ? make((key_type)signature, 0) : make(0, (value_type)signature);
    }

    static __device__ __forceinline__ uint32_t signature_of_empty(const slot_type &slot)
    {
        return ValueBytes == 0 ? (uint32_t)key_of(slot) : (uint32_t)value_of(slot);
    }

    static __device__ __forceinline__ slot_type load(const char *address)
    {
        if constexpr (slot_bytes == 16) {
            return nacrei_load16<false>(address);
        } else {
            return nacrei_load_relaxed((const slot_type *)address);
        }
    }

    /* Two 16-byte loads, whatever the slot size. */
    static __device__ __forceinline__ bucket load_bucket(const char *address, bool near)
    {
        return near ? unpack(nacrei_load16<true>(address), nacrei_load16<true>(address + 16))
                    : unpack(nacrei_load16<false>(address), nacrei_load16<false>(address + 16));
    }

    static __device__ __forceinline__ bucket unpack(const nacrei_slot16 &low,
                                                    const nacrei_slot16 &high)
    {
        bucket bucket;
        if constexpr (slot_bytes == 16) {
            bucket.slot[0] = low;
            bucket.slot[1] = high;
        } else if constexpr (slot_bytes == 8) {
            bucket.slot[0] = low.key;
            bucket.slot[1] = low.value;
            bucket.slot[2] = high.key;
            bucket.slot[3] = high.value;
        } else {
            bucket.slot[0] = (uint32_t)low.key;
            bucket.slot[1] = (uint32_t)(low.key >> 32);
            bucket.slot[2] = (uint32_t)low.value;
            bucket.slot[3] = (uint32_t)(low.value >> 32);
            bucket.slot[4] = (uint32_t)high.key;
            bucket.slot[5] = (uint32_t)(high.key >> 32);
            bucket.slot[6] = (uint32_t)high.value;
            bucket.slot[7] = (uint32_t)(high.value >> 32);
        }
        return bucket;
    }

    static __device__ __forceinline__ value_type *value_address(char *slot)
    {
        return (value_type *)(slot + value_offset);
    }
};

#endif
