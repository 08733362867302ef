/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of insertions and batches of lookups by turns, on one stream and on two: what is gained
 * where they overlap. By the host's clock, from the first call until all has finished.
 */
#include "cases.h"

static void streams(gbench_state *state, const void *argument)
{
    bench_run run;
    nacre_stream second = NULL;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    nacre_device *device = run.side->device;
    bench_create(&run, p->load);
    run.keys = bench_make(&run, &run.inserted, run.count, &run.values);
    const uint64_t half = run.count / 2, batches = half / p->batch;
    const bench_keys keys = {BENCH_SHUFFLED, p->key_bytes, 0, half, 0, 0};
    void *looked_up = bench_make(&run, &keys, half, NULL);
    void *answers = bench_memory(&run, half * p->value_bytes);
    bench_must(&run, nacre_stream_create(device, &second, &run.error));
    while (bench_round(&run)) {
        nacre_stream first = run.side->stream, other = p->operation == 2 ? second : first;
        bench_must(&run, nacre_map_clear(run.map, &run.error, first));
        bench_must(&run,
                   nacre_map_insert(run.map, run.keys, run.values, half, &run.options, first));
        bench_must(&run, nacre_stream_wait(device, first, &run.error));
        double before = bench_now();
        for (uint64_t i = 0; i < batches && !run.failed; i++) {
            const uint64_t found = i * p->batch, at = half + found;
            bench_must(&run, nacre_map_insert(run.map, (char *)run.keys + at * p->key_bytes,
                                              (char *)run.values + at * p->value_bytes, p->batch,
                                              &run.options, first));
            bench_must(&run, nacre_map_find(run.map, (char *)looked_up + found * p->key_bytes,
                                            p->batch, (char *)answers + found * p->value_bytes,
                                            &run.options, other));
        }
        bench_must(&run, nacre_stream_wait(device, first, &run.error));
        bench_must(&run, nacre_stream_wait(device, other, &run.error));
        gbench_seconds(state, bench_now() - before);
    }
    bench_expect_answers(&run, &keys, answers, p->value_bytes, 0, batches * p->batch);
    bench_expect_size(&run, half + batches * p->batch);
    bench_expect_found(&run, &run.inserted, half + batches * p->batch);
    bench_finish(&run, BENCH_UPDATE, 2.0 * (double)(batches * p->batch),
                 2.0 * (double)(batches * p->batch * (p->key_bytes + p->value_bytes + 32)));
    nacre_stream_destroy(device, second, NULL);
    bench_close(&run);
}

void bench_cases_streams(const bench_profile *profile)
{
    bench_parameters p = bench_defaults(profile);
    if (p.side->capture == NULL) {
        return; /* the CPU has one stream */
    }
    p.load = 0.8;
    p.batch = 1000000;
    for (p.operation = 1; p.operation <= 2; p.operation++) {
        bench_add("mixed_streams", streams, &p, "load=%.2f/batch=%s/streams=%u", p.load,
                  bench_human(p.batch).text, (unsigned)p.operation);
    }
}
