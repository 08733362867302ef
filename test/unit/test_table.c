/* SPDX-License-Identifier: Apache-2.0 */
/* The table: linear hashing over submaps, when it grows, and segments. */
#include <criterion/criterion.h>
#include <math.h>

#include "nacre/core/table.h"
#include "support/random.h"

Test(table, growth_moves_unrelated_keys)
{
    /* Goal: when submap number n is added, only the keys of the submap that is split move, and only
       to n. Method: random hashes, every step from 1 to 600 submaps and random large ones. */
    uint64_t state = 51;
    for (int i = 0; i < 4000; i++) {
        uint64_t before =
            i < 600 ? (uint64_t)i + 1 : 1 + test_random_below(&state, (uint64_t)1 << 38);
        uint64_t after = before + 1;
        uint64_t half = nacrei_floor_power(before), half_after = nacrei_floor_power(after);
        for (int n = 0; n < 200; n++) {
            uint64_t hash = test_random(&state);
            uint64_t old = nacrei_submap_of(hash, before, half);
            uint64_t new = nacrei_submap_of(hash, after, half_after);
            cr_assert(old >= 1 && old <= before, "submap %llu of %llu", (unsigned long long)old,
                      (unsigned long long)before);
            cr_assert(new == old || (new == after &&old == after - half),
                      "from %llu to %llu submaps: %llu goes to %llu", (unsigned long long)before,
                      (unsigned long long)after, (unsigned long long)old, (unsigned long long)new);
        }
    }
}

Test(table, split_leaves_one_side_empty)
{
    /* Goal: a split parts the keys of a submap in halves. Method: count them, 64 to 128 submaps. */
    uint64_t state = 52, stay = 0, move = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t hash = test_random(&state);
        uint64_t old = nacrei_submap_of(hash, 64, 64), new = nacrei_submap_of(hash, 128, 128);
        cr_assert(new == old || new == old + 64);
        stay += new == old;
        move += new != old;
    }
    cr_assert(stay > 98000 && move > 98000, "%llu stay, %llu move", (unsigned long long)stay,
              (unsigned long long)move);
}

static const double loads[] = {0.10, 0.5, 0.8, 0.92, 0.95};
static const uint64_t slots[] = {16, 64, 512, 4096, 8192, 16384};

Test(table, capacity_falls_with_submaps)
{
    /* Goal: more submaps hold more keys, never more than load_max of the smaller power's slots in
       unsplit ones. Method: 1 .. 5000 submaps, all loads and slots. */
    for (int l = 0; l < 5; l++) {
        for (int s = 0; s < 6; s++) {
            uint64_t last = 0;
            for (uint64_t n = 1; n <= 5000; n++) {
                uint64_t capacity = nacrei_table_capacity(n, slots[s], loads[l]);
                double most = (double)(nacrei_floor_power(n) * slots[s]) * loads[l];
                cr_assert(capacity >= last, "%llu submaps", (unsigned long long)n);
                cr_assert((double)capacity <= most + 1e-6);
                cr_assert(nacrei_table_capacity_reserved(n, slots[s], loads[l]) >= capacity);
                last = capacity;
            }
        }
    }
}

Test(table, reserved_room_is_too_small)
{
    /* Goal: the submaps computed for n keys hold n keys, and one fewer (half as many, reserved)
       does not. Method: small, random and huge n. */
    uint64_t state = 53;
    for (int l = 0; l < 5; l++) {
        for (int i = 0; i < 20000; i++) {
            uint64_t keys =
                i < 5000 ? (uint64_t)i : test_random(&state) >> (test_random(&state) % 40 + 14);
            uint64_t s = slots[i % 6];
            if (keys > nacrei_table_capacity(NACREI_SUBMAPS_MAX, s, loads[l])) {
                continue;
            }
            uint64_t n = nacrei_table_submaps(keys, s, loads[l]);
            cr_assert(nacrei_table_capacity(n, s, loads[l]) >= keys, "%llu keys, %llu submaps",
                      (unsigned long long)keys, (unsigned long long)n);
            cr_assert(n == 1 || nacrei_table_capacity(n - 1, s, loads[l]) < keys,
                      "%llu keys, %llu submaps are too many", (unsigned long long)keys,
                      (unsigned long long)n);
            n = nacrei_table_submaps_reserved(keys, s, loads[l]);
            cr_assert(nacrei_table_capacity_reserved(n, s, loads[l]) >= keys);
            cr_assert((n & (n - 1)) == 0);
            cr_assert(n == 1 || nacrei_table_capacity_reserved(n / 2, s, loads[l]) < keys);
        }
    }
}

Test(table, impossible_sizes_overflow)
{
    /* Goal: more keys than any machine holds give "beyond", at once. Method: the ends of 64
       bits. */
    const uint64_t keys[] = {UINT64_MAX, UINT64_MAX - 1, (uint64_t)1 << 63,
                             ((uint64_t)1 << 63) - 1};
    for (int i = 0; i < 4; i++) {
        for (int s = 0; s < 6; s++) {
            cr_assert(nacrei_table_submaps(keys[i], slots[s], 0.92) >= NACREI_SUBMAPS_MAX);
            cr_assert(nacrei_table_submaps_reserved(keys[i], slots[s], 0.92) >= NACREI_SUBMAPS_MAX);
        }
    }
}

Test(table, memory_lies_idle)
{
    /* Goal: mean load over log-uniform sizes is at least 0.62 at the default. Method: the load of a
       table that has grown to n keys, n over one doubling on a fine logarithmic grid. */
    double sum = 0;
    int points = 20000;
    for (int i = 0; i < points; i++) {
        double keys = 1e9 * exp2((double)i / points);
        uint64_t n = nacrei_table_submaps((uint64_t)keys, 4096, 0.92);
        sum += keys / ((double)n * 4096);
    }
    cr_assert(sum / points >= 0.62, "the mean load is %.4f", sum / points);
    cr_assert(sum / points <= 0.92);
}

Test(table, segments_leave_a_gap)
{
    /* Goal: segments part the submaps without gap or overlap, each at most a quarter of what lies
       before it. Method: the first 100,000 numbers in order, and the place of random large ones. */
    uint64_t begin = 0;
    uint32_t segment = 0;
    for (uint64_t number = 0; number < 100000; number++) {
        nacrei_segment_place place = nacrei_segment_of(number);
        if (number != 0 && place.segment != segment) {
            cr_assert(place.segment == segment + 1, "segment %u follows %u", place.segment,
                      segment);
            cr_assert(place.first == number);
        }
        segment = place.segment;
        begin = place.first;
        cr_assert(number >= begin && number < begin + place.count, "number %llu",
                  (unsigned long long)number);
        cr_assert(4 * place.count <= place.first + 4);
    }
    uint64_t state = 54;
    for (int i = 0; i < 100000; i++) {
        uint64_t number = test_random(&state) >> (25 + test_random(&state) % 30);
        nacrei_segment_place place = nacrei_segment_of(number);
        cr_assert(number >= place.first && number < place.first + place.count);
        cr_assert(place.segment < NACREI_SEGMENTS_MAX);
        cr_assert(nacrei_segment_of(place.first).segment == place.segment);
        cr_assert(nacrei_segment_of(place.first + place.count).segment == place.segment + 1);
    }
    cr_assert(nacrei_segment_of(NACREI_SUBMAPS_MAX).segment < NACREI_SEGMENTS_MAX);
}

Test(table, floor_power_is_off)
{
    /* Goal: the greatest power of two <= x. Method: around every power. */
    for (int bit = 0; bit < 64; bit++) {
        uint64_t power = (uint64_t)1 << bit;
        cr_assert(nacrei_floor_power(power) == power);
        cr_assert(nacrei_floor_power(power + (power - 1)) == power);
    }
}

Test(table, signatures_overrun_the_submap)
{
    /* Goal: a submap's bytes hold its buckets and their signatures. Method: all sizes. */
    for (uint32_t buckets = 8; buckets <= 2048; buckets *= 2) {
        uint64_t end =
            (uint64_t)buckets * NACREI_BUCKET_BYTES + 4u * (nacrei_signature_word(buckets - 1) + 1);
        cr_assert(nacrei_submap_bytes(buckets) == end);
    }
}
