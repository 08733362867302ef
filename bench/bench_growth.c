/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Insertion into a map that starts small and grows by itself, memory taken from the system as it
 * does, by the host's clock, from the first call until all is done; batches are given one upon
 * another, as a program does that has them. Beside the rate: the longest batch, from the end of the
 * one before it to its own, memory at its peak, rate and memory along the way, and lookups
 * afterwards.
 */
#include "cases.h"

#include <inttypes.h>
#include <stdio.h>

#include "aged.h"

enum { POINTS = 16, /* of the curves */ ROUNDS_MARKED = 3 };

static void create(bench_run *run, uint64_t first_slots)
{
    nacre_map_config config;
    nacre_map_config_init(&config, sizeof config);
    config.key_bytes = run->p->key_bytes;
    config.value_bytes = run->p->value_bytes;
    config.capacity_keys = first_slots / 10 * 8;
    config.seed = 1;
    config.error = &run->error;
    if (run->map != NULL) {
        nacre_map_destroy(run->map);
        run->map = NULL;
        bench_settle();
    }
    bench_must(run, nacre_map_create(run->side->device, &config, &run->map));
}

/* Inserts keys [at, at + count). */
static void insert(bench_run *run, uint64_t at, uint64_t count)
{
    const char *keys = (const char *)run->keys + at * run->p->key_bytes;
    const char *values = (const char *)run->values + at * run->p->value_bytes;
    bench_must(run,
               nacre_map_insert(run->map, keys, values, count, &run->options, run->side->stream));
}

static nacre_map_info info_of(bench_run *run)
{
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    bench_must(run, nacre_map_info_get(run->map, &info, &run->error));
    return info;
}

/* A point of the curves, after `batches` batches: what the map was when the last was enqueued. */
typedef struct point {
    uint64_t batches, memory, slots;
} point;

/*
 * From first_slots to all keys, batch upon batch without a wait; seconds of the host's clock.
 * `points` [POINTS], or NULL: marks the end of each batch, which takes time itself.
 */
static double grow(bench_run *run, point *points)
{
    const bench_parameters *p = run->p;
    bench_side *side = run->side;
    uint64_t batches = 0;
    int next = 0;
    create(run, p->first_slots);
    double before = bench_now();
    if (points != NULL) {
        side->mark(side, 0);
    }
    for (uint64_t at = 0; at < p->keys && !run->failed; at += p->batch) {
        uint64_t count = p->keys - at < p->batch ? p->keys - at : p->batch;
        insert(run, at, count);
        if (points == NULL) {
            continue;
        }
        side->mark(side, (uint32_t)++batches);
        if (at + count >= p->keys * (uint64_t)(next + 1) / POINTS) {
            nacre_map_info info = info_of(run);
            points[next++] = (point){batches, info.memory_bytes, info.capacity_slots};
        }
    }
    bench_must(run, nacre_stream_wait(side->device, side->stream, &run->error));
    return bench_now() - before;
}

/* The counters curve:07:keys and so on, which the report draws. */
static void tell_curves(bench_run *run, const point *points)
{
    const bench_parameters *p = run->p;
    bench_side *side = run->side;
    for (int i = 0; i < POINTS && points[i].batches != 0; i++) {
        const uint32_t now = (uint32_t)points[i].batches;
        const uint32_t before = i == 0 ? 0 : (uint32_t)points[i - 1].batches;
        const double keys = (double)(now * p->batch < p->keys ? now * p->batch : p->keys);
        const struct {
            const char *name;
            double value;
        } counters[] = {
            {"keys", keys},
            {"seconds", side->between(side, 0, now)},
            {"memory", (double)points[i].memory},
            {"rate", (keys - (double)(before * p->batch)) / side->between(side, before, now)},
            {"load", keys / (double)points[i].slots}};
        for (uint32_t c = 0; c < sizeof counters / sizeof counters[0]; c++) {
            char name[32];
            snprintf(name, sizeof name, "curve:%02d:%s", i, counters[c].name);
            gbench_counter(run->state, name, counters[c].value);
        }
    }
}

/* The longest batch, from the end of the one before it to its own, over the median. */
static double longest_of(bench_side *side, uint32_t batches)
{
    double seconds[BENCH_MARKS];
    for (uint32_t i = 0; i < batches; i++) {
        seconds[i] = side->between(side, i, i + 1);
    }
    const double median = bench_median(seconds, batches);
    return seconds[batches - 1] / median;
}

static uint64_t batches_of(const bench_parameters *p)
{
    return (p->keys + p->batch - 1) / p->batch;
}

static void growth(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    const uint64_t batches = batches_of(p);
    const bench_keys keys = {BENCH_IN_ORDER, p->key_bytes, 0, p->keys, 0, 0};
    point points[POINTS] = {{0, 0, 0}};
    double longest[ROUNDS_MARKED];
    run.keys = bench_make(&run, &keys, p->keys, &run.values);
    if (batches >= BENCH_MARKS) {
        bench_fail(&run, "%" PRIu64 " batches are too many to be marked", batches);
    }
    while (bench_round(&run)) {
        gbench_seconds(state, grow(&run, NULL));
    }
    for (int i = 0; i < ROUNDS_MARKED && !run.failed; i++) {
        (void)grow(&run, points);
        longest[i] = longest_of(run.side, (uint32_t)batches);
    }
    bench_expect_size(&run, p->keys);
    bench_expect_found(&run, &keys, p->keys);
    bench_expect_sound(&run);
    if (!run.failed) {
        nacre_map_info info = info_of(&run);
        bench_finish(&run, BENCH_UPDATE, (double)p->keys,
                     (double)(p->keys * (p->key_bytes + p->value_bytes + bench_slot_bytes(p))));
        bench_counter(&run, "load", (double)p->keys / (double)info.capacity_slots);
        bench_counter(&run, "batches", (double)batches);
        bench_counter(&run, "longest", bench_median(longest, ROUNDS_MARKED));
        bench_counter(&run, "memory_peak",
                      (double)info.memory_peak_bytes / (double)info.memory_bytes);
        bench_counter(&run, "growths", (double)info.growths);
        tell_curves(&run, points);
    }
    bench_close(&run);
}

static void find_grown(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    const bench_keys keys = {BENCH_IN_ORDER, p->key_bytes, 0, p->keys, 0, 0};
    run.keys = bench_make(&run, &keys, p->keys, &run.values);
    create(&run, p->first_slots);
    for (uint64_t at = 0; at < p->keys && !run.failed; at += p->batch) {
        insert(&run, at, p->keys - at < p->batch ? p->keys - at : p->batch);
    }
    bench_find_aged(&run, &keys);
    bench_close(&run);
}

/* The load over sizes from 64 K keys on, each a twentieth more than the one before. */
static void mean_load(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    const bench_keys keys = {BENCH_IN_ORDER, p->key_bytes, 0, p->keys, 0, 0};
    run.keys = bench_make(&run, &keys, p->keys, &run.values);
    double load = 0;
    while (bench_round(&run)) {
        uint64_t size = 0, sizes = 0;
        load = 0;
        create(&run, 0);
        const double before = bench_now();
        while (size < p->keys && !run.failed) {
            uint64_t step = size < 65536 ? 65536 : size / 20;
            step = p->keys - size < step ? p->keys - size : step;
            insert(&run, size, step);
            size += step;
            load += (double)size / (double)info_of(&run).capacity_slots;
            sizes++;
        }
        bench_must(&run, nacre_stream_wait(run.side->device, run.side->stream, &run.error));
        load /= (double)sizes;
        gbench_seconds(state, bench_now() - before);
    }
    bench_expect_size(&run, p->keys);
    bench_finish(&run, BENCH_UPDATE, (double)p->keys,
                 (double)(p->keys * (p->key_bytes + p->value_bytes + bench_slot_bytes(p))));
    bench_counter(&run, "mean_load", load);
    bench_close(&run);
}

static void add_growth(const bench_parameters *p)
{
    if (p->batch <= p->keys) {
        bench_add("growth", growth, p, "from=%s/batch=%s", bench_human(p->first_slots).text,
                  bench_human(p->batch).text);
    }
}

void bench_cases_growth(const bench_profile *profile)
{
    static const uint64_t batches[] = {1000000, 4000000, 16000000, 100000000};
    bench_parameters p = bench_defaults(profile);
    p.batch = profile->keys < 1000000 ? 1000 : profile->keys < 50000000 ? 100000 : 1000000;
    p.first_slots = 1000;
    add_growth(&p);
    p.first_slots = 1000000;
    add_growth(&p);
    for (p.absent_rate = 0; p.absent_rate <= 1; p.absent_rate++) {
        bench_add(p.absent_rate > 0 ? "find_miss" : "find_hit", find_grown, &p, "grown/batch=%s",
                  bench_human(p.batch).text);
    }
    p.absent_rate = 0;
    bench_add("load", mean_load, &p, "sizes=64K-%s", bench_human(p.keys).text);
    for (uint32_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        if (batches[i] > p.batch && (profile->full || profile->keys > 50000000)) {
            p.batch = batches[i];
            add_growth(&p);
        }
    }
    p.key_bytes = p.value_bytes = 4;
    for (uint32_t i = 0; profile->full && i < sizeof batches / sizeof batches[0]; i++) {
        p.batch = batches[i];
        add_growth(&p);
    }
}
