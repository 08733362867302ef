/* SPDX-License-Identifier: Apache-2.0 */
/* A device's reference count: one for the caller of open, one for each object on it. */
#ifndef NACRE_LIB_DEVICE_H
#define NACRE_LIB_DEVICE_H

#include "lib/backend.h"

void nacrei_device_retain(nacre_device *device);

/* Frees the device with its last reference. */
void nacrei_device_release(nacre_device *device);

#endif
