/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NACRE_LIB_MAP_CONFIG_H
#define NACRE_LIB_MAP_CONFIG_H

#include "lib/check.h"

/*
 * Completes the caller's config (NULL: defaults) and sets call->error from it; the copy's own
 * `error` is NULL.
 */
nacre_status nacrei_map_config_read(nacrei_call *call, const nacre_map_config *given,
                                    nacre_map_config *complete);

/* Checks every field, and the widths against call->device. */
nacre_status nacrei_map_config_check(const nacrei_call *call, const nacre_map_config *config);

#endif
