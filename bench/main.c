/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The suite: every case on every device that is here.
 *
 *     nacre_bench [--profile=smoke|quick|full] [flags of Google Benchmark]
 *
 * --benchmark_filter=REGEX chooses cases, --benchmark_out=FILE keeps the results as JSON. The
 * default, quick, takes at most two minutes; full has all values of each axis; smoke is for testing
 * the suite, on the CPU only. Exits with 1 where a case failed.
 */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commit.h"

/* Six tables with 8-byte keys and values fit, which is what the hungriest case holds. */
static void fit(bench_profile *profile)
{
    const bench_side *side = profile->side;
    while (profile->slots > 65536 && profile->slots * 16 * 6 > side->memory_bytes) {
        profile->slots /= 2;
        profile->keys /= 2;
    }
}

static bench_profile profile_of(const char *name, bench_side *side)
{
    bench_profile profile = {.side = side, .rounds = 5};
    if (strcmp(name, "smoke") == 0) {
        profile.self_test = 1;
        profile.slots = 65536;
        profile.keys = 50000;
        profile.rounds = 2;
    } else if (side->capture != NULL) {
        profile.slots = (uint64_t)1 << 27;
        profile.keys = 100000000;
        profile.rounds = 9;
    } else if (strcmp(name, "full") == 0) {
        profile.slots = (uint64_t)1 << 23;
        profile.keys = 5000000;
    } else {
        profile.slots = (uint64_t)1 << 22;
        profile.keys = 4000000;
        profile.rounds = 3;
    }
    profile.full = strcmp(name, "full") == 0;
    fit(&profile);
    return profile;
}

static void add_side(bench_side *side, const char *profile_name)
{
    bench_profile profile = profile_of(profile_name, side);
    printf("%s: %s\n", side->name, side->about);
    gbench_context(side->name, side->about);
#define ADD(name) bench_cases_##name(&profile);
    BENCH_CASES(ADD)
#undef ADD
}

/* The processor's name, as Linux tells it. */
static void tell_processor(void)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *name = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && name != NULL) {
            name[strcspn(name, "\n")] = 0;
            gbench_context("processor", name + 2);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static const char *take_profile(int *argc, char **argv)
{
    const char *profile = "quick";
    for (int i = 1; i < *argc; i++) {
        if (strncmp(argv[i], "--profile=", 10) == 0) {
            profile = argv[i] + 10;
        } else {
            fprintf(stderr, "%s: unknown argument %s\n", argv[0], argv[i]);
            exit(2);
        }
    }
    if (strcmp(profile, "smoke") != 0 && strcmp(profile, "quick") != 0 &&
        strcmp(profile, "full") != 0) {
        fprintf(stderr, "%s: profile %s is none of: smoke quick full\n", argv[0], profile);
        exit(2);
    }
    return profile;
}

int main(int argc, char **argv)
{
    nacre_error error;
    bench_side cpu, cuda;
    int have_cuda = 0;
    nacre_error_init(&error, sizeof error);
    gbench_init(&argc, argv);
    const char *profile = take_profile(&argc, argv);
    gbench_context("profile", profile);
    gbench_context("commit", BENCH_COMMIT);
#if defined(__clang__)
    gbench_context("compiler", __VERSION__); /* begins with the name */
#else
    gbench_context("compiler", "gcc " __VERSION__);
#endif
#if NACRE_HAVE_CUDA
    gbench_context("toolkit", NACRE_CUDA_TOOLKIT);
#endif
    tell_processor();
    if (bench_side_cpu(&cpu, "cpu", 0, &error) != 0) {
        fprintf(stderr, "%s: %s\n", argv[0], error.message);
        return 1;
    }
    add_side(&cpu, profile);
    if (strcmp(profile, "smoke") != 0) {
#if NACRE_HAVE_CUDA
        have_cuda = bench_side_cuda(&cuda, &error) == 0;
        if (have_cuda) {
            add_side(&cuda, profile);
        }
#else
        snprintf(error.message, sizeof error.message, "the library was built without it");
#endif
        if (!have_cuda) {
            printf("SKIPPED cuda: %s\n", error.message);
        }
    }
    int status = gbench_run();
    cpu.close(&cpu);
    if (have_cuda) {
        cuda.close(&cuda);
    }
    return status;
}
