/* SPDX-License-Identifier: Apache-2.0 */
/* How a case gets its map and its keys, runs its rounds, and ends. */
#include "bench.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const bench_algorithms[BENCH_ALGORITHMS] = {
    "auto",    "global_atomic", "block_atomic", "warp_aggregated", "tile_4", "tile_8",
    "tile_16", "tile_32",       "block_scan",   "device_select",   "stable"};

bench_parameters bench_defaults(const bench_profile *profile)
{
    return (bench_parameters){.side = profile->side,
                              .key_bytes = 8,
                              .value_bytes = 8,
                              .slots = profile->slots,
                              .keys = profile->keys,
                              .rounds = profile->rounds,
                              .kind = BENCH_SHUFFLED,
                              .load = 0.5};
}

bench_text bench_human(uint64_t count)
{
    bench_text text;
    if (count % 1000000 == 0 && count > 0) {
        snprintf(text.text, sizeof text.text, "%" PRIu64 "M", count / 1000000);
    } else if (count % 1000 == 0 && count > 0) {
        snprintf(text.text, sizeof text.text, "%" PRIu64 "K", count / 1000);
    } else {
        snprintf(text.text, sizeof text.text, "%" PRIu64, count);
    }
    return text;
}

uint32_t bench_loads(const bench_profile *profile, const double **loads)
{
    static const double all[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};
    static const double some[] = {0.5, 0.8, 0.9};
    *loads = profile->full ? all : some;
    return profile->full ? sizeof all / sizeof all[0] : sizeof some / sizeof some[0];
}

uint32_t bench_widths(const bench_profile *profile, const uint32_t (**widths)[2])
{
    static const uint32_t all[][2] = {{8, 4}, {4, 4}, {8, 0}, {4, 8}, {4, 0}};
    *widths = all;
    return profile->full ? sizeof all / sizeof all[0] : 3;
}

bench_parameters *bench_keep(const bench_parameters *parameters, const char *name)
{
    bench_parameters *kept = malloc(sizeof *kept);
    char *kept_name = strdup(name);
    if (kept == NULL || kept_name == NULL) {
        fprintf(stderr, "no memory for the case %s\n", name);
        exit(1);
    }
    *kept = *parameters;
    kept->name = kept_name;
    return kept;
}

void bench_add(const char *operation, gbench_function function, const bench_parameters *parameters,
               const char *format, ...)
{
    char name[160], rest[96];
    va_list arguments;
    if (!nacre_build_supports(strcmp(parameters->side->name, "cuda") == 0 ? NACRE_BACKEND_CUDA
                                                                          : NACRE_BACKEND_CPU,
                              parameters->key_bytes, parameters->value_bytes)) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(rest, sizeof rest, format, arguments);
    va_end(arguments);
    snprintf(name, sizeof name, "map/%s/%s/k%" PRIu32 "v%" PRIu32 "/%s", operation,
             parameters->side->name, parameters->key_bytes, parameters->value_bytes, rest);
    gbench_add(name, parameters->rounds, function, bench_keep(parameters, name));
}

uint64_t bench_slot_bytes(const bench_parameters *p)
{
    uint64_t bytes = 4;
    while (bytes < p->key_bytes + p->value_bytes) {
        bytes *= 2;
    }
    return bytes;
}

void bench_open(bench_run *run, gbench_state *state, const void *parameters)
{
    *run = (bench_run){.state = state, .p = parameters};
    run->side = run->p->side;
    nacre_error_init(&run->error, sizeof run->error);
    nacre_options_init(&run->options, sizeof run->options);
    run->options.error = &run->error;
}

void bench_close(bench_run *run)
{
    gbench_summary(run->state, run->line);
    nacre_stream_wait(run->side->device, run->side->stream, NULL);
    nacre_map_destroy(run->map);
    while (run->memories > 0) {
        nacre_memory_release(run->side->device, run->memory[--run->memories], NULL);
    }
}

void bench_fail(bench_run *run, const char *format, ...)
{
    char text[512];
    va_list arguments;
    if (run->failed) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run->failed = 1;
    gbench_fail(run->state, text);
}

void bench_must(bench_run *run, nacre_status status)
{
    if (status != NACRE_OK) {
        bench_fail(run, "%s: %s", nacre_status_name(status), run->error.message);
    }
}

static void *allocate(bench_run *run, uint64_t bytes)
{
    void *memory = NULL;
    if (run->failed || bytes == 0) {
        return NULL;
    }
    if (run->memories == sizeof run->memory / sizeof run->memory[0]) {
        bench_fail(run, "the case holds too many arrays");
        return NULL;
    }
    bench_must(run, nacre_memory_allocate(run->side->device, bytes, NACRE_SPACE_DEVICE, &memory,
                                          &run->error));
    if (memory != NULL) {
        run->memory[run->memories++] = memory;
    }
    return memory;
}

void *bench_memory(bench_run *run, uint64_t bytes)
{
    void *memory = allocate(run, bytes);
    if (memory != NULL) {
        /* No right answers of an earlier case may lie in it; nor is the first touch timed. */
        bench_must(run, nacre_memory_fill(run->side->device, memory, bytes, 0xAA, &run->error,
                                          run->side->stream));
    }
    return memory;
}

void *bench_make(bench_run *run, const bench_keys *keys, uint64_t count, void **values)
{
    void *memory = allocate(run, count * keys->key_bytes);
    void *of_values = NULL;
    if (values != NULL) {
        *values = of_values = allocate(run, count * run->p->value_bytes);
    }
    if (!run->failed) {
        run->side->make(run->side, keys, memory, of_values, run->p->value_bytes, count);
    }
    return memory;
}

void bench_create(bench_run *run, double load)
{
    nacre_map_config config;
    nacre_map_info info;
    if (run->failed) {
        return;
    }
    nacre_map_config_init(&config, sizeof config);
    nacre_map_info_init(&info, sizeof info);
    config.key_bytes = run->p->key_bytes;
    config.value_bytes = run->p->value_bytes;
    config.growth = NACRE_GROWTH_FIXED;
    config.load_max = load > 0.92 ? 0.95 : 0.94;
    config.capacity_keys = (uint64_t)((double)run->p->slots * config.load_max);
    config.seed = 1; /* every run of a case meets the same table */
    config.error = &run->error;
    bench_must(run, nacre_map_create(run->side->device, &config, &run->map));
    if (!run->failed) {
        bench_must(run, nacre_map_info_get(run->map, &info, &run->error));
        run->slots = info.capacity_slots;
        run->count = (uint64_t)((double)run->slots * load);
        run->count = run->count < info.capacity_keys ? run->count : info.capacity_keys;
    }
    run->inserted = (bench_keys){BENCH_IN_ORDER, run->p->key_bytes, 0, run->count, 0, 0};
}

void bench_insert_all(bench_run *run)
{
    if (!run->failed) {
        bench_must(run, nacre_map_insert(run->map, run->keys, run->values, run->count,
                                         &run->options, run->side->stream));
    }
}

void bench_fill(bench_run *run, double load)
{
    bench_create(run, load);
    run->keys = bench_make(run, &run->inserted, run->count, &run->values);
    bench_insert_all(run);
}

uint64_t bench_lower_half(const bench_run *run, nacre_select *select)
{
    const int narrow = run->p->key_bytes == 4;
    nacre_select_init(select, sizeof *select);
    select->field = NACRE_FIELD_KEY;
    select->condition.test = NACRE_TEST_RANGE;
    select->condition.type = narrow ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
    select->condition.high = (narrow ? UINT32_MAX : UINT64_MAX) / 2;
    return select->condition.high;
}

int bench_round(bench_run *run)
{
    return !run->failed && gbench_next(run->state);
}

void bench_start(bench_run *run)
{
    run->side->start(run->side);
}

int bench_warm(double begun)
{
    return bench_now() - begun >= GBENCH_WARM_SECONDS;
}

void bench_settle(void)
{
    const struct timespec pause = {0, (long)(GBENCH_WARM_SECONDS * 1e9)};
    nanosleep(&pause, NULL);
}

double bench_time_finds(bench_run *run, const void *keys, void *answers, uint64_t count,
                        const nacre_options *options)
{
    enum { PASSES = 5 };
    double passes[PASSES];
    const double begun = bench_now();
    for (int i = -1; i < PASSES && !run->failed; i += i >= 0 || bench_warm(begun)) {
        run->side->start(run->side);
        bench_must(run, nacre_map_find(run->map, keys, count, answers, options, run->side->stream));
        passes[i < 0 ? 0 : i] = run->side->stop(run->side);
    }
    return run->failed ? 0 : bench_median(passes, PASSES);
}

double bench_stop(bench_run *run)
{
    double seconds = run->side->stop(run->side);
    gbench_seconds(run->state, seconds);
    return seconds;
}
