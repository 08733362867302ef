# SPDX-License-Identifier: Apache-2.0
# The options of the build, the flags that follow from them, and one function that applies them.

option(NACRE_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(NACRE_BUILD_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(NACRE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(NACRE_INSTALL "Create the install rules" ${PROJECT_IS_TOP_LEVEL})
option(NACRE_WERROR "Treat warnings as errors" OFF)
option(NACRE_FORCE_TWO_STEP
    "Compile kernels for every GPU as for those without a compare-and-swap of 16 bytes, for tests" OFF)
option(NACRE_NVTX "Show profilers a range for each public call (needs a CUDA toolkit's headers)" OFF)

set(NACRE_CUDA "AUTO" CACHE STRING
    "CUDA backend: AUTO takes a fit nvcc or does without, ON insists, OFF does not look")
set_property(CACHE NACRE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(NACRE_CUDA_ARCHITECTURES "90" CACHE STRING
    "GPU architectures, in the form of CMAKE_CUDA_ARCHITECTURES: 90 (code and PTX), 90-real, 90-virtual")

set(nacre_all_widths 8x8 8x4 8x0 4x8 4x4 4x0)
set(NACRE_WIDTHS "all" CACHE STRING
    "Key x value widths in bytes to instantiate, for developers' fast builds: all, or some of ${nacre_all_widths}")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

# NACRE_WIDTHS_8X8=1 and so on, for lib/ and device/ alike: the X-list of instances reads them.
set(wanted ${NACRE_WIDTHS})
if(NOT wanted)
    message(FATAL_ERROR "NACRE_WIDTHS is empty; allowed: all, or some of ${nacre_all_widths}")
endif()
if(wanted STREQUAL "all")
    set(wanted ${nacre_all_widths})
endif()
list(TRANSFORM wanted TOLOWER)
set(NACRE_WIDTH_DEFINITIONS "")
foreach(width IN LISTS nacre_all_widths)
    string(TOUPPER "NACRE_WIDTHS_${width}" macro)
    if(width IN_LIST wanted)
        list(APPEND NACRE_WIDTH_DEFINITIONS ${macro}=1)
        list(REMOVE_ITEM wanted ${width})
    else()
        list(APPEND NACRE_WIDTH_DEFINITIONS ${macro}=0)
    endif()
endforeach()
if(wanted)
    message(FATAL_ERROR "NACRE_WIDTHS: '${wanted}' is none of: all ${nacre_all_widths}")
endif()

# The sanitizers come in by CMAKE_C_FLAGS (see the presets asan and tsan); what looks at the
# finished library or at its installed form leaves such builds out.
if(CMAKE_C_FLAGS MATCHES "-fsanitize")
    set(NACRE_SANITIZED ON)
else()
    set(NACRE_SANITIZED OFF)
endif()

set(NACRE_WARNING_FLAGS -Wall -Wextra -Wpedantic)
if(NACRE_WERROR)
    list(APPEND NACRE_WARNING_FLAGS -Werror)
endif()

# What every C and C++ target of ours has in common.
function(nacre_common target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
        CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    target_compile_options(${target} PRIVATE ${NACRE_WARNING_FLAGS})
    # POSIX and GNU calls of the C library; C_EXTENSIONS OFF would hide them.
    target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE>)
endfunction()
