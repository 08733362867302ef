/* SPDX-License-Identifier: Apache-2.0 */
/* The duel's workload, the same for all who take part. */
#ifndef NACRE_BENCH_CPU_DUEL_H
#define NACRE_BENCH_CPU_DUEL_H

#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays of `count`: what is inserted, in this order, and what is looked up. */
typedef struct duel_workload {
    uint64_t count;
    const uint64_t *keys;
    const uint64_t *values;
    const uint64_t *hits;   /* the same keys, in an order that has nothing to do with it */
    const uint64_t *misses; /* keys that are not there */
    uint64_t value_sum;     /* modulo 2^64 */
    uint64_t *out;          /* room for what lookups find */
} duel_workload;

typedef struct duel_times {
    double insert; /* seconds, from an empty map that grows by itself */
    double hit;
    double miss;
    double load; /* keys / slots afterwards */
    int correct;
} duel_times;

static inline double duel_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

duel_times duel_boost(const duel_workload *workload);

#ifdef __cplusplus
}
#endif
#endif
