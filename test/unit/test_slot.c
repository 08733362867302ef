/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: layout of all widths, stored keys, side keys. */
#include <criterion/criterion.h>

#include "nacre/core/slot.h"
#include "support/random.h"

static const uint32_t widths[6][2] = {{8, 8}, {8, 4}, {8, 0}, {4, 8}, {4, 4}, {4, 0}};

Test(slot, key_and_value_overlap)
{
    /* Goal: key and value lie apart, aligned, inside the slot, and slots fill a bucket. Method: all
       widths against the table in slot.h. */
    static const uint32_t bytes[6] = {16, 16, 8, 16, 8, 4};
    for (int i = 0; i < 6; i++) {
        uint32_t key = widths[i][0], value = widths[i][1];
        uint32_t slot = nacrei_slot_bytes(key, value);
        cr_assert(slot == bytes[i], "(%u,%u): a slot of %u bytes", key, value, slot);
        cr_assert(nacrei_slots_per_bucket(key, value) * slot == NACREI_BUCKET_BYTES);
        if (value != 0) {
            uint32_t offset = nacrei_slot_value_offset(key, value);
            cr_assert(offset >= key && offset % value == 0 && offset + value <= slot,
                      "(%u,%u): the value lies at %u", key, value, offset);
        }
    }
}

Test(slot, stored_key_is_not_undone)
{
    /* Goal: storing a key twice gives the key; keys of 4 bytes stay below 2^32. Method: random keys
       and ends. */
    uint64_t state = 21;
    for (int i = 0; i < 10000; i++) {
        uint64_t key = i < 2 ? (uint64_t)0 - (uint64_t)i : test_random(&state);
        cr_assert(nacrei_key_store(nacrei_key_store(key, 8), 8) == key);
        uint32_t narrow = (uint32_t)key;
        uint64_t stored = nacrei_key_store(narrow, 4);
        cr_assert(stored <= UINT32_MAX && nacrei_key_store(stored, 4) == narrow);
    }
}

Test(slot, ordinary_key_looks_empty)
{
    /* Goal: exactly the side keys look empty, and none is a number that programs use. Method: the
       keys that store to each pattern, and keys that are common. */
    for (int i = 0; i < 6; i++) {
        uint32_t key_bytes = widths[i][0], patterns = nacrei_empty_patterns(widths[i][1]);
        cr_assert(patterns <= NACREI_SIDE_SLOTS_MAX);
        cr_assert(patterns == (widths[i][1] == 0 ? 32u : 1u));
        for (uint64_t pattern = 0; pattern < NACREI_SIDE_SLOTS_MAX; pattern++) {
            uint64_t key = NACREI_KEY_XOR ^ pattern;
            key = key_bytes == 4 ? (uint32_t)key : key;
            cr_assert((nacrei_key_store(key, key_bytes) < patterns) == (pattern < patterns));
        }
        for (uint64_t n = 0; n < 1000; n++) {
            const uint64_t common[6] = {n,
                                        0 - n,
                                        (uint64_t)1 << 31 ^ n,
                                        UINT32_MAX - n,
                                        (uint64_t)1 << 63 ^ n,
                                        INT64_MAX - n};
            for (int j = 0; j < 6; j++) {
                uint64_t key = key_bytes == 4 ? (uint32_t)common[j] : common[j];
                cr_assert(nacrei_key_store(key, key_bytes) >= patterns, "key 0x%llx is a side key",
                          (unsigned long long)key);
            }
        }
    }
}
