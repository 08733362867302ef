/* SPDX-License-Identifier: Apache-2.0 */
/* The suite itself: a case whose answers are wrong has to fail, and the program with it. */
#include "cases.h"

static void wrong_answer(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    bench_fill(&run, run.p->load);
    bench_keys absent = run.inserted;
    absent.absent_rate = 0.5;
    void *looked_up = bench_make(&run, &absent, run.count, NULL);
    void *answers = bench_memory(&run, run.count * 8);
    while (bench_round(&run)) {
        bench_start(&run);
        bench_must(&run, nacre_map_find(run.map, looked_up, run.count, answers, &run.options,
                                        run.side->stream));
        bench_stop(&run);
    }
    bench_expect_answers(&run, &run.inserted, answers, 8, 0, run.count);
    bench_finish(&run, BENCH_READ, (double)run.count, 0);
    bench_close(&run);
}

void bench_cases_self(const bench_profile *profile)
{
    bench_parameters p = bench_defaults(profile);
    if (profile->self_test) {
        bench_add("self", wrong_answer, &p, "wrong_answer");
    }
}
