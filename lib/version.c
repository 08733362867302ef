/* SPDX-License-Identifier: Apache-2.0 */
#include "nacre/version.h"

uint32_t nacre_version(void)
{
    return 10000 * NACRE_VERSION_MAJOR + 100 * NACRE_VERSION_MINOR + NACRE_VERSION_PATCH;
}
