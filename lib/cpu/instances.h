/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of each pair of widths: the same functions with the widths as constants. Compiled
 * once for any processor (kernels.c) and once for those with AVX-512 (kernels_avx512.c), each of
 * which includes this file and gets a table of its own.
 */
#include "lib/cpu/kernel_find.h"
#include "lib/cpu/kernel_scatter.h"
#include "lib/cpu/kernel_update.h"
#include "lib/cpu/rebuild.h"
#include "lib/widths.h"

/* Keys are sampled by hash bits that tell a submap only in tables beyond any memory. */
#define SAMPLE_SHIFT 40

NACREI_KERNEL uint32_t sample_keys(const nacrei_cpu_map *map, const nacrei_batch *batch,
                                   uint64_t first, uint32_t count, uint64_t part_mask,
                                   uint64_t *found, uint32_t key_bytes)
{
    const char *keys = (const char *)batch->keys + first * key_bytes;
    uint64_t seed = map->table.seed;
    uint32_t taken = 0;
    for (uint32_t at = 0; at < count; at += NACREI_GROUP, keys += NACREI_GROUP * key_bytes) {
        uint32_t some = count - at < NACREI_GROUP ? count - at : NACREI_GROUP, sampled = 0;
        nacrei_group_fetch(batch->keys, first + at, key_bytes);
        for (uint32_t i = 0; i < some; i++) {
            uint64_t hash = nacrei_hash(nacrei_load(keys + i * key_bytes, key_bytes), seed);
            sampled |= (uint32_t)((hash >> SAMPLE_SHIFT & part_mask) == 0) << i;
        }
        for (; sampled != 0; sampled &= sampled - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(sampled);
            found[taken++] = nacrei_load(keys + i * key_bytes, key_bytes);
        }
    }
    return taken;
}

/* Is the key in this slot selected? Not if there is none. */
NACREI_KERNEL uint32_t is_selected(const unsigned char *slot, const nacrei_selection *selection,
                                   uint32_t key_bytes, uint32_t value_bytes)
{
    uint64_t stored = nacrei_slot_key(slot, key_bytes, value_bytes);
    uint64_t field = selection->field == NACRE_FIELD_VALUE
                         ? nacrei_slot_value(slot, key_bytes, value_bytes)
                         : nacrei_key_store(stored, key_bytes);
    return (stored >= nacrei_empty_patterns(value_bytes)) &
           (uint32_t)nacrei_condition_holds(&selection->condition, field);
}

NACREI_KERNEL uint64_t copy_selected(nacrei_cpu_submap submap, const nacrei_selection *selection,
                                     uint32_t first, uint32_t last, char *keys_out,
                                     char *values_out, uint64_t capacity, uint32_t key_bytes,
                                     uint32_t value_bytes)
{
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    uint64_t selected = 0;
    for (uint32_t i = first; i < last; i++) {
        const unsigned char *slot = submap.buckets + i * slot_bytes;
        if (!is_selected(slot, selection, key_bytes, value_bytes)) {
            continue;
        }
        if (keys_out != NULL && selected < capacity) {
            uint64_t stored = nacrei_slot_key(slot, key_bytes, value_bytes);
            nacrei_store(keys_out + selected * key_bytes, nacrei_key_store(stored, key_bytes),
                         key_bytes);
        }
        if (values_out != NULL && selected < capacity) {
            nacrei_store(values_out + selected * value_bytes,
                         nacrei_slot_value(slot, key_bytes, value_bytes), value_bytes);
        }
        selected++;
    }
    return selected;
}

NACREI_KERNEL uint64_t empty_selected(nacrei_cpu_submap submap, const nacrei_selection *selection,
                                      uint32_t first, uint32_t last, uint32_t key_bytes,
                                      uint32_t value_bytes)
{
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    uint64_t selected = 0;
    for (uint32_t i = first; i < last; i++) {
        unsigned char *slot = submap.buckets + i * slot_bytes;
        if (is_selected(slot, selection, key_bytes, value_bytes)) {
            uint32_t bucket = i * slot_bytes / NACREI_BUCKET_BYTES;
            nacrei_slot_empty(slot, nacrei_submap_signature(submap, bucket), key_bytes,
                              value_bytes);
            selected++;
        }
    }
    return selected;
}

#define OPERATION(name, function, operation, key, value)                                      \
    static uint64_t name##_##key##x##value(nacrei_cpu_run *run, uint64_t begin, uint64_t end) \
    {                                                                                         \
        return function(run, begin, end, operation, key, value);                              \
    }

#define KERNELS(key, value, index)                                                                \
    OPERATION(insert, nacrei_cpu_update, NACREI_INSERT, key, value)                               \
    OPERATION(insert_or_assign, nacrei_cpu_update, NACREI_INSERT_OR_ASSIGN, key, value)           \
    OPERATION(insert_or_apply, nacrei_cpu_update, NACREI_INSERT_OR_APPLY, key, value)             \
    OPERATION(find_or_insert, nacrei_cpu_update, NACREI_FIND_OR_INSERT, key, value)               \
    OPERATION(assign, nacrei_cpu_update, NACREI_ASSIGN, key, value)                               \
    OPERATION(erase, nacrei_cpu_update, NACREI_ERASE, key, value)                                 \
    OPERATION(find, nacrei_cpu_find, NACREI_FIND, key, value)                                     \
    OPERATION(contains, nacrei_cpu_find, NACREI_CONTAINS, key, value)                             \
    static void parts_##key##x##value(const nacrei_cpu_map *map, const nacrei_batch *batch,       \
                                      uint64_t first, uint64_t count, uint32_t shift,             \
                                      uint32_t mask, uint16_t *parts)                             \
    {                                                                                             \
        nacrei_cpu_write_parts(map, batch, first, count, shift, mask, parts, key);                \
    }                                                                                             \
    static void scatter_##key##x##value(const nacrei_cpu_scatter *scatter)                        \
    {                                                                                             \
        nacrei_cpu_scatter_elements(scatter, key, value);                                         \
    }                                                                                             \
    static uint32_t sample_##key##x##value(const nacrei_cpu_map *map, const nacrei_batch *batch,  \
                                           uint64_t first, uint32_t count, uint64_t part_mask,    \
                                           uint64_t *found)                                       \
    {                                                                                             \
        return sample_keys(map, batch, first, count, part_mask, found, key);                      \
    }                                                                                             \
    static void rebuild_##key##x##value(nacrei_cpu_scratch *scratch,                              \
                                        const nacrei_cpu_rebuild *rebuild, uint64_t seed)         \
    {                                                                                             \
        nacrei_rebuild(scratch, rebuild, seed, key, value);                                       \
    }                                                                                             \
    static uint64_t copy_out_##key##x##value(                                                     \
        nacrei_cpu_submap submap, const nacrei_selection *selection, uint32_t first,              \
        uint32_t last, void *keys_out, void *values_out, uint64_t capacity)                       \
    {                                                                                             \
        return copy_selected(submap, selection, first, last, keys_out, values_out, capacity, key, \
                             value);                                                              \
    }                                                                                             \
    static uint64_t erase_selected_##key##x##value(nacrei_cpu_submap submap,                      \
                                                   const nacrei_selection *selection,             \
                                                   uint32_t first, uint32_t last)                 \
    {                                                                                             \
        return empty_selected(submap, selection, first, last, key, value);                        \
    }                                                                                             \
    static const nacrei_cpu_kernels kernels_##key##x##value = {                                   \
        key,                                                                                      \
        value,                                                                                    \
        {                                                                                         \
            [NACREI_INSERT] = insert_##key##x##value,                                             \
            [NACREI_INSERT_OR_ASSIGN] = insert_or_assign_##key##x##value,                         \
            [NACREI_INSERT_OR_APPLY] = insert_or_apply_##key##x##value,                           \
            [NACREI_FIND_OR_INSERT] = find_or_insert_##key##x##value,                             \
            [NACREI_ASSIGN] = assign_##key##x##value,                                             \
            [NACREI_FIND] = find_##key##x##value,                                                 \
            [NACREI_CONTAINS] = contains_##key##x##value,                                         \
            [NACREI_ERASE] = erase_##key##x##value,                                               \
        },                                                                                        \
        parts_##key##x##value,                                                                    \
        scatter_##key##x##value,                                                                  \
        sample_##key##x##value,                                                                   \
        rebuild_##key##x##value,                                                                  \
        copy_out_##key##x##value,                                                                 \
        erase_selected_##key##x##value,                                                           \
    };

NACREI_WIDTHS(KERNELS)

#define KERNELS_POINTER(key, value, index) &kernels_##key##x##value,

static const nacrei_cpu_kernels *const all_kernels[] = {NACREI_WIDTHS(KERNELS_POINTER) NULL};

static const nacrei_cpu_kernels *find_kernels(uint32_t key_bytes, uint32_t value_bytes)
{
    for (uint32_t i = 0; all_kernels[i] != NULL; i++) {
        if (all_kernels[i]->key_bytes == key_bytes && all_kernels[i]->value_bytes == value_bytes) {
            return all_kernels[i];
        }
    }
    return NULL;
}
