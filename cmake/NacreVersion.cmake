# SPDX-License-Identifier: Apache-2.0
# NACRE_VERSION, read from include/nacre/version.h, so that the number stands in one place.

set(version_header "${CMAKE_CURRENT_LIST_DIR}/../include/nacre/version.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${version_header}")

set(NACRE_VERSION "")
foreach(part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS "${version_header}" line REGEX "^#define NACRE_VERSION_${part} ")
    if(NOT line MATCHES "^#define NACRE_VERSION_${part} +([0-9]+)")
        message(FATAL_ERROR "${version_header} does not define NACRE_VERSION_${part} as a number")
    endif()
    list(APPEND NACRE_VERSION "${CMAKE_MATCH_1}")
endforeach()
list(JOIN NACRE_VERSION "." NACRE_VERSION)
