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
    /* Goal: each hash has one of four bits in each bucket of a pair, all sixteen pairs of them
       equally often, and nacrei_signature_pair() has both. Method: random hashes and buckets. */
    uint64_t state = 41;
    unsigned counts[9][9] = {{0}};
    for (int i = 0; i < 160000; i++) {
        uint64_t hash = test_random(&state);
        uint32_t bucket = (uint32_t)test_random(&state) & 2046u;
        uint32_t first = nacrei_signature_bit(hash, bucket);
        uint32_t second = nacrei_signature_bit(hash, bucket + 1);
        cr_assert(first == 1 || first == 2 || first == 4 || first == 8);
        cr_assert(second == 1 || second == 2 || second == 4 || second == 8);
        cr_assert(nacrei_signature_pair(hash) == (first | second << 4));
        counts[first][second]++;
    }
    for (uint32_t first = 1; first <= 8; first *= 2) {
        for (uint32_t second = 1; second <= 8; second *= 2) {
            unsigned count = counts[first][second];
            cr_expect(count > 9500 && count < 10500, "bits %u %u: %u of 160000", first, second,
                      count);
        }
    }
}
