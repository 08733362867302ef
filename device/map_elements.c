/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of a batch as kernels take them: all of it, and a part. */
#include "device/map.h"

nacrei_elements nacrei_map_elements_of(const nacrei_cuda_map *map, const nacrei_batch *batch)
{
    const nacre_options *options = &batch->options;
    nacrei_elements elements = {
        .keys = batch->keys,
        .values = batch->values,
        .count = batch->count,
        .count_device = options->count_device,
        .values_out = batch->values_out,
        .contained = batch->contained,
        .mask = options->mask,
        .mask_offset = options->mask_offset,
        .mask_kind = options->mask_kind,
        .mask_bits = options->mask_bits,
        .has_missing_value = options->missing_value != NULL,
        .missing_value = batch->missing_value,
        .outcomes = options->outcomes,
        .counts = (uint64_t *)options->counts,
        .reduction = batch->reduction,
        .type = batch->type,
        .last = 1,
        .fault = 1,
        .early = map->code.early,
    };
    return elements;
}

nacrei_elements nacrei_map_part_of(const nacrei_elements *all, const nacre_map_config *config,
                                   uint64_t first, uint64_t count)
{
    nacrei_elements part = *all;
    part.keys = (const char *)all->keys + first * config->key_bytes;
    part.values =
        all->values == NULL ? NULL : (const char *)all->values + first * config->value_bytes;
    part.values_out =
        all->values_out == NULL ? NULL : (char *)all->values_out + first * config->value_bytes;
    part.contained = all->contained == NULL ? NULL : all->contained + first;
    part.outcomes = all->outcomes == NULL ? NULL : all->outcomes + first;
    part.mask_offset += first;
    part.first += first;
    part.count = count;
    return part;
}
