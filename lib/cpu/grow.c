/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting submaps, and rebuilding them where they are (rebuild.h does one). */
#include "lib/cpu/kernels.h"
#include "lib/cpu/search.h"
#include "lib/cpu/table.h"

/*
 * Submaps rebuilt per submap's worth of erased keys, as on CUDA: a round that erases a tenth of the
 * keys has half of the submaps rebuilt. With 4 a hit reads 1.31 pairs after 200 such rounds at load
 * 0.8, with 5 it reads 1.29, and 1.24 when fresh.
 */
#define REBUILDS_PER_SUBMAP 5u

/* Fewer splits than this are not worth waking threads for. */
#define SPLITS_FOR_THREADS 4u

/* The split that makes `submap_count` submaps into one more. */
static nacrei_cpu_rebuild split(const nacrei_cpu_table *table, uint64_t submap_count)
{
    uint64_t half = nacrei_floor_power(submap_count);
    nacrei_cpu_rebuild rebuild = {
        .to = {nacrei_cpu_submap_at(table, 1 + submap_count - half),
               nacrei_cpu_submap_at(table, 1 + submap_count)},
        .split_bit = NACREI_HASH_SUBMAP_SHIFT + (uint32_t)__builtin_ctzll(half),
        .halves = 1,
    };
    return rebuild;
}

/* Puts a key that is nowhere into the table; there is a place for it. */
static void put(nacrei_cpu_map *map, uint64_t stored, uint64_t value)
{
    uint32_t key_bytes = map->head.config.key_bytes, value_bytes = map->head.config.value_bytes;
    uint64_t hash = nacrei_hash(nacrei_key_store(stored, key_bytes), map->table.seed);
    nacrei_cpu_walk walk = nacrei_cpu_walk_begin(&map->table, hash, NULL);
    nacrei_cpu_walk_find(&walk, stored, key_bytes, value_bytes);
    unsigned char *slot = nacrei_cpu_walk_claim(&walk, key_bytes, value_bytes);
    nacrei_slot_set(slot, stored, value, key_bytes, value_bytes);
    map->stash_keys += (uint64_t)nacrei_cpu_in_stash(&map->table, slot);
}

/*
 * A rebuilt submap does not send lookups on to its keys in the stash any more. So each key is taken
 * out of the stash and put into the table anew: into its submap where that has room now, and at
 * worst into the place that it just left.
 */
static void put_stash_anew(nacrei_cpu_map *map)
{
    uint32_t key_bytes = map->head.config.key_bytes, value_bytes = map->head.config.value_bytes;
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    nacrei_cpu_submap stash = nacrei_cpu_stash(&map->table);
    for (uint32_t at = 0; at < NACREI_CPU_IMAGE_BYTES && map->stash_keys > 0; at += slot_bytes) {
        unsigned char *slot = stash.buckets + at;
        uint64_t stored = nacrei_slot_key(slot, key_bytes, value_bytes);
        uint64_t value = nacrei_slot_value(slot, key_bytes, value_bytes);
        if (stored >= nacrei_empty_patterns(value_bytes)) {
            nacrei_slot_empty(slot, nacrei_submap_signature(stash, at / NACREI_BUCKET_BYTES),
                              key_bytes, value_bytes);
            map->stash_keys--;
            put(map, stored, value);
        }
    }
}

/* Splits that run beside each other. None of them touches a submap of another. */
typedef struct split_round {
    const nacrei_cpu_map *map;
    nacrei_cpu_scratch *scratch; /* one for each thread */
    uint32_t threads;
    uint64_t first; /* submaps before and after the round */
    uint64_t last;
} split_round;

static void split_part(void *context, uint32_t part)
{
    const split_round *round = context;
    for (uint64_t count = round->first + part; count < round->last; count += round->threads) {
        nacrei_cpu_rebuild rebuild = split(&round->map->table, count);
        round->map->kernels->rebuild(&round->scratch[part], &rebuild, round->map->table.seed);
    }
}

/* Splits until there are `submap_count` submaps. */
static void split_until(nacrei_cpu_map *map, uint64_t submap_count, nacrei_pool *pool)
{
    while (map->table.submap_count < submap_count) {
        /* Not beyond a doubling at a time: what was born in a round is not split in it. */
        uint64_t doubled = 2 * map->table.half;
        split_round round = {
            .map = map,
            .scratch = &map->scratch,
            .threads = 1,
            .first = map->table.submap_count,
            .last = submap_count < doubled ? submap_count : doubled,
        };
        if (pool != NULL && round.last - round.first >= SPLITS_FOR_THREADS) {
            uint32_t threads = nacrei_pool_size(pool);
            nacrei_cpu_scratch *scratch =
                nacrei_pool_scratch(pool, NACREI_POOL_SPLITS, threads * sizeof *scratch);
            if (scratch != NULL) {
                round.threads = threads;
                round.scratch = scratch;
            }
        }
        if (round.threads > 1) {
            nacrei_pool_run(pool, split_part, &round, round.threads);
        } else {
            split_part(&round, 0);
        }
        nacrei_cpu_table_set_count(&map->table, round.last);
    }
}

int nacrei_cpu_table_grow(nacrei_cpu_map *map, uint64_t submap_count, nacrei_pool *pool)
{
    uint64_t reachable = nacrei_cpu_table_allocate_some(map, submap_count);
    if (reachable <= map->table.submap_count) {
        return 0;
    }
    if (map->size == 0) {
        nacrei_cpu_table_clear(map); /* there may be signatures of keys erased */
        nacrei_cpu_table_set_count(&map->table, reachable);
    } else {
        split_until(map, reachable, pool);
        put_stash_anew(map);
    }
    map->growths++;
    map->layout++;
    return 1;
}

static void rebuild_in_turn(nacrei_cpu_map *map, uint64_t submaps)
{
    for (uint64_t i = 0; i < submaps; i++) {
        map->next_rebuilt = map->next_rebuilt % map->table.submap_count + 1;
        nacrei_cpu_submap submap = nacrei_cpu_submap_at(&map->table, map->next_rebuilt);
        nacrei_cpu_rebuild rebuild = {.to = {submap, submap}};
        map->kernels->rebuild(&map->scratch, &rebuild, map->table.seed);
    }
    put_stash_anew(map);
    map->layout++;
}

void nacrei_cpu_table_maintain(nacrei_cpu_map *map)
{
    uint64_t keys = nacrei_cpu_submap_slots(&map->head.config) / REBUILDS_PER_SUBMAP;
    uint64_t submaps = map->erased_keys / keys;
    if (submaps > 0) {
        map->erased_keys %= keys;
        rebuild_in_turn(map, submaps < map->table.submap_count ? submaps : map->table.submap_count);
    }
}

void nacrei_cpu_table_maintain_all(nacrei_cpu_map *map)
{
    map->erased_keys = 0;
    rebuild_in_turn(map, map->table.submap_count);
}
