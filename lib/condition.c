/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's conditions, checked: of nacre_select and of nacre_compaction. */
#include <inttypes.h>

#include "lib/check.h"
#include "nacre/core/reduction.h"

nacre_status nacrei_check_condition(const nacrei_call *call, const nacre_condition *condition,
                                    uint32_t bytes, const char *of)
{
    NACREI_TRY(nacrei_check_range(call, "condition.test", condition->test, NACRE_TEST_BITS,
                                  "0 (all), 1 (range), 2 (bits)"));
    if (condition->test != NACRE_TEST_RANGE) {
        return NACRE_OK;
    }
    NACREI_TRY(nacrei_check_range(call, "condition.type", condition->type, NACRE_TYPE_F64,
                                  "0 (i32), 1 (u32), 2 (i64), 3 (u64), 4 (f32), 5 (f64)"));
    if (nacrei_type_bytes(condition->type) != bytes) {
        return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0,
                           "%s: condition.type is %u; allowed: one of %u bytes, because %s is %u",
                           call->name, (unsigned)condition->type, (unsigned)bytes, of,
                           (unsigned)bytes);
    }
    if (bytes == 4 && (condition->low > UINT32_MAX || condition->high > UINT32_MAX)) {
        const uint32_t low = condition->low > UINT32_MAX;
        return nacrei_bad_number(call, low ? "condition.low" : "condition.high",
                                 low ? condition->low : condition->high,
                                 "the bits of a type of 4 bytes, zero-extended");
    }
    return NACRE_OK;
}
