/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch calls on a map. Each states its arguments as a nacrei_batch; what its operation asks of
 * them stands in one table, and one function checks and forwards.
 */
#include <inttypes.h>
#include <string.h>

#include "lib/check.h"
#include "lib/options.h"
#include "nacre/core/reduction.h"

enum {
    VALUES = 1,        /* reads values, NULL for a set only */
    VALUES_OR_ONE = 2, /* reads values, NULL for the number 1; has a reduction and a type */
    VALUES_OUT = 4,    /* writes values; missing_value is for these */
    CONTAINED = 8,     /* writes a byte per key */
};

nacre_status nacrei_growth_refused(const nacre_map *map, const char *call, uint64_t size,
                                   uint64_t left_out, nacre_error *error)
{
    nacrei_log(map->device, NACRE_LOG_WARNING,
               "%s: memory for growth beyond %" PRIu64 " keys was refused", call, size);
    if (map->config.growth != NACRE_GROWTH_WAIT) {
        return NACRE_OK;
    }
    return nacrei_fail(error, NACRE_ERROR_OUT_OF_MEMORY, 0,
                       "%s: the map holds %" PRIu64 " keys and memory for more was refused; "
                       "%" PRIu64 " elements report FULL",
                       call, size, left_out);
}

typedef struct rule {
    const char *call;
    const char *instead; /* what to call on a set; NULL: this call itself is for sets too */
    uint32_t arrays;
} rule;

static const rule rules[NACREI_OPERATIONS] = {
    [NACREI_INSERT] = {"nacre_map_insert", NULL, VALUES},
    [NACREI_INSERT_OR_ASSIGN] = {"nacre_map_insert_or_assign", NULL, VALUES},
    [NACREI_INSERT_OR_APPLY] = {"nacre_map_insert_or_apply", "nacre_map_insert", VALUES_OR_ONE},
    [NACREI_FIND_OR_INSERT] = {"nacre_map_find_or_insert", "nacre_map_insert", VALUES | VALUES_OUT},
    [NACREI_ASSIGN] = {"nacre_map_assign", "nacre_map_contains", VALUES},
    [NACREI_FIND] = {"nacre_map_find", "nacre_map_contains", VALUES_OUT},
    [NACREI_CONTAINS] = {"nacre_map_contains", NULL, CONTAINED},
    [NACREI_ERASE] = {"nacre_map_erase", NULL, 0},
};

static nacre_status check_reduction(const nacrei_call *call, const nacrei_batch *batch,
                                    uint32_t value_bytes)
{
    uint32_t type = batch->type;
    NACREI_TRY(nacrei_check_range(call, "reduction", batch->reduction, NACRE_REDUCTION_XOR,
                                  "0 (add), 1 (min), 2 (max), 3 (and), 4 (or), 5 (xor)"));
    NACREI_TRY(nacrei_check_range(call, "type", type, NACRE_TYPE_F64,
                                  "0 (i32), 1 (u32), 2 (i64), 3 (u64), 4 (f32), 5 (f64)"));
    if (nacrei_type_bytes(type) != value_bytes) {
        return nacrei_bad_number(call, "type", type,
                                 value_bytes == 4
                                     ? "0 (i32), 1 (u32), 4 (f32), because value_bytes is 4"
                                     : "2 (i64), 3 (u64), 5 (f64), because value_bytes is 8");
    }
    if (batch->reduction >= NACRE_REDUCTION_AND &&
        (type == NACRE_TYPE_F32 || type == NACRE_TYPE_F64)) {
        return nacrei_bad_number(call, "reduction", batch->reduction,
                                 type == NACRE_TYPE_F32
                                     ? "0 (add), 1 (min), 2 (max), because type is 4 (f32)"
                                     : "0 (add), 1 (min), 2 (max), because type is 5 (f64)");
    }
    return NACRE_OK;
}

/* The arrays of a batch that is not empty. */
static nacre_status check_arrays(const nacrei_call *call, const nacrei_batch *batch,
                                 uint32_t arrays, const nacre_map_config *config)
{
    uint32_t value_bytes = config->value_bytes;
    NACREI_TRY(nacrei_check_array(call, "keys", batch->keys, config->key_bytes));
    if ((arrays & VALUES) != 0 && value_bytes == 0) {
        if (batch->values != NULL) {
            return nacrei_bad_pointer(call, "values", batch->values, NACREI_NULL_FOR_A_SET);
        }
    } else if ((arrays & VALUES) != 0) {
        NACREI_TRY(nacrei_check_array(call, "values", batch->values, value_bytes));
    } else if ((arrays & VALUES_OR_ONE) != 0) {
        NACREI_TRY(nacrei_check_memory(call, "values", batch->values, value_bytes));
    }
    if ((arrays & VALUES_OUT) != 0) {
        NACREI_TRY(nacrei_check_array(call, "values_out", batch->values_out, value_bytes));
    }
    if ((arrays & CONTAINED) != 0) {
        NACREI_TRY(nacrei_check_array(call, "contained", batch->contained, 1));
    }
    return NACRE_OK;
}

/* What the backend wants of missing_value: its number, and a NULL where nothing is written. */
static void take_missing_value(nacrei_batch *batch, uint32_t arrays, uint32_t value_bytes)
{
    if ((arrays & VALUES_OUT) == 0) {
        batch->options.missing_value = NULL;
    } else if (batch->options.missing_value != NULL && value_bytes == 4) {
        uint32_t value;
        memcpy(&value, batch->options.missing_value, sizeof value);
        batch->missing_value = value;
    } else if (batch->options.missing_value != NULL) {
        memcpy(&batch->missing_value, batch->options.missing_value, sizeof batch->missing_value);
    }
}

static nacre_status run(const nacre_map *map, nacrei_batch *batch, const nacre_options *options)
{
    const rule *rule = &rules[batch->operation];
    NACREI_CALL(call, rule->call, NULL);
    batch->call = rule->call;
    NACREI_TRY(nacrei_options_read(&call, options, &batch->options));
    NACREI_TRY(nacrei_check_map(&call, map));
    uint32_t value_bytes = map->config.value_bytes;
    if (value_bytes == 0 && rule->instead != NULL) {
        return nacrei_fail(call.error, NACRE_ERROR_UNSUPPORTED, 0,
                           "%s: value_bytes of the map is 0 (a set); allowed: 4, 8; use %s",
                           call.name, rule->instead);
    }
    NACREI_TRY(nacrei_check_stream(&call, batch->stream));
    NACREI_TRY(nacrei_check_count(&call, "count", batch->count));
    if ((rule->arrays & VALUES_OR_ONE) != 0) {
        NACREI_TRY(check_reduction(&call, batch, value_bytes));
    }
    if (batch->count > 0) {
        NACREI_TRY(check_arrays(&call, batch, rule->arrays, &map->config));
    }
    NACREI_TRY(nacrei_options_check(&call, &batch->options, NACREI_TAKES_BATCH, batch->count));
    if (batch->count == 0 && batch->options.counts == NULL) {
        return NACRE_OK;
    }
    take_missing_value(batch, rule->arrays, value_bytes);
    return call.device->backend->map_batch(call.map, batch, call.error);
}

nacre_status nacre_map_insert(nacre_map *map, const void *keys, const void *values, uint64_t count,
                              const nacre_options *options, nacre_stream stream)
{
    nacrei_batch batch = {.operation = NACREI_INSERT,
                          .keys = keys,
                          .values = values,
                          .count = count,
                          .stream = stream};
    return run(map, &batch, options);
}

nacre_status nacre_map_insert_or_assign(nacre_map *map, const void *keys, const void *values,
                                        uint64_t count, const nacre_options *options,
                                        nacre_stream stream)
{
    nacrei_batch batch = {.operation = NACREI_INSERT_OR_ASSIGN,
                          .keys = keys,
                          .values = values,
                          .count = count,
                          .stream = stream};
    return run(map, &batch, options);
}

nacre_status nacre_map_insert_or_apply(nacre_map *map, const void *keys, const void *values,
                                       uint64_t count, uint32_t reduction, uint32_t type,
                                       const nacre_options *options, nacre_stream stream)
{
    nacrei_batch batch = {.operation = NACREI_INSERT_OR_APPLY,
                          .reduction = reduction,
                          .type = type,
                          .keys = keys,
                          .values = values,
                          .count = count,
                          .stream = stream};
    return run(map, &batch, options);
}

nacre_status nacre_map_find_or_insert(nacre_map *map, const void *keys, const void *values,
                                      uint64_t count, void *values_out,
                                      const nacre_options *options, nacre_stream stream)
{
    nacrei_batch batch = {.operation = NACREI_FIND_OR_INSERT,
                          .keys = keys,
                          .values = values,
                          .count = count,
                          .values_out = values_out,
                          .stream = stream};
    return run(map, &batch, options);
}

nacre_status nacre_map_assign(nacre_map *map, const void *keys, const void *values, uint64_t count,
                              const nacre_options *options, nacre_stream stream)
{
    nacrei_batch batch = {.operation = NACREI_ASSIGN,
                          .keys = keys,
                          .values = values,
                          .count = count,
                          .stream = stream};
    return run(map, &batch, options);
}

nacre_status nacre_map_find(const nacre_map *map, const void *keys, uint64_t count,
                            void *values_out, const nacre_options *options, nacre_stream stream)
{
    nacrei_batch batch = {.operation = NACREI_FIND,
                          .keys = keys,
                          .count = count,
                          .values_out = values_out,
                          .stream = stream};
    return run(map, &batch, options);
}

nacre_status nacre_map_contains(const nacre_map *map, const void *keys, uint64_t count,
                                uint8_t *contained, const nacre_options *options,
                                nacre_stream stream)
{
    nacrei_batch batch = {.operation = NACREI_CONTAINS,
                          .keys = keys,
                          .count = count,
                          .contained = contained,
                          .stream = stream};
    return run(map, &batch, options);
}

nacre_status nacre_map_erase(nacre_map *map, const void *keys, uint64_t count,
                             const nacre_options *options, nacre_stream stream)
{
    nacrei_batch batch = {
        .operation = NACREI_ERASE, .keys = keys, .count = count, .stream = stream};
    return run(map, &batch, options);
}
