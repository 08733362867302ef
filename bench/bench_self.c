/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The suite itself: the judge of each side says no where it must, and a case whose answers are
 * wrong fails, and the program with it.
 */
#include "cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void expect(gbench_state *state, const char *what, uint64_t is, uint64_t should_be)
{
    char text[128];
    if (is != should_be) {
        snprintf(text, sizeof text, "%s is %" PRIu64 ", not %" PRIu64, what, is, should_be);
        gbench_fail(state, text);
    }
}

/* Sums of `made` and of parts of it, against those of the host. */
static void judge_sums(bench_run *run, const bench_keys *keys, const void *made, uint64_t count)
{
    const uint64_t high = UINT64_MAX / 3;
    bench_side *side = run->side;
    uint8_t *flags = bench_memory(run, count);
    uint64_t all = 0, flagged = 0, low = 0, wide = 0, flag_count = 0;
    if (run->failed) {
        return;
    }
    side->flag(side, flags, 0.25, count);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = bench_key(keys, i);
        all += key;
        flagged += bench_is_kept(i, 0.25) ? key : 0;
        low += key <= high ? key : 0;
        wide += i % 2 == 0 ? key : bench_mix64(key);
        flag_count += (uint64_t)bench_is_kept(i, 0.25);
    }
    expect(run->state, "the sum of the keys", side->sum(side, made, 8, NULL, UINT64_MAX, count),
           all);
    expect(run->state, "the sum of the low keys", side->sum(side, made, 8, NULL, high, count), low);
    expect(run->state, "the sum of the keys with a flag",
           side->sum(side, made, 8, flags, UINT64_MAX, count), flagged);
    expect(run->state, "the digest of pairs of keys",
           side->sum(side, made, 16, NULL, UINT64_MAX, count / 2), wide);
    expect(run->state, "flags", side->sum(side, flags, 1, NULL, UINT64_MAX, count), flag_count);
    expect(run->state, "a quarter has a flag",
           flag_count > count / 4 - count / 50 && flag_count < count / 4 + count / 50, 1);
}

/* Matches of keys with themselves are right, of others and of absent keys wrong. */
static void judge_matches(bench_run *run, const bench_keys *keys, const bench_keys *others,
                          const bench_keys *absent, const void *values, uint64_t count)
{
    bench_side *side = run->side;
    uint32_t *numbers = malloc(count * sizeof *numbers);
    void *indices = bench_memory(run, count * sizeof *numbers);
    if (numbers == NULL || run->failed) {
        bench_fail(run, "no memory for %" PRIu64 " indices", count);
        free(numbers);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] = (uint32_t)i;
    }
    bench_must(run, nacre_memory_copy(side->device, numbers, count * sizeof *numbers, indices,
                                      &run->error, side->stream));
    expect(run->state, "right matches judged wrong",
           side->wrong_matches(side, keys, count, indices, values, 8, count), 0);
    expect(run->state, "wrong matches",
           side->wrong_matches(side, others, count, indices, values, 8, count), count);
    expect(run->state, "matches of absent keys",
           side->wrong_matches(side, absent, count, indices, values, 8, count), count);
    expect(run->state, "matches beyond the keys",
           side->wrong_matches(side, keys, count / 2, indices, values, 8, count), count / 2);
    free(numbers);
}

/* Lookups, pairs, matches, sums and a number of different keys, each right once and wrong once. */
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
    uint64_t distinct = side->distinct(side, &halves, COUNT);
    expect(state, "wrong answers", side->wrong(side, &others, values, 8, 0, COUNT), COUNT);
    expect(state, "wrong misses", side->wrong(side, &halves, values, 8, 0, COUNT), COUNT);
    expect(state, "right pairs judged wrong", side->wrong_pairs(side, made, 8, values, 8, COUNT),
           0);
    expect(state, "wrong pairs", side->wrong_pairs(side, values, 8, made, 8, COUNT), COUNT);
    judge_sums(&run, &keys, made, COUNT);
    judge_matches(&run, &keys, &others, &halves, values, COUNT);
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
