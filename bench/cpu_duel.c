/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU backend against boost::unordered_flat_map: keys and values of 8 bytes, insertion into an
 * empty map that grows, then lookups of every key and of as many that are not there.
 *
 *     cpu_duel [millions of keys, default 10] [repetitions, default 3]
 *
 * All take part in each repetition, so that a disturbance of the machine meets all alike; medians
 * are told, and whether the targets for maps of this size are met. Every answer is checked.
 */
#include "cpu_duel.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nacre/nacre.h>

#define REPETITIONS_MAX 15

/* Ratios to reach, from so many keys on: one thread to boost, and two threads to one. */
#define TARGET_KEYS         10000000
#define TARGET_HIT          1.8
#define TARGET_MISS         0.9
#define TARGET_INSERT       2.5
#define TARGET_THREADS      1.3 /* on few, perhaps shared, cores */
#define TARGET_THREADS_MANY 1.8 /* on MANY_THREADS cores or more */
#define MANY_THREADS        8

/* A bijection of 64 bits: keys without a pattern, all different. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/*
 * A bijection of 0 .. count - 1: of the next power of two, repeated until the number is in range.
 */
static uint64_t shuffled(uint64_t x, uint64_t count)
{
    uint32_t bits = 1;
    while ((uint64_t)1 << bits < count) {
        bits++;
    }
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    do {
        x = (x * 0x9E3779B97F4A7C15u + 0x632BE5AB) & mask;
        x ^= x >> (bits / 2 + 1);
        x = x * 0xD6E8FEB86659FD93u & mask;
        x ^= x >> (bits / 2 + 1);
    } while (x >= count);
    return x;
}

static uint64_t value_of(uint64_t number)
{
    return mix(~number);
}

static uint64_t *array(uint64_t count)
{
    uint64_t *numbers = malloc(count * sizeof *numbers);
    if (numbers == NULL) {
        fprintf(stderr, "cpu_duel: no memory for %" PRIu64 " numbers\n", count);
        exit(1);
    }
    return numbers;
}

static duel_workload make_workload(uint64_t count)
{
    uint64_t *keys = array(count), *values = array(count), *hits = array(count),
             *misses = array(count);
    duel_workload workload = {count, keys, values, hits, misses, 0, array(count)};
    for (uint64_t i = 0; i < count; i++) {
        keys[i] = mix(i + 1);
        values[i] = value_of(i);
        hits[i] = mix(shuffled(i, count) + 1);
        misses[i] = mix(count + i + 1);
        workload.value_sum += values[i];
        workload.out[i] = 0;
    }
    return workload;
}

static void must(nacre_status status, const nacre_error *error)
{
    if (status != NACRE_OK) {
        fprintf(stderr, "cpu_duel: %s\n", error->message);
        exit(1);
    }
}

/* Each key has its own value, and their order is known: computed, which is faster than read. */
static int values_right(const duel_workload *workload)
{
    for (uint64_t i = 0; i < workload->count; i++) {
        if (workload->out[i] != value_of(shuffled(i, workload->count))) {
            return 0;
        }
    }
    return 1;
}

static double find_all(nacre_map *map, const duel_workload *workload, const uint64_t *keys,
                       uint64_t *found, const nacre_options *options)
{
    double start = duel_now();
    *found = 0;
    for (uint64_t at = 0; at < workload->count; at += DUEL_PART) {
        uint64_t left = workload->count - at, count = left < DUEL_PART ? left : DUEL_PART;
        must(nacre_map_find(map, keys + at, count, workload->out + at, options, NULL),
             options->error);
        *found += options->counts->done;
    }
    return duel_now() - start;
}

/* Inserts everything into a new map, `part` keys a call; returns the seconds and the map. */
static double insert_all(const duel_workload *workload, nacre_device *device, uint64_t part,
                         nacre_map **map, const nacre_options *options)
{
    nacre_map_config config;
    nacre_map_config_init(&config, sizeof config);
    config.error = options->error;
    duel_warm_memory(workload->count);
    must(nacre_map_create(device, &config, map), options->error);
    double start = duel_now();
    for (uint64_t at = 0; at < workload->count; at += part) {
        uint64_t left = workload->count - at, count = left < part ? left : part;
        must(nacre_map_insert(*map, workload->keys + at, workload->values + at, count, options,
                              NULL),
             options->error);
    }
    return duel_now() - start;
}

static duel_times duel_nacre(const duel_workload *workload, nacre_device *device)
{
    duel_times times = {0};
    nacre_error error;
    nacre_counts counts;
    nacre_map_info info;
    nacre_options options;
    nacre_map *map;
    uint64_t found;
    nacre_error_init(&error, sizeof error);
    nacre_map_info_init(&info, sizeof info);
    nacre_options_init(&options, sizeof options);
    options.error = &error;
    options.counts = &counts;

    times.insert_parts = insert_all(workload, device, DUEL_PART, &map, &options);
    nacre_map_destroy(map);
    times.insert = insert_all(workload, device, workload->count, &map, &options);
    times.hit = find_all(map, workload, workload->hits, &found, &options);
    times.correct = found == workload->count && values_right(workload);
    times.miss = find_all(map, workload, workload->misses, &found, &options);
    times.correct &= found == 0;
    must(nacre_map_info_get(map, &info, &error), &error);
    times.load = info.load;
    times.correct &= info.size_last_known == workload->count;
    nacre_map_destroy(map);
    return times;
}

static nacre_device *open_device(uint32_t threads)
{
    nacre_error error;
    nacre_device_config config;
    nacre_device *device;
    nacre_error_init(&error, sizeof error);
    nacre_device_config_init(&config, sizeof config);
    config.backend = NACRE_BACKEND_CPU;
    config.threads = threads;
    config.error = &error;
    must(nacre_device_open(&config, &device), &error);
    return device;
}

static int by_value(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static double median(const duel_times *times, int count, size_t field)
{
    double values[REPETITIONS_MAX];
    for (int i = 0; i < count; i++) {
        memcpy(&values[i], (const char *)&times[i] + field, sizeof values[i]);
    }
    qsort(values, (size_t)count, sizeof values[0], by_value);
    return values[count / 2];
}

/* One who takes part. */
typedef struct contender {
    char name[64];
    nacre_device *device; /* NULL: boost */
    duel_times times[REPETITIONS_MAX];
    duel_times median;
} contender;

/* Tells how many threads its device has. */
static uint32_t add_contender(contender *nacre, uint32_t threads)
{
    char text[128];
    uint32_t count = 1;
    nacre->device = open_device(threads);
    must(nacre_device_describe(nacre->device, NULL, NULL, text, sizeof text), NULL);
    text[strcspn(text, ";")] = 0;
    snprintf(nacre->name, sizeof nacre->name, "nacre, %.48s", text);
    sscanf(text, "cpu, %" SCNu32, &count);
    return count;
}

static void tell(const contender *contender, const duel_times *base, uint64_t count)
{
    const duel_times *times = &contender->median;
    double millions = (double)count / 1e6;
    printf(
        "%-26s %6.1f M/s %5.2f x  %6.1f M/s %5.2f x  %6.1f M/s %5.2f x  %6.1f M/s %5.2f x  %4.2f\n",
        contender->name, millions / times->insert, base->insert / times->insert,
        millions / times->insert_parts, base->insert_parts / times->insert_parts,
        millions / times->hit, base->hit / times->hit, millions / times->miss,
        base->miss / times->miss, times->load);
}

static void judge(const char *what, double ratio, double target)
{
    printf("%-44s %5.2f x  >= %.1f  %s\n", what, ratio, target,
           ratio >= target ? "met" : "NOT MET");
}

static void judge_all(const duel_times *boost, const duel_times *one, const duel_times *two,
                      uint64_t count, uint32_t threads_here)
{
    const double threads = threads_here >= MANY_THREADS ? TARGET_THREADS_MANY : TARGET_THREADS;
    if (count < TARGET_KEYS) {
        printf("targets are for %d M keys and more\n", TARGET_KEYS / 1000000);
        return;
    }
    if (boost != NULL) {
        judge("one thread to boost: find, hits", boost->hit / one->hit, TARGET_HIT);
        judge("one thread to boost: find, misses", boost->miss / one->miss, TARGET_MISS);
        judge("one thread to boost: insert, growing", boost->insert / one->insert, TARGET_INSERT);
    }
    if (threads_here < 2) {
        printf("SKIPPED: two threads to one: there is one core\n");
        return;
    }
    judge("two threads to one: find, hits", one->hit / two->hit, threads);
    judge("two threads to one: find, misses", one->miss / two->miss, threads);
    judge("two threads to one: insert, growing", one->insert / two->insert, threads);
}

int main(int argc, char **argv)
{
    uint64_t count = (uint64_t)((argc > 1 ? atof(argv[1]) : 10.0) * 1e6);
    int repetitions = argc > 2 ? atoi(argv[2]) : 3, contenders = 0, wrong = 0;
    if (count < 1000 || repetitions < 1 || repetitions > REPETITIONS_MAX) {
        fprintf(stderr, "usage: cpu_duel [millions of keys] [repetitions, 1 to %d]\n",
                REPETITIONS_MAX);
        return 1;
    }
    static contender all[4];
#ifdef NACRE_DUEL_NO_BOOST
    printf("SKIPPED: boost::unordered_flat_map: %s\n", NACRE_DUEL_NO_BOOST);
#else
    snprintf(all[contenders++].name, sizeof all[0].name, "boost::unordered_flat_map");
#endif
    const int one = contenders, two = one + 1;
    add_contender(&all[contenders++], 1);
    add_contender(&all[contenders++], 2);
    const uint32_t threads_here = add_contender(&all[contenders], 0); /* as many as there are */
    if (threads_here > 2) {
        contenders++;
    } else {
        nacre_device_close(all[contenders].device);
    }

    duel_workload workload = make_workload(count);
    for (int repetition = 0; repetition < repetitions; repetition++) {
        fprintf(stderr, "cpu_duel: repetition %d of %d\n", repetition + 1, repetitions);
        for (int i = 0; i < contenders; i++) {
            duel_times *times = &all[i].times[repetition];
#ifndef NACRE_DUEL_NO_BOOST
            *times = all[i].device == NULL ? duel_boost(&workload)
                                           : duel_nacre(&workload, all[i].device);
#else
            *times = duel_nacre(&workload, all[i].device);
#endif
            wrong |= !times->correct;
        }
    }
    printf("%" PRIu64 " keys of 8 bytes, values of 8; medians of %d; ratios to the first line\n",
           count, repetitions);
    printf("%-26s %18s  %18s  %18s  %18s  %4s\n", "", "insert, growing", "1 M keys a call",
           "find, hits", "find, misses", "load");
    for (int i = 0; i < contenders; i++) {
        duel_times *times = all[i].times, *result = &all[i].median;
        result->insert = median(times, repetitions, offsetof(duel_times, insert));
        result->insert_parts = median(times, repetitions, offsetof(duel_times, insert_parts));
        result->hit = median(times, repetitions, offsetof(duel_times, hit));
        result->miss = median(times, repetitions, offsetof(duel_times, miss));
        result->load = times[0].load;
        tell(&all[i], &all[0].median, count);
        nacre_device_close(all[i].device);
    }
    judge_all(one > 0 ? &all[0].median : NULL, &all[one].median, &all[two].median, count,
              threads_here);
    printf("%s\n", wrong ? "WRONG ANSWERS" : "all answers right");
    return wrong;
}
