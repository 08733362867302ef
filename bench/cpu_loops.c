/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu_loops.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define THREADS_MAX  256
#define ELEMENTS_MIN 65536 /* a thread */

/* A loop over [count] elements, with what the functions of side.h are given. */
typedef struct loop loop;
struct loop {
    uint64_t (*part)(const loop *, uint64_t begin, uint64_t end);
    uint64_t count;
    const bench_keys *keys;
    const void *array, *values; /* read */
    void *keys_out, *values_out;
    uint32_t bytes, value_bytes;
    uint64_t number; /* for missing keys; the highest */
    uint8_t *flags_out;
    const uint8_t *flags;
    double share;
    atomic_uchar *seen;
};

typedef struct part {
    pthread_t thread;
    const loop *loop;
    uint64_t begin, end, result;
} part;

static void *run_part(void *argument)
{
    part *part = argument;
    part->result = part->loop->part(part->loop, part->begin, part->end);
    return NULL;
}

/* The sum of what the parts return. */
static uint64_t run(const bench_side *side, loop loop)
{
    part parts[THREADS_MAX];
    int started[THREADS_MAX] = {0};
    uint64_t threads = loop.count / ELEMENTS_MIN + 1, result = 0;
    threads = threads < side->threads ? threads : side->threads;
    threads = threads < THREADS_MAX ? threads : THREADS_MAX;
    for (uint64_t t = 0; t < threads; t++) {
        parts[t].loop = &loop;
        parts[t].begin = loop.count * t / threads;
        parts[t].end = loop.count * (t + 1) / threads;
        started[t] = t > 0 && pthread_create(&parts[t].thread, NULL, run_part, &parts[t]) == 0;
    }
    for (uint64_t t = 0; t < threads; t++) {
        if (started[t]) {
            pthread_join(parts[t].thread, NULL);
        } else {
            run_part(&parts[t]);
        }
        result += parts[t].result;
    }
    return result;
}

static uint64_t make_part(const loop *loop, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        uint64_t key = bench_key(loop->keys, i);
        bench_store(loop->keys_out, loop->keys->key_bytes, i, key);
        if (loop->values_out != NULL) {
            bench_store(loop->values_out, loop->value_bytes, i,
                        bench_value(key, loop->value_bytes));
        }
    }
    return 0;
}

static void make(bench_side *side, const bench_keys *keys, void *keys_out, void *values,
                 uint32_t value_bytes, uint64_t count)
{
    run(side, (loop){.part = make_part,
                     .count = count,
                     .keys = keys,
                     .keys_out = keys_out,
                     .values_out = values,
                     .value_bytes = value_bytes});
}

static uint64_t wrong_part(const loop *loop, uint64_t begin, uint64_t end)
{
    uint64_t result = 0;
    for (uint64_t i = begin; i < end; i++) {
        result += bench_load(loop->values, loop->value_bytes, i) !=
                  bench_answer(loop->keys, i, loop->value_bytes, loop->number);
    }
    return result;
}

static uint64_t wrong(bench_side *side, const bench_keys *keys, const void *answers,
                      uint32_t value_bytes, uint64_t missing, uint64_t count)
{
    return run(side, (loop){.part = wrong_part,
                            .count = count,
                            .keys = keys,
                            .values = answers,
                            .value_bytes = value_bytes,
                            .number = missing});
}

static uint64_t wrong_pairs_part(const loop *loop, uint64_t begin, uint64_t end)
{
    uint64_t result = 0;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t key = bench_load(loop->array, loop->bytes, i);
        result +=
            bench_load(loop->values, loop->value_bytes, i) != bench_value(key, loop->value_bytes);
    }
    return result;
}

static uint64_t wrong_pairs(bench_side *side, const void *keys, uint32_t key_bytes,
                            const void *values, uint32_t value_bytes, uint64_t count)
{
    return run(side, (loop){.part = wrong_pairs_part,
                            .count = count,
                            .array = keys,
                            .bytes = key_bytes,
                            .values = values,
                            .value_bytes = value_bytes});
}

static uint64_t wrong_matches_part(const loop *loop, uint64_t begin, uint64_t end)
{
    uint64_t result = 0;
    for (uint64_t i = begin; i < end; i++) {
        result +=
            !bench_is_match(loop->keys, loop->number, bench_load(loop->array, 4, i),
                            bench_load(loop->values, loop->value_bytes, i), loop->value_bytes);
    }
    return result;
}

static uint64_t wrong_matches(bench_side *side, const bench_keys *keys, uint64_t count,
                              const void *indices, const void *values, uint32_t value_bytes,
                              uint64_t matches)
{
    return run(side, (loop){.part = wrong_matches_part,
                            .count = matches,
                            .keys = keys,
                            .number = count,
                            .array = indices,
                            .values = values,
                            .value_bytes = value_bytes});
}

static uint64_t sum_part(const loop *loop, uint64_t begin, uint64_t end)
{
    uint64_t result = 0;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t number = bench_load(loop->array, loop->bytes, i);
        result +=
            number <= loop->number && (loop->flags == NULL || loop->flags[i] == 1) ? number : 0;
    }
    return result;
}

static uint64_t sum(bench_side *side, const void *array, uint32_t bytes, const uint8_t *flags,
                    uint64_t high, uint64_t count)
{
    return run(side, (loop){.part = sum_part,
                            .count = count,
                            .array = array,
                            .bytes = bytes,
                            .flags = flags,
                            .number = high});
}

static uint64_t flag_part(const loop *loop, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        loop->flags_out[i] = (uint8_t)bench_is_kept(i, loop->share);
    }
    return 0;
}

static void flag(bench_side *side, uint8_t *flags, double share, uint64_t count)
{
    run(side, (loop){.part = flag_part, .count = count, .flags_out = flags, .share = share});
}

static uint64_t distinct_part(const loop *loop, uint64_t begin, uint64_t end)
{
    uint64_t result = 0;
    for (uint64_t i = begin; i < end; i++) {
        /* Of the threads that meet a number one finds a 0; nothing else is ordered by it. */
        result += atomic_exchange_explicit(&loop->seen[bench_number(loop->keys, i)], 1,
                                           memory_order_relaxed) == 0;
    }
    return result;
}

static uint64_t distinct(bench_side *side, const bench_keys *keys, uint64_t count)
{
    atomic_uchar *seen = calloc(keys->range, sizeof *seen);
    uint64_t result = 0;
    if (seen != NULL) {
        result =
            run(side, (loop){.part = distinct_part, .count = count, .keys = keys, .seen = seen});
        free(seen);
    }
    return result;
}

void bench_cpu_loops(bench_side *side)
{
    side->make = make;
    side->wrong = wrong;
    side->wrong_pairs = wrong_pairs;
    side->wrong_matches = wrong_matches;
    side->sum = sum;
    side->flag = flag;
    side->distinct = distinct;
}
