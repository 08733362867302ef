/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bringing the elements of a batch into the order of the table (partition.c): the part of each, and
 * their way there. Elements are gathered in a buffer for each part and leave it a cache line at a
 * time, past the caches where the processor can: written one by one, each line would be fetched
 * from memory first, and the lines of all parts together push each other out of L1.
 */
#ifndef NACRE_LIB_CPU_KERNEL_SCATTER_H
#define NACRE_LIB_CPU_KERNEL_SCATTER_H

#include "lib/cpu/group.h"
#include "lib/cpu/kernels.h"
#include "lib/cpu/layout.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

NACREI_KERNEL void nacrei_cpu_write_parts(const nacrei_cpu_map *map, const nacrei_batch *batch,
                                          uint64_t first, uint64_t count, uint32_t shift,
                                          uint32_t mask, uint16_t *parts, uint32_t key_bytes)
{
    const char *keys = (const char *)batch->keys + first * key_bytes;
    uint64_t seed = map->table.seed;
    for (uint64_t at = 0; at < count; at += NACREI_GROUP) {
        uint64_t end = count - at < NACREI_GROUP ? count : at + NACREI_GROUP;
        nacrei_group_fetch(batch->keys, first + at, key_bytes);
        for (uint64_t i = at; i < end; i++) {
            uint64_t hash = nacrei_hash(nacrei_load(keys + i * key_bytes, key_bytes), seed);
            parts[i] = (uint16_t)(hash >> shift & mask);
        }
    }
}

/* Copies whole cache lines. */
NACREI_KERNEL void nacrei_cpu_stream(char *to, const char *from, uint32_t bytes)
{
#ifdef __SSE2__
    for (uint32_t at = 0; at < bytes; at += sizeof(__m128i)) {
        _mm_stream_si128((__m128i *)(void *)(to + at),
                         _mm_load_si128((const __m128i *)(const void *)(from + at)));
    }
#else
    memcpy(to, from, bytes);
#endif
}

/*
 * Of one array of a part: elements begin .. end - 1 of its buffer go to their places, the buffer's
 * first to place `line`.
 */
NACREI_KERNEL void nacrei_cpu_scatter_array(char *to, const char *buffer, uint64_t line,
                                            uint32_t begin, uint32_t end, uint32_t bytes)
{
    to += line * bytes;
    if (end - begin == NACREI_CPU_LINE) {
        nacrei_cpu_stream(to, buffer, NACREI_CPU_LINE * bytes);
    } else {
        memcpy(to + begin * bytes, buffer + begin * bytes, (end - begin) * bytes);
    }
}

/* The same of all arrays. */
NACREI_KERNEL void nacrei_cpu_scatter_line(const nacrei_cpu_scatter *scatter,
                                           const nacrei_cpu_line *buffer, uint64_t line,
                                           uint32_t begin, uint32_t end, uint32_t key_bytes,
                                           uint32_t value_bytes)
{
    nacrei_cpu_scatter_array(scatter->keys_out, buffer->keys, line, begin, end, key_bytes);
    if (scatter->values != NULL) {
        nacrei_cpu_scatter_array(scatter->values_out, buffer->values, line, begin, end,
                                 value_bytes);
    }
    if (scatter->numbers_out != NULL) {
        nacrei_cpu_scatter_array((char *)scatter->numbers_out, buffer->numbers, line, begin, end,
                                 4);
    }
}

/* Copies each element to the next place of its part. */
NACREI_KERNEL void nacrei_cpu_scatter_elements(const nacrei_cpu_scatter *caller_scatter,
                                               uint32_t key_bytes, uint32_t value_bytes)
{
    const nacrei_cpu_scatter scatter = *caller_scatter;
    /* The first line of a part may hold elements of others before its first place. */
    uint32_t begins[NACREI_CPU_PARTS_MAX];
    memcpy(begins, scatter.places, scatter.part_count * sizeof begins[0]);
    for (uint64_t i = 0; i < scatter.count; i++) {
        if (i % NACREI_GROUP == 0) {
            nacrei_group_fetch(scatter.keys, i, key_bytes);
            if (scatter.values != NULL) {
                nacrei_group_fetch(scatter.values, i, value_bytes);
            }
        }
        uint32_t part = scatter.parts[i];
        if (part == NACREI_CPU_NO_PART) {
            continue;
        }
        uint32_t place = scatter.places[part]++, at = place % NACREI_CPU_LINE, line = place - at;
        nacrei_cpu_line *buffer = &scatter.lines[part];
        nacrei_store(buffer->keys + at * key_bytes,
                     nacrei_load(scatter.keys + i * key_bytes, key_bytes), key_bytes);
        if (scatter.values != NULL) {
            nacrei_store(buffer->values + at * value_bytes,
                         nacrei_load(scatter.values + i * value_bytes, value_bytes), value_bytes);
        }
        if (scatter.numbers_out != NULL) {
            nacrei_store(buffer->numbers + at * 4, scatter.first + i, 4);
        }
        if (at == NACREI_CPU_LINE - 1) {
            uint32_t begin = begins[part] > line ? begins[part] - line : 0;
            nacrei_cpu_scatter_line(&scatter, buffer, line, begin, NACREI_CPU_LINE, key_bytes,
                                    value_bytes);
        }
    }
    for (uint32_t part = 0; part < scatter.part_count; part++) {
        uint32_t end = scatter.places[part] % NACREI_CPU_LINE, line = scatter.places[part] - end;
        uint32_t begin = begins[part] > line ? begins[part] - line : 0;
        if (begin < end) {
            nacrei_cpu_scatter_line(&scatter, &scatter.lines[part], line, begin, end, key_bytes,
                                    value_bytes);
        }
    }
#ifdef __SSE2__
    _mm_sfence(); /* before the threads that do the parts read what was streamed */
#endif
}

#endif
