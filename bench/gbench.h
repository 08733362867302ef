/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Google Benchmark, as far as the suite needs it, for cases in C. A case is a function that runs
 * rounds and says how long each took:
 *
 *     while (gbench_next(state)) {
 *         prepare();
 *         start = now();
 *         work();
 *         gbench_seconds(state, now() - start);
 *     }
 *     gbench_counter(state, "keys/s", keys / gbench_median(state));
 *
 * The first rounds are a warm-up whose times do not count: one, or as many as begin within
 * GBENCH_WARM_SECONDS. The others become the counters `seconds`, their median, `spread` and
 * `rounds`. For Google Benchmark a case is one iteration, which took the median.
 */
#ifndef NACRE_BENCH_GBENCH_H
#define NACRE_BENCH_GBENCH_H

/*
 * What earlier cases have left behind is over by then: drivers of GPUs clear freed memory in the
 * background, gigabytes for some ten milliseconds, and take a tenth of the bandwidth meanwhile.
 */
#define GBENCH_WARM_SECONDS 0.03

/* A case whose rounds, and what lies between them, take longer than this ends after so many. */
#define GBENCH_LONG_SECONDS 1.0
#define GBENCH_ROUNDS_MIN   3

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gbench_state gbench_state;
typedef void (*gbench_function)(gbench_state *state, const void *argument);

/* Takes Google Benchmark's flags out of the arguments; what is left is the caller's. */
void gbench_init(int *argc, char **argv);

/* A line about the machine, kept with the results. */
void gbench_context(const char *name, const char *value);

/*
 * A case of so many rounds, or fewer where they take long; `argument` stays the caller's, and valid
 * until gbench_run returns.
 */
void gbench_add(const char *name, uint64_t rounds, gbench_function function, const void *argument);

/* Runs the cases that --benchmark_filter names, a line each. 0: all went well; 1: some failed. */
int gbench_run(void);

/* ---- inside of a case ---- */

/* 1 while there is a round to run. */
int gbench_next(gbench_state *state);
void gbench_seconds(gbench_state *state, double seconds);

/* Over the rounds so far, the warm-up excluded. */
double gbench_median(const gbench_state *state);

void gbench_counter(gbench_state *state, const char *name, double value);

/* What the case's line says, beside its name and time. */
void gbench_summary(gbench_state *state, const char *text);

/* Ends the case: it cannot run here, or it went wrong. No round follows. */
void gbench_skip(gbench_state *state, const char *why);
void gbench_fail(gbench_state *state, const char *why);

#ifdef __cplusplus
}
#endif
#endif
