/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version: of the headers as macros, of the loaded library as a function. The build reads it
 * from here.
 */
#ifndef NACRE_VERSION_H
#define NACRE_VERSION_H

#include <stdint.h>

#include "nacre/export.h"

#define NACRE_VERSION_MAJOR 0
#define NACRE_VERSION_MINOR 1
#define NACRE_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The version of the library that was loaded: 10000 major + 100 minor + patch.
 *
 * Until 1.0 every minor version has its own SONAME: a program built against 0.1 does not load 0.2.
 *
 * **Thread safety** any thread. **Allocates** nothing. **Since** 0.1
 */
NACRE_API uint32_t nacre_version(void);

#ifdef __cplusplus
}
#endif
#endif
