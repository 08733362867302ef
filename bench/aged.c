/* SPDX-License-Identifier: Apache-2.0 */
#include "aged.h"

/* Seconds of as many lookups in a map that is filled in one batch. */
static double fresh_seconds(bench_run *aged, double load, uint64_t count,
                            const nacre_options *options)
{
    bench_parameters parameters = *aged->p;
    bench_run run;
    parameters.slots = aged->slots;
    bench_open(&run, aged->state, &parameters);
    bench_fill(&run, load);
    bench_keys keys = {BENCH_SHUFFLED,        parameters.key_bytes, 0, run.count, 0,
                       parameters.absent_rate};
    count = count < run.count ? count : run.count;
    void *looked_up = bench_make(&run, &keys, count, NULL);
    void *answers = bench_memory(&run, count * parameters.value_bytes);
    double seconds = bench_time_finds(&run, looked_up, answers, count, options) / (double)count;
    aged->failed |= run.failed;
    bench_close(&run);
    return seconds;
}

void bench_find_aged(bench_run *run, const bench_keys *present)
{
    const bench_parameters *p = run->p;
    const uint64_t missing = 0x1234567, count = present->range;
    nacre_options options = run->options;
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    options.missing_value = &missing;
    bench_keys keys = *present;
    keys.kind = BENCH_SHUFFLED;
    keys.absent_rate = p->absent_rate;
    void *looked_up = bench_make(run, &keys, count, NULL);
    void *answers = bench_memory(run, count * p->value_bytes);
    while (bench_round(run)) {
        bench_start(run);
        bench_must(
            run, nacre_map_find(run->map, looked_up, count, answers, &options, run->side->stream));
        bench_stop(run);
    }
    bench_expect_answers(run, &keys, answers, p->value_bytes, missing, count);
    bench_expect_size(run, count);
    bench_expect_sound(run);
    if (run->failed) {
        return;
    }
    bench_must(run, nacre_map_info_get(run->map, &info, &run->error));
    run->slots = info.capacity_slots;
    run->count = count;
    bench_tell_probes(run, p->absent_rate);
    bench_finish(run, BENCH_READ, (double)count,
                 (double)(count * (p->key_bytes + p->value_bytes + 32)));
    double seconds = gbench_median(run->state) / (double)count;
    double fresh = fresh_seconds(run, (double)count / (double)run->slots, count, &options);
    bench_counter(run, "of_fresh", fresh / seconds);
}
