/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overflow signatures: 4 bits per bucket, one for each class of keys. A lookup goes on past a pair
 * of buckets only if the bit of its class is set in both signatures: a key of these classes went
 * past the pair because it was full. A key that went no further than to the neighbour of its first
 * bucket sets nothing: whoever does not find a key in a full bucket looks at its neighbour, which
 * lies in the same 64 bytes. Bits are set before a key is published further on, and are made anew
 * when a submap is rebuilt.
 *
 * The two buckets of a pair class keys by different bits of the hash, so that it takes two classes
 * to leave a pair: at load 0.9 missing keys read 1.2 pairs, with one of four classes 1.4.
 *
 * A submap keeps them in an array behind its buckets, eight to a 32-bit word. An empty slot carries
 * a copy of its bucket's (slot.h), so that a lookup reads the array only where both buckets are
 * full, or a copy sends it on. The copy is true: a bit changes only while both buckets are full, and
 * whoever empties a slot copies the bits anew. On CUDA an empty slot may say beside the copy that
 * keys have gone past its bucket to the neighbour: it does where the bucket was full. Where it does
 * not, none has. On the CPU, which reads both buckets at once, none says so.
 */
#ifndef NACRE_CORE_SIGNATURE_H
#define NACRE_CORE_SIGNATURE_H

#include "nacre/core/hash.h"
#include "nacre/core/inline.h"

#define NACREI_SIGNATURE_BITS      4
#define NACREI_SIGNATURE_MASK      15u
#define NACREI_SIGNATURES_PER_WORD 8

/* In an empty slot, above the signature, on CUDA: keys may have gone on to the neighbour. */
#define NACREI_SIGNATURE_NEIGHBOUR 16u

/* The bit of a key's class in the signature of a bucket. */
NACREI_INLINE uint32_t nacrei_signature_bit(uint64_t hash, uint32_t bucket)
{
    return 1u << ((uint32_t)hash >> (NACREI_HASH_CLASS_SHIFT + 2u * (bucket & 1u)) & 3u);
}

/* The bits of a key's classes in both signatures of a pair of buckets, as they lie in memory. */
NACREI_INLINE uint32_t nacrei_signature_pair(uint64_t hash)
{
    return nacrei_signature_bit(hash, 0) | nacrei_signature_bit(hash, 1) << NACREI_SIGNATURE_BITS;
}

/* Which word of a submap's signatures holds those of a bucket, and how far up in it. */
NACREI_INLINE uint32_t nacrei_signature_word(uint32_t bucket)
{
    return bucket / NACREI_SIGNATURES_PER_WORD;
}

NACREI_INLINE uint32_t nacrei_signature_shift(uint32_t bucket)
{
    return bucket % NACREI_SIGNATURES_PER_WORD * NACREI_SIGNATURE_BITS;
}

#endif
