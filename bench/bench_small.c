/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups of small batches: the time of a call inside of a graph of 16 and without one, with
 * outcomes; and how long a call keeps the host.
 */
#include "cases.h"

#include <inttypes.h>

enum { CALLS = 16, HOST_CALLS = 500 };

static void find_calls(bench_run *run, const void *keys, void *answers,
                       const nacre_options *options, int calls)
{
    for (int i = 0; i < calls && !run->failed; i++) {
        bench_must(run, nacre_map_find(run->map, keys, run->p->batch, answers, options,
                                       run->side->stream));
    }
}

static void find_small(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    bench_side *side = run.side;
    bench_fill(&run, p->load);
    const bench_keys keys = {BENCH_SHUFFLED, p->key_bytes, 0, run.count, 0, 0};
    void *looked_up = bench_make(&run, &keys, p->batch, NULL);
    void *answers = bench_memory(&run, p->batch * p->value_bytes);
    nacre_options options = run.options;
    options.outcomes = bench_memory(&run, p->batch);
    void *graph = NULL;
    if (p->graph && !run.failed) {
        nacre_stream_wait(side->device, side->stream, NULL);
        side->capture(side);
        find_calls(&run, looked_up, answers, &options, CALLS);
        graph = side->captured(side);
    }
    while (bench_round(&run)) {
        bench_start(&run);
        if (p->graph) {
            side->replay(side, graph);
        } else {
            find_calls(&run, looked_up, answers, &options, CALLS);
        }
        bench_stop(&run);
    }
    bench_expect_answers(&run, &keys, answers, p->value_bytes, 0, p->batch);
    if (graph != NULL) {
        side->drop(side, graph);
    }
    bench_finish(&run, BENCH_READ, (double)(p->batch * CALLS),
                 (double)(p->batch * CALLS * (p->key_bytes + p->value_bytes + 33)));
    bench_say(&run, "%9.2f us", gbench_median(state) / CALLS * 1e6);
    bench_counter(&run, "us/call", gbench_median(state) / CALLS * 1e6);
    bench_close(&run);
}

static void host_time(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    bench_fill(&run, p->load);
    const bench_keys keys = {BENCH_SHUFFLED, p->key_bytes, 0, run.count, 0, 0};
    void *looked_up = bench_make(&run, &keys, p->batch, NULL);
    void *answers = bench_memory(&run, p->batch * p->value_bytes);
    while (bench_round(&run)) {
        bench_must(&run, nacre_stream_wait(run.side->device, run.side->stream, &run.error));
        double before = bench_now();
        find_calls(&run, looked_up, answers, &run.options, HOST_CALLS);
        gbench_seconds(state, bench_now() - before);
    }
    bench_expect_answers(&run, &keys, answers, p->value_bytes, 0, p->batch);
    bench_finish(&run, BENCH_READ, (double)(p->batch * HOST_CALLS),
                 (double)(p->batch * HOST_CALLS * (p->key_bytes + p->value_bytes + 32)));
    bench_say(&run, "%9.2f us", gbench_median(state) / HOST_CALLS * 1e6);
    bench_counter(&run, "us/call", gbench_median(state) / HOST_CALLS * 1e6);
    bench_close(&run);
}

void bench_cases_small(const bench_profile *profile)
{
    static const uint64_t batches[] = {1, 1024, 8192, 65536, 1048576};
    bench_parameters p = bench_defaults(profile);
    p.rounds = 20;
    for (uint32_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        p.batch = batches[i];
        for (p.graph = 0; p.graph <= (p.side->capture != NULL); p.graph++) {
            if ((double)p.batch <= (double)p.slots * p.load) {
                bench_add("find_small", find_small, &p, "batch=%" PRIu64 "/graph=%d", p.batch,
                          p.graph ? CALLS : 0);
            }
        }
    }
    /* The same in a table that fits into the caches. */
    p.slots = p.slots < 1000000 ? p.slots : 1000000;
    p.graph = p.side->capture != NULL;
    for (p.batch = 1024; p.batch <= 65536 && p.batch <= p.slots / 2; p.batch *= 64) {
        bench_add("find_small", find_small, &p, "batch=%" PRIu64 "/graph=%d/slots=%s", p.batch,
                  p.graph ? CALLS : 0, bench_human(p.slots).text);
    }
    p.graph = 0;
    p.batch = 1;
    bench_add("host_time", host_time, &p, "batch=1");
}
