/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops, one set for each pair of widths. Chosen once, when a map is created: nothing
 * asks for widths per call.
 */
#ifndef NACRE_LIB_CPU_KERNELS_H
#define NACRE_LIB_CPU_KERNELS_H

#include "lib/cpu/map.h"

#define NACREI_CPU_LATE_MAX 64u

/* Positions that a run took up and did not do before it stopped; the next run begins with them. */
typedef struct nacrei_cpu_late {
    uint32_t count;
    uint32_t positions[NACREI_CPU_LATE_MAX];
} nacrei_cpu_late;

/* Part of a batch, done by one thread. */
typedef struct nacrei_cpu_run {
    nacrei_cpu_map *map;
    const nacrei_batch *batch;

    /* Position p is element base + list[p], or base + p without a list. */
    uint64_t base;
    const uint32_t *list;

    /* What is told of element e goes to outputs[e]; NULL: to e. */
    const uint32_t *outputs;

    /* 1: so many keys go to the same submaps one after another that these stay in the caches. */
    uint32_t dense;

    /* New keys that may go in before `more_room`, shared by all threads, has to be asked; NULL:
     * that is all. */
    uint64_t room;
    uint64_t *more_room;
    pthread_mutex_t *stash_lock; /* NULL: no other thread changes the map */

    /* A new key without room, or without a place on its path: 1: report FULL and go on; 0: stop
     * there. */
    uint32_t refuse_room;
    uint32_t refuse_place;
    uint32_t stopped_for_place;
    nacrei_cpu_late *late; /* of changes */

    uint64_t done;
    uint64_t refused;
    uint64_t inserted;
    uint64_t erased;
} nacrei_cpu_run;

/* Which element of the batch is at a position. */
static inline uint64_t nacrei_run_element(const nacrei_cpu_run *run, uint64_t position)
{
    return run->base + (run->list != NULL ? run->list[position] : position);
}

/* Parts into which a batch is scattered at most, and the part of an element that takes no part. */
#define NACREI_CPU_PARTS_MAX 2048u
#define NACREI_CPU_NO_PART   UINT16_MAX

/* Elements of a part that are gathered before they leave together. */
#define NACREI_CPU_LINE 16u

typedef struct nacrei_cpu_line {
    _Alignas(64) char keys[NACREI_CPU_LINE * 8];
    char values[NACREI_CPU_LINE * 8];
    char numbers[NACREI_CPU_LINE * 4];
} nacrei_cpu_line;

/* Elements to be copied, each to the next place of its part; arrays begin at cache lines. */
typedef struct nacrei_cpu_scatter {
    const char *keys;
    const char *values;    /* NULL: they have none */
    const uint16_t *parts; /* of each element */
    uint64_t count;
    uint64_t first; /* number of the first element */
    uint32_t part_count;
    uint32_t *places;       /* of each part: the next place */
    nacrei_cpu_line *lines; /* one for each part */
    char *keys_out;
    char *values_out;
    uint32_t *numbers_out; /* NULL: nobody asks which element it was */
} nacrei_cpu_scatter;

/* A submap to be rebuilt. */
typedef struct nacrei_cpu_rebuild {
    nacrei_cpu_submap to[2]; /* its own place, and that of its second half */
    uint32_t split_bit;      /* of the hash: tells the half */
    uint32_t halves;         /* 0: the submap stays one, to[1] does not matter; 1: it is split */
} nacrei_cpu_rebuild;

/* Does positions begin .. end - 1; returns the position where it stopped, or end. */
typedef uint64_t nacrei_cpu_kernel(nacrei_cpu_run *run, uint64_t begin, uint64_t end);

typedef struct nacrei_cpu_kernels {
    uint32_t key_bytes;
    uint32_t value_bytes;
    nacrei_cpu_kernel *run[NACREI_OPERATIONS];

    /* Writes hash >> shift & mask of each element from `first` on. */
    void (*parts)(const nacrei_cpu_map *map, const nacrei_batch *batch, uint64_t first,
                  uint64_t count, uint32_t shift, uint32_t mask, uint16_t *parts);

    void (*scatter)(const nacrei_cpu_scatter *scatter);

    /*
     * Writes to `found` the keys of `count` elements from `first` on whose hash is 0 at bits
     * part_mask << 40, and returns their number.
     */
    uint32_t (*sample)(const nacrei_cpu_map *map, const nacrei_batch *batch, uint64_t first,
                       uint32_t count, uint64_t part_mask, uint64_t *found);

    /* rebuild.h */
    void (*rebuild)(nacrei_cpu_scratch *scratch, const nacrei_cpu_rebuild *rebuild, uint64_t seed);

    /*
     * Of slots first .. last - 1 of a submap, those that are selected: copies keys and values
     * (where not NULL), at most `capacity`; or empties the slots. Returns how many there are.
     */
    uint64_t (*copy_out)(nacrei_cpu_submap submap, const nacrei_selection *selection,
                         uint32_t first, uint32_t last, void *keys_out, void *values_out,
                         uint64_t capacity);
    uint64_t (*erase_selected)(nacrei_cpu_submap submap, const nacrei_selection *selection,
                               uint32_t first, uint32_t last);
} nacrei_cpu_kernels;

/* The best for this processor. NULL: this build lacks the widths. */
const nacrei_cpu_kernels *nacrei_cpu_kernels_for(uint32_t key_bytes, uint32_t value_bytes);

/* kernels_avx512.c. NULL also where the processor or the compiler lacks it. */
const nacrei_cpu_kernels *nacrei_cpu_kernels_avx512_for(uint32_t key_bytes, uint32_t value_bytes);

#endif
