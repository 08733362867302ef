/* SPDX-License-Identifier: Apache-2.0 */
#include "nacre/status.h"

const char *nacre_status_name(nacre_status status)
{
    switch (status) {
#define NAME(name, value, text) \
    case name:                  \
        return #name;
        NACRE_STATUS_LIST(NAME)
#undef NAME
    default:
        return "unknown status";
    }
}

const char *nacre_status_text(nacre_status status)
{
    switch (status) {
#define TEXT(name, value, text) \
    case name:                  \
        return text;
        NACRE_STATUS_LIST(TEXT)
#undef TEXT
    default:
        return "unknown status";
    }
}
