/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nacre: an embeddable key-value store for GPUs, with the same calls on the CPU.
 *
 * This header includes the whole interface. The manual is in map.h; device.h says how a backend is
 * chosen, types.h what the options of a batch call mean, status.h what can go wrong.
 *
 * What stands here is settled; until 1.0 a minor version may still change it: see CHANGELOG.md.
 */
#ifndef NACRE_NACRE_H
#define NACRE_NACRE_H

#include "nacre/compact.h"
#include "nacre/device.h"
#include "nacre/export.h"
#include "nacre/map.h"
#include "nacre/map_view.h"
#include "nacre/status.h"
#include "nacre/types.h"
#include "nacre/version.h"

#endif
