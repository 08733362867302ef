/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in a map with a history, against those in a fresh one of the same size and load. */
#ifndef NACRE_BENCH_AGED_H
#define NACRE_BENCH_AGED_H

#include "bench.h"

/*
 * run->map holds the keys `present`, a range in order. Runs the rounds of the case: lookups in
 * random order of keys that are there, or that are not where p->absent_rate is 1. Ends with the
 * counter `of_fresh`: the rate, divided by that of a fresh map.
 */
void bench_find_aged(bench_run *run, const bench_keys *present);

#endif
