/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups and insertions by a kernel of the suite's own, through a view, from its beginning to its
 * end; against the library's call on the same keys.
 */
#include "cases.h"

static void view_find(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    bench_side *side = run.side;
    bench_fill(&run, p->load);
    const bench_keys keys = {BENCH_SHUFFLED, p->key_bytes, 0, run.count, 0, 0};
    void *looked_up = bench_make(&run, &keys, run.count, NULL);
    void *answers = bench_memory(&run, run.count * p->value_bytes);
    while (bench_round(&run)) {
        bench_start(&run);
        bench_must(&run, side->view_find(side, run.map, looked_up, run.count, answers, &run.error));
        bench_stop(&run);
    }
    bench_expect_answers(&run, &keys, answers, p->value_bytes, 0, run.count);
    bench_tell_probes(&run, 0);
    bench_finish(&run, BENCH_READ, (double)run.count,
                 (double)(run.count * (p->key_bytes + p->value_bytes + 32)));
    double batch = bench_time_finds(&run, looked_up, answers, run.count, &run.options);
    bench_counter(&run, "of_batch", batch / gbench_median(state));
    bench_close(&run);
}

static double insert_once(bench_run *run, int by_view)
{
    bench_must(run, nacre_map_clear(run->map, &run->error, run->side->stream));
    run->side->start(run->side);
    if (by_view) {
        bench_must(run, run->side->view_insert(run->side, run->map, run->keys, run->values,
                                               run->count, &run->error));
    } else {
        bench_insert_all(run);
    }
    return run->side->stop(run->side);
}

static void view_insert(gbench_state *state, const void *argument)
{
    enum { PASSES = 5 };
    double passes[PASSES];
    bench_run run;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    bench_fill(&run, p->load);
    if (run.side->view_insert(run.side, run.map, run.keys, run.values, 1, &run.error) ==
        NACRE_ERROR_UNSUPPORTED) {
        gbench_skip(state, run.error.message);
        bench_close(&run);
        return;
    }
    while (bench_round(&run)) {
        gbench_seconds(state, insert_once(&run, 1));
    }
    bench_expect_size(&run, run.count);
    bench_expect_found(&run, &run.inserted, run.count);
    bench_expect_sound(&run);
    bench_finish(&run, BENCH_UPDATE, (double)run.count,
                 (double)(run.count * (p->key_bytes + p->value_bytes + bench_slot_bytes(p))));
    const double begun = bench_now();
    for (int i = -1; i < PASSES && !run.failed; i += i >= 0 || bench_warm(begun)) {
        passes[i < 0 ? 0 : i] = insert_once(&run, 0);
    }
    if (!run.failed) {
        bench_counter(&run, "of_batch", bench_median(passes, PASSES) / gbench_median(state));
    }
    bench_close(&run);
}

void bench_cases_view(const bench_profile *profile)
{
    bench_parameters p = bench_defaults(profile);
    if (p.side->view_find == NULL) {
        return;
    }
    for (p.load = 0.5; p.load < 0.9; p.load += 0.3) {
        bench_add("view_find", view_find, &p, "load=%.2f", p.load);
        bench_add("view_insert", view_insert, &p, "load=%.2f", p.load);
    }
}
