/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one rule for options: a field that a call does not take keeps its default, or the call is
 * refused. Which call takes which stands in nacre/types.h.
 */
#ifndef NACRE_LIB_OPTIONS_H
#define NACRE_LIB_OPTIONS_H

#include "lib/check.h"

/* What not every call takes. */
enum {
    NACREI_TAKES_ELEMENTS = 1, /* count_device, and the four fields of the mask */
    NACREI_TAKES_OUTCOMES = 2,
    NACREI_TAKES_COUNTS = 4,
    NACREI_TAKES_BATCH = 7, /* these three */
    NACREI_TAKES_ALGORITHM = 8
};

/* Completes the caller's options (NULL: defaults) and sets call->error from them. */
nacre_status nacrei_options_read(nacrei_call *call, const nacre_options *given,
                                 nacre_options *complete);

/*
 * Checks the options of a call on `count` elements that takes NACREI_TAKES_...; call->device must
 * be set.
 */
nacre_status nacrei_options_check(const nacrei_call *call, const nacre_options *options,
                                  uint32_t takes, uint64_t count);

/* NACRE_COMPACT_... */
nacre_status nacrei_options_check_algorithm(const nacrei_call *call, const char *parameter,
                                            uint32_t algorithm);

#endif
