/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's conditions, checked: of nacre_select and of nacre_compaction. */
#include <inttypes.h>
#include <stdio.h>

#include "lib/check.h"
#include "nacre/core/reduction.h"

/* Numbers of so many bytes have no bits beyond it. */
static nacre_status check_width(const nacrei_call *call, const char *parameter, uint64_t value,
                                uint32_t bytes)
{
    const uint64_t most = bytes >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * bytes) - 1;
    char allowed[48];
    snprintf(allowed, sizeof allowed, "%u bytes, zero-extended", (unsigned)bytes);
    return nacrei_check_range(call, parameter, value, most, allowed);
}

static nacre_status check_bits(const nacrei_call *call, const nacre_condition *condition,
                               uint32_t bytes)
{
    NACREI_TRY(check_width(call, "condition.mask", condition->mask, bytes));
    if ((condition->bits & ~condition->mask) == 0) {
        return NACRE_OK;
    }
    char allowed[48];
    snprintf(allowed, sizeof allowed, "bits of condition.mask, %" PRIu64, condition->mask);
    return nacrei_bad_number(call, "condition.bits", condition->bits, allowed);
}

nacre_status nacrei_check_condition(const nacrei_call *call, const nacre_condition *condition,
                                    uint32_t bytes, const char *of)
{
    NACREI_TRY(nacrei_check_range(call, "condition.test", condition->test, NACRE_TEST_BITS,
                                  "0 (all), 1 (range), 2 (bits)"));
    if (condition->test == NACRE_TEST_ALL) {
        return NACRE_OK;
    }
    if (condition->test == NACRE_TEST_BITS) {
        return check_bits(call, condition, bytes);
    }
    NACREI_TRY(nacrei_check_range(call, "condition.type", condition->type, NACRE_TYPE_F64,
                                  "0 (i32), 1 (u32), 2 (i64), 3 (u64), 4 (f32), 5 (f64)"));
    if (nacrei_type_bytes(condition->type) != bytes) {
        return nacrei_fail(call->error, NACRE_ERROR_ARGUMENT, 0,
                           "%s: condition.type is %u; allowed: one of %u bytes, because %s is %u",
                           call->name, (unsigned)condition->type, (unsigned)bytes, of,
                           (unsigned)bytes);
    }
    NACREI_TRY(check_width(call, "condition.low", condition->low, bytes));
    return check_width(call, "condition.high", condition->high, bytes);
}
