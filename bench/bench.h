/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cases of a map share: parameters and names, a map filled to a load, rounds, judgement,
 * and the counters that put a case against its limit. A case reads
 *
 *     bench_run run;
 *     bench_open(&run, state, parameters);
 *     bench_fill(&run, run.p->load);
 *     while (bench_round(&run)) {
 *         bench_start(&run);
 *         bench_must(&run, nacre_map_find(run.map, ...));
 *         bench_stop(&run);
 *     }
 *     bench_expect_answers(&run, ...);
 *     bench_finish(&run, BENCH_READ, keys per round, bytes per round);
 *     bench_close(&run);
 *
 * Once something has failed, all that follows does nothing, and the case says what it was.
 */
#ifndef NACRE_BENCH_BENCH_H
#define NACRE_BENCH_BENCH_H

#include "gbench.h"
#include "side.h"

/* How large and how many: the same cases, fewer values on each axis, smaller tables. */
typedef struct bench_profile {
    int full;      /* all values of each axis */
    int self_test; /* also cases that must fail */
    bench_side *side;
    uint64_t slots;  /* of a table */
    uint64_t keys;   /* of a batch with repetition, and of a map that grows */
    uint64_t rounds; /* of a case that takes long */
} bench_profile;

typedef struct bench_parameters {
    const char *name; /* of the case */
    bench_side *side;
    uint32_t key_bytes, value_bytes;
    uint64_t slots, rounds;
    uint32_t operation; /* what it says is up to the file */
    uint32_t kind;      /* BENCH_SHUFFLED, ... of keys looked up, or drawn */
    uint32_t algorithm; /* of compaction */
    uint32_t item_bytes;
    double kept; /* share of the items */
    double load;
    double absent_rate;
    double skew;
    uint64_t range; /* different keys */
    uint64_t batch;
    uint64_t keys; /* of a map that grows, or of a batch with repetition */
    uint64_t first_slots;
    int graph;
} bench_parameters;

/* Parameters with 8-byte keys and values and the sizes of the profile. */
bench_parameters bench_defaults(const bench_profile *profile);

/* A copy that lives as long as the process: what gbench_add wants of an argument. */
bench_parameters *bench_keep(const bench_parameters *parameters, const char *name);

/* map/<operation>/<side>/k<key>v<value>/<the rest>; nothing where the build lacks the widths. */
void bench_add(const char *operation, gbench_function function, const bench_parameters *parameters,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* "1M" for a million, "64K" for 64 thousand: numbers in names. */
typedef struct bench_text {
    char text[24];
} bench_text;
bench_text bench_human(uint64_t count);

/* The loads of an axis: some, or all. */
uint32_t bench_loads(const bench_profile *profile, const double **loads);

/* Algorithms of compaction, by number, as names write them. */
#define BENCH_ALGORITHMS (NACRE_COMPACT_STABLE + 1)
extern const char *const bench_algorithms[BENCH_ALGORITHMS];

/* The widths beside 8 + 8: some, or all. */
uint32_t bench_widths(const bench_profile *profile, const uint32_t (**widths)[2]);

typedef struct bench_run {
    gbench_state *state;
    const bench_parameters *p;
    bench_side *side;
    nacre_map *map;
    nacre_error error;
    nacre_options options; /* only `error` is set */
    int failed;
    uint64_t slots; /* of the map, as it came out */
    uint64_t count; /* keys of the full table: `inserted`, in order */
    bench_keys inserted;
    void *keys, *values; /* those, [count] */
    void *memory[8];
    uint32_t memories;
    double limits[BENCH_LIMITS]; /* over a table of this size; 0: not measured yet */
    char line[256];              /* what the case's line says */
} bench_run;

void bench_open(bench_run *run, gbench_state *state, const void *parameters);
void bench_close(bench_run *run);

/* Memory of the device, released by bench_close. */
void *bench_memory(bench_run *run, uint64_t bytes);

/* An array of keys; and their values, where `values` is not NULL. */
void *bench_make(bench_run *run, const bench_keys *keys, uint64_t count, void **values);

/* run->map, FIXED, with about p->slots slots and a capacity above `load`; sets run->slots. */
void bench_create(bench_run *run, double load);
/* The same, and run->count keys in it: `load` of its slots. */
void bench_fill(bench_run *run, double load);
void bench_insert_all(bench_run *run);

/* Selects the keys in the lower half of all numbers; the last of them. */
uint64_t bench_lower_half(const bench_run *run, nacre_select *select);

int bench_round(bench_run *run);
void bench_start(bench_run *run);
double bench_stop(bench_run *run);
void bench_must(bench_run *run, nacre_status status);
void bench_fail(bench_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- what must be true afterwards ----------------------------------------------------------- */

/* The number at an address of the device, once all that was enqueued is done. */
uint64_t bench_read(bench_run *run, const uint64_t *number);
/* Keys [count] are, up to the order, those of run->keys that are not greater than `high`. */
void bench_expect_keys(bench_run *run, const void *keys, uint64_t high, uint64_t count);
void bench_expect_size(bench_run *run, uint64_t size);
/* `answers` of lookups of `keys`; value_bytes 1: of contains. */
void bench_expect_answers(bench_run *run, const bench_keys *keys, const void *answers,
                          uint32_t value_bytes, uint64_t missing, uint64_t count);
/* Looks up `count` of `keys` and judges the answers; a set by contains. */
void bench_expect_found(bench_run *run, const bench_keys *keys, uint64_t count);
/* nacre_map_check. */
void bench_expect_sound(bench_run *run);

/* ---- what is told --------------------------------------------------------------------------- */

/* A counter, and the target for it where the case has one: as counter `min:NAME` or `max:NAME`. */
void bench_counter(bench_run *run, const char *name, double value);
/* Adds to the line of the case. */
void bench_say(bench_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Buckets that a lookup visits, and the rate that this predicts from the limit READ. */
void bench_tell_probes(bench_run *run, double absent_rate);

/* The median round did so much: rates, the limit `which` over a table of this size, the ratio. */
void bench_finish(bench_run *run, int which, double keys, double bytes);
/* The same where the median round did it in `seconds`. */
void bench_finish_in(bench_run *run, double seconds, int which, double keys, double bytes);

/* Is a warm-up over that began at `begun`? What is timed outside of the rounds has one, too. */
int bench_warm(double begun);

/* Waits as long, for what was freed just before something that has no warm-up. */
void bench_settle(void);

/* Median of a few lookups of `count` keys, outside of the rounds. */
double bench_time_finds(bench_run *run, const void *keys, void *answers, uint64_t count,
                        const nacre_options *options);

double bench_median(double *values, uint64_t count); /* sorts them; 0 where there are none */

uint64_t bench_slot_bytes(const bench_parameters *p);

/* ---- targets.c ------------------------------------------------------------------------------ */

/* A counter of some cases must be at least, or at most, so much. */
typedef struct bench_target {
    const char *cases; /* a pattern of the shell's kind */
    const char *counter;
    int at_most;
    double value;
} bench_target;

/* The target of a counter of a case; NULL: there is none. */
const bench_target *bench_target_of(const char *name, const char *counter);

#endif
