/* SPDX-License-Identifier: Apache-2.0 */
/* The hash: a bijection for every seed, cut into fields that share no bit and look random. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "nacre/core/probe.h"
#include "nacre/core/signature.h"
#include "nacre/core/table.h"
#include "support/hash_inverse.h"
#include "support/random.h"

Test(hash, two_keys_with_one_hash)
{
    /* Goal: no two keys share a hash. Method: the inverse gives the key back, for random seeds and
       keys and the ends. */
    uint64_t state = 11;
    const uint64_t ends[] = {0, 1, UINT32_MAX, (uint64_t)1 << 63, UINT64_MAX - 1, UINT64_MAX};
    for (int i = 0; i < 200000; i++) {
        uint64_t seed = i % 3 == 0 ? ends[i % 6] : test_random(&state);
        uint64_t key = i % 5 == 0 ? ends[i % 6] : test_random(&state);
        uint64_t hash = nacrei_hash(key, seed);
        cr_assert(test_hash_inverse(hash, seed) == key, "key 0x%llx, seed 0x%llx",
                  (unsigned long long)key, (unsigned long long)seed);
    }
}

Test(hash, zero_is_a_bad_seed)
{
    /* Goal: seed 0 is a seed like any other. Method: flip each key bit; about half of all hash bits
       flip. */
    uint64_t state = 12;
    for (uint64_t seed = 0; seed < 2; seed++) {
        for (int bit = 0; bit < 64; bit++) {
            unsigned flips = 0;
            for (int i = 0; i < 256; i++) {
                uint64_t key = test_random(&state);
                uint64_t changed =
                    nacrei_hash(key, seed) ^ nacrei_hash(key ^ (uint64_t)1 << bit, seed);
                flips += (unsigned)__builtin_popcountll(changed);
            }
            double mean = flips / 256.0;
            cr_assert(mean > 24 && mean < 40, "bit %d of the key flips %.1f bits of the hash", bit,
                      mean);
        }
    }
}

Test(hash, seeds_only_permute_keys)
{
    /* Goal: keys that collide under one seed do not under another. Method: keys that share a home
       under seed 1 are spread by seed 2 over nearly as many homes as random ones. */
    unsigned char seen[2048] = {0};
    unsigned homes = 0;
    for (uint64_t i = 0; i < 2048; i++) {
        uint64_t key = test_hash_inverse(i << NACREI_HASH_SUBMAP_SHIFT | 77, 1);
        cr_assert(((uint32_t)nacrei_hash(key, 1) & 2047) == 77, "the inverse is no inverse");
        homes += !seen[nacrei_hash(key, 2) & 2047];
        seen[nacrei_hash(key, 2) & 2047] = 1;
    }
    cr_assert(homes > 1200, "2048 keys fall into %u homes; random ones into 1294", homes);
}

Test(hash, fields_share_bits)
{
    /* Goal: bucket, step, both classes and submap come from different bits. Method: flip one bit of
       a hash and count which of the five change: at most one. */
    uint64_t state = 13;
    for (int i = 0; i < 1000; i++) {
        uint64_t hash = test_random(&state);
        for (int bit = 0; bit < 64; bit++) {
            uint64_t other = hash ^ (uint64_t)1 << bit;
            nacrei_probe a = nacrei_probe_begin(hash, 2047), b = nacrei_probe_begin(other, 2047);
            uint64_t all = (uint64_t)1 << 39;
            unsigned changes =
                (a.bucket != b.bucket) + (a.step != b.step) +
                (nacrei_signature_bit(hash, 0) != nacrei_signature_bit(other, 0)) +
                (nacrei_signature_bit(hash, 1) != nacrei_signature_bit(other, 1)) +
                (nacrei_submap_of(hash, all, all) != nacrei_submap_of(other, all, all));
            cr_assert(changes <= 1, "bit %d is in %u fields", bit, changes);
        }
    }
}

Test(hash, regular_keys_fill_unevenly)
{
    /* Goal: sequences, multiples and keys with equal halves spread like random keys, over homes and
       over submaps (case 8). Method: chi-square over 2048 cells, 16 keys each, within 6 sigma of
       its mean. */
    for (int kind = 0; kind < 6; kind++) {
        for (int field = 0; field < 2; field++) {
            unsigned cells[2048] = {0};
            for (uint64_t i = 0; i < 2048 * 16; i++) {
                const uint64_t keys[6] = {i,       i << 20,         i << 32,
                                          i << 48, i * 1000000007u, i << 32 | 0xFFFFFFFFu};
                uint64_t hash = nacrei_hash(keys[kind], 0x123456789ABCDEFu);
                cells[hash >> (field ? NACREI_HASH_SUBMAP_SHIFT : 0) & 2047]++;
            }
            double chi = 0;
            for (int i = 0; i < 2048; i++) {
                chi += ((double)cells[i] - 16) * ((double)cells[i] - 16) / 16;
            }
            cr_expect(chi < 2047 + 6 * 64, "kind %d, field %d: chi-square %.0f, 2047 is random",
                      kind, field, chi);
        }
    }
}
