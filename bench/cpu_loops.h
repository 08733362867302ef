/* SPDX-License-Identifier: Apache-2.0 */
/* What of side.h goes over elements, on the CPU: plain loops on all threads of the device. */
#ifndef NACRE_BENCH_CPU_LOOPS_H
#define NACRE_BENCH_CPU_LOOPS_H

#include "side.h"

/* Sets `make`, and those that judge: `wrong` to `distinct`. */
void bench_cpu_loops(bench_side *side);

#endif
