/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction of arrays, items with a flag byte each, over the share that is kept: every algorithm
 * on items of 8 bytes, with the naive forms beside them, and other sizes. Items and flags are read,
 * what is kept is written.
 */
#include "cases.h"

#include <inttypes.h>
#include <stdio.h>

/* Numbers beyond the library's algorithms: the naive forms. */
enum { NAIVE_PER_ITEM = BENCH_ALGORITHMS, NAIVE_PER_WARP, FORMS };

static const char *name_of(uint32_t form)
{
    return form == NAIVE_PER_ITEM   ? "naive_per_item"
           : form == NAIVE_PER_WARP ? "naive_per_warp"
                                    : bench_algorithms[form];
}

static void once(bench_run *run, const nacre_compaction *what, const nacre_options *options,
                 uint64_t count)
{
    bench_side *side = run->side;
    if (run->p->algorithm < BENCH_ALGORITHMS) {
        bench_must(run, nacre_compact(side->device, what, count, options, side->stream));
    } else {
        side->naive(side, run->p->algorithm == NAIVE_PER_WARP, what->items, options->mask, count,
                    what->items_out, what->needed);
    }
}

static void compact(gbench_state *state, const void *argument)
{
    bench_run run;
    nacre_compaction what;
    bench_open(&run, state, argument);
    const bench_parameters *p = run.p;
    bench_side *side = run.side;
    nacre_options options = run.options;
    const uint64_t bytes = p->slots * 8, count = bytes / p->item_bytes;
    const bench_keys words = {BENCH_IN_ORDER, 8, 0, bytes / 8, 0, 0};
    nacre_compaction_init(&what, sizeof what);
    what.item_bytes = p->item_bytes;
    what.items = bench_make(&run, &words, bytes / 8, NULL);
    what.items_out = bench_memory(&run, bytes);
    what.capacity = count;
    what.needed = bench_memory(&run, 8);
    uint8_t *flags = bench_memory(&run, count);
    options.mask = flags;
    options.mask_kind = NACRE_MASK_BYTES;
    if (p->algorithm < BENCH_ALGORITHMS) {
        options.algorithm = p->algorithm;
        bench_must(&run, nacre_compact_workspace(side->device, count, p->algorithm,
                                                 &what.workspace_bytes, &run.error));
        what.workspace = bench_memory(&run, what.workspace_bytes);
    }
    if (!run.failed) {
        side->flag(side, flags, p->kept, count);
    }
    while (bench_round(&run)) {
        bench_start(&run);
        once(&run, &what, &options, count);
        bench_stop(&run);
    }
    const uint64_t kept = bench_read(&run, what.needed);
    if (!run.failed &&
        (kept != side->sum(side, flags, 1, NULL, UINT64_MAX, count) ||
         side->sum(side, what.items, p->item_bytes, flags, UINT64_MAX, count) !=
             side->sum(side, what.items_out, p->item_bytes, NULL, UINT64_MAX, kept))) {
        bench_fail(&run, "WRONG: %" PRIu64 " items, not those with a flag", kept);
    }
    bench_counter(&run, "kept", p->kept);
    bench_finish(&run, BENCH_COPY, (double)count,
                 (double)count * (p->item_bytes + 1) + (double)kept * p->item_bytes);
    bench_close(&run);
}

static void add(bench_parameters *p)
{
    static const double shares[] = {0, 0.01, 0.1, 0.5, 0.9, 1};
    char name[96];
    for (uint32_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        p->kept = shares[i];
        snprintf(name, sizeof name, "array/compact/%s/b%" PRIu32 "/kept=%.2f/algorithm=%s",
                 p->side->name, p->item_bytes, p->kept, name_of(p->algorithm));
        gbench_add(name, p->rounds, compact, bench_keep(p, name));
    }
}

void bench_cases_compact(const bench_profile *profile)
{
    static const uint32_t other_bytes[] = {1, 2, 4, 16};
    bench_parameters p = bench_defaults(profile);
    /* On the CPU all algorithms are one, and nothing is naive. */
    const uint32_t forms = p.side->naive != NULL ? FORMS : 1;
    p.item_bytes = 8;
    for (p.algorithm = 0; p.algorithm < forms; p.algorithm++) {
        add(&p);
    }
    for (uint32_t i = 0; profile->full && i < sizeof other_bytes / sizeof other_bytes[0]; i++) {
        p.item_bytes = other_bytes[i];
        p.algorithm = NACRE_COMPACT_AUTO;
        add(&p);
        p.algorithm = NACRE_COMPACT_STABLE;
        if (forms > 1) {
            add(&p);
        }
    }
}
