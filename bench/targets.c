/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers to reach, for 8-byte keys and values and a table beyond every cache; ratios hold for
 * 4-byte keys and values too. Ratios are to the limit that bounds the case, measured in the same
 * run; keys per second and microseconds are for an H200.
 */
#include "bench.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { AT_LEAST, AT_MOST };

static const bench_target targets[] = {
    {"map/find_hit/cuda/k8v8/load=0.50", "ratio", AT_LEAST, 0.83},
    {"map/find_hit/cuda/k8v8/load=0.80", "ratio", AT_LEAST, 0.60},
    {"map/find_hit/cuda/k8v8/load=0.90", "ratio", AT_LEAST, 0.48},
    {"map/find_miss/cuda/k8v8/load=0.50", "ratio", AT_LEAST, 0.74},
    {"map/find_miss/cuda/k8v8/load=0.80", "ratio", AT_LEAST, 0.58},
    {"map/find_miss/cuda/k8v8/load=0.90", "ratio", AT_LEAST, 0.46},
    {"map/find_*/cuda/*/grown/*", "of_fresh", AT_LEAST, 0.95},
    {"map/find_*/cuda/*/churned*", "of_fresh", AT_LEAST, 0.90},
    {"map/churn/cuda/k8v8/*", "keys/s", AT_LEAST, 2.5e9},
    {"map/insert/cuda/k8v8/load=0.50", "ratio", AT_LEAST, 0.82},
    {"map/insert/cuda/k8v8/load=0.80", "ratio", AT_LEAST, 0.66},
    {"map/growth/cuda/k8v8/from=1M/batch=1M", "ratio", AT_LEAST, 0.38},
    {"map/growth/cuda/k8v8/from=1M/batch=4M", "ratio", AT_LEAST, 0.47},
    {"map/growth/cuda/k8v8/from=1M/batch=16M", "ratio", AT_LEAST, 0.53},
    {"map/growth/cuda/*/from=1M/batch=1M", "longest", AT_MOST, 4},
    {"map/growth/cuda/*/from=*", "memory_peak", AT_MOST, 1.10},
    {"map/load/cuda/*", "mean_load", AT_LEAST, 0.62},
    {"map/insert/*/k8v8/load=0.95", "load", AT_LEAST, 0.949},
    {"map/erase/cuda/k8v8/load=0.50", "ratio", AT_LEAST, 0.75},
    {"map/erase/cuda/k8v8/load=0.80", "ratio", AT_LEAST, 0.62},
    {"map/*/cuda/k8v8/distinct=1000000", "keys/s", AT_LEAST, 10e9},
    {"map/*/cuda/k8v8/distinct=100", "keys/s", AT_LEAST, 4e9},
    {"map/*/cuda/*/distinct=*", "growths", AT_MOST, 0},
    {"map/retrieve/cuda/k8v8/load=0.50", "ratio", AT_LEAST, 0.95},
    {"map/retrieve/cuda/k8v8/load=0.90", "ratio", AT_LEAST, 0.92},
    {"map/retrieve/cuda/k8v8/load=*/algorithm=stable", "ratio", AT_LEAST, 0.85},
    {"map/retrieve/cuda/k8v8/load=*/algorithm=warp_aggregated", "ratio", AT_LEAST, 0.85},
    {"map/retrieve/cuda/k8v8/load=*/algorithm=block_scan", "ratio", AT_LEAST, 0.85},
    {"map/find_small/cuda/k8v8/batch=1/graph=16", "us/call", AT_MOST, 2.2},
    {"map/find_small/cuda/k8v8/batch=1024/graph=16", "us/call", AT_MOST, 2.7},
    {"map/find_small/cuda/k8v8/batch=65536/graph=16", "us/call", AT_MOST, 6},
    {"map/find_small/cuda/k8v8/batch=1048576/graph=16", "us/call", AT_MOST, 42},
    {"map/host_time/cuda/k8v8/batch=1", "us/call", AT_MOST, 5},
};

const bench_target *bench_target_of(const char *name, const char *counter)
{
    char as[160];
    snprintf(as, sizeof as, "%s", name);
    char *widths = strstr(as, "/k4v4/");
    if (widths != NULL && strcmp(counter, "ratio") == 0) {
        memcpy(widths, "/k8v8/", 6);
    }
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (strcmp(targets[i].counter, counter) == 0 && fnmatch(targets[i].cases, as, 0) == 0) {
            return &targets[i];
        }
    }
    return NULL;
}
