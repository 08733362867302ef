/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find and contains. Memory decides: a lookup is an access to a table that does not fit into the
 * caches, so that many have to be under way at a time. Keys go through in groups:
 *
 *     prepare      hash the keys of a group (group.h)
 *     first_look   fetch their home buckets, while those of the group before are compared. Nearly
 *                  all of that group are done by then; of the others the signatures are fetched
 *     second_look  one group later: who is sent past its pair of buckets waits for the next pair
 *     go_on        now and then: each key that waits looks at its pair, and is done or moves on
 *
 * Whether a key is found, in which slot, and whether it is sent on, nobody can predict; branches on
 * that cost more than all the rest. So there are none: a key that is not found yet is told to be
 * missing, and told again if it is found later.
 */
#ifndef NACRE_LIB_CPU_KERNEL_FIND_H
#define NACRE_LIB_CPU_KERNEL_FIND_H

#include "lib/cpu/group.h"
#include "lib/cpu/kernels.h"
#include "lib/cpu/pair.h"

/* Keys that wait before it is worth going through them. */
#define NACREI_FIND_WAITING 32u

/* A batch of lookups. A copy: no store to an output makes the compiler read it anew. */
typedef struct nacrei_finder {
    const nacrei_cpu_table *table;
    nacrei_group_source source;
    char *values;
    uint8_t *contained;
    uint8_t *outcomes;
    uint64_t missing_value;
    uint32_t has_missing_value;
} nacrei_finder;

/* A group of keys, and what came of them. */
typedef struct nacrei_find_group {
    nacrei_group group;
    uint64_t value[NACREI_GROUP];
    uint8_t found[NACREI_GROUP];
    uint32_t late_count;
    uint8_t late[NACREI_GROUP]; /* who may be further on than its pair of buckets */
    nacrei_cpu_submap late_submap[NACREI_GROUP];
} nacrei_find_group;

/* A key that was sent past a pair of buckets. */
typedef struct nacrei_find_waiting {
    uint64_t element;
    uint64_t stored;
    uint64_t hash;
    nacrei_cpu_submap submap;
    uint32_t pair; /* the next to look at */
    uint32_t pairs_past;
} nacrei_find_waiting;

typedef struct nacrei_find_queue {
    uint32_t count;
    nacrei_find_waiting keys[NACREI_FIND_WAITING + NACREI_GROUP];
} nacrei_find_queue;

/*
 * Tells the answer for a key. Where a missing key leaves its output alone the value goes astray,
 * which is cheaper than not to store it.
 */
NACREI_KERNEL void nacrei_find_tell(nacrei_finder finder, uint64_t element, uint32_t found,
                                    uint64_t value, uint32_t operation, uint32_t value_bytes)
{
    if (operation == NACREI_CONTAINS) {
        finder.contained[element] = (uint8_t)found;
    } else {
        uint64_t astray;
        uintptr_t to = (uintptr_t)(finder.values + element * value_bytes);
        uintptr_t told = -(uintptr_t)(found | finder.has_missing_value);
        to = (to & told) | ((uintptr_t)&astray & ~told);
        nacrei_store((void *)to, value, value_bytes);
    }
    if (finder.outcomes != NULL) {
        finder.outcomes[element] = (uint8_t)(NACRE_OUTCOME_MISSING -
                                             found * (NACRE_OUTCOME_MISSING - NACRE_OUTCOME_FOUND));
    }
}

/* Compares one key with its pair of buckets. Returns whether it may be further on. */
NACREI_KERNEL uint32_t nacrei_find_look(nacrei_find_group *at, uint32_t i, uint64_t missing_value,
                                        uint32_t key_bytes, uint32_t value_bytes)
{
    uint64_t stored = at->group.stored[i];
    unsigned char *line = nacrei_pair_line((unsigned char *)(uintptr_t)at->group.home[i]);
    nacrei_pair pair = nacrei_pair_read(line, stored, nacrei_signature_pair(at->group.hash[i]),
                                        key_bytes, value_bytes);
    if (value_bytes != 0) {
        at->value[i] = nacrei_pair_value(line, pair.match, missing_value, key_bytes, value_bytes);
    }
    at->found[i] = pair.match != 0;
    /* Side keys, which look like empty slots, are answered at the end. */
    return (pair.match | pair.stops) == 0 && stored >= nacrei_empty_patterns(value_bytes);
}

/* Fetches the home buckets of one group, and compares those of another, which are there by now. */
NACREI_KERNEL void nacrei_find_first_look(nacrei_finder finder, const nacrei_group *next,
                                          nacrei_find_group *at, uint32_t key_bytes,
                                          uint32_t value_bytes)
{
    uint32_t late_count = 0;
    for (uint32_t i = 0; i < NACREI_GROUP; i++) {
        nacrei_group_fetch_home(next, i);
        at->late[late_count] = (uint8_t)i;
        late_count += nacrei_find_look(at, i, finder.missing_value, key_bytes, value_bytes);
    }
    while (late_count > 0 && at->late[late_count - 1] >= at->group.count) {
        late_count--;
    }
    for (uint32_t i = 0; i < late_count; i++) {
        uint64_t hash = at->group.hash[at->late[i]];
        at->late_submap[i] = nacrei_cpu_submap_of(finder.table, hash);
        __builtin_prefetch(nacrei_submap_pair_signatures(at->late_submap[i],
                                                         (uint32_t)hash & NACREI_CPU_BUCKET_MASK));
    }
    at->late_count = late_count;
}

/* Tells the answers of a group one by one. Returns how many keys were found. */
NACREI_KERNEL uint64_t nacrei_find_answer_each(const nacrei_cpu_map *map, nacrei_finder finder,
                                               const nacrei_find_group *at, uint32_t operation,
                                               uint32_t value_bytes)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < at->group.count; i++) {
        uint64_t element = nacrei_element(finder.source, at->group.position + i);
        uint64_t stored = at->group.stored[i], value = at->value[i];
        uint32_t found = at->found[i];
        if (__builtin_expect(stored < nacrei_empty_patterns(value_bytes), 0)) {
            found = map->side_present[stored];
            value = found ? map->side_values[stored] : finder.missing_value;
        }
        nacrei_find_tell(finder, element, found, value, operation, value_bytes);
        done += found;
    }
    return done;
}

#if NACREI_AVX512

/* Is a side key among a group's? */
NACREI_KERNEL uint32_t nacrei_find_side(const nacrei_find_group *at, uint32_t value_bytes)
{
    __m512i patterns = _mm512_set1_epi64(nacrei_empty_patterns(value_bytes));
    uint32_t side = 0;
    for (uint32_t i = 0; i < NACREI_GROUP; i += 8) {
        side |= _mm512_cmplt_epu64_mask(_mm512_loadu_si512(at->group.stored + i), patterns);
    }
    return side;
}

/* The same where a whole group of neighbouring elements has no side key. */
NACREI_KERNEL uint64_t nacrei_find_answer(const nacrei_cpu_map *map, nacrei_finder finder,
                                          const nacrei_find_group *at, uint32_t operation,
                                          uint32_t value_bytes)
{
    if (finder.source.list != NULL || at->group.count < NACREI_GROUP ||
        nacrei_find_side(at, value_bytes)) {
        return nacrei_find_answer_each(map, finder, at, operation, value_bytes);
    }
    uint64_t element = nacrei_element(finder.source, at->group.position);
    __m256i flags = _mm256_loadu_si256((const __m256i *)at->found);
    uint32_t found = _mm256_test_epi8_mask(flags, flags);
    uint32_t told = finder.has_missing_value ? UINT32_MAX : found;
    if (operation == NACREI_CONTAINS) {
        _mm256_storeu_si256((__m256i *)(finder.contained + element), flags);
    } else if (told != 0) {
        for (uint32_t i = 0; i < NACREI_GROUP; i += 8) {
            char *to = finder.values + (element + i) * value_bytes;
            __m512i values = _mm512_loadu_si512(at->value + i);
            if (value_bytes == 8) {
                _mm512_mask_storeu_epi64(to, (__mmask8)(told >> i), values);
            } else {
                _mm512_mask_cvtepi64_storeu_epi32(to, (__mmask8)(told >> i), values);
            }
        }
    }
    if (finder.outcomes != NULL) {
        __m256i outcomes = _mm256_mask_blend_epi8(found, _mm256_set1_epi8(NACRE_OUTCOME_MISSING),
                                                  _mm256_set1_epi8(NACRE_OUTCOME_FOUND));
        _mm256_storeu_si256((__m256i *)(finder.outcomes + element), outcomes);
    }
    return (uint64_t)__builtin_popcount(found);
}

#else

NACREI_KERNEL uint64_t nacrei_find_answer(const nacrei_cpu_map *map, nacrei_finder finder,
                                          const nacrei_find_group *at, uint32_t operation,
                                          uint32_t value_bytes)
{
    return nacrei_find_answer_each(map, finder, at, operation, value_bytes);
}

#endif

NACREI_KERNEL void nacrei_find_fetch_pairs(const nacrei_find_queue *queue, uint32_t first)
{
    for (uint32_t i = first; i < queue->count; i++) {
        const nacrei_find_waiting *key = &queue->keys[i];
        __builtin_prefetch(nacrei_submap_bucket(key->submap, 2 * key->pair));
        __builtin_prefetch(nacrei_submap_pair_signatures(key->submap, 2 * key->pair));
    }
}

/* Queues those late keys of a group that went past their pair, at the next one. */
NACREI_KERNEL void nacrei_find_second_look(nacrei_finder finder, const nacrei_find_group *at,
                                           nacrei_find_queue *queue)
{
    uint32_t first = queue->count, count = first;
    for (uint32_t i = 0; i < at->late_count; i++) {
        uint32_t late = at->late[i];
        uint64_t hash = at->group.hash[late];
        nacrei_probe probe = nacrei_probe_begin(hash, NACREI_CPU_BUCKET_MASK);
        nacrei_find_waiting *key = &queue->keys[count];
        key->element = nacrei_element(finder.source, at->group.position + late);
        key->stored = at->group.stored[late];
        key->hash = hash;
        key->submap = at->late_submap[i];
        key->pair = ((probe.bucket + probe.step) & NACREI_CPU_BUCKET_MASK) / 2;
        key->pairs_past = 1;
        count +=
            nacrei_pair_passed(*nacrei_submap_pair_signatures(key->submap, probe.bucket), hash);
    }
    queue->count = count;
    nacrei_find_fetch_pairs(queue, first);
}

/* At the end of the path: from the submap to the stash, from there nowhere. */
static __attribute__((noinline)) uint32_t nacrei_find_turn(const nacrei_cpu_table *table,
                                                           nacrei_find_waiting *key)
{
    nacrei_cpu_submap stash = nacrei_cpu_stash(table);
    uint32_t goes_on = key->submap.buckets != stash.buckets;
    key->submap = stash;
    key->pair = ((uint32_t)key->hash & NACREI_CPU_BUCKET_MASK) / 2;
    key->pairs_past = 0;
    return goes_on;
}

/* One step for each key that waits. Returns how many were found. */
NACREI_KERNEL uint64_t nacrei_find_go_on(nacrei_finder finder, nacrei_find_queue *queue,
                                         uint32_t operation, uint32_t key_bytes,
                                         uint32_t value_bytes)
{
    const uint32_t pairs = nacrei_probe_limit(NACREI_CPU_BUCKET_MASK) / 2;
    uint32_t left = 0;
    uint64_t done = 0;
    for (uint32_t i = 0; i < queue->count; i++) {
        nacrei_find_waiting key = queue->keys[i];
        unsigned char *line = nacrei_submap_bucket(key.submap, 2 * key.pair);
        nacrei_pair pair = nacrei_pair_read(line, key.stored, nacrei_signature_pair(key.hash),
                                            key_bytes, value_bytes);
        uint32_t found = pair.match != 0,
                 passed = nacrei_pair_passed(
                     *nacrei_submap_pair_signatures(key.submap, 2 * key.pair), key.hash);
        uint64_t value =
            nacrei_pair_value(line, pair.match, finder.missing_value, key_bytes, value_bytes);
        nacrei_find_tell(finder, key.element, found, value, operation, value_bytes);
        done += found;
        uint32_t step = nacrei_probe_begin(key.hash, NACREI_CPU_BUCKET_MASK).step;
        key.pair = (key.pair + step / 2) & (NACREI_CPU_BUCKET_MASK / 2);
        key.pairs_past++;
        if (__builtin_expect(key.pairs_past == pairs, 0)) {
            passed &= nacrei_find_turn(finder.table, &key);
        }
        queue->keys[left] = key;
        left += ~found & passed;
    }
    queue->count = left;
    nacrei_find_fetch_pairs(queue, 0);
    return done;
}

NACREI_KERNEL uint64_t nacrei_cpu_find(nacrei_cpu_run *run, uint64_t begin, uint64_t end,
                                       uint32_t operation, uint32_t key_bytes, uint32_t value_bytes)
{
    if (begin == end) {
        return end;
    }
    const nacrei_batch *batch = run->batch;
    const nacrei_finder finder = {
        .table = &run->map->table,
        .source = {batch->keys, run->base, run->list},
        .values = batch->values_out,
        .contained = batch->contained,
        .outcomes = batch->options.outcomes,
        .missing_value = batch->missing_value,
        .has_missing_value = batch->options.missing_value != NULL,
    };
    nacrei_find_group groups[3];
    nacrei_find_group *next = &groups[0], *first = &groups[1], *second = &groups[2];
    nacrei_find_queue queue;
    uint64_t done = 0, told = 0;
    queue.count = 0;
    second->late_count = 0;
    nacrei_group_prepare(&first->group, finder.table, finder.source, begin, begin, 0, key_bytes);
    for (uint64_t position = begin; position < end + 2 * NACREI_GROUP; position += NACREI_GROUP) {
        uint64_t left = position < end ? end - position : 0;
        nacrei_group_fetch(finder.source.keys, finder.source.base + position, key_bytes);
        if (operation == NACREI_FIND && (finder.has_missing_value || done != told)) {
            nacrei_group_fetch(finder.values, finder.source.base + position, value_bytes);
        }
        told = done;
        nacrei_group_prepare(&next->group, finder.table, finder.source, begin, position,
                             left < NACREI_GROUP ? (uint32_t)left : NACREI_GROUP, key_bytes);
        nacrei_find_second_look(finder, second, &queue);
        while (queue.count > NACREI_FIND_WAITING) {
            done += nacrei_find_go_on(finder, &queue, operation, key_bytes, value_bytes);
        }
        nacrei_find_first_look(finder, &next->group, first, key_bytes, value_bytes);
        done += nacrei_find_answer(run->map, finder, first, operation, value_bytes);
        nacrei_find_group *free = second;
        second = first;
        first = next;
        next = free;
    }
    while (queue.count > 0) {
        done += nacrei_find_go_on(finder, &queue, operation, key_bytes, value_bytes);
    }
    run->done += done;
    return end;
}

#endif
