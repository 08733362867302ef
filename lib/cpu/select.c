/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cpu/select.h"

#include <string.h>

uint32_t nacrei_select(const nacrei_batch *batch, uint64_t first, uint32_t count, uint32_t *list)
{
    const nacre_options *options = &batch->options;
    uint32_t taking = 0;
    for (uint32_t i = 0; i < count; i++) {
        int takes = nacrei_takes_part(options, first + i);
        list[taking] = i;
        taking += (uint32_t)takes;
        if (!takes && options->outcomes != NULL) {
            options->outcomes[first + i] = NACRE_OUTCOME_SKIPPED;
        }
    }
    return taking;
}

void nacrei_select_not(const nacrei_batch *batch, uint64_t first, uint32_t count, uint16_t *numbers,
                       uint16_t mark)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!nacrei_takes_part(&batch->options, first + i)) {
            numbers[i] = mark;
            nacrei_skip(batch, first + i, 1);
        }
    }
}

void nacrei_skip(const nacrei_batch *batch, uint64_t first, uint64_t count)
{
    if (batch->options.outcomes != NULL && count > 0) {
        memset(batch->options.outcomes + first, NACRE_OUTCOME_SKIPPED, (size_t)count);
    }
}
