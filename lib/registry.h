/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NACRE_LIB_REGISTRY_H
#define NACRE_LIB_REGISTRY_H

#include "lib/check.h"

/*
 * Opens a device of the backend that `config` asks for; with AUTO of the first that can be used,
 * and says in its description, and where hardware lies idle in the log, why the others cannot.
 */
nacre_status nacrei_registry_open(const nacrei_call *call, const nacre_device_config *config,
                                  nacre_device **device);

#endif
