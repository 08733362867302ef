/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The suite itself: the judge of each side says no where it must, and a case whose answers are
 * wrong fails, and the program with it.
 */
#include "cases.h"

#include <inttypes.h>
#include <stdio.h>

static void expect(gbench_state *state, const char *what, uint64_t is, uint64_t should_be)
{
    char text[128];
    if (is != should_be) {
        snprintf(text, sizeof text, "%s is %" PRIu64 ", not %" PRIu64, what, is, should_be);
        gbench_fail(state, text);
    }
}

/* Lookups, pairs, a sum and a number of different keys, each right once and wrong once. */
static void judge(gbench_state *state, const void *argument)
{
    enum { COUNT = 100000 };
    bench_run run;
    bench_open(&run, state, argument);
    bench_side *side = run.side;
    const bench_keys keys = {BENCH_IN_ORDER, 8, 0, COUNT, 0, 0};
    const bench_keys others = {BENCH_SHUFFLED, 8, COUNT, COUNT, 0, 0};
    const bench_keys halves = {BENCH_UNIFORM, 8, 0, COUNT / 2, 0, 1};
    void *values;
    void *made = bench_make(&run, &keys, COUNT, &values);
    while (bench_round(&run)) {
        bench_start(&run);
        uint64_t wrong = side->wrong(side, &keys, values, 8, 0, COUNT);
        bench_stop(&run);
        expect(state, "right answers judged wrong", wrong, 0);
    }
    if (run.failed) {
        bench_close(&run);
        return;
    }
    uint64_t sum = 0, distinct = side->distinct(side, &halves, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        sum += bench_key(&keys, i);
    }
    expect(state, "wrong answers", side->wrong(side, &others, values, 8, 0, COUNT), COUNT);
    expect(state, "wrong misses", side->wrong(side, &halves, values, 8, 0, COUNT), COUNT);
    expect(state, "right pairs judged wrong", side->wrong_pairs(side, made, 8, values, 8, COUNT),
           0);
    expect(state, "wrong pairs", side->wrong_pairs(side, values, 8, made, 8, COUNT), COUNT);
    expect(state, "the sum of the keys", side->sum(side, made, 8, COUNT), sum);
    expect(state, "all different keys", side->distinct(side, &others, COUNT), COUNT);
    expect(state, "half of them occur", distinct > COUNT / 3 && distinct < COUNT / 2, 1);
    bench_close(&run);
}

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
    bench_add("self", judge, &p, "judge");
    if (profile->self_test) {
        bench_add("self", wrong_answer, &p, "wrong_answer");
    }
}
