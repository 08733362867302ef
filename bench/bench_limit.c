/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the memory of a device can do, over a table as large as those of the maps: the case for each
 * limit shows how steady it is. (Each case of a map is put against limits over a table of its own
 * size, which are measured as they are needed.)
 */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

static void limit(gbench_state *state, const void *argument)
{
    static const char *const units[] = {"GB/s", "G/s", "G/s"};
    const bench_parameters *p = argument;
    uint64_t bytes = p->slots * 16;
    char line[64];
    bench_limits *limits = p->side->limits_open(p->side, bytes);
    if (limits == NULL) {
        gbench_fail(state, "no memory for it");
        return;
    }
    while (gbench_next(state)) {
        gbench_seconds(state, 1 / p->side->limits_pass(p->side, limits, (int)p->operation));
    }
    p->side->limits_close(p->side, limits);
    double rate = 1 / gbench_median(state);
    gbench_counter(state, p->operation == BENCH_COPY ? "bytes/s" : "accesses/s", rate);
    gbench_counter(state, "table_bytes", (double)bytes);
    snprintf(line, sizeof line, "%9.2f %s", rate * 1e-9, units[p->operation]);
    gbench_summary(state, line);
}

void bench_cases_limit(const bench_profile *profile)
{
    static const char *const names[] = {"copy", "read", "update"};
    for (uint32_t which = 0; which < BENCH_LIMITS; which++) {
        char name[64];
        bench_parameters p = bench_defaults(profile);
        p.operation = which;
        snprintf(name, sizeof name, "limit/%s/%s", names[which], profile->side->name);
        gbench_add(name, 7, limit, bench_keep(&p, name));
    }
}
