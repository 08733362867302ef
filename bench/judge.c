/* SPDX-License-Identifier: Apache-2.0 */
/* What must be true after the rounds of a case, and what the case tells. */
#include "bench.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bench_expect_size(bench_run *run, uint64_t expected)
{
    uint64_t size = 0;
    if (!run->failed) {
        bench_must(run, nacre_map_size(run->map, &size, &run->error, run->side->stream));
        if (size != expected) {
            bench_fail(run, "WRONG: %" PRIu64 " keys instead of %" PRIu64, size, expected);
        }
    }
}

uint64_t bench_read(bench_run *run, const uint64_t *number)
{
    uint64_t value = 0;
    if (!run->failed) {
        bench_must(run, nacre_memory_copy(run->side->device, number, 8, &value, &run->error,
                                          run->side->stream));
        bench_must(run, nacre_stream_wait(run->side->device, run->side->stream, &run->error));
    }
    return value;
}

void bench_expect_keys(bench_run *run, const void *keys, uint64_t high, uint64_t count)
{
    bench_side *side = run->side;
    const uint32_t bytes = run->p->key_bytes;
    if (!run->failed &&
        (count > run->count || side->sum(side, keys, bytes, NULL, UINT64_MAX, count) !=
                                   side->sum(side, run->keys, bytes, NULL, high, run->count))) {
        bench_fail(run, "WRONG: the %" PRIu64 " keys are not those among %" PRIu64, count,
                   run->count);
    }
}

void bench_expect_answers(bench_run *run, const bench_keys *keys, const void *answers,
                          uint32_t value_bytes, uint64_t missing, uint64_t count)
{
    if (!run->failed) {
        uint64_t wrong = run->side->wrong(run->side, keys, answers, value_bytes, missing, count);
        if (wrong != 0) {
            bench_fail(run, "WRONG: %" PRIu64 " of %" PRIu64 " answers", wrong, count);
        }
    }
}

void bench_expect_found(bench_run *run, const bench_keys *keys, uint64_t count)
{
    const uint32_t bytes = run->p->value_bytes == 0 ? 1 : run->p->value_bytes;
    const uint64_t missing = 0x1234567;
    nacre_options options = run->options;
    options.missing_value = &missing;
    void *looked_up = bench_make(run, keys, count, NULL);
    void *answers = bench_memory(run, count * bytes);
    if (!run->failed) {
        bench_must(run, bytes == 1 ? nacre_map_contains(run->map, looked_up, count, answers,
                                                        &options, run->side->stream)
                                   : nacre_map_find(run->map, looked_up, count, answers, &options,
                                                    run->side->stream));
    }
    bench_expect_answers(run, keys, answers, bytes, missing, count);
}

void bench_expect_sound(bench_run *run)
{
    if (!run->failed) {
        bench_must(run, nacre_map_check(run->map, &run->error, run->side->stream));
    }
}

/* ---- limits --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

double bench_median(double *values, uint64_t count)
{
    qsort(values, count, sizeof values[0], by_value);
    return count == 0 ? 0 : values[count / 2];
}

/* Measured beside the rounds, since machines are not equally fast all the time. */
static double limit_of(bench_run *run, int which, uint64_t slots)
{
    enum { PASSES = 5 };
    if (run->limits[which] == 0) {
        bench_side *side = run->side;
        double passes[PASSES];
        bench_limits *limits = side->limits_open(side, slots * bench_slot_bytes(run->p));
        if (limits == NULL) {
            bench_fail(run, "no memory for the limit beside it");
            return 1;
        }
        const double begun = bench_now();
        do {
            side->limits_pass(side, limits, which);
        } while (!bench_warm(begun));
        for (int i = 0; i < PASSES; i++) {
            passes[i] = side->limits_pass(side, limits, which);
        }
        side->limits_close(side, limits);
        run->limits[which] = bench_median(passes, PASSES);
    }
    return run->limits[which];
}

/* ---- what is told --------------------------------------------------------------------------- */

void bench_say(bench_run *run, const char *format, ...)
{
    size_t length = strlen(run->line);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->line + length, sizeof run->line - length, format, arguments);
    va_end(arguments);
}

void bench_counter(bench_run *run, const char *name, double value)
{
    char as[64];
    if (run->failed) {
        return;
    }
    gbench_counter(run->state, name, value);
    const bench_target *target = bench_target_of(run->p->name, name);
    if (target != NULL) {
        int met = target->at_most ? value <= target->value : value >= target->value;
        snprintf(as, sizeof as, "%s:%s", target->at_most ? "max" : "min", name);
        gbench_counter(run->state, as, target->value);
        bench_say(run, "  %s %s %.4g %s", name, target->at_most ? "<=" : ">=", target->value,
                  met ? "met" : "NOT MET");
    }
}

void bench_tell_probes(bench_run *run, double absent_rate)
{
    nacre_map_statistics statistics;
    nacre_map_statistics_init(&statistics, sizeof statistics);
    if (run->failed) {
        return;
    }
    bench_must(run,
               nacre_map_statistics_get(run->map, &statistics, &run->error, run->side->stream));
    const double pairs = absent_rate * statistics.probe_length_mean_missing +
                         (1 - absent_rate) * statistics.probe_length_mean_hit;
    const double limit = limit_of(run, BENCH_READ, run->slots);
    bench_counter(run, "pairs", pairs);
    bench_counter(run, "predicted", pairs > 0 ? limit / pairs : 0);
    bench_say(run, "%5.2f pairs", pairs);
}

void bench_finish_in(bench_run *run, double seconds, int which, double keys, double bytes)
{
    static const char *const names[] = {"copy", "read", "update"};
    char name[32];
    nacre_map_info info;
    nacre_map_info_init(&info, sizeof info);
    if (run->failed) {
        return;
    }
    info.capacity_slots = run->p->slots; /* without a map: as large a table */
    if (run->map != NULL) {
        bench_must(run, nacre_map_info_get(run->map, &info, &run->error));
    }
    if (run->count > 0) {
        bench_counter(run, "load", (double)run->count / (double)run->slots);
    }
    double limit = limit_of(run, which, info.capacity_slots);
    double ratio = (which == BENCH_COPY ? bytes : keys) / seconds / limit;
    snprintf(name, sizeof name, "limit:%s", names[which]);
    bench_say(run, "%9.1f M/s  %6.3f of %s", keys / seconds * 1e-6, ratio, names[which]);
    bench_counter(run, "keys", keys);
    bench_counter(run, "keys/s", keys / seconds);
    bench_counter(run, "bytes/s", bytes / seconds);
    bench_counter(run, name, limit);
    bench_counter(run, "ratio", ratio);
    bench_counter(run, "slots", (double)info.capacity_slots);
    bench_counter(run, "memory_bytes", (double)info.memory_bytes);
}

void bench_finish(bench_run *run, int which, double keys, double bytes)
{
    bench_finish_in(run, gbench_median(run->state), which, keys, bytes);
}
