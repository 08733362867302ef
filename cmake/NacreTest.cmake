# SPDX-License-Identifier: Apache-2.0
# How a test becomes an executable and a line in ctest. The first word of its ctest name is its
# label, and its executable is named alike: contract/insert is build/<preset>/test/contract_insert.
# The target tests_<label> builds all executables of a label.

# nacre_add_program_test(<label> <name> <sources>...): exits 0 when passed, 77 when skipped.
function(nacre_add_program_test label name)
    nacre_test_executable(${label} ${label}_${name} ${ARGN})
    add_test(NAME ${label}/${name} COMMAND ${label}_${name})
    nacre_test_properties(${label}/${name} ${label})
endfunction()

# nacre_add_test(<label> <name> <sources>...): a Criterion executable. One process at a time, since
# every test is a process of its own and on a GPU each would hold a context; verbose, since otherwise
# Criterion does not name the tests that were skipped.
function(nacre_add_test label name)
    if(NOT NACRE_CRITERION_LIBRARY)
        return()
    endif()
    nacre_test_executable(${label} ${label}_${name} ${ARGN})
    target_include_directories(${label}_${name} SYSTEM PRIVATE "${NACRE_CRITERION_INCLUDE}")
    target_link_libraries(${label}_${name} PRIVATE "${NACRE_CRITERION_LIBRARY}")
    add_test(NAME ${label}/${name} COMMAND ${label}_${name} -j1 --verbose)
    nacre_test_properties(${label}/${name} ${label})
endfunction()

# nacre_add_row_test(<label> <name> <sources>...): rows of test/support/harness.h. A Criterion executable
# in ctest, and the same rows as a plain program, <label>_<name>_plain, for machines and tools that
# Criterion does not run on; `./dev gpu` uses that.
function(nacre_add_row_test label name)
    nacre_add_test(${label} ${name} ${ARGN} "${PROJECT_SOURCE_DIR}/test/support/criterion.c")
    if(TARGET ${label}_${name})
        target_link_libraries(${label}_${name} PRIVATE nacre_test_support)
    endif()
    nacre_test_executable(${label} ${label}_${name}_plain ${ARGN})
    target_compile_definitions(${label}_${name}_plain PRIVATE NACRE_TEST_PLAIN)
    target_link_libraries(${label}_${name}_plain PRIVATE nacre_test_support_plain)
endfunction()

# nacre_add_script_test(<label> <name> <command>...): 0 passed, 77 skipped.
function(nacre_add_script_test label name)
    add_test(NAME ${label}/${name} COMMAND ${ARGN})
    nacre_test_properties(${label}/${name} ${label})
endfunction()

# Against the static library, so that internal functions can be tested too. Where CUDA is built, .cu
# sources are compiled by nvcc.
function(nacre_test_executable label target)
    set(sources ${ARGN})
    set(cuda_sources ${ARGN})
    list(FILTER sources EXCLUDE REGEX "\\.cu$")
    list(FILTER cuda_sources INCLUDE REGEX "\\.cu$")
    set(includes "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}"
                 "${PROJECT_SOURCE_DIR}/test")
    set(objects "")
    if(cuda_sources)
        nacre_cuda_objects(${target}_cuda objects SOURCES ${cuda_sources}
            INCLUDES ${includes} DEFINITIONS ${NACRE_WIDTH_DEFINITIONS})
    endif()
    add_executable(${target} ${sources} ${objects})
    nacre_common(${target})
    set_target_properties(${target} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    target_include_directories(${target} PRIVATE ${includes})
    target_compile_definitions(${target} PRIVATE
        NACRE_HAVE_CUDA=$<BOOL:${NACRE_CUDA_FOUND}> ${NACRE_WIDTH_DEFINITIONS})
    target_link_libraries(${target} PRIVATE nacre::nacre_static)
    if(NOT TARGET tests_${label})
        add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${target})
endfunction()

# What the rows stand on, built with and without Criterion. Static, so that a test takes what it uses.
function(nacre_add_test_support)
    foreach(target IN ITEMS nacre_test_support nacre_test_support_plain)
        if(target STREQUAL "nacre_test_support" AND NOT NACRE_CRITERION_LIBRARY)
            continue()
        endif()
        add_library(${target} STATIC ${ARGN})
        nacre_common(${target})
        target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/test")
        target_compile_definitions(${target} PRIVATE
            NACRE_HAVE_CUDA=$<BOOL:${NACRE_CUDA_FOUND}> ${NACRE_WIDTH_DEFINITIONS})
        target_link_libraries(${target} PRIVATE nacre::nacre_static)
        if(target STREQUAL "nacre_test_support")
            target_include_directories(${target} SYSTEM PRIVATE "${NACRE_CRITERION_INCLUDE}")
        else()
            target_compile_definitions(${target} PRIVATE NACRE_TEST_PLAIN)
        endif()
    endforeach()
endfunction()

function(nacre_test_properties name label)
    set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77 TIMEOUT 600)
    if(NACRE_SANITIZED)
        # Criterion has noted a test as passed by the time LeakSanitizer speaks.
        set_tests_properties(${name} PROPERTIES
            FAIL_REGULAR_EXPRESSION "ERROR: [A-Za-z]+Sanitizer;WARNING: ThreadSanitizer;runtime error:")
    endif()
endfunction()
