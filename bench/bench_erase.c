/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every key of a full table erased, in an order that has nothing to do with that of insertion; and
 * half of them by a condition, for which the table is read once.
 */
#include "cases.h"

static void erase(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    bench_fill(&run, run.p->load);
    const bench_keys keys = {BENCH_SHUFFLED, run.p->key_bytes, 0, run.count, 0, 0};
    void *erased = bench_make(&run, &keys, run.count, NULL);
    while (bench_round(&run)) {
        bench_must(&run, nacre_map_clear(run.map, &run.error, run.side->stream));
        bench_insert_all(&run);
        bench_expect_size(&run, run.count);
        bench_start(&run);
        bench_must(&run,
                   nacre_map_erase(run.map, erased, run.count, &run.options, run.side->stream));
        bench_stop(&run);
    }
    bench_expect_size(&run, 0);
    bench_expect_sound(&run);
    bench_finish(&run, BENCH_UPDATE, (double)run.count,
                 (double)(run.count * (run.p->key_bytes + bench_slot_bytes(run.p))));
    bench_close(&run);
}

static void erase_if(gbench_state *state, const void *argument)
{
    bench_run run;
    nacre_select half;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    bench_side *side = run.side;
    bench_fill(&run, p->load);
    const uint64_t high = bench_lower_half(&run, &half);
    void *keys = bench_memory(&run, run.count * p->key_bytes);
    uint64_t *needed = bench_memory(&run, 8);
    while (bench_round(&run)) {
        bench_must(&run, nacre_map_clear(run.map, &run.error, side->stream));
        bench_insert_all(&run);
        bench_must(&run, nacre_map_retrieve_if(run.map, &half, keys, NULL, run.count, needed,
                                               &run.options, side->stream));
        bench_start(&run);
        bench_must(&run, nacre_map_erase_if(run.map, &half, &run.options, side->stream));
        bench_stop(&run);
    }
    const uint64_t erased = bench_read(&run, needed);
    bench_expect_keys(&run, keys, high, erased);
    bench_expect_size(&run, run.count - erased);
    bench_must(&run, nacre_map_count_if(run.map, &half, needed, &run.options, side->stream));
    if (bench_read(&run, needed) != 0) {
        bench_fail(&run, "WRONG: some of the keys erased are still there");
    }
    bench_expect_sound(&run);
    bench_finish(&run, BENCH_COPY, (double)run.count,
                 (double)((run.slots + erased) * bench_slot_bytes(p)));
    bench_close(&run);
}

void bench_cases_erase(const bench_profile *profile)
{
    const double *loads;
    uint32_t count = bench_loads(profile, &loads);
    bench_parameters p = bench_defaults(profile);
    for (uint32_t i = 0; i < count; i++) {
        p.load = loads[i];
        bench_add("erase", erase, &p, "load=%.2f", p.load);
    }
    p.load = 0.5;
    bench_add("erase_if", erase_if, &p, "load=%.2f/half", p.load);
    p.key_bytes = p.value_bytes = 4;
    for (p.load = 0.5; p.load < 0.9; p.load += 0.3) {
        bench_add("erase", erase, &p, "load=%.2f", p.load);
    }
}
