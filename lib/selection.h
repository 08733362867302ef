/* SPDX-License-Identifier: Apache-2.0 */
/* What both backends make of a selection before they walk through slots. */
#ifndef NACRE_LIB_SELECTION_H
#define NACRE_LIB_SELECTION_H

#include "lib/backend.h"

/* CHANGED where the selection goes by another layout than the map's. */
nacre_status nacrei_selection_check(const nacrei_selection *selection, uint64_t layout,
                                    nacre_error *error);

/* Its slots, *first .. *last - 1, of a walk through `all`. */
void nacrei_selection_range(const nacrei_selection *selection, uint64_t all, uint64_t *first,
                            uint64_t *last);

#endif
