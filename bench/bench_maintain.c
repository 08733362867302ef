/* SPDX-License-Identifier: Apache-2.0 */
/* Rebuilding the whole of a table that is as good as new already: it is read and written once. */
#include "cases.h"

static void maintain(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    bench_fill(&run, run.p->load);
    while (bench_round(&run)) {
        bench_start(&run);
        bench_must(&run, nacre_map_maintain(run.map, &run.error, run.side->stream));
        bench_stop(&run);
    }
    bench_expect_size(&run, run.count);
    bench_expect_found(&run, &run.inserted, run.count);
    bench_expect_sound(&run);
    bench_finish(&run, BENCH_COPY, (double)run.count,
                 2 * (double)run.slots * (double)bench_slot_bytes(run.p));
    bench_close(&run);
}

void bench_cases_maintain(const bench_profile *profile)
{
    const double *loads;
    uint32_t count = bench_loads(profile, &loads);
    bench_parameters p = bench_defaults(profile);
    for (uint32_t i = 0; i < count; i++) {
        p.load = loads[i];
        bench_add("maintain", maintain, &p, "load=%.2f", p.load);
    }
}
