/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups in a full table, in an order that has nothing to do with slots or insertion: all there,
 * none there, some; a few of them often; batches of every length; once in the order of insertion,
 * which flatters.
 */
#include "cases.h"

#include <inttypes.h>

enum { FIND, CONTAINS, FIND_MAINTAINED };

static void find(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    const uint64_t missing = 0x1234567;
    nacre_options options = run.options;
    options.missing_value = &missing;
    bench_fill(&run, p->load);
    if (p->operation == FIND_MAINTAINED && !run.failed) {
        bench_must(&run, nacre_map_maintain(run.map, &run.error, run.side->stream));
    }
    const int contains = p->operation == CONTAINS || p->value_bytes == 0;
    const uint32_t bytes = contains ? 1 : p->value_bytes;
    const uint64_t count = p->batch == 0 || p->batch > run.count ? run.count : p->batch;
    /* Each round looks up other keys than the one before, where there are enough. */
    const uint64_t batches = count * (p->rounds + 1) <= run.count ? p->rounds + 1 : 1;
    const bench_keys keys = {p->kind, p->key_bytes, 0, run.count, p->skew, p->absent_rate};
    char *looked_up = bench_make(&run, &keys, batches * count, NULL);
    uint8_t *answers = bench_memory(&run, batches * count * bytes);
    uint64_t round = 0;
    for (; bench_round(&run); round++) {
        const void *these = looked_up + round % batches * count * p->key_bytes;
        uint8_t *out = answers + round % batches * count * bytes;
        bench_start(&run);
        bench_must(&run,
                   contains
                       ? nacre_map_contains(run.map, these, count, out, &options, run.side->stream)
                       : nacre_map_find(run.map, these, count, out, &options, run.side->stream));
        bench_stop(&run);
    }
    bench_expect_answers(&run, &keys, answers, bytes, missing,
                         (round < batches ? round : batches) * count);
    bench_expect_size(&run, run.count);
    bench_tell_probes(&run, p->absent_rate);
    bench_finish(&run, BENCH_READ, (double)count, (double)(count * (p->key_bytes + bytes + 64)));
    bench_close(&run);
}

static void add(const bench_parameters *p, const char *rest)
{
    const char *operation = p->operation == CONTAINS || p->value_bytes == 0
                                ? (p->absent_rate > 0 ? "contains_miss" : "contains")
                                : (p->absent_rate == 1   ? "find_miss"
                                   : p->absent_rate == 0 ? "find_hit"
                                                         : "find");
    bench_add(operation, find, p, "load=%.2f%s", p->load, rest);
}

static const double targeted[] = {0.5, 0.8, 0.9};

static void add_loads(const bench_profile *profile)
{
    const double *loads;
    const uint32_t(*widths)[2];
    const uint32_t count = bench_loads(profile, &loads), others = bench_widths(profile, &widths);
    bench_parameters p = bench_defaults(profile);
    for (p.absent_rate = 0; p.absent_rate <= 1; p.absent_rate++) {
        for (uint32_t i = 0; i < count; i++) {
            p.load = loads[i];
            add(&p, "");
        }
        for (uint32_t w = 0; w < others; w++) {
            bench_parameters other = p;
            other.key_bytes = widths[w][0];
            other.value_bytes = widths[w][1];
            for (uint32_t i = 0; i < sizeof targeted / sizeof targeted[0]; i++) {
                other.load = targeted[i];
                add(&other, "");
            }
        }
    }
}

void bench_cases_find(const bench_profile *profile)
{
    add_loads(profile);
    bench_parameters p = bench_defaults(profile);
    p.load = 0.8;
    p.operation = CONTAINS;
    add(&p, "");

    p.operation = FIND_MAINTAINED;
    for (p.absent_rate = 0; p.absent_rate <= 1; p.absent_rate++) {
        for (uint32_t i = 0; i < sizeof targeted / sizeof targeted[0]; i++) {
            p.load = targeted[i];
            if (profile->full || p.load == 0.8) {
                add(&p, "/maintained");
            }
        }
    }
    p.load = 0.8;
    p.operation = FIND;
    p.absent_rate = 0;
    p.kind = BENCH_IN_ORDER;
    add(&p, "/order=insertion");

    p.kind = BENCH_SHUFFLED;
    p.load = 0.5;
    for (int tenths = 1; tenths < 10; tenths++) {
        p.absent_rate = 1 - tenths / 10.0;
        if (profile->full || tenths == 5) {
            bench_add("find", find, &p, "load=%.2f/hit_rate=%.1f", p.load, tenths / 10.0);
        }
    }
    p.absent_rate = 0;
    p.kind = BENCH_ZIPF;
    for (int tenths = 0; tenths <= 12; tenths += 2) {
        p.skew = tenths / 10.0;
        if (profile->full || tenths == 10) {
            bench_add("find_hit", find, &p, "load=%.2f/zipf=%.2f", p.load, p.skew);
        }
    }
    p.kind = BENCH_GAUSSIAN;
    p.skew = 0.1;
    if (profile->full) {
        bench_add("find_hit", find, &p, "load=%.2f/gaussian=%.2f", p.load, p.skew);
    }
    p.kind = BENCH_SHUFFLED;
    p.load = 0.8;
    p.rounds = 50;
    const uint64_t longest = (uint64_t)((double)p.slots * p.load);
    for (p.batch = 1; p.batch <= longest; p.batch *= profile->full ? 10 : 1000) {
        bench_add("find_hit", find, &p, "load=%.2f/batch=%s", p.load, bench_human(p.batch).text);
    }
}
