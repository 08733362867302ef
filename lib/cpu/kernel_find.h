/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find and contains. Memory decides: a lookup is one access to a table that does not fit into the
 * caches, so the accesses of a group of keys are started before the first of them is needed.
 */
#ifndef NACRE_LIB_CPU_KERNEL_FIND_H
#define NACRE_LIB_CPU_KERNEL_FIND_H

#include "lib/cpu/kernels.h"
#include "lib/cpu/search.h"

/* Keys whose memory is fetched at the same time. */
#define NACREI_FIND_GROUP 32u

typedef struct nacrei_cpu_lookup {
    uint64_t element;
    uint64_t stored;
    uint64_t hash;
    unsigned char *submap;
} nacrei_cpu_lookup;

NACREI_KERNEL void nacrei_cpu_found(const nacrei_batch *batch, uint64_t element, uint64_t value,
                                    uint32_t operation, uint32_t value_bytes)
{
    if (operation == NACREI_CONTAINS) {
        batch->contained[element] = 1;
    } else {
        nacrei_store((char *)batch->values_out + element * value_bytes, value, value_bytes);
    }
    if (batch->options.outcomes != NULL) {
        batch->options.outcomes[element] = NACRE_OUTCOME_FOUND;
    }
}

NACREI_KERNEL void nacrei_cpu_missed(const nacrei_batch *batch, uint64_t element,
                                     uint32_t operation, uint32_t value_bytes)
{
    if (operation == NACREI_CONTAINS) {
        batch->contained[element] = 0;
    } else if (batch->options.missing_value != NULL) {
        nacrei_store((char *)batch->values_out + element * value_bytes, batch->missing_value,
                     value_bytes);
    }
    if (batch->options.outcomes != NULL) {
        batch->options.outcomes[element] = NACRE_OUTCOME_MISSING;
    }
}

NACREI_KERNEL uint64_t nacrei_cpu_find(nacrei_cpu_run *run, uint64_t begin, uint64_t end,
                                       uint32_t operation, uint32_t key_bytes, uint32_t value_bytes)
{
    const nacrei_cpu_map *map = run->map;
    const nacrei_batch *batch = run->batch;
    for (uint64_t position = begin; position < end; position++) {
        uint64_t element = run->base + (run->list != NULL ? run->list[position] : position);
        uint64_t key = nacrei_load((const char *)batch->keys + element * key_bytes, key_bytes);
        uint64_t stored = nacrei_key_store(key, key_bytes);
        if (stored < nacrei_empty_patterns(value_bytes)) {
            if (map->side_present[stored]) {
                nacrei_cpu_found(batch, element, map->side_values[stored], operation, value_bytes);
                run->done++;
            } else {
                nacrei_cpu_missed(batch, element, operation, value_bytes);
            }
            continue;
        }
        uint64_t hash = nacrei_hash(key, map->table.seed);
        nacrei_cpu_walk walk =
            nacrei_cpu_walk_begin(&map->table, nacrei_cpu_submap_of(&map->table, hash), hash, NULL);
        unsigned char *slot = nacrei_cpu_walk_find(&walk, stored, key_bytes, value_bytes);
        if (slot != NULL) {
            nacrei_cpu_found(batch, element, nacrei_slot_value(slot, key_bytes, value_bytes),
                             operation, value_bytes);
            run->done++;
        } else {
            nacrei_cpu_missed(batch, element, operation, value_bytes);
        }
    }
    return end;
}

#endif
