/* SPDX-License-Identifier: Apache-2.0 */
/* Every file of cases, in the order in which they run; X(limit) is bench_limit.c. */
#ifndef NACRE_BENCH_CASES_H
#define NACRE_BENCH_CASES_H

#include "bench.h"

#define BENCH_CASES(X) \
    X(self)            \
    X(limit)           \
    X(insert)          \
    X(find)            \
    X(match)           \
    X(erase)           \
    X(retrieve)        \
    X(compact)         \
    X(maintain)        \
    X(growth)          \
    X(churn)           \
    X(streams)         \
    X(small)           \
    X(view)

/* Adds the file's cases for the profile's side. */
#define BENCH_DECLARE(name) void bench_cases_##name(const bench_profile *profile);
BENCH_CASES(BENCH_DECLARE)

#endif
