/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NACRE_LIB_OPTIONS_H
#define NACRE_LIB_OPTIONS_H

#include "lib/check.h"

/* Completes the caller's options (NULL: defaults) and sets call->error from them. */
nacre_status nacrei_options_read(nacrei_call *call, const nacre_options *given,
                                 nacre_options *complete);

/* Checks what the options say about a batch of `count` elements; call->device must be set. */
nacre_status nacrei_options_check(const nacrei_call *call, const nacre_options *options,
                                  uint64_t count);

/* The algorithm, up to `last`: NACRE_COMPACT_STABLE, or 0 where there is no choice. */
nacre_status nacrei_options_check_algorithm(const nacrei_call *call, const nacre_options *options,
                                            uint32_t last);

#endif
