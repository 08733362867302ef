/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A side: one device under test, and what the suite needs there beside the library. The cases know
 * no more than this of CPU and CUDA.
 */
#ifndef NACRE_BENCH_SIDE_H
#define NACRE_BENCH_SIDE_H

#include <stdint.h>

#include <nacre/nacre.h>

#include "workload.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What bounds a case. COPY: bytes per second, read plus written. READ: random reads per second of a
 * bucket (CUDA, 32 bytes) or a line (CPU, 64 bytes, prefetched). UPDATE: random 64-bit
 * compare-and-swaps per second (CUDA), or changes of a line, prefetched (CPU).
 */
enum { BENCH_COPY, BENCH_READ, BENCH_UPDATE, BENCH_LIMITS };

enum { BENCH_MARKS = 1024 };

typedef struct bench_limits bench_limits; /* memory to measure limits in */

typedef struct bench_side bench_side;
struct bench_side {
    char name[16]; /* in the names of cases */
    char about[384];
    nacre_device *device;
    nacre_stream stream;
    uint64_t memory_bytes; /* that are free for a case */
    uint32_t threads;      /* CPU */
    void *private_to_it;   /* events; the clock */

    void (*close)(bench_side *);

    /* Writes `count` keys, and their values where `values` is not NULL. */
    void (*make)(bench_side *, const bench_keys *, void *keys, void *values, uint32_t value_bytes,
                 uint64_t count);
    /* Answers of a lookup of `keys` that are not right. */
    uint64_t (*wrong)(bench_side *, const bench_keys *keys, const void *answers,
                      uint32_t value_bytes, uint64_t missing, uint64_t count);
    /* Pairs whose value is not that of their key. */
    uint64_t (*wrong_pairs)(bench_side *, const void *keys, uint32_t key_bytes, const void *values,
                            uint32_t value_bytes, uint64_t count);
    /* Pairs of a match of [count] `keys` that are not right; indices of 4 bytes. */
    uint64_t (*wrong_matches)(bench_side *, const bench_keys *keys, uint64_t count,
                              const void *indices, const void *values, uint32_t value_bytes,
                              uint64_t matches);
    /* Modulo 2^64, of the elements up to `high`; `flags` [count], or NULL: of those with a 1. */
    uint64_t (*sum)(bench_side *, const void *array, uint32_t bytes, const uint8_t *flags,
                    uint64_t high, uint64_t count);
    /* Writes a flag for each item, 1 for a share of them. */
    void (*flag)(bench_side *, uint8_t *flags, double share, uint64_t count);
    /* Different keys among `count`. */
    uint64_t (*distinct)(bench_side *, const bench_keys *, uint64_t count);

    /* Times what is enqueued in between, which stop waits for. */
    void (*start)(bench_side *);
    double (*stop)(bench_side *);

    /*
     * Marks a moment of the stream by a number below BENCH_MARKS; seconds from one to a later one,
     * which are waited for.
     */
    void (*mark)(bench_side *, uint32_t number);
    double (*between)(bench_side *, uint32_t from, uint32_t to);

    /*
     * Limits over a table of so many bytes, NULL where there is no memory for it; a pass returns
     * what it did per second.
     */
    bench_limits *(*limits_open)(bench_side *, uint64_t bytes);
    double (*limits_pass)(bench_side *, bench_limits *, int which);
    void (*limits_close)(bench_side *, bench_limits *);

    /* What is enqueued in between as a graph; all NULL where there are none. */
    void (*capture)(bench_side *);
    void *(*captured)(bench_side *);
    void (*replay)(bench_side *, void *graph);
    void (*drop)(bench_side *, void *graph);

    /*
     * Kernels of the suite's own, enqueued; all NULL where there are none. Compaction of 8-byte
     * items in its naive forms: an atomic on *needed, zeroed before, per item kept or per warp.
     * Lookups and insertions of 8-byte keys and values through a view.
     */
    void (*naive)(bench_side *, int per_warp, const void *items, const uint8_t *flags,
                  uint64_t count, void *out, uint64_t *needed);
    nacre_status (*view_find)(bench_side *, nacre_map *, const void *keys, uint64_t count,
                              void *values_out, nacre_error *error);
    nacre_status (*view_insert)(bench_side *, nacre_map *, const void *keys, const void *values,
                                uint64_t count, nacre_error *error);
};

/* 0, or -1 with `error` filled. `threads` as in nacre_device_config. */
int bench_side_cpu(bench_side *side, const char *name, uint32_t threads, nacre_error *error);
int bench_side_cuda(bench_side *side, nacre_error *error);

double bench_now(void); /* seconds of the host's clock */

#ifdef __cplusplus
}
#endif
#endif
