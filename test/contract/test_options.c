/* SPDX-License-Identifier: Apache-2.0 */
/* The options of batch calls: masks, outcomes, counts, the count on the device, missing values. */
#include "support/batch.h"

static bool possible(const test *t, uint32_t operation)
{
    return t->value_bytes != 0 || operation == NACREI_INSERT ||
           operation == NACREI_INSERT_OR_ASSIGN || operation == NACREI_CONTAINS ||
           operation == NACREI_ERASE;
}

static uint32_t some_type(const test *t)
{
    return t->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
}

NACRE_CONTRACT_TEST(options, mask_takes_the_wrong_elements)
{
    /* Goal: with every operation exactly the elements take part whose bit or byte is set, at any
       offset, the others are SKIPPED and their outputs stay. Method: lengths around words, blocks
       and 64 Ki, offsets 0 .. 130, none, all, one, alternating and random elements; the judge
       checks each output. */
    const uint64_t lengths[] = {1, 7, 8, 31, 32, 33, 63, 65, 255, 257, 1023, 1025, 70001};
    const uint64_t offsets[] = {0, 1, 3, 7, 8, 13, 31, 32, 33, 64, 127, 130};
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint32_t turn = 0;
    for (uint64_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        uint64_t n = lengths[l];
        for (uint32_t operation = 0; operation < NACREI_OPERATIONS; operation++) {
            for (uint32_t pattern = 0; pattern < 5 && possible(t, operation); pattern++) {
                if (n > 2000 && pattern != 4) {
                    continue;
                }
                uint64_t *keys = test_host(t, n * 8), missing = test_random(&t->random);
                uint8_t *take = test_host(t, n);
                uint64_t one = test_random_below(&t->random, n);
                for (uint64_t i = 0; i < n; i++) {
                    const uint8_t takes[5] = {0, 1, i == one, (uint8_t)(i & 1),
                                              (uint8_t)(test_random(&t->random) & 1)};
                    take[i] = takes[pattern];
                    keys[i] = test_key(t, test_random_below(&t->random, n + 10));
                }
                uint64_t *values = test_values(t, keys, n);
                test_batch b = test_batch_of(operation, keys, values, n);
                b.type = some_type(t);
                b.take = take;
                turn++;
                b.mask_kind = turn % 2 != 0 ? NACRE_MASK_BITS : NACRE_MASK_BYTES;
                b.mask_offset = offsets[turn % (sizeof offsets / sizeof *offsets)];
                b.missing_value = turn % 3 == 0 ? &missing : NULL;
                test_batch_run(t, map, &b, &o);
                test_batch_free(&b);
                free(keys);
                free(take);
                free(values);
            }
        }
    }
    test_compare(t, map, &o, 1000);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(options, device_count_is_ignored)
{
    /* Goal: min(count, *count_device) elements are processed, 0 too; the others are SKIPPED (case
       40). Method: counts on the device of 0, 1, fewer, equal, more and 2^64 - 1, with every
       operation, with and without mask. */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t n = 3000;
    const uint64_t counts[] = {0, 1, 31, 1500, n - 1, n, n + 1, UINT64_MAX};
    for (uint64_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (uint32_t operation = 0; operation < NACREI_OPERATIONS; operation++) {
            for (int masked = 0; masked < 2 && possible(t, operation); masked++) {
                uint64_t *keys = test_host(t, n * 8);
                uint8_t *take = test_host(t, n);
                for (uint64_t i = 0; i < n; i++) {
                    keys[i] = test_key(t, test_random_below(&t->random, 2 * n));
                    take[i] = test_random(&t->random) % 4 != 0;
                }
                uint64_t *values = test_values(t, keys, n);
                test_batch b = test_batch_of(operation, keys, values, n);
                b.type = some_type(t);
                b.count_device = &counts[c];
                b.take = masked ? take : NULL;
                b.mask_kind = NACRE_MASK_BITS;
                b.mask_offset = 5;
                test_batch_run(t, map, &b, &o);
                CHECK(t, masked || b.counts.skipped == n - (counts[c] < n ? counts[c] : n),
                      "%llu skipped", (unsigned long long)b.counts.skipped);
                test_batch_free(&b);
                free(keys);
                free(take);
                free(values);
            }
        }
    }
    test_compare(t, map, &o, 1000);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(options, leaving_an_output_out_changes_the_result)
{
    /* Goal: outcomes, counts and missing_value can be asked for in any combination, or options be
       NULL, with the same effect. Method: all combinations with every operation on a changing map;
       the judge asks the map. */
    oracle o;
    oracle_init(&o);
    nacre_map *map = test_map_new(t, 0);
    uint64_t n = 2000;
    for (uint32_t operation = 0; operation < NACREI_OPERATIONS; operation++) {
        for (uint32_t variant = 0; variant < 16 && possible(t, operation); variant++) {
            uint64_t *keys = test_host(t, n * 8), missing = test_random(&t->random);
            for (uint64_t i = 0; i < n; i++) {
                keys[i] = test_key(t, test_random_below(&t->random, 3 * n));
            }
            uint64_t *values = test_values(t, keys, n);
            test_batch b = test_batch_of(operation, keys, values, n);
            b.type = some_type(t);
            b.without_outcomes = (variant & 1) != 0;
            b.without_counts = (variant & 2) != 0;
            b.missing_value = (variant & 4) != 0 ? &missing : NULL;
            b.without_options = (variant & 8) != 0;
            b.missing_value = b.without_options ? NULL : b.missing_value;
            b.in_place = operation == NACREI_FIND_OR_INSERT && variant % 3 == 0;
            test_batch_run(t, map, &b, &o);
            test_batch_free(&b);
            free(keys);
            free(values);
        }
    }
    test_compare(t, map, &o, 1000);
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(options, empty_batch_fails)
{
    /* Goal: count 0 with NULL arrays is legal with every operation, and counts are written (case
       3). Method: all operations on an empty and on a filled map. */
    nacre_map *map = test_map_new(t, 0);
    oracle o;
    oracle_init(&o);
    for (int filled = 0; filled < 2; filled++) {
        for (uint32_t operation = 0; operation < NACREI_OPERATIONS; operation++) {
            if (!possible(t, operation)) {
                continue;
            }
            nacre_options options;
            nacre_options_init(&options, sizeof options);
            nacre_counts counts;
            test_array counts_on = test_array_new(t, sizeof counts, 8);
            options.counts = counts_on.data;
            options.error = &t->error;
            for (int variant = 0; variant < 2; variant++) {
                const nacre_options *given = variant == 0 ? &options : NULL;
                uint32_t type = some_type(t);
                switch (operation) {
                case NACREI_INSERT:
                    OK(t, nacre_map_insert(map, NULL, NULL, 0, given, t->stream));
                    break;
                case NACREI_INSERT_OR_ASSIGN:
                    OK(t, nacre_map_insert_or_assign(map, NULL, NULL, 0, given, t->stream));
                    break;
                case NACREI_INSERT_OR_APPLY:
                    OK(t, nacre_map_insert_or_apply(map, NULL, NULL, 0, NACRE_REDUCTION_ADD, type,
                                                    given, t->stream));
                    break;
                case NACREI_FIND_OR_INSERT:
                    OK(t, nacre_map_find_or_insert(map, NULL, NULL, 0, NULL, given, t->stream));
                    break;
                case NACREI_ASSIGN:
                    OK(t, nacre_map_assign(map, NULL, NULL, 0, given, t->stream));
                    break;
                case NACREI_FIND:
                    OK(t, nacre_map_find(map, NULL, 0, NULL, given, t->stream));
                    break;
                case NACREI_CONTAINS:
                    OK(t, nacre_map_contains(map, NULL, 0, NULL, given, t->stream));
                    break;
                default:
                    OK(t, nacre_map_erase(map, NULL, 0, given, t->stream));
                    break;
                }
            }
            test_array_read(t, &counts_on, &counts);
            CHECK(t, counts.done == 0 && counts.refused == 0 && counts.skipped == 0,
                  "counts of an empty %s: done %llu", test_operation_name(operation),
                  (unsigned long long)counts.done);
            test_array_free(t, &counts_on);
        }
        test_compare(t, map, &o, 10);
        uint64_t keys[3] = {1, 2, 3}, values[3] = {7, 8, 9};
        test_do(t, map, &o, NACREI_INSERT, keys, values, 3);
    }
    nacre_map_destroy(map);
    oracle_free(&o);
}

NACRE_CONTRACT_TEST(options, never_wait_waits)
{
    /* Goal: with NEVER_WAIT a WAIT map that has no room says WOULD_WAIT and does nothing; with room
       it works. Method: a map reserved for n keys takes n, refuses the next batch, and takes it
       without the flag. */
    oracle o;
    oracle_init(&o);
    uint64_t n = 5000;
    nacre_map *map = test_map_new(t, n);
    uint64_t *keys = test_keys(t, 0, 400000), *values = test_values(t, keys, 400000);
    test_batch b = test_batch_of(NACREI_INSERT, keys, values, n);
    b.flags = NACRE_OPTION_NEVER_WAIT;
    test_batch_run(t, map, &b, &o);
    test_wait(t);
    b.keys = keys + n;
    b.values = values + n;
    b.count = 400000 - n;
    test_batch_call(t, map, &b);
    CHECK(t, b.status == NACRE_ERROR_WOULD_WAIT, "the status is %s", nacre_status_name(b.status));
    CHECK(t, strstr(t->error.message, "nacre_map_insert") != NULL, "the message is \"%s\"",
          t->error.message);
    for (uint64_t i = 0; i < b.count; i++) {
        CHECK(t, b.outcomes[i] == TEST_FILL, "an outcome was written");
    }
    test_compare(t, map, &o, 1000);
    b.flags = 0;
    test_batch_run(t, map, &b, &o);
    test_batch_free(&b);
    test_compare(t, map, &o, 1000);
    nacre_map_destroy(map);
    oracle_free(&o);
    free(keys);
    free(values);
}
