/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a whole map: statistics, the self-check. */
#include <string.h>

#include "lib/cpu/kernels.h"
#include "lib/cpu/layout.h"
#include "lib/cpu/map.h"
#include "lib/cpu/table.h"

/* Random keys that are looked up to learn what a miss costs. */
#define MISSING_SAMPLES 16384u

/*
 * The slot where a lookup finds a key, and how many pairs it reads; NULL: it does not find it.
 * Bucket by bucket along core/probe.h, and not by the kernels' code, so that each proves the other.
 */
static unsigned char *look(const nacrei_cpu_map *map, uint64_t stored, uint32_t *pairs)
{
    uint32_t key_bytes = map->head.config.key_bytes, value_bytes = map->head.config.value_bytes;
    uint64_t hash = nacrei_hash(nacrei_key_store(stored, key_bytes), map->table.seed);
    nacrei_cpu_submap submaps[2] = {nacrei_cpu_submap_of(&map->table, hash),
                                    nacrei_cpu_stash(&map->table)};
    *pairs = 0;
    for (uint32_t i = 0; i < 2; i++) {
        nacrei_probe probe = nacrei_probe_begin(hash, NACREI_CPU_BUCKET_MASK);
        while (probe.length < nacrei_probe_limit(NACREI_CPU_BUCKET_MASK)) {
            unsigned char *slot = nacrei_bucket_match(
                nacrei_submap_bucket(submaps[i], probe.bucket), stored, key_bytes, value_bytes);
            uint32_t goes_on =
                (probe.length & 1u) == 0 ||
                nacrei_pair_passed(*nacrei_submap_pair_signatures(submaps[i], probe.bucket), hash);
            *pairs += (probe.length & 1u) == 0;
            if (slot != NULL || !goes_on) {
                return slot;
            }
            nacrei_probe_next(&probe, NACREI_CPU_BUCKET_MASK);
        }
    }
    return NULL;
}

/* Numbers without a pattern, the same in every run (splitmix64). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static double sample_missing(const nacrei_cpu_map *map)
{
    uint32_t key_bytes = map->head.config.key_bytes, value_bytes = map->head.config.value_bytes;
    uint64_t state = 0, sum = 0, missing = 0;
    for (uint32_t i = 0; i < MISSING_SAMPLES; i++) {
        uint64_t random = next_random(&state);
        uint64_t stored = key_bytes == 4 ? random >> 32 : random;
        uint32_t pairs;
        if (stored >= nacrei_empty_patterns(value_bytes) && look(map, stored, &pairs) == NULL) {
            sum += pairs;
            missing++;
        }
    }
    return missing == 0 ? 0.0 : (double)sum / (double)missing;
}

nacre_status nacrei_cpu_map_statistics(nacre_map *base, nacre_map_statistics *statistics,
                                       nacre_error *error, nacre_stream stream)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    uint32_t key_bytes = map->head.config.key_bytes, value_bytes = map->head.config.value_bytes;
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes), longest = 0;
    uint64_t sum = 0;
    (void)error;
    (void)stream;
    nacrei_cpu_lock_to_read(&map->lock);
    memset(statistics->probe_lengths, 0, sizeof statistics->probe_lengths);
    for (uint64_t number = 0; number <= map->table.submap_count; number++) {
        const unsigned char *buckets = nacrei_cpu_submap_at(&map->table, number).buckets;
        for (uint32_t at = 0; at < NACREI_CPU_IMAGE_BYTES; at += slot_bytes) {
            uint64_t stored = nacrei_slot_key(buckets + at, key_bytes, value_bytes);
            uint32_t read;
            if (stored >= nacrei_empty_patterns(value_bytes)) {
                look(map, stored, &read);
                statistics->probe_lengths[read < 16 ? read - 1 : 15]++;
                sum += read;
                longest = read > longest ? read : longest;
            }
        }
    }
    /* A side key costs one look at its slot, as if it were found at home. */
    for (uint32_t side = 0; side < NACREI_SIDE_SLOTS_MAX; side++) {
        if (map->side_present[side]) {
            statistics->probe_lengths[0]++;
            sum++;
            longest = longest > 0 ? longest : 1;
        }
    }
    statistics->probe_length_max = longest;
    statistics->size = map->size;
    statistics->stash_keys = map->stash_keys;
    statistics->probe_length_mean_hit = map->size == 0 ? 0.0 : (double)sum / (double)map->size;
    statistics->probe_length_mean_missing = sample_missing(map);
    nacrei_cpu_unlock(&map->lock);
    return NACRE_OK;
}

/* What the check has seen so far. */
typedef struct check {
    const nacrei_cpu_map *map;
    nacre_error *error;
    uint64_t keys;
    uint64_t stash_keys;
} check;

static nacre_status broken(const check *check, const char *what, uint64_t submap, uint32_t at)
{
    uint32_t slot_bytes =
        nacrei_slot_bytes(check->map->head.config.key_bytes, check->map->head.config.value_bytes);
    return nacrei_fail(
        check->error, NACRE_ERROR_INTERNAL, 0,
        "nacre_map_check: %s: submap %llu of %llu (0: the stash), bucket %u, slot %u", what,
        (unsigned long long)submap, (unsigned long long)check->map->table.submap_count,
        at / NACREI_BUCKET_BYTES, at % NACREI_BUCKET_BYTES / slot_bytes);
}

static nacre_status check_key(check *check, uint64_t number, const unsigned char *buckets,
                              uint32_t at, uint64_t stored)
{
    const nacrei_cpu_map *map = check->map;
    uint32_t key_bytes = map->head.config.key_bytes, value_bytes = map->head.config.value_bytes;
    uint64_t hash = nacrei_hash(nacrei_key_store(stored, key_bytes), map->table.seed);
    uint32_t read;
    check->keys++;
    check->stash_keys += number == 0;
    if (number != 0 && nacrei_cpu_submap_of(&map->table, hash).buckets != buckets) {
        return broken(check, "a key lies in a submap that is not its own", number, at);
    }
    const unsigned char *slot = look(map, stored, &read);
    if (slot == NULL) {
        return broken(check, "a lookup does not find the key", number, at);
    }
    if (slot != buckets + at) {
        return broken(check, "a key is there twice", number, at);
    }
    if (nacrei_slot_bytes(key_bytes, value_bytes) == 16 &&
        ((key_bytes == 4 && stored > UINT32_MAX) ||
         (value_bytes == 4 && nacrei_slot_value(slot, key_bytes, value_bytes) > UINT32_MAX))) {
        return broken(check, "the padding of a slot is not zero", number, at);
    }
    return NACRE_OK;
}

static nacre_status check_submap(check *check, uint64_t number)
{
    uint32_t key_bytes = check->map->head.config.key_bytes;
    uint32_t value_bytes = check->map->head.config.value_bytes;
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    nacrei_cpu_submap submap = nacrei_cpu_submap_at(&check->map->table, number);
    for (uint32_t at = 0; at < NACREI_CPU_IMAGE_BYTES; at += slot_bytes) {
        uint64_t stored = nacrei_slot_key(submap.buckets + at, key_bytes, value_bytes);
        if (stored >= nacrei_empty_patterns(value_bytes)) {
            nacre_status status = check_key(check, number, submap.buckets, at, stored);
            if (status != NACRE_OK) {
                return status;
            }
        } else if (nacrei_hole_signature(submap.buckets + at, key_bytes, value_bytes) !=
                   nacrei_submap_signature(submap, at / NACREI_BUCKET_BYTES)) {
            return broken(check, "an empty slot does not carry its bucket's signature", number, at);
        }
    }
    return NACRE_OK;
}

static nacre_status check_numbers(check *check)
{
    const nacrei_cpu_map *map = check->map;
    for (uint32_t side = 0; side < NACREI_SIDE_SLOTS_MAX; side++) {
        check->keys += map->side_present[side];
        if (map->side_present[side] &&
            side >= nacrei_empty_patterns(map->head.config.value_bytes)) {
            return nacrei_fail(check->error, NACRE_ERROR_INTERNAL, 0,
                               "nacre_map_check: side slot %u is taken, and no key belongs there",
                               side);
        }
    }
    if (check->keys != map->size || check->stash_keys != map->stash_keys) {
        return nacrei_fail(check->error, NACRE_ERROR_INTERNAL, 0,
                           "nacre_map_check: %llu keys are there, %llu of them in the stash; the "
                           "counters say %llu and %llu",
                           (unsigned long long)check->keys, (unsigned long long)check->stash_keys,
                           (unsigned long long)map->size, (unsigned long long)map->stash_keys);
    }
    if (map->size > nacrei_cpu_table_capacity(map)) {
        return nacrei_fail(check->error, NACRE_ERROR_INTERNAL, 0,
                           "nacre_map_check: %llu keys are more than the capacity, %llu",
                           (unsigned long long)map->size,
                           (unsigned long long)nacrei_cpu_table_capacity(map));
    }
    return NACRE_OK;
}

nacre_status nacrei_cpu_map_check(nacre_map *base, nacre_error *error, nacre_stream stream)
{
    nacrei_cpu_map *map = (nacrei_cpu_map *)base;
    check check = {.map = map, .error = error};
    nacre_status status = NACRE_OK;
    (void)stream;
    nacrei_cpu_lock_to_read(&map->lock);
    for (uint64_t number = 0; number <= map->table.submap_count && status == NACRE_OK; number++) {
        status = check_submap(&check, number);
    }
    if (status == NACRE_OK) {
        status = check_numbers(&check);
    }
    nacrei_cpu_unlock(&map->lock);
    return status;
}
