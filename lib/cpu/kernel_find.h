/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find and contains. Memory decides: a lookup is an access to a table that does not fit into the caches,
 * so that many have to be under way at a time. Keys go through in groups:
 *
 *     prepare      hash the keys of a group and fetch their home buckets
 *     first_look   one group later: compare with the home bucket. Nearly all are done by then; the others
 *                  wait, and their signatures are fetched
 *     go_on        once per group: each key that waits looks at its pair of buckets and is done, or moves on
 *                  to the next pair and fetches that
 *
 * A key that is not found yet counts as missing until it is: go_on overwrites that answer. So no branch
 * asks whether a key is to wait, which nobody could predict.
 */
#ifndef NACRE_LIB_CPU_KERNEL_FIND_H
#define NACRE_LIB_CPU_KERNEL_FIND_H

#include "lib/cpu/kernels.h"
#include "lib/cpu/search.h"

/* Keys of a group. While one is compared the next is on its way, into L2: more fit on the way there. */
#ifndef NACREI_FIND_GROUP
#define NACREI_FIND_GROUP 32u
#define NACREI_FIND_HINT 2
#endif

/* Keys that may wait; when there are more, they go on until there are not. */
#define NACREI_FIND_WAITING (4u * NACREI_FIND_GROUP)

/* Where answers go. A copy, so that the compiler need not fear that a store of a byte changes it. */
typedef struct nacrei_find_out {
    char *values;
    uint8_t *contained;
    uint8_t *outcomes;
    uint64_t missing_value;
    uint32_t has_missing_value;
} nacrei_find_out;

typedef struct nacrei_find_group {
    uint64_t hash[NACREI_FIND_GROUP];
    unsigned char *submap[NACREI_FIND_GROUP]; /* NULL: answered already */
} nacrei_find_group;

typedef struct nacrei_find_waiting {
    uint64_t element;
    uint64_t hash;
    unsigned char *submap;
    uint32_t pair;
    uint32_t pairs_past;
} nacrei_find_waiting;

NACREI_KERNEL void nacrei_find_tell(nacrei_find_out out, uint64_t element, uint64_t value,
                                    uint32_t operation, uint32_t value_bytes)
{
    if (operation == NACREI_CONTAINS) {
        out.contained[element] = 1;
    } else {
        nacrei_store(out.values + element * value_bytes, value, value_bytes);
    }
    if (out.outcomes != NULL) {
        out.outcomes[element] = NACRE_OUTCOME_FOUND;
    }
}

NACREI_KERNEL void nacrei_find_tell_missing(nacrei_find_out out, uint64_t element,
                                            uint32_t operation, uint32_t value_bytes)
{
    if (operation == NACREI_CONTAINS) {
        out.contained[element] = 0;
    } else if (out.has_missing_value) {
        nacrei_store(out.values + element * value_bytes, out.missing_value, value_bytes);
    }
    if (out.outcomes != NULL) {
        out.outcomes[element] = NACRE_OUTCOME_MISSING;
    }
}

/* To the next pair of the path. 0: it has ended. */
NACREI_KERNEL int nacrei_find_move_on(nacrei_find_waiting *entry, unsigned char *stash)
{
    nacrei_probe probe = nacrei_probe_begin(entry->hash, NACREI_CPU_BUCKET_MASK);
    entry->pair = (entry->pair + probe.step / 2) & (NACREI_CPU_BUCKET_MASK / 2);
    entry->pairs_past++;
    if (__builtin_expect(entry->pairs_past < nacrei_probe_limit(NACREI_CPU_BUCKET_MASK) / 2, 1)) {
        return 1;
    }
    if (entry->submap == stash) {
        return 0;
    }
    entry->submap = stash;
    entry->pair = probe.bucket / 2;
    entry->pairs_past = 0;
    return 1;
}

NACREI_KERNEL uint64_t nacrei_cpu_find(nacrei_cpu_run *run, uint64_t begin, uint64_t end,
                                       uint32_t operation, uint32_t key_bytes,
                                       uint32_t value_bytes)
{
    const nacrei_cpu_map *map = run->map;
    const nacrei_batch *batch = run->batch;
    const nacrei_cpu_table *table = &map->table;
    const nacrei_find_out out = {
        .values = batch->values_out,
        .contained = batch->contained,
        .outcomes = batch->options.outcomes,
        .missing_value = batch->missing_value,
        .has_missing_value = batch->options.missing_value != NULL,
    };
    const char *keys = batch->keys;
    const uint32_t *list = run->list;
    const uint64_t base = run->base, seed = table->seed, submap_count = table->submap_count, half = table->half;
    unsigned char *stash = nacrei_cpu_stash(table);
    nacrei_find_group groups[2];
    nacrei_find_waiting waiting[NACREI_FIND_WAITING + NACREI_FIND_GROUP];
    uint64_t done = 0;
    uint32_t waiting_count = 0, now = 0, last_count = 0;
#define ELEMENT(position) (base + (list != NULL ? list[position] : (position)))
#define STORED(element) nacrei_key_store(nacrei_load(keys + (element) * key_bytes, key_bytes), key_bytes)
    for (uint64_t position = begin; position < end + NACREI_FIND_GROUP;
         position += NACREI_FIND_GROUP) {
        nacrei_find_group *next = &groups[now], *last = &groups[now ^ 1];
        uint32_t count = position < end ? (end - position < NACREI_FIND_GROUP ? (uint32_t)(end - position) : NACREI_FIND_GROUP) : 0;
        for (uint32_t i = 0; i < count; i++) {
            uint64_t element = ELEMENT(position + i);
            uint64_t stored = STORED(element);
            if (__builtin_expect(stored < nacrei_empty_patterns(value_bytes), 0)) {
                if (map->side_present[stored]) {
                    nacrei_find_tell(out, element, map->side_values[stored], operation, value_bytes);
                    done++;
                } else {
                    nacrei_find_tell_missing(out, element, operation, value_bytes);
                }
                next->submap[i] = NULL;
                continue;
            }
            uint64_t hash = nacrei_hash(nacrei_key_store(stored, key_bytes), seed);
            uint64_t number = hash >> NACREI_HASH_SUBMAP_SHIFT & (2 * half - 1);
            number -= number < submap_count ? 0 : half;
            number++;
            uint64_t shifted = number + 4;
            uint32_t exponent = 61u - (uint32_t)__builtin_clzll(shifted);
            uint32_t segment = 4 * exponent + (uint32_t)(shifted >> exponent) - 4;
            unsigned char *submap = (unsigned char*)(table->origins[segment] + number * NACREI_CPU_SUBMAP_BYTES);
            next->hash[i] = hash;
            next->submap[i] = submap;
        }
        for (uint32_t i = 0; i < count; i++) {
            __builtin_prefetch(
                nacrei_submap_bucket(next->submap[i], (uint32_t)next->hash[i] & NACREI_CPU_BUCKET_MASK), 0,
                NACREI_FIND_HINT);
        }
        for (uint32_t i = 0; i < NACREI_FIND_GROUP; i += 8) {
            __builtin_prefetch(keys + (position + i + 256) * key_bytes);
        }
        uint32_t left = 0;
        for (uint32_t i = 0; i < waiting_count; i++) {
            nacrei_find_waiting entry = waiting[i];
            unsigned char *pair = nacrei_submap_bucket(entry.submap, 2 * entry.pair);
            unsigned char *slot = nacrei_pair_match(pair, STORED(entry.element), key_bytes, value_bytes);
            if (slot != NULL) {
                nacrei_find_tell(out, entry.element, nacrei_slot_value(slot, key_bytes, value_bytes),
                                 operation, value_bytes);
                done++;
                continue;
            }
            uint32_t both = nacrei_signature_bit(entry.hash) * 0x11u;
            if ((*nacrei_submap_pair_signatures(entry.submap, 2 * entry.pair) & both) == both &&
                nacrei_find_move_on(&entry, stash)) {
                __builtin_prefetch(nacrei_submap_bucket(entry.submap, 2 * entry.pair));
                __builtin_prefetch(nacrei_submap_pair_signatures(entry.submap, 2 * entry.pair));
                waiting[left++] = entry;
            }
        }
        waiting_count = left;
        uint8_t late[NACREI_FIND_GROUP];
        uint32_t late_count = 0;
        for (uint32_t i = 0; i < last_count; i++) {
            unsigned char *submap = last->submap[i];
            uint64_t hash = last->hash[i];
            if (__builtin_expect(submap == NULL, 0)) {
                continue;
            }
            uint64_t element = ELEMENT(position - NACREI_FIND_GROUP + i);
            unsigned char *home =
                nacrei_submap_bucket(submap, (uint32_t)hash & NACREI_CPU_BUCKET_MASK);
            unsigned char *slot = nacrei_bucket_match(home, STORED(element), key_bytes, value_bytes);
            if (slot != NULL) {
                nacrei_find_tell(out, element, nacrei_slot_value(slot, key_bytes, value_bytes),
                                 operation, value_bytes);
                done++;
                continue;
            }
            nacrei_find_tell_missing(out, element, operation, value_bytes);
            late[late_count] = (uint8_t)i;
            late_count += (nacrei_bucket_signature(home, key_bytes, value_bytes) &
                           nacrei_signature_bit(hash)) != 0;
        }
        for (uint32_t i = 0; i < late_count; i++) {
            uint32_t at = late[i];
            nacrei_find_waiting *entry = &waiting[waiting_count++];
            entry->element = ELEMENT(position - NACREI_FIND_GROUP + at);
            entry->hash = last->hash[at];
            entry->submap = last->submap[at];
            entry->pair = ((uint32_t)entry->hash & NACREI_CPU_BUCKET_MASK) / 2;
            entry->pairs_past = 0;
            __builtin_prefetch(nacrei_submap_pair_signatures(entry->submap, 2 * entry->pair));
        }
        last_count = count;
        now ^= 1;
    }
    // TODO drain
    for (uint32_t i = 0; i < waiting_count; i++) {
        nacrei_find_waiting entry = waiting[i];
        for (;;) {
            unsigned char *pair = nacrei_submap_bucket(entry.submap, 2 * entry.pair);
            unsigned char *slot = nacrei_pair_match(pair, STORED(entry.element), key_bytes, value_bytes);
            if (slot != NULL) {
                nacrei_find_tell(out, entry.element, nacrei_slot_value(slot, key_bytes, value_bytes),
                                 operation, value_bytes);
                done++;
                break;
            }
            uint32_t both = nacrei_signature_bit(entry.hash) * 0x11u;
            if ((*nacrei_submap_pair_signatures(entry.submap, 2 * entry.pair) & both) != both ||
                !nacrei_find_move_on(&entry, stash)) {
                break;
            }
        }
    }
    run->done += done;
    return end;
}

#endif
