/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of each pair of widths: the same functions with the widths as constants. */
#include "lib/cpu/kernels.h"

#include "lib/cpu/kernel_find.h"
#include "lib/cpu/kernel_update.h"
#include "lib/cpu/rebuild.h"
#include "lib/widths.h"

NACREI_KERNEL void write_numbers(const nacrei_cpu_run *run, uint64_t begin, uint64_t count,
                                 uint32_t mask, uint16_t *numbers, uint32_t key_bytes)
{
    const char *keys = (const char *)run->batch->keys + begin * key_bytes;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t hash =
            nacrei_hash(nacrei_load(keys + i * key_bytes, key_bytes), run->map->table.seed);
        numbers[i] = (uint16_t)(hash >> NACREI_HASH_SUBMAP_SHIFT & mask);
    }
}

NACREI_KERNEL uint64_t copy_keys(const unsigned char *submap, char *keys_out, char *values_out,
                                 uint64_t capacity, uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t slot_bytes = nacrei_slot_bytes(key_bytes, value_bytes);
    uint64_t copied = 0;
    for (uint32_t at = 0; at < NACREI_CPU_SIGNATURES_OFFSET && copied < capacity;
         at += slot_bytes) {
        uint64_t stored = nacrei_slot_key(submap + at, key_bytes, value_bytes);
        if (stored < nacrei_empty_patterns(value_bytes)) {
            continue;
        }
        if (keys_out != NULL) {
            nacrei_store(keys_out + copied * key_bytes, nacrei_key_store(stored, key_bytes),
                         key_bytes);
        }
        if (values_out != NULL) {
            nacrei_store(values_out + copied * value_bytes,
                         nacrei_slot_value(submap + at, key_bytes, value_bytes), value_bytes);
        }
        copied++;
    }
    return copied;
}

#define OPERATION(name, function, operation, key, value)                                      \
    static uint64_t name##_##key##x##value(nacrei_cpu_run *run, uint64_t begin, uint64_t end) \
    {                                                                                         \
        return function(run, begin, end, operation, key, value);                              \
    }

#define KERNELS(key, value, index)                                                                 \
    OPERATION(insert, nacrei_cpu_update, NACREI_INSERT, key, value)                                \
    OPERATION(insert_or_assign, nacrei_cpu_update, NACREI_INSERT_OR_ASSIGN, key, value)            \
    OPERATION(insert_or_apply, nacrei_cpu_update, NACREI_INSERT_OR_APPLY, key, value)              \
    OPERATION(find_or_insert, nacrei_cpu_update, NACREI_FIND_OR_INSERT, key, value)                \
    OPERATION(assign, nacrei_cpu_update, NACREI_ASSIGN, key, value)                                \
    OPERATION(erase, nacrei_cpu_update, NACREI_ERASE, key, value)                                  \
    OPERATION(find, nacrei_cpu_find, NACREI_FIND, key, value)                                      \
    OPERATION(contains, nacrei_cpu_find, NACREI_CONTAINS, key, value)                              \
    static void numbers_##key##x##value(const nacrei_cpu_run *run, uint64_t begin, uint64_t count, \
                                        uint32_t mask, uint16_t *numbers)                          \
    {                                                                                              \
        write_numbers(run, begin, count, mask, numbers, key);                                      \
    }                                                                                              \
    static int rebuild_##key##x##value(nacrei_cpu_scratch *scratch,                                \
                                       unsigned char *const images[2], uint32_t split_bit,         \
                                       uint64_t seed)                                              \
    {                                                                                              \
        return nacrei_cpu_rebuild(scratch, images, split_bit, seed, key, value);                   \
    }                                                                                              \
    static uint64_t copy_out_##key##x##value(const unsigned char *submap, void *keys_out,          \
                                             void *values_out, uint64_t capacity)                  \
    {                                                                                              \
        return copy_keys(submap, keys_out, values_out, capacity, key, value);                      \
    }                                                                                              \
    static const nacrei_cpu_kernels kernels_##key##x##value = {                                    \
        key,                                                                                       \
        value,                                                                                     \
        {                                                                                          \
            [NACREI_INSERT] = insert_##key##x##value,                                              \
            [NACREI_INSERT_OR_ASSIGN] = insert_or_assign_##key##x##value,                          \
            [NACREI_INSERT_OR_APPLY] = insert_or_apply_##key##x##value,                            \
            [NACREI_FIND_OR_INSERT] = find_or_insert_##key##x##value,                              \
            [NACREI_ASSIGN] = assign_##key##x##value,                                              \
            [NACREI_FIND] = find_##key##x##value,                                                  \
            [NACREI_CONTAINS] = contains_##key##x##value,                                          \
            [NACREI_ERASE] = erase_##key##x##value,                                                \
        },                                                                                         \
        numbers_##key##x##value,                                                                   \
        rebuild_##key##x##value,                                                                   \
        copy_out_##key##x##value,                                                                  \
    };

NACREI_WIDTHS(KERNELS)

#define KERNELS_POINTER(key, value, index) &kernels_##key##x##value,

static const nacrei_cpu_kernels *const all_kernels[] = {NACREI_WIDTHS(KERNELS_POINTER) NULL};

const nacrei_cpu_kernels *nacrei_cpu_kernels_for(uint32_t key_bytes, uint32_t value_bytes)
{
    for (uint32_t i = 0; all_kernels[i] != NULL; i++) {
        if (all_kernels[i]->key_bytes == key_bytes && all_kernels[i]->value_bytes == value_bytes) {
            return all_kernels[i];
        }
    }
    return NULL;
}
