/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads the process may use: a container with two CPUs on a machine with 128 gets two.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cpu/pool.h"

/* The first line of a file; 0 if there is none. */
static int read_line(const char *path, char *line, int bytes)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    int read = fgets(line, bytes, file) != NULL;
    fclose(file);
    return read;
}

/* CPUs of a quota, rounded up; 0: unlimited. */
static uint32_t cpus(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) {
        return 0;
    }
    return (uint32_t)((quota + period - 1) / period);
}

/* "max 100000" or "200000 100000" (cgroup v2). */
static uint32_t quota_v2(const char *folder)
{
    char path[640], line[64];
    long long quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_line(path, line, sizeof line) || sscanf(line, "%lld %lld", &quota, &period) != 2) {
        return 0;
    }
    return cpus(quota, period);
}

/* Two files, -1 for no limit (cgroup v1). */
static uint32_t quota_v1(const char *folder)
{
    char path[640], line[64];
    long long quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &quota) != 1) {
        return 0;
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, line, sizeof line) || sscanf(line, "%lld", &period) != 1) {
        return 0;
    }
    return cpus(quota, period);
}

/* The tightest quota of a group and the groups above it, whose limits hold for it too. */
static uint32_t tightest(const char *root, const char *group, uint32_t (*quota)(const char *))
{
    char folder[576];
    uint32_t least = 0;
    snprintf(folder, sizeof folder, "%s%s", root, group);
    for (;;) {
        uint32_t here = quota(folder);
        if (here != 0 && (least == 0 || here < least)) {
            least = here;
        }
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash < folder + strlen(root)) {
            return least;
        }
        *slash = 0;
    }
}

uint32_t nacrei_pool_quota(const char *groups, const char *root)
{
    /* Lines "number:controllers:group"; v2 has number 0 and no controllers. */
    char line[512], root_v1[512];
    uint32_t least = 0;
    snprintf(root_v1, sizeof root_v1, "%s/cpu", root);
    FILE *file = fopen(groups, "re");
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (group == NULL) {
            continue;
        }
        *group++ = 0;
        controllers++;
        uint32_t here = 0;
        char listed[520];
        snprintf(listed, sizeof listed, ",%s,", controllers);
        if (*controllers == 0) {
            here = tightest(root, group, quota_v2);
        } else if (strstr(listed, ",cpu,") != NULL) {
            here = tightest(root_v1, group, quota_v1);
        }
        if (here != 0 && (least == 0 || here < least)) {
            least = here;
        }
    }
    fclose(file);
    return least;
}

uint32_t nacrei_pool_threads_allowed(void)
{
    cpu_set_t set;
    long count = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        count = CPU_COUNT(&set);
    }
    if (count <= 0) {
        count = sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than a cpu_set_t names */
    }
    uint32_t allowed = count > 0 ? (uint32_t)count : 1;
    uint32_t quota = nacrei_pool_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    return quota != 0 && quota < allowed ? quota : allowed;
}
