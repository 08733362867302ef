/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four insertions: of new keys into reserved room up to a load, at once and in batches; of keys
 * drawn with repetition (so many a key on average, Zipf's law, around a middle) into an empty map;
 * and of very few keys that are all there.
 */
#include "cases.h"

#include <inttypes.h>

enum { INSERT, INSERT_OR_ASSIGN, INSERT_OR_APPLY, FIND_OR_INSERT, OPERATIONS };

static const char *const names[] = {"insert", "insert_or_assign", "insert_or_apply",
                                    "find_or_insert"};

/* Values NULL: insert_or_apply counts, the others take those of the run. */
static void change(bench_run *run, const void *keys, const void *values, uint64_t count, void *out)
{
    nacre_stream stream = run->side->stream;
    const nacre_options *options = &run->options;
    uint32_t type = run->p->value_bytes == 4 ? NACRE_TYPE_U32 : NACRE_TYPE_U64;
    switch (run->p->operation) {
    case INSERT:
        bench_must(run, nacre_map_insert(run->map, keys, values, count, options, stream));
        break;
    case INSERT_OR_ASSIGN:
        bench_must(run, nacre_map_insert_or_assign(run->map, keys, values, count, options, stream));
        break;
    case INSERT_OR_APPLY:
        bench_must(run, nacre_map_insert_or_apply(run->map, keys, values, count,
                                                  NACRE_REDUCTION_ADD, type, options, stream));
        break;
    default:
        bench_must(run,
                   nacre_map_find_or_insert(run->map, keys, values, count, out, options, stream));
        break;
    }
}

static double bytes_of(const bench_parameters *p, uint64_t count)
{
    uint64_t values = p->operation == FIND_OR_INSERT ? 2 * p->value_bytes : p->value_bytes;
    return (double)(count * (p->key_bytes + values + bench_slot_bytes(p)));
}

/* The keys of a run, at once or so many a call. */
static void change_all(bench_run *run, void *out)
{
    const bench_parameters *p = run->p;
    const uint64_t batch = p->batch == 0 ? run->count : p->batch;
    for (uint64_t at = 0; at < run->count && !run->failed; at += batch) {
        change(run, (char *)run->keys + at * p->key_bytes,
               (char *)run->values + at * p->value_bytes,
               run->count - at < batch ? run->count - at : batch, out);
    }
}

/* Memory for what find_or_insert answers; NULL: another operation. */
static void *make_answers(bench_run *run, uint64_t count)
{
    const bench_parameters *p = run->p;
    return p->operation == FIND_OR_INSERT ? bench_memory(run, count * p->value_bytes) : NULL;
}

/* New keys into an empty map, up to a load; as a graph the map does not know that they fit. */
static void fresh(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    bench_create(&run, run.p->load);
    run.keys = bench_make(&run, &run.inserted, run.count, &run.values);
    void *out = make_answers(&run, run.count);
    void *graph = NULL;
    if (run.p->graph && !run.failed) {
        nacre_stream_wait(run.side->device, run.side->stream, NULL);
        run.side->capture(run.side);
        change_all(&run, out);
        graph = run.side->captured(run.side);
    }
    while (bench_round(&run)) {
        bench_must(&run, nacre_map_clear(run.map, &run.error, run.side->stream));
        bench_start(&run);
        if (graph != NULL) {
            run.side->replay(run.side, graph);
        } else {
            change_all(&run, out);
        }
        bench_stop(&run);
    }
    if (graph != NULL) {
        run.side->drop(run.side, graph);
    }
    bench_expect_size(&run, run.count);
    bench_expect_found(&run, &run.inserted, run.count);
    if (out != NULL) {
        bench_expect_answers(&run, &run.inserted, out, run.p->value_bytes, 0, run.count);
    }
    bench_finish(&run, BENCH_UPDATE, (double)run.count, bytes_of(run.p, run.count));
    bench_close(&run);
}

/* The counts of all keys add up to the elements. */
static void expect_counts(bench_run *run, uint64_t keys, uint64_t elements)
{
    uint64_t *needed = bench_memory(run, 8);
    void *counts = bench_memory(run, keys * run->p->value_bytes);
    if (run->failed) {
        return;
    }
    bench_must(run, nacre_map_retrieve(run->map, NULL, counts, keys, needed, &run->options,
                                       run->side->stream));
    uint64_t sum = run->side->sum(run->side, counts, run->p->value_bytes, NULL, UINT64_MAX, keys);
    if (sum != elements) {
        bench_fail(run, "WRONG: counts add up to %" PRIu64 ", not %" PRIu64, sum, elements);
    }
}

/*
 * What is true after `rounds` rounds of the case's `keys` with repetition: how many there are,
 * their values or counts, and the answers of the last round. Returns how many.
 */
static uint64_t expect_repeated(bench_run *run, const bench_keys *keys, const void *answers,
                                uint64_t rounds)
{
    const bench_parameters *p = run->p;
    const uint64_t distinct = run->failed ? 0 : run->side->distinct(run->side, keys, p->keys);
    bench_expect_size(run, distinct);
    if (p->operation == INSERT_OR_APPLY) {
        expect_counts(run, distinct, p->keys * rounds);
    } else {
        bench_expect_found(run, keys, p->keys);
    }
    if (answers != NULL) {
        bench_expect_answers(run, keys, answers, p->value_bytes, 0, p->keys);
    }
    return distinct;
}

/* Keys drawn with repetition, into an empty map with room for all. */
static void drawn(gbench_state *state, const void *argument)
{
    bench_run run;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    const bench_keys keys = {p->kind, p->key_bytes, 0, p->range, p->skew, 0};
    const int counts = p->operation == INSERT_OR_APPLY;
    bench_create(&run, p->load);
    run.count = 0; /* the load is not known beforehand */
    run.keys = bench_make(&run, &keys, p->keys, &run.values);
    void *out = make_answers(&run, p->keys);
    while (bench_round(&run)) {
        bench_must(&run, nacre_map_clear(run.map, &run.error, run.side->stream));
        bench_start(&run);
        change(&run, run.keys, counts ? NULL : run.values, p->keys, out);
        bench_stop(&run);
    }
    const uint64_t distinct = expect_repeated(&run, &keys, out, 1);
    bench_finish(&run, BENCH_UPDATE, (double)p->keys, bytes_of(p, p->keys));
    bench_counter(&run, "load", (double)distinct / (double)run.slots);
    bench_close(&run);
}

/* Few keys, all there: the map must not grow for them. */
static void repeated(gbench_state *state, const void *argument)
{
    bench_run run;
    nacre_map_config config;
    nacre_map_info info;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    const bench_keys keys = {BENCH_UNIFORM, p->key_bytes, 0, p->range, 0, 0};
    nacre_map_config_init(&config, sizeof config);
    nacre_map_info_init(&info, sizeof info);
    config.capacity_keys = p->range;
    config.error = &run.error;
    bench_must(&run, nacre_map_create(run.side->device, &config, &run.map));
    run.keys = bench_make(&run, &keys, p->keys, &run.values);
    void *out = make_answers(&run, p->keys);
    const int counts = p->operation == INSERT_OR_APPLY;
    uint64_t rounds = 0;
    while (bench_round(&run)) {
        rounds++;
        bench_start(&run);
        change(&run, run.keys, counts ? NULL : run.values, p->keys, out);
        bench_stop(&run);
    }
    expect_repeated(&run, &keys, out, rounds);
    bench_finish(&run, BENCH_UPDATE, (double)p->keys, bytes_of(p, p->keys));
    bench_must(&run, nacre_map_info_get(run.map, &info, &run.error));
    bench_counter(&run, "growths", (double)info.growths);
    bench_close(&run);
}

static void add_drawn(const bench_profile *profile, uint32_t operation, uint32_t kind,
                      uint64_t multiplicity, double skew)
{
    bench_parameters p = bench_defaults(profile);
    p.operation = operation;
    p.kind = kind;
    p.skew = skew;
    p.range = p.keys / multiplicity;
    p.slots = (uint64_t)((double)p.range / p.load);
    if (kind == BENCH_UNIFORM) {
        bench_add(names[operation], drawn, &p, "multiplicity=%" PRIu64, multiplicity);
    } else {
        bench_add(names[operation], drawn, &p, "%s=%.2f", kind == BENCH_ZIPF ? "zipf" : "gaussian",
                  skew);
    }
}

static void add_skewed(const bench_profile *profile)
{
    static const double zipf[] = {1.0, 0, 0.2, 0.4, 0.6, 0.8, 1.2}, gaussian[] = {0.1, 0.5, 1};
    static const uint32_t operations[] = {INSERT_OR_APPLY, INSERT};
    for (uint32_t o = 0; o < (profile->full ? 2 : 1); o++) {
        for (uint32_t i = 0; i < (profile->full ? sizeof zipf / sizeof zipf[0] : 1); i++) {
            add_drawn(profile, operations[o], BENCH_ZIPF, 1, zipf[i]);
        }
        for (uint32_t i = 0; profile->full && i < sizeof gaussian / sizeof gaussian[0]; i++) {
            add_drawn(profile, operations[o], BENCH_GAUSSIAN, 1, gaussian[i]);
        }
    }
}

static void add_fresh(const bench_profile *profile, uint32_t operation)
{
    const double *loads;
    uint32_t count = bench_loads(profile, &loads);
    bench_parameters p = bench_defaults(profile);
    p.operation = operation;
    for (uint32_t i = 0; i < count; i++) {
        p.load = loads[i];
        if (operation == INSERT || (profile->full && i % 2 == 0) || i == 0) {
            bench_add(names[operation], fresh, &p, "load=%.2f", p.load);
        }
    }
}

/* Insertions of other widths, and in batches. */
static void add_others(const bench_profile *profile)
{
    const uint32_t(*widths)[2];
    const uint32_t count = bench_widths(profile, &widths);
    bench_parameters p = bench_defaults(profile);
    for (uint32_t w = 0; w < count; w++) {
        p.key_bytes = widths[w][0];
        p.value_bytes = widths[w][1];
        for (p.load = 0.5; p.load < 0.9; p.load += 0.3) {
            bench_add(names[INSERT], fresh, &p, "load=%.2f", p.load);
        }
    }
    p = bench_defaults(profile);
    for (p.batch = 10000; profile->full && p.batch < p.keys; p.batch *= 10) {
        bench_add(names[INSERT], fresh, &p, "load=%.2f/batch=%s", p.load,
                  bench_human(p.batch).text);
    }
    p.graph = 1;
    for (p.batch = 1000000; p.side->capture != NULL && p.batch < p.keys; p.batch *= 10) {
        bench_add(names[INSERT], fresh, &p, "load=%.2f/batch=%s/graph", p.load,
                  bench_human(p.batch).text);
    }
}

void bench_cases_insert(const bench_profile *profile)
{
    static const uint64_t ranges[] = {1000000, 100};
    for (uint32_t operation = 0; operation < OPERATIONS; operation++) {
        add_fresh(profile, operation);
    }
    add_others(profile);
    for (uint32_t operation = 0; operation < OPERATIONS; operation++) {
        for (uint64_t multiplicity = profile->full ? 1 : 4;
             multiplicity <= (profile->full ? 16 : 4); multiplicity *= 2) {
            add_drawn(profile, operation, BENCH_UNIFORM, multiplicity, 0);
        }
        for (uint32_t i = 0; i < 2; i++) {
            bench_parameters p = bench_defaults(profile);
            p.operation = operation;
            p.range = ranges[i];
            bench_add(names[operation], repeated, &p, "distinct=%" PRIu64, p.range);
        }
    }
    add_skewed(profile);
}
