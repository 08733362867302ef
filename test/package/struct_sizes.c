/* SPDX-License-Identifier: Apache-2.0 */
/* Prints "name size" for each public struct, for a binding to compare with its own declarations. */
#include <stdio.h>

#include <nacre/nacre.h>

#define PRINT_SIZE(type) printf(#type " %zu\n", sizeof(type))

int main(void)
{
    PRINT_SIZE(nacre_error);
    PRINT_SIZE(nacre_counts);
    PRINT_SIZE(nacre_options);
    PRINT_SIZE(nacre_allocator);
    PRINT_SIZE(nacre_device_config);
    PRINT_SIZE(nacre_map_config);
    PRINT_SIZE(nacre_map_info);
    PRINT_SIZE(nacre_map_statistics);
    return 0;
}
