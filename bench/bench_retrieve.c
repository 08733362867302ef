/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys and values of a table, written densely: all of them, by each algorithm, and the half in a
 * range of keys; that half counted. The table is read, the pairs are written.
 */
#include "cases.h"

enum { RETRIEVE, RETRIEVE_IF, COUNT_IF };

static void retrieve(gbench_state *state, const void *argument)
{
    bench_run run;
    nacre_select half;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    bench_side *side = run.side;
    bench_fill(&run, p->load);
    uint64_t high = bench_lower_half(&run, &half);
    void *keys = bench_memory(&run, run.count * p->key_bytes);
    void *values = bench_memory(&run, run.count * p->value_bytes);
    uint64_t *needed = bench_memory(&run, 8);
    nacre_options options = run.options;
    options.algorithm = p->algorithm;
    while (bench_round(&run)) {
        bench_start(&run);
        bench_must(&run, p->operation == COUNT_IF
                             ? nacre_map_count_if(run.map, &half, needed, &options, side->stream)
                         : p->operation == RETRIEVE_IF
                             ? nacre_map_retrieve_if(run.map, &half, keys, values, run.count,
                                                     needed, &options, side->stream)
                             : nacre_map_retrieve(run.map, keys, values, run.count, needed,
                                                  &options, side->stream));
        bench_stop(&run);
    }
    const uint64_t found = bench_read(&run, needed);
    if (p->operation == COUNT_IF && !run.failed) {
        bench_must(&run, nacre_map_retrieve_if(run.map, &half, keys, values, run.count, needed,
                                               &options, side->stream));
    }
    bench_expect_keys(&run, keys, p->operation == RETRIEVE ? UINT64_MAX : high, found);
    if (p->value_bytes > 0 && !run.failed) {
        uint64_t wrong = side->wrong_pairs(side, keys, p->key_bytes, values, p->value_bytes, found);
        if (wrong != 0) {
            bench_fail(&run, "WRONG: %llu values", (unsigned long long)wrong);
        }
    }
    const uint64_t written = p->operation == COUNT_IF ? 0 : found;
    bench_finish(
        &run, BENCH_COPY, (double)run.count,
        (double)(run.slots * bench_slot_bytes(p) + written * (p->key_bytes + p->value_bytes)));
    bench_close(&run);
}

static void add_algorithms(bench_parameters p)
{
    for (p.algorithm = 1; p.algorithm < BENCH_ALGORITHMS; p.algorithm++) {
        for (p.load = 0.5; p.load < 1; p.load += 0.4) {
            bench_add("retrieve", retrieve, &p, "load=%.2f/algorithm=%s", p.load,
                      bench_algorithms[p.algorithm]);
        }
    }
}

void bench_cases_retrieve(const bench_profile *profile)
{
    const double *loads;
    uint32_t count = bench_loads(profile, &loads);
    bench_parameters p = bench_defaults(profile);
    for (uint32_t i = 0; i < count; i++) {
        p.load = loads[i];
        bench_add("retrieve", retrieve, &p, "load=%.2f", p.load);
    }
    p.load = 0.5;
    p.operation = RETRIEVE_IF;
    bench_add("retrieve_if", retrieve, &p, "load=%.2f/half", p.load);
    p.operation = COUNT_IF;
    bench_add("count_if", retrieve, &p, "load=%.2f/half", p.load);
    p.operation = RETRIEVE;
    if (p.side->naive != NULL) { /* on the CPU all algorithms are one */
        add_algorithms(p);
        p.key_bytes = p.value_bytes = 4;
        add_algorithms(p);
    }
    const uint32_t(*widths)[2];
    const uint32_t others = bench_widths(profile, &widths);
    for (uint32_t w = 0; w < others; w++) {
        p.key_bytes = widths[w][0];
        p.value_bytes = widths[w][1];
        for (p.load = 0.5; p.load < 1; p.load += 0.4) {
            bench_add("retrieve", retrieve, &p, "load=%.2f", p.load);
        }
    }
}
