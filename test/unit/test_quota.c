/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads the process may use: quotas of cgroups, in files made up for it; affinity. */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cpu/pool.h"

static char root[64];

static void make_root(void)
{
    strcpy(root, "/tmp/nacre_quota_XXXXXX");
    cr_assert(mkdtemp(root) != NULL);
}

static void remove_root(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    cr_assert(system(command) == 0);
}

/* Writes a file below the root, whose folders are made. */
static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL, "%s", path);
    fputs(text, file);
    fclose(file);
}

/* The quota of a process in these groups. */
static uint32_t quota(const char *groups)
{
    char path[256];
    put("groups", groups);
    snprintf(path, sizeof path, "%s/groups", root);
    return nacrei_pool_quota(path, root);
}

TestSuite(quota, .init = make_root, .fini = remove_root);

Test(quota, number_of_processors_is_another)
{
    /* Goal: a quota is whole processors, rounded up; none, or one that cannot be read, is no limit.
       Method: contents of a v2 group's file. */
    static const struct {
        const char *text;
        uint32_t processors;
    } of[] = {{"max 100000\n", 0},   {"200000 100000\n", 2}, {"150000 100000\n", 2},
              {"1000 100000\n", 1},  {"100000 50000\n", 2},  {"", 0},
              {"200000\n", 0},       {"200000 0\n", 0},      {"-1 100000\n", 0},
              {"nonsense here\n", 0}};
    cr_assert(quota("0::/\n") == 0, "without a file");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        put("a/cpu.max", of[i].text);
        const uint32_t got = quota("0::/a\n");
        cr_assert(got == of[i].processors, "\"%s\" gives %u", of[i].text, got);
    }
    char path[256];
    snprintf(path, sizeof path, "%s/nothing", root);
    cr_assert(nacrei_pool_quota(path, root) == 0, "without groups");
}

Test(quota, limit_of_a_group_above_is_passed_by)
{
    /* Goal: of a group and those above it the tightest holds. Method: three levels, each in turn
       the tightest. */
    static const char *const names[] = {"cpu.max", "a/cpu.max", "a/b/cpu.max"};
    for (int tightest = 0; tightest < 3; tightest++) {
        for (int level = 0; level < 3; level++) {
            put(names[level], level == tightest ? "300000 100000\n" : "700000 100000\n");
        }
        cr_assert(quota("0::/a/b\n") == 3, "level %d", tightest);
    }
    put("a/b/cpu.max", "max 100000\n");
    cr_assert(quota("0::/a/b\n") == 7, "an unlimited group hides those above");
}

Test(quota, old_groups_are_taken_for_others)
{
    /* Goal: of the groups of version 1 that of the controller cpu counts, also beside one of
       version 2. Method: lines of several controllers, with files of other quotas in each. */
    put("cpu/a/cpu.cfs_quota_us", "500000\n");
    put("cpu/a/cpu.cfs_period_us", "100000\n");
    put("cpu/b/cpu.cfs_quota_us", "100000\n");
    put("cpu/b/cpu.cfs_period_us", "100000\n");
    put("cpu/c/cpu.cfs_quota_us", "-1\n");
    put("cpu/c/cpu.cfs_period_us", "100000\n");
    put("v/cpu.max", "200000 100000\n");
    cr_assert(quota("5:cpuset:/b\n4:cpu,cpuacct:/a\n3:memory:/b\n") == 5);
    cr_assert(quota("4:cpuacct,cpu:/c\n") == 0, "unlimited");
    cr_assert(quota("4:cpuacct:/a\n1:name=systemd:/b\n") == 0, "another controller");
    cr_assert(quota("4:cpu:/a\n0::/v\n") == 2);
    cr_assert(quota("4:cpu:/b\n0::/v\n") == 1);
    cr_assert(quota("no colon\n4:cpu\n\n") == 0, "lines of another form");
}

Test(quota, affinity_is_passed_by)
{
    /* Goal: a process that may run on one processor gets one thread. Method: so. */
    cpu_set_t all, one;
    cr_assert(sched_getaffinity(0, sizeof all, &all) == 0);
    cr_assert(nacrei_pool_threads_allowed() >= 1);
    cr_assert(nacrei_pool_threads_allowed() <= (uint32_t)CPU_COUNT(&all));
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    cr_assert(sched_setaffinity(0, sizeof one, &one) == 0);
    cr_assert(nacrei_pool_threads_allowed() == 1);
}
