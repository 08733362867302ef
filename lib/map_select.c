/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls on selected keys of a map, and match: what writes densely, counts or erases by a
 * condition.
 */
#include "lib/check.h"
#include "lib/options.h"
#include "lib/structs.h"
#include "nacre/core/slot.h"

static const nacre_select everything = {.struct_size = sizeof everything};

void nacre_select_init(nacre_select *select, uint32_t struct_size)
{
    nacrei_struct_init(select, struct_size, &everything, sizeof everything);
}

/* What all calls on selected keys have in common; call->name and call->error are set. */
static nacre_status begin(nacrei_call *call, const nacre_map *map, const nacre_select *select,
                          nacre_stream stream, nacrei_selection *selection)
{
    nacre_select complete = everything;
    NACREI_TRY(nacrei_check_map(call, map));
    NACREI_TRY(nacrei_struct_read(call, "nacre_select", select, &complete, sizeof complete, NULL));
    NACREI_TRY(nacrei_check_stream(call, stream));
    const uint32_t value_bytes = map->config.value_bytes;
    NACREI_TRY(nacrei_check_range(call, "select->field", complete.field, NACRE_FIELD_VALUE,
                                  "0 (key), 1 (value)"));
    const uint32_t of_value = complete.field == NACRE_FIELD_VALUE;
    if (of_value && value_bytes == 0) {
        return nacrei_bad_number(call, "select->field", complete.field,
                                 "0 (key), because value_bytes of the map is 0 (a set)");
    }
    NACREI_TRY(nacrei_check_condition(
        call, &complete.condition, of_value ? value_bytes : map->config.key_bytes,
        of_value ? "value_bytes of the map" : "key_bytes of the map"));
    selection->call = call->name;
    selection->condition = nacrei_condition_of(&complete.condition);
    selection->field = complete.field;
    selection->first_slot = complete.first_slot;
    selection->slot_count = complete.slot_count;
    selection->layout = complete.layout;
    selection->stream = stream;
    return NACRE_OK;
}

/* The algorithms that are there to be compared take slots of 8 and 16 bytes. */
static nacre_status check_slots(const nacrei_call *call, const nacre_map *map, uint32_t algorithm)
{
    if (algorithm == NACRE_COMPACT_AUTO || algorithm == NACRE_COMPACT_STABLE ||
        nacrei_slot_bytes(map->config.key_bytes, map->config.value_bytes) != 4) {
        return NACRE_OK;
    }
    return nacrei_fail(call->error, NACRE_ERROR_UNSUPPORTED, 0,
                       "%s: options.algorithm is %u; allowed: 0 (auto), 10 (stable), because slots "
                       "of this map have 4 bytes",
                       call->name, (unsigned)algorithm);
}

static nacre_status retrieve(nacrei_call *call, const nacre_map *map, const nacre_select *select,
                             nacrei_selection *selection, const nacre_options *options,
                             nacre_stream stream)
{
    nacre_options complete;
    NACREI_TRY(nacrei_options_read(call, options, &complete));
    NACREI_TRY(begin(call, map, select, stream, selection));
    NACREI_TRY(nacrei_options_check(call, &complete, NACREI_TAKES_ALGORITHM, 0));
    NACREI_TRY(check_slots(call, map, complete.algorithm));
    NACREI_TRY(nacrei_check_array(call, "needed", selection->needed, 8));
    NACREI_TRY(nacrei_check_memory(call, "keys_out", selection->keys_out, map->config.key_bytes));
    if (map->config.value_bytes != 0) {
        NACREI_TRY(nacrei_check_memory(call, "values_out", selection->values_out,
                                       map->config.value_bytes));
    } else if (selection->values_out != NULL) {
        return nacrei_bad_pointer(call, "values_out", selection->values_out, NACREI_NULL_FOR_A_SET);
    }
    selection->algorithm = complete.algorithm;
    return call->device->backend->map_retrieve(call->map, selection, call->error);
}

nacre_status nacre_map_retrieve(const nacre_map *map, void *keys_out, void *values_out,
                                uint64_t capacity, uint64_t *needed, const nacre_options *options,
                                nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_retrieve", NULL);
    nacrei_selection selection = {
        .keys_out = keys_out, .values_out = values_out, .capacity = capacity, .needed = needed};
    return retrieve(&call, map, NULL, &selection, options, stream);
}

nacre_status nacre_map_retrieve_if(const nacre_map *map, const nacre_select *select, void *keys_out,
                                   void *values_out, uint64_t capacity, uint64_t *needed,
                                   const nacre_options *options, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_retrieve_if", NULL);
    nacrei_selection selection = {
        .keys_out = keys_out, .values_out = values_out, .capacity = capacity, .needed = needed};
    return retrieve(&call, map, select, &selection, options, stream);
}

nacre_status nacre_map_count_if(const nacre_map *map, const nacre_select *select, uint64_t *count,
                                const nacre_options *options, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_count_if", NULL);
    nacre_options complete;
    nacrei_selection selection = {.needed = count};
    NACREI_TRY(nacrei_options_read(&call, options, &complete));
    NACREI_TRY(begin(&call, map, select, stream, &selection));
    NACREI_TRY(nacrei_options_check(&call, &complete, 0, 0));
    NACREI_TRY(nacrei_check_array(&call, "count", count, 8));
    return call.device->backend->map_retrieve(call.map, &selection, call.error);
}

nacre_status nacre_map_erase_if(nacre_map *map, const nacre_select *select,
                                const nacre_options *options, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_erase_if", NULL);
    nacre_options complete;
    nacrei_selection selection = {0};
    NACREI_TRY(nacrei_options_read(&call, options, &complete));
    NACREI_TRY(begin(&call, map, select, stream, &selection));
    NACREI_TRY(nacrei_options_check(&call, &complete, NACREI_TAKES_COUNTS, 0));
    selection.counts = complete.counts;
    return call.device->backend->map_erase_if(call.map, &selection, call.error);
}

nacre_status nacre_map_match(const nacre_map *map, const void *keys, uint64_t count,
                             void *indices_out, uint32_t index_bytes, void *values_out,
                             uint64_t capacity, uint64_t *needed, const nacre_options *options,
                             nacre_stream stream)
{
    NACREI_CALL(call, "nacre_map_match", NULL);
    nacrei_batch batch = {.call = call.name,
                          .operation = values_out != NULL ? NACREI_FIND : NACREI_CONTAINS,
                          .keys = keys,
                          .count = count,
                          .stream = stream};
    nacrei_matches matches = {.indices = indices_out,
                              .values = values_out,
                              .capacity = capacity,
                              .needed = needed,
                              .index_bytes = index_bytes};
    NACREI_TRY(nacrei_options_read(&call, options, &batch.options));
    NACREI_TRY(nacrei_check_map(&call, map));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    NACREI_TRY(nacrei_check_count(&call, "count", count));
    if (index_bytes != 8 && (index_bytes != 4 || count > (uint64_t)1 << 32)) {
        return nacrei_bad_number(&call, "index_bytes", index_bytes, "4 (up to 2^32 keys), 8");
    }
    NACREI_TRY(nacrei_check_array(&call, "needed", needed, 8));
    if (count > 0) {
        NACREI_TRY(nacrei_check_array(&call, "keys", keys, map->config.key_bytes));
    }
    NACREI_TRY(nacrei_check_memory(&call, "indices_out", indices_out, index_bytes));
    if (map->config.value_bytes != 0) {
        NACREI_TRY(nacrei_check_memory(&call, "values_out", values_out, map->config.value_bytes));
    } else if (values_out != NULL) {
        return nacrei_bad_pointer(&call, "values_out", values_out, NACREI_NULL_FOR_A_SET);
    }
    NACREI_TRY(nacrei_options_check(&call, &batch.options, NACREI_TAKES_BATCH, count));
    batch.options.missing_value = NULL; /* nothing is written for a missing key */
    return call.device->backend->map_match(call.map, &batch, &matches, call.error);
}
