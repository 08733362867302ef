/* SPDX-License-Identifier: Apache-2.0 */
/* Every key and value of a table, written densely: the table is read, the pairs are written. */
#include "cases.h"

#include <inttypes.h>

static void retrieve(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    bench_fill(&run, run.p->load);
    const uint32_t key_bytes = run.p->key_bytes, value_bytes = run.p->value_bytes;
    bench_side *side = run.side;
    void *keys = bench_memory(&run, run.count * key_bytes);
    void *values = bench_memory(&run, run.count * value_bytes);
    uint64_t *needed = bench_memory(&run, 8), retrieved = 0;
    while (bench_round(&run)) {
        bench_start(&run);
        bench_must(&run, nacre_map_retrieve(run.map, keys, values, run.count, needed, &run.options,
                                            side->stream));
        bench_stop(&run);
    }
    if (!run.failed) {
        bench_must(
            &run, nacre_memory_copy(side->device, needed, 8, &retrieved, &run.error, side->stream));
        bench_must(&run, nacre_stream_wait(side->device, side->stream, &run.error));
        if (retrieved != run.count || side->sum(side, keys, key_bytes, run.count) !=
                                          side->sum(side, run.keys, key_bytes, run.count)) {
            bench_fail(&run,
                       "WRONG: the %" PRIu64 " keys retrieved are not the %" PRIu64 " inserted",
                       retrieved, run.count);
        } else if (value_bytes > 0) {
            uint64_t wrong =
                side->wrong_pairs(side, keys, key_bytes, values, value_bytes, run.count);
            if (wrong != 0) {
                bench_fail(&run, "WRONG: %" PRIu64 " of %" PRIu64 " values", wrong, run.count);
            }
        }
    }
    bench_finish(&run, BENCH_COPY, (double)run.count,
                 (double)run.slots * (double)bench_slot_bytes(run.p) +
                     (double)run.count * (key_bytes + value_bytes));
    bench_close(&run);
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
    for (uint32_t w = 0; w < BENCH_WIDTHS; w++) {
        p.key_bytes = bench_widths[w][0];
        p.value_bytes = bench_widths[w][1];
        for (p.load = 0.5; p.load < 1; p.load += 0.4) {
            bench_add("retrieve", retrieve, &p, "load=%.2f", p.load);
        }
    }
}
