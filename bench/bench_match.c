/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups that write (index, value) of the keys found, densely: a join's gather map. */
#include "cases.h"

#include <inttypes.h>

/* The pairs are right, and as many, with the same values, as lookups give. */
static void expect_matches(bench_run *run, const bench_keys *keys, const void *looked_up,
                           const void *indices, const void *values, uint64_t matches)
{
    const uint32_t bytes = run->p->value_bytes;
    const uint64_t missing = 0;
    bench_side *side = run->side;
    nacre_options options = run->options;
    options.missing_value = &missing;
    uint8_t *contained = bench_memory(run, run->count);
    void *found = bench_memory(run, run->count * bytes);
    if (run->failed) {
        return;
    }
    bench_must(run, nacre_map_contains(run->map, looked_up, run->count, contained, &run->options,
                                       side->stream));
    bench_must(run, nacre_map_find(run->map, looked_up, run->count, found, &options, side->stream));
    bench_expect_answers(run, keys, contained, 1, 0, run->count);
    bench_expect_answers(run, keys, found, bytes, missing, run->count);
    if (run->failed) {
        return;
    }
    uint64_t hits = side->sum(side, contained, 1, NULL, UINT64_MAX, run->count);
    uint64_t wrong = side->wrong_matches(side, keys, run->count, indices, values, bytes, matches);
    if (matches != hits || wrong != 0 ||
        side->sum(side, values, bytes, NULL, UINT64_MAX, matches) !=
            side->sum(side, found, bytes, NULL, UINT64_MAX, run->count)) {
        bench_fail(run, "WRONG: %" PRIu64 " of %" PRIu64 " pairs, where %" PRIu64 " keys are there",
                   wrong, matches, hits);
    }
}

static void match(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    bench_fill(&run, p->load);
    const bench_keys keys = {BENCH_SHUFFLED, p->key_bytes, 0, run.count, 0, p->absent_rate};
    void *looked_up = bench_make(&run, &keys, run.count, NULL);
    void *indices = bench_memory(&run, run.count * 4);
    void *values = bench_memory(&run, run.count * p->value_bytes);
    uint64_t *needed = bench_memory(&run, 8);
    while (bench_round(&run)) {
        bench_start(&run);
        bench_must(&run, nacre_map_match(run.map, looked_up, run.count, indices, 4, values,
                                         run.count, needed, &run.options, run.side->stream));
        bench_stop(&run);
    }
    const uint64_t matches = bench_read(&run, needed);
    if (matches <= run.count) {
        expect_matches(&run, &keys, looked_up, indices, values, matches);
    } else {
        bench_fail(&run, "WRONG: %" PRIu64 " matches of %" PRIu64 " keys", matches, run.count);
    }
    bench_tell_probes(&run, p->absent_rate);
    bench_finish(&run, BENCH_READ, (double)run.count,
                 (double)(run.count * (p->key_bytes + 32) + matches * (4 + p->value_bytes)));
    bench_close(&run);
}

void bench_cases_match(const bench_profile *profile)
{
    static const double rates[] = {0.5, 1, 0.1, 0.9};
    bench_parameters p = bench_defaults(profile);
    for (uint32_t i = 0; i < (profile->full ? 4 : 1); i++) {
        p.absent_rate = 1 - rates[i];
        bench_add("match", match, &p, "load=%.2f/hit_rate=%.1f", p.load, rates[i]);
    }
}
