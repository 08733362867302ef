# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a header with the commit of SOURCE, at every build and only if it has changed: a
# commit that was looked up as the build was configured would be an old one soon. "unknown" where
# there is no git, or where SOURCE lies in somebody else's repository.
#
#     cmake -D SOURCE=FOLDER -D OUTPUT=FILE -P commit.cmake

cmake_minimum_required(VERSION 3.22)

set(commit unknown)
execute_process(COMMAND git -C "${SOURCE}" rev-parse --show-prefix
    RESULT_VARIABLE status OUTPUT_VARIABLE prefix ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if("${status}" STREQUAL "0" AND "${prefix}" STREQUAL "")
    execute_process(COMMAND git -C "${SOURCE}" describe --always --dirty
        RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if("${status}" STREQUAL "0")
        set(commit "${text}")
    endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT "#define BENCH_COMMIT \"@commit@\"\n")
