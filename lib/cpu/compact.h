/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NACRE_LIB_CPU_COMPACT_H
#define NACRE_LIB_CPU_COMPACT_H

#include "lib/backend.h"

nacre_status nacrei_cpu_compact(nacre_device *device, const nacrei_compact *compact,
                                nacre_error *error);
nacre_status nacrei_cpu_compact_workspace(const nacre_device *device, uint64_t count,
                                          uint32_t algorithm, uint64_t *bytes, nacre_error *error);

#endif
