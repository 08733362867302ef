/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One batch call on a map, with everything that goes in and comes out on the host, and the judge
 * that compares what came out with what the oracle says. Numbers are 64 bits wide here, whatever
 * the map's widths: the call cuts them.
 *
 *     test_batch b = test_batch_of(NACREI_INSERT, keys, values, count);
 *     test_batch_run(t, map, &b, &o);      // or test_batch_call and test_batch_judge
 *     ... b.outcomes[i], b.values_out[i], b.counts ...
 *     test_batch_free(&b);
 */
#ifndef NACRE_TEST_BATCH_H
#define NACRE_TEST_BATCH_H

#include "lib/backend.h" /* NACREI_INSERT ...: the names of the operations */
#include "support/array.h"
#include "support/oracle.h"

typedef struct test_batch {
    uint32_t operation; /* NACREI_INSERT ... */
    uint32_t reduction;
    uint32_t type;
    uint32_t flags; /* NACRE_OPTION_... */
    uint64_t count;
    const uint64_t *keys;
    const uint64_t *values;
    const uint64_t *missing_value; /* NULL: outputs of missing keys stay */
    const uint64_t *count_device;  /* NULL: all */
    const uint8_t *take;           /* [count] 1: takes part; NULL: no mask */
    uint32_t mask_kind;            /* for `take` */
    uint64_t mask_offset;
    bool in_place;         /* find_or_insert: values_out is values */
    bool without_outcomes; /* ask for none */
    bool without_counts;
    bool without_options; /* NULL for options */

    nacre_status status; /* what the call returned */
    uint8_t *outcomes;   /* [count]; NULL where not asked for */
    uint64_t *values_out;
    uint8_t *contained;
    nacre_counts counts;
    uint64_t untouched; /* what an element of values_out holds that was not written */
} test_batch;

test_batch test_batch_of(uint32_t operation, const uint64_t *keys, const uint64_t *values,
                         uint64_t count);

/* Carries the arrays to the device, calls, waits, fetches what came out. Any status is accepted. */
void test_batch_call(test *t, nacre_map *map, test_batch *b);

/*
 * Compares the outcome of a call that has been made with the oracle, and brings the oracle to the
 * state that the map should have. Where the interface leaves a choice (which of several assigned
 * values stays) the map is asked which it took, and that it was one of them is checked. Guards
 * against every promise on outcomes, counts, outputs and missing values.
 */
void test_batch_judge(test *t, nacre_map *map, test_batch *b, oracle *o);

/* Call, status OK, judge. */
void test_batch_run(test *t, nacre_map *map, test_batch *b, oracle *o);

void test_batch_free(test_batch *b);

/* Run and forget: for steps whose outputs the judge has checked. */
void test_do(test *t, nacre_map *map, oracle *o, uint32_t operation, const uint64_t *keys,
             const uint64_t *values, uint64_t count);

/* The same with a number's worth of arrays. */
void test_do_one(test *t, nacre_map *map, oracle *o, uint32_t operation, uint64_t key,
                 uint64_t value);

const char *test_operation_name(uint32_t operation);

/*
 * Compares the whole map with the oracle: nacre_map_check, both forms of size, info, every key by
 * find and contains, `misses` keys that are not there, and retrieve as a set.
 */
void test_compare(test *t, nacre_map *map, const oracle *o, uint64_t misses);

/* The exact size. */
uint64_t test_size(test *t, nacre_map *map);

#endif
