/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one list of key and value widths: NACREI_WIDTHS(X) expands X(key_bytes, value_bytes, index)
 * for each pair that this build has. NACRE_WIDTHS_8X8=0 and so on, set by the build option
 * NACRE_WIDTHS, take pairs out.
 */
#ifndef NACRE_LIB_WIDTHS_H
#define NACRE_LIB_WIDTHS_H

#include <stdint.h>

#ifndef NACRE_WIDTHS_8X8
#define NACRE_WIDTHS_8X8 1
#endif
#ifndef NACRE_WIDTHS_8X4
#define NACRE_WIDTHS_8X4 1
#endif
#ifndef NACRE_WIDTHS_8X0
#define NACRE_WIDTHS_8X0 1
#endif
#ifndef NACRE_WIDTHS_4X8
#define NACRE_WIDTHS_4X8 1
#endif
#ifndef NACRE_WIDTHS_4X4
#define NACRE_WIDTHS_4X4 1
#endif
#ifndef NACRE_WIDTHS_4X0
#define NACRE_WIDTHS_4X0 1
#endif

#if NACRE_WIDTHS_8X8
#define NACREI_WIDTH_8X8(X) X(8, 8, 0)
#else
#define NACREI_WIDTH_8X8(X)
#endif
#if NACRE_WIDTHS_8X4
#define NACREI_WIDTH_8X4(X) X(8, 4, 1)
#else
#define NACREI_WIDTH_8X4(X)
#endif
#if NACRE_WIDTHS_8X0
#define NACREI_WIDTH_8X0(X) X(8, 0, 2)
#else
#define NACREI_WIDTH_8X0(X)
#endif
#if NACRE_WIDTHS_4X8
#define NACREI_WIDTH_4X8(X) X(4, 8, 3)
#else
#define NACREI_WIDTH_4X8(X)
#endif
#if NACRE_WIDTHS_4X4
#define NACREI_WIDTH_4X4(X) X(4, 4, 4)
#else
#define NACREI_WIDTH_4X4(X)
#endif
#if NACRE_WIDTHS_4X0
#define NACREI_WIDTH_4X0(X) X(4, 0, 5)
#else
#define NACREI_WIDTH_4X0(X)
#endif

#define NACREI_WIDTHS(X) \
    NACREI_WIDTH_8X8(X)  \
    NACREI_WIDTH_8X4(X)  \
    NACREI_WIDTH_8X0(X)  \
    NACREI_WIDTH_4X8(X)  \
    NACREI_WIDTH_4X4(X)  \
    NACREI_WIDTH_4X0(X)

#define NACREI_WIDTHS_COUNT 6

#endif
