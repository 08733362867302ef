/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one rule for structs that cross the interface: they begin with struct_size, may be smaller
 * (older) or larger (newer) than the library's own, and grow at the end only. Every struct goes
 * through here, so that no other file has to think of sizes.
 */
#ifndef NACRE_LIB_STRUCTS_H
#define NACRE_LIB_STRUCTS_H

#include <stdint.h>

#include "lib/check.h"

/* Larger than any struct will be; a size beyond it is an uninitialised one. */
#define NACREI_STRUCT_BYTES_MAX 65536u

/*
 * For nacre_x_init: writes `defaults`, of which the library knows `known_bytes`, as far as
 * struct_size reaches, and zeros behind them. A size that no struct has is stored as 0, which every
 * call refuses.
 */
void nacrei_struct_init(void *to, uint32_t struct_size, const void *defaults, uint32_t known_bytes);

/*
 * Lays the caller's struct (NULL: nothing) over `complete`, which holds the defaults. `error_field`
 * is where `complete` keeps the caller's nacre_error, or NULL if it keeps none; from there
 * call->error is taken as soon as the struct's size can be trusted, and not before.
 *
 * ARGUMENT: the size is no struct's, or bytes that the library does not know are not zero.
 */
nacre_status nacrei_struct_read(nacrei_call *call, const char *name, const void *given,
                                void *complete, uint32_t known_bytes, nacre_error **error_field);

/* Copies what the caller's struct has room for; its struct_size stays, and nothing beyond is
 * touched. */
void nacrei_struct_write(void *to, const void *complete, uint32_t known_bytes);

#endif
