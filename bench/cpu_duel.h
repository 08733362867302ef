/* SPDX-License-Identifier: Apache-2.0 */
/* The duel's workload, the same for all who take part. */
#ifndef NACRE_BENCH_CPU_DUEL_H
#define NACRE_BENCH_CPU_DUEL_H

#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a program gives to nacre at a time where it does not give all. */
#define DUEL_PART ((uint64_t)1 << 20)

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
    double insert;       /* seconds, from an empty map that grows by itself; all keys in one call */
    double insert_parts; /* the same, DUEL_PART keys a call */
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

/*
 * Takes the memory that a map of this many keys may need from the system, uses it and gives it
 * back. On a virtual machine the first use after a while waits for the host, as much as the whole
 * insertion takes, and would hit whoever comes first.
 */
static inline void duel_warm_memory(uint64_t count)
{
    size_t bytes = (size_t)(count * 64);
    char *memory =
        (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return;
    }
    madvise(memory, bytes, MADV_HUGEPAGE);
    for (size_t at = 0; at < bytes; at += 4096) {
        *(volatile char *)(memory + at) = 1;
    }
    munmap(memory, bytes);
}

duel_times duel_boost(const duel_workload *workload);

#ifdef __cplusplus
}
#endif
#endif
