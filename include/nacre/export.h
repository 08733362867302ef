/* SPDX-License-Identifier: Apache-2.0 */
/* NACRE_API marks what the library exports; everything else stays hidden. */
#ifndef NACRE_EXPORT_H
#define NACRE_EXPORT_H

#if defined(_WIN32)
#define NACRE_API
#elif defined(__GNUC__)
#define NACRE_API __attribute__((visibility("default")))
#else
#define NACRE_API
#endif

#endif
