/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a side: the host's clock and the limits of its memory. */
#include "cpu_loops.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* So many lines are asked for before the first of them is looked at. */
#define AHEAD        64
#define LINE_BYTES   64
#define ACCESSES_MIN ((uint64_t)1 << 18)
#define ACCESSES_MAX ((uint64_t)1 << 19) /* a thread */

typedef struct state {
    double start, marks[BENCH_MARKS];
} state;

static state *state_of(const bench_side *side)
{
    return side->private_to_it;
}

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void start(bench_side *side)
{
    state_of(side)->start = bench_now();
}

static double stop(bench_side *side)
{
    return bench_now() - state_of(side)->start;
}

static void mark(bench_side *side, uint32_t number)
{
    state_of(side)->marks[number] = bench_now(); /* calls return when they are done */
}

static double between(bench_side *side, uint32_t from, uint32_t to)
{
    return state_of(side)->marks[to] - state_of(side)->marks[from];
}

/* ---- limits --------------------------------------------------------------------------------- */

struct bench_limits {
    uint64_t bytes, accesses; /* of the table, to it */
    char *table;
    uint64_t *keys;
    uint64_t *out;
};

__extension__ typedef unsigned __int128 wide;

/* One thread's share of a pass. */
typedef struct part {
    const bench_limits *limits;
    int which;
    uint64_t begin, end;
    pthread_barrier_t *ready;
} part;

/* Pages as large as the system gives them, as in the library, with keys in them; NULL: refused. */
static void *pages(bench_side *side, uint64_t bytes)
{
    const bench_keys keys = {BENCH_IN_ORDER, 8, 0, bytes / 8, 0, 0};
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    madvise(memory, bytes, MADV_HUGEPAGE);
    side->make(side, &keys, memory, NULL, 0, bytes / 8);
    return memory;
}

static void release(void *memory, uint64_t bytes)
{
    if (memory != NULL) {
        munmap(memory, bytes);
    }
}

static void limits_close(bench_side *side, bench_limits *limits)
{
    (void)side;
    release(limits->table, limits->bytes);
    release(limits->keys, limits->accesses * 8);
    release(limits->out, limits->accesses * 8);
    free(limits);
}

static bench_limits *limits_open(bench_side *side, uint64_t bytes)
{
    const uint64_t most = ACCESSES_MAX * side->threads;
    bench_limits *limits = calloc(1, sizeof *limits);
    if (limits == NULL) {
        return NULL;
    }
    limits->bytes = (bytes + 2 * LINE_BYTES - 1) / (2 * LINE_BYTES) * 2 * LINE_BYTES;
    limits->accesses = limits->bytes / 16;
    limits->accesses = limits->accesses < ACCESSES_MIN ? ACCESSES_MIN : limits->accesses;
    limits->accesses = limits->accesses > most ? most : limits->accesses;
    limits->table = pages(side, limits->bytes);
    limits->keys = pages(side, limits->accesses * 8);
    limits->out = pages(side, limits->accesses * 8);
    if (limits->table == NULL || limits->keys == NULL || limits->out == NULL) {
        limits_close(side, limits);
        return NULL;
    }
    return limits;
}

static uint64_t *line_of(const bench_limits *limits, uint64_t i)
{
    const uint64_t lines = limits->bytes / LINE_BYTES;
    uint64_t number = (uint64_t)((wide)bench_mix64(limits->keys[i]) * lines >> 64);
    return (uint64_t *)(limits->table + number * LINE_BYTES);
}

static void *run_part(void *argument)
{
    const part *part = argument;
    const bench_limits *limits = part->limits;
    pthread_barrier_wait(part->ready);
    if (part->which == BENCH_COPY) {
        memcpy(limits->table + limits->bytes / 2 + part->begin, limits->table + part->begin,
               part->end - part->begin);
        return NULL;
    }
    for (uint64_t at = part->begin; at < part->end; at += AHEAD) {
        uint64_t *line[AHEAD];
        for (int i = 0; i < AHEAD; i++) {
            line[i] = line_of(limits, at + i);
            if (part->which == BENCH_READ) {
                __builtin_prefetch(line[i], 0);
            } else {
                __builtin_prefetch(line[i], 1);
            }
        }
        for (int i = 0; i < AHEAD; i++) {
            if (part->which == BENCH_READ) {
                limits->out[at + i] = *line[i];
            } else {
                *line[i] += limits->out[at + i];
            }
        }
    }
    return NULL;
}

static double limits_pass(bench_side *side, bench_limits *limits, int which)
{
    enum { THREADS_MAX = 256 };
    pthread_t threads[THREADS_MAX];
    part parts[THREADS_MAX];
    pthread_barrier_t ready;
    const uint64_t unit = which == BENCH_COPY ? LINE_BYTES : AHEAD;
    const uint64_t units = (which == BENCH_COPY ? limits->bytes / 2 : limits->accesses) / unit;
    const uint32_t count = side->threads < THREADS_MAX ? side->threads : THREADS_MAX;
    pthread_barrier_init(&ready, NULL, count + 1);
    for (uint32_t t = 0; t < count; t++) {
        parts[t] =
            (part){limits, which, units * t / count * unit, units * (t + 1) / count * unit, &ready};
        if (pthread_create(&threads[t], NULL, run_part, &parts[t]) != 0) {
            fprintf(stderr, "no thread for a limit\n");
            exit(1);
        }
    }
    double before = bench_now();
    pthread_barrier_wait(&ready);
    for (uint32_t t = 0; t < count; t++) {
        pthread_join(threads[t], NULL);
    }
    double seconds = bench_now() - before;
    pthread_barrier_destroy(&ready);
    return (which == BENCH_COPY ? 2.0 : 1.0) * (double)(units * unit) / seconds;
}

static void close_side(bench_side *side)
{
    nacre_device_close(side->device);
    free(side->private_to_it);
}

int bench_side_cpu(bench_side *side, const char *name, uint32_t threads, nacre_error *error)
{
    nacre_device_config config;
    *side = (bench_side){.close = close_side,
                         .start = start,
                         .stop = stop,
                         .mark = mark,
                         .between = between,
                         .limits_open = limits_open,
                         .limits_pass = limits_pass,
                         .limits_close = limits_close};
    bench_cpu_loops(side);
    snprintf(side->name, sizeof side->name, "%s", name);
    nacre_device_config_init(&config, sizeof config);
    config.backend = NACRE_BACKEND_CPU;
    config.threads = threads;
    config.error = error;
    side->private_to_it = calloc(1, sizeof(state));
    if (side->private_to_it == NULL || nacre_device_open(&config, &side->device) != NACRE_OK) {
        return -1;
    }
    nacre_device_describe(side->device, NULL, NULL, side->about, sizeof side->about);
    if (sscanf(side->about, "cpu, %u", &side->threads) != 1) {
        side->threads = 1;
    }
    /* Half of all: what is free at the moment says little, caches give way. */
    side->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    return 0;
}
