/* SPDX-License-Identifier: Apache-2.0 */
/* The map of the CPU backend, and what its files tell each other. */
#ifndef NACRE_LIB_CPU_MAP_H
#define NACRE_LIB_CPU_MAP_H

#include <pthread.h>
#include <stdint.h>

#include "lib/backend.h"
#include "lib/cpu/device.h"
#include "lib/cpu/lock.h"
#include "nacre/core/table.h"

/* A submap has as many buckets as on CUDA, where it has to fit into shared memory; here it fits
 * into L2. */
#define NACREI_CPU_BUCKETS         2048u
#define NACREI_CPU_BUCKET_MASK     (NACREI_CPU_BUCKETS - 1u)
#define NACREI_CPU_IMAGE_BYTES     (NACREI_CPU_BUCKETS * NACREI_BUCKET_BYTES)
#define NACREI_BUCKET_SHIFT        5 /* NACREI_BUCKET_BYTES and NACREI_CPU_IMAGE_BYTES */
#define NACREI_CPU_IMAGE_SHIFT     16
#define NACREI_CPU_SIGNATURE_BYTES (NACREI_CPU_BUCKETS / NACREI_SIGNATURES_PER_WORD * 4u)
#define NACREI_CPU_SUBMAP_BYTES    (NACREI_CPU_IMAGE_BYTES + NACREI_CPU_SIGNATURE_BYTES)
#define NACREI_CPU_SLOTS_MAX       (NACREI_CPU_IMAGE_BYTES / 4u)

/* A batch of so many elements is worth waking threads for: about a millisecond of one of them. */
#define NACREI_CPU_LARGE_BATCH 32768u

/*
 * A submap. Its signatures do not lie behind its buckets but beside those of other submaps, at the
 * start of their segment: a lookup that needs one then finds it in memory so small that caches hold
 * much of it, and, because only the end of a segment is not made of huge pages, without a miss of
 * the address cache.
 */
typedef struct nacrei_cpu_submap {
    unsigned char *buckets;
    unsigned char *signatures;
} nacrei_cpu_submap;

/* Where buckets and signatures of submap 0 would lie if the segment reached back to it. */
typedef struct nacrei_cpu_segment {
    uintptr_t buckets;
    uintptr_t signatures;
} nacrei_cpu_segment;

/* Where the submaps lie. Memory of submaps that are not there yet is zero. */
typedef struct nacrei_cpu_table {
    uint64_t seed;
    uint64_t submap_count; /* the stash not included */
    uint64_t half;         /* nacrei_floor_power(submap_count) */
    uint32_t segment_count;
    nacrei_cpu_segment segments[NACREI_SEGMENTS_MAX];
} nacrei_cpu_table;

/* What rebuilding a submap needs. */
typedef struct nacrei_cpu_scratch {
    unsigned char saved[NACREI_CPU_IMAGE_BYTES]; /* the old image */
    unsigned char astray[16];                    /* where what belongs nowhere is written */
    uint8_t filled[2][NACREI_CPU_BUCKETS / 2];   /* slots taken in each pair of the new images */
    uint16_t guests[NACREI_CPU_SLOTS_MAX + 1];   /* slots of keys that found their pair full */
} nacrei_cpu_scratch;

/* What nacre_map_info_get and nacre_map_faults tell, without waiting for a batch. */
typedef struct nacrei_cpu_shown {
    uint64_t size;
    uint64_t submap_count;
    uint64_t capacity_keys;
    uint64_t memory_bytes;
    uint64_t memory_peak_bytes;
    uint64_t growths;
    uint64_t layout;
    uint32_t faults;
} nacrei_cpu_shown;

struct nacrei_cpu_kernels;

typedef struct nacrei_cpu_map {
    struct nacre_map head;
    const struct nacrei_cpu_kernels *kernels; /* for the widths of this map */

    nacrei_cpu_lock lock;
    nacrei_cpu_table table;
    uint64_t size;          /* keys, those in the stash and in side slots included */
    uint64_t reserved_keys; /* the most that was asked for, by create and since the last shrink */
    uint64_t refused_keys;  /* DEFERRED: refused by batches for which room is still to be made */
    uint64_t growths;
    uint64_t layout; /* counts the times that keys moved; the first table is 1 */
    uint64_t memory_bytes;
    uint64_t memory_peak_bytes;
    uint64_t side_values[NACREI_SIDE_SLOTS_MAX];
    uint8_t side_present[NACREI_SIDE_SLOTS_MAX];
    uint64_t erased_keys;       /* erased since a submap was last rebuilt for that */
    uint64_t next_rebuilt;      /* number of the submap whose turn it is */
    nacrei_cpu_scratch scratch; /* for rebuilding on the caller's thread */

    /* Threads of one batch own disjoint submaps, but share the stash: they hold this inside it. */
    pthread_mutex_t stash_lock;
    uint64_t stash_keys;

    pthread_mutex_t shown_lock;
    nacrei_cpu_shown shown;
} nacrei_cpu_map;

/* nacrei_segment_of(number).segment, found with one search for a bit: every lookup asks for it. */
static inline uint32_t nacrei_cpu_segment_of(uint64_t number)
{
    uint32_t exponent = 61u - (uint32_t)__builtin_clzll(number + 4);
    return 4 * exponent + (uint32_t)((number + 4) >> exponent) - 4;
}

static inline nacrei_cpu_submap nacrei_cpu_submap_at(const nacrei_cpu_table *table, uint64_t number)
{
    const nacrei_cpu_segment *segment = &table->segments[nacrei_cpu_segment_of(number)];
    nacrei_cpu_submap submap = {
        (unsigned char *)(segment->buckets + (uintptr_t)(number * NACREI_CPU_IMAGE_BYTES)),
        (unsigned char *)(segment->signatures + (uintptr_t)(number * NACREI_CPU_SIGNATURE_BYTES)),
    };
    return submap;
}

/* The submap of a hash. */
static inline nacrei_cpu_submap nacrei_cpu_submap_of(const nacrei_cpu_table *table, uint64_t hash)
{
    return nacrei_cpu_submap_at(table, nacrei_submap_of(hash, table->submap_count, table->half));
}

static inline nacrei_cpu_submap nacrei_cpu_stash(const nacrei_cpu_table *table)
{
    return nacrei_cpu_submap_at(table, 0);
}

static inline uint64_t nacrei_cpu_submap_slots(const nacre_map_config *config)
{
    return (uint64_t)NACREI_CPU_BUCKETS *
           nacrei_slots_per_bucket(config->key_bytes, config->value_bytes);
}

/* Slots that a cursor walks through: those of all submaps, the stash first, and the side slots. */
static inline uint64_t nacrei_cpu_walk_slots(const nacre_map_config *config, uint64_t submap_count)
{
    return (submap_count + 1) * nacrei_cpu_submap_slots(config) + NACREI_SIDE_SLOTS_MAX;
}

/* Brings up to date what info and faults tell; `faults` are new ones. Under the lock for writing.
 */
void nacrei_cpu_map_show(nacrei_cpu_map *map, uint32_t faults);

/* map.c: what the seam asks for one by one. */
uint64_t nacrei_cpu_map_estimate(const nacre_device *device, const nacre_map_config *config,
                                 uint64_t keys);
nacre_status nacrei_cpu_map_create(nacre_device *device, const nacre_map_config *config,
                                   nacre_map **map, nacre_error *error);
void nacrei_cpu_map_destroy(nacre_map *map);
nacre_status nacrei_cpu_map_clear(nacre_map *map, nacre_error *error, nacre_stream stream);
nacre_status nacrei_cpu_map_maintain(nacre_map *base, nacre_error *error, nacre_stream stream);
nacre_status nacrei_cpu_map_shrink(nacre_map *map, nacre_error *error, nacre_stream stream);
nacre_status nacrei_cpu_map_reserve(nacre_map *map, uint64_t keys, nacre_error *error,
                                    nacre_stream stream);
void nacrei_cpu_map_info(nacre_map *map, nacre_map_info *info);
nacre_status nacrei_cpu_map_size(nacre_map *map, uint64_t *size, nacre_error *error,
                                 nacre_stream stream);
uint32_t nacrei_cpu_map_faults(nacre_map *map, uint32_t clear);

/* batch.c */
nacre_status nacrei_cpu_map_batch(nacre_map *map, const nacrei_batch *batch, nacre_error *error);

/* inspect.c */
nacre_status nacrei_cpu_map_statistics(nacre_map *map, nacre_map_statistics *statistics,
                                       nacre_error *error, nacre_stream stream);
nacre_status nacrei_cpu_map_check(nacre_map *map, nacre_error *error, nacre_stream stream);

/* selection.c */
nacre_status nacrei_cpu_map_retrieve(nacre_map *map, const nacrei_selection *selection,
                                     nacre_error *error);
nacre_status nacrei_cpu_map_erase_if(nacre_map *map, const nacrei_selection *selection,
                                     nacre_error *error);
nacre_status nacrei_cpu_map_match(nacre_map *map, const nacrei_batch *batch,
                                  const nacrei_matches *matches, nacre_error *error);

#endif
