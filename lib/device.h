/* SPDX-License-Identifier: Apache-2.0 */
/* What all devices do alike: reference counting, and asking the caller's allocator. */
#ifndef NACRE_LIB_DEVICE_H
#define NACRE_LIB_DEVICE_H

#include "lib/backend.h"

/* One reference is the caller's who opened it, one each object's on it. */
void nacrei_device_retain(nacre_device *device);

/* Frees the device with its last reference. */
void nacrei_device_release(nacre_device *device);

/* Memory of the caller's allocator, aligned as asked; NULL: refused. */
void *nacrei_device_allocate(const nacre_device *device, uint64_t bytes, uint64_t alignment,
                             uint32_t space);

#endif
