/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of erasing the oldest tenth of the keys and inserting as many new ones, maintenance
 * included; and lookups afterwards, against those in a fresh table.
 */
#include "cases.h"

#include <inttypes.h>

#include "aged.h"

/* Fills a table and churns it; seconds of the changes. `present` becomes the keys that are left. */
static double churn_rounds(bench_run *run, bench_keys *present)
{
    const bench_parameters *p = run->p;
    nacre_stream stream = run->side->stream;
    const uint64_t tenth = run->count / 10;
    double seconds = 0;
    if (run->failed) {
        return 0;
    }
    bench_must(run, nacre_map_clear(run->map, &run->error, stream));
    run->side->make(run->side, &run->inserted, run->keys, run->values, p->value_bytes, run->count);
    bench_must(
        run, nacre_map_insert(run->map, run->keys, run->values, 10 * tenth, &run->options, stream));
    for (uint64_t round = 0; round < p->batch && !run->failed; round++) {
        uint64_t at = round % 10 * tenth;
        char *keys = (char *)run->keys + at * p->key_bytes;
        char *values = (char *)run->values + at * p->value_bytes;
        run->side->start(run->side);
        bench_must(run, nacre_map_erase(run->map, keys, tenth, &run->options, stream));
        seconds += run->side->stop(run->side);
        bench_keys next = {BENCH_IN_ORDER, p->key_bytes, (round + 10) * tenth, tenth, 0, 0};
        run->side->make(run->side, &next, keys, values, p->value_bytes, tenth);
        run->side->start(run->side);
        bench_must(run, nacre_map_insert(run->map, keys, values, tenth, &run->options, stream));
        seconds += run->side->stop(run->side);
    }
    *present = (bench_keys){BENCH_IN_ORDER, p->key_bytes, p->batch * tenth, 10 * tenth, 0, 0};
    return seconds;
}

static void churn(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_keys present = {0};
    bench_open(&run, state, argument);
    bench_fill(&run, run.p->load);
    while (bench_round(&run)) {
        gbench_seconds(state, churn_rounds(&run, &present));
    }
    bench_expect_size(&run, present.range);
    bench_expect_found(&run, &present, present.range);
    bench_expect_sound(&run);
    uint64_t pairs = present.range / 10 * run.p->batch;
    bench_finish(&run, BENCH_UPDATE, (double)pairs,
                 (double)(pairs * (2 * run.p->key_bytes + run.p->value_bytes +
                                   2 * bench_slot_bytes(run.p))));
    bench_close(&run);
}

static void find_churned(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_keys present = {0};
    bench_open(&run, state, argument);
    bench_fill(&run, run.p->load);
    churn_rounds(&run, &present);
    bench_find_aged(&run, &present);
    bench_close(&run);
}

void bench_cases_churn(const bench_profile *profile)
{
    bench_parameters p = bench_defaults(profile);
    p.load = 0.8;
    p.batch = p.side->capture != NULL ? 100 : 10; /* rounds of churn */
    bench_add("churn", churn, &p, "load=%.2f/rounds=%" PRIu64, p.load, p.batch);
    for (p.absent_rate = 0; p.absent_rate <= 1; p.absent_rate++) {
        bench_add(p.absent_rate > 0 ? "find_miss" : "find_hit", find_churned, &p,
                  "churned/load=%.2f/rounds=%" PRIu64, p.load, p.batch);
    }
}
