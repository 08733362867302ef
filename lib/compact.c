/* SPDX-License-Identifier: Apache-2.0 */
/* Compaction of arrays: checks, and forwards. */
#include <inttypes.h>

#include "lib/check.h"
#include "lib/options.h"
#include "lib/structs.h"

/* Workspaces are aligned as cudaMalloc aligns. */
#define WORKSPACE_ALIGNMENT 256u

static const nacre_compaction defaults = {.struct_size = sizeof defaults, .item_bytes = 8};

void nacre_compaction_init(nacre_compaction *compaction, uint32_t struct_size)
{
    nacrei_struct_init(compaction, struct_size, &defaults, sizeof defaults);
}

static nacre_status check_widths(const nacrei_call *call, const nacre_compaction *what)
{
    const uint32_t item = what->item_bytes, value = what->value_bytes;
    if (item != 1 && item != 2 && item != 4 && item != 8 && item != 16) {
        return nacrei_bad_number(call, "item_bytes", item, "1, 2, 4, 8, 16");
    }
    if (value != 0 && value != 4 && value != 8) {
        return nacrei_bad_number(call, "value_bytes", value, "0, 4, 8");
    }
    if (value != 0 && item != 4 && item != 8) {
        return nacrei_bad_number(call, "item_bytes", item, "4, 8, because value_bytes is not 0");
    }
    return nacrei_check_reserved(call, "reserved", what->reserved);
}

static nacre_status check_arrays(const nacrei_call *call, const nacre_compaction *what,
                                 uint64_t count)
{
    if (count > 0) {
        NACREI_TRY(nacrei_check_array(call, "items", what->items, what->item_bytes));
    }
    NACREI_TRY(nacrei_check_memory(call, "items_out", what->items_out, what->item_bytes));
    if (what->value_bytes != 0 && what->items_out != NULL) {
        if (count > 0) {
            NACREI_TRY(nacrei_check_array(call, "values", what->values, what->value_bytes));
        }
        NACREI_TRY(nacrei_check_array(call, "values_out", what->values_out, what->value_bytes));
    } else if (what->value_bytes == 0 && what->values != NULL) {
        return nacrei_bad_pointer(call, "values", what->values, "NULL, because value_bytes is 0");
    } else if (what->values_out != NULL) {
        return nacrei_bad_pointer(call, "values_out", what->values_out,
                                  what->value_bytes == 0 ? "NULL, because value_bytes is 0"
                                                         : "NULL, because items_out is");
    }
    return nacrei_check_array(call, "needed", what->needed, 8);
}

static nacre_status check_condition(const nacrei_call *call, const nacre_compaction *what)
{
    if (what->item_bytes == 16 && what->condition.test != NACRE_TEST_ALL) {
        return nacrei_bad_number(call, "condition.test", what->condition.test,
                                 "0 (all), because item_bytes is 16");
    }
    if (what->item_bytes < 4 && what->condition.test == NACRE_TEST_RANGE) {
        return nacrei_bad_number(call, "condition.test", what->condition.test,
                                 "0 (all), 2 (bits), because no type has so few bytes as items");
    }
    return nacrei_check_condition(call, &what->condition, what->item_bytes, "item_bytes");
}

static nacre_status check_algorithm(const nacrei_call *call, const nacrei_compact *compact)
{
    const nacre_compaction *what = &compact->what;
    const uint32_t algorithm = compact->options.algorithm;
    if (algorithm != NACRE_COMPACT_AUTO && algorithm != NACRE_COMPACT_STABLE &&
        (what->item_bytes != 8 || what->value_bytes != 0)) {
        return nacrei_fail(call->error, NACRE_ERROR_UNSUPPORTED, 0,
                           "%s: options.algorithm is %u; allowed: 0 (auto), 10 (stable), because "
                           "the items are not 8 bytes without values",
                           call->name, (unsigned)algorithm);
    }
    uint64_t bytes = 0;
    NACREI_TRY(call->device->backend->compact_workspace(call->device, compact->count, algorithm,
                                                        &bytes, call->error));
    if (bytes > what->workspace_bytes) {
        return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0,
                           "%s: workspace_bytes is %" PRIu64 "; allowed: %" PRIu64
                           " and more, as nacre_compact_workspace tells",
                           call->name, what->workspace_bytes, bytes);
    }
    return bytes == 0 ? NACRE_OK
                      : nacrei_check_array(call, "workspace", what->workspace, WORKSPACE_ALIGNMENT);
}

nacre_status nacre_compact(nacre_device *device, const nacre_compaction *compaction, uint64_t count,
                           const nacre_options *options, nacre_stream stream)
{
    NACREI_CALL(call, "nacre_compact", NULL);
    nacrei_compact compact = {.what = defaults, .count = count, .stream = stream};
    NACREI_TRY(nacrei_options_read(&call, options, &compact.options));
    NACREI_TRY(nacrei_check_device(&call, device));
    NACREI_TRY(nacrei_check_host(&call, "compaction", compaction, 8));
    NACREI_TRY(nacrei_struct_read(&call, "nacre_compaction", compaction, &compact.what,
                                  sizeof compact.what, NULL));
    NACREI_TRY(nacrei_check_stream(&call, stream));
    NACREI_TRY(nacrei_check_count(&call, "count", count));
    NACREI_TRY(check_widths(&call, &compact.what));
    NACREI_TRY(check_arrays(&call, &compact.what, count));
    NACREI_TRY(check_condition(&call, &compact.what));
    NACREI_TRY(nacrei_options_check(&call, &compact.options,
                                    NACREI_TAKES_ELEMENTS | NACREI_TAKES_ALGORITHM, count));
    NACREI_TRY(check_algorithm(&call, &compact));
    compact.condition = nacrei_condition_of(&compact.what.condition);
    return device->backend->compact(device, &compact, call.error);
}

nacre_status nacre_compact_workspace(const nacre_device *device, uint64_t count, uint32_t algorithm,
                                     uint64_t *bytes, nacre_error *error)
{
    NACREI_CALL(call, "nacre_compact_workspace", error);
    NACREI_TRY(nacrei_check_device(&call, device));
    NACREI_TRY(nacrei_check_count(&call, "count", count));
    NACREI_TRY(nacrei_options_check_algorithm(&call, "algorithm", algorithm));
    NACREI_TRY(nacrei_check_host(&call, "bytes", bytes, 8));
    return device->backend->compact_workspace(device, count, algorithm, bytes, error);
}
