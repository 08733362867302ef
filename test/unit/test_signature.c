/* SPDX-License-Identifier: Apache-2.0 */
/* Overflow signatures. */
#include <criterion/criterion.h>

#include "nacre/core/signature.h"
#include "support/random.h"

Test(signature, two_buckets_share_bits)
{
    /* Goal: signatures of different buckets never overlap and fit their array. Method: set all,
       bucket by bucket; every bit is new, and in the end all are set. */
    uint32_t words[2048 / NACREI_SIGNATURES_PER_WORD] = {0};
    for (uint32_t bucket = 0; bucket < 2048; bucket++) {
        uint32_t word = nacrei_signature_word(bucket);
        uint32_t bits = NACREI_SIGNATURE_MASK << nacrei_signature_shift(bucket);
        cr_assert(word < sizeof words / sizeof *words);
        cr_assert((words[word] & bits) == 0, "bucket %u", bucket);
        words[word] |= bits;
    }
    for (uint32_t i = 0; i < sizeof words / sizeof *words; i++) {
        cr_assert(words[i] == UINT32_MAX);
    }
}

Test(signature, class_has_no_bit_or_two)
{
    /* Goal: each hash has one of four bits, all equally often. Method: random hashes. */
    uint64_t state = 41;
    unsigned counts[9] = {0};
    for (int i = 0; i < 40000; i++) {
        uint32_t bit = nacrei_signature_bit(test_random(&state));
        cr_assert(bit == 1 || bit == 2 || bit == 4 || bit == 8);
        counts[bit]++;
    }
    for (uint32_t bit = 1; bit <= 8; bit *= 2) {
        cr_expect(counts[bit] > 9500 && counts[bit] < 10500, "bit %u: %u of 40000", bit,
                  counts[bit]);
    }
}
