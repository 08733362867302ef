/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/selection.h"

#include <inttypes.h>

nacre_status nacrei_selection_check(const nacrei_selection *selection, uint64_t layout,
                                    nacre_error *error)
{
    if (selection->layout == 0 || selection->layout == layout) {
        return NACRE_OK;
    }
    return nacrei_fail(error, NACRE_ERROR_CHANGED, 0,
                       "%s: select->layout is %" PRIu64 ", but keys have moved since; allowed: "
                       "%" PRIu64,
                       selection->call, selection->layout, layout);
}

void nacrei_selection_range(const nacrei_selection *selection, uint64_t all, uint64_t *first,
                            uint64_t *last)
{
    *first = selection->first_slot < all ? selection->first_slot : all;
    *last = selection->slot_count != 0 && selection->slot_count < all - *first
                ? *first + selection->slot_count
                : all;
}
