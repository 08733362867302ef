# SPDX-License-Identifier: Apache-2.0
# Finds a fit nvcc and compiles .cu files with it, without enabling CMake's CUDA language:
# AUTO must be able to fall back (enable_language stops the build where nvcc is unfit), and
# with that language in the library CMake would link every program that uses it through a C++
# driver, and refuse an add_subdirectory from a project in C only. To CMake the kernels are object
# files like any other, and everything is linked by the C compiler.
#
# Sets NACRE_CUDA_FOUND; where true also NACRE_NVCC, NACRE_CUDA_VERSION, NACRE_CUDART_STATIC (the
# file) and NACRE_CUDA_LIBRARIES (what a program that links the kernels statically needs).

set(NACRE_CUDA_VERSION_MIN 12.4)

set(NACRE_NVCC "" CACHE FILEPATH "The nvcc that compiles the kernels; empty: looked for")

# Programs called nvcc in the order in which they were met: this build folder's first, then CUDACXX.
function(nacre_nvcc_candidates out)
    set(found "${NACRE_NVCC}")
    if(DEFINED ENV{CUDACXX})
        # CUDACXX may be a bare name or carry flags; only the program is wanted here.
        separate_arguments(words UNIX_COMMAND "$ENV{CUDACXX}")
        list(POP_FRONT words word)
        find_program(nvcc_of_environment "${word}" NO_CACHE)
        list(APPEND found "${nvcc_of_environment}")
    endif()
    find_program(nvcc_on_path nvcc NO_CACHE)
    list(APPEND found "${nvcc_on_path}")
    file(GLOB prefixes /usr/local/cuda /usr/local/cuda-* /opt/cuda /usr/lib/cuda
         /usr/lib/nvidia-cuda-toolkit)
    foreach(prefix IN LISTS prefixes)
        list(APPEND found "${prefix}/bin/nvcc")
    endforeach()

    set(distinct "")
    set(candidates "")
    foreach(nvcc IN LISTS found)
        if(nvcc AND EXISTS "${nvcc}")
            file(REAL_PATH "${nvcc}" real)
            if(NOT real IN_LIST distinct)
                list(APPEND distinct "${real}")
                list(APPEND candidates "${nvcc}")
            endif()
        endif()
    endforeach()
    set(${out} "${candidates}" PARENT_SCOPE)
endfunction()

# The version that nvcc tells; empty where it does not run.
function(nacre_nvcc_version nvcc out)
    execute_process(COMMAND "${nvcc}" --version
        OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE result)
    set(${out} "" PARENT_SCOPE)
    if(result EQUAL 0 AND text MATCHES "release [0-9.]+, V([0-9]+\\.[0-9]+\\.[0-9]+)")
        set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
endfunction()

# NACRE_CUDA_ARCHITECTURES as -gencode flags, less those that this nvcc does not know (12.4 has no
# 100, 13.0 no 70). The newest one that is left always brings its PTX, for GPUs yet to come.
function(nacre_gencode_flags nvcc out out_dropped)
    execute_process(COMMAND "${nvcc}" --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
    set(flags "")
    set(dropped "")
    set(newest 0)
    set(newest_has_ptx FALSE)
    foreach(entry IN LISTS NACRE_CUDA_ARCHITECTURES)
        if(NOT entry MATCHES "^([0-9]+[af]?)(-real|-virtual)?$")
            message(FATAL_ERROR
                "NACRE_CUDA_ARCHITECTURES: '${entry}' is not of the form 90, 90-real or 90-virtual")
        endif()
        set(arch ${CMAKE_MATCH_1})
        set(kind "${CMAKE_MATCH_2}")
        string(REGEX REPLACE "[af]$" "" number ${arch})
        if(NOT known MATCHES "compute_${number}[^0-9]")
            list(APPEND dropped ${arch})
            continue()
        endif()
        set(codes "")
        if(NOT kind STREQUAL "-virtual")
            list(APPEND codes sm_${arch})
        endif()
        if(NOT kind STREQUAL "-real")
            list(APPEND codes compute_${arch})
        endif()
        list(JOIN codes "," codes)
        list(APPEND flags "-gencode=arch=compute_${arch},code=[${codes}]")
        if(number GREATER newest)
            set(newest ${number})
            set(newest_has_ptx FALSE)
        endif()
        if(number EQUAL newest AND NOT kind STREQUAL "-real")
            set(newest_has_ptx TRUE)
        endif()
    endforeach()
    if(dropped AND newest GREATER 0 AND NOT newest_has_ptx)
        list(APPEND flags "-gencode=arch=compute_${newest},code=compute_${newest}")
    endif()
    set(${out} "${flags}" PARENT_SCOPE)
    set(${out_dropped} "${dropped}" PARENT_SCOPE)
endfunction()

# Flags of nvcc itself and of the host compiler behind it. The host halves of the .cu files must
# not need libstdc++: no exceptions, no RTTI, no guarded statics.
function(nacre_nvcc_flags out)
    set(host -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -fno-threadsafe-statics
             -Wall -Wextra)
    # CUB by another name: a program may bring another version of it.
    set(flags -std=c++17 -O3 -DCUB_WRAPPED_NAMESPACE=nacrei_wrapped)
    if(DEFINED ENV{CUDAHOSTCXX})
        list(APPEND flags "-ccbin=$ENV{CUDAHOSTCXX}")
    endif()
    if(CMAKE_BUILD_TYPE STREQUAL "Debug")
        list(APPEND flags -g -lineinfo)
    else()
        list(APPEND flags -DNDEBUG)
    endif()
    if(NACRE_WERROR)
        list(APPEND host -Werror)
        list(APPEND flags --Werror=all-warnings)
    endif()
    list(JOIN host "," host)
    set(${out} ${flags} -Xcompiler=${host} PARENT_SCOPE)
endfunction()

# Why `nvcc` cannot be used, empty where it can. The proof is a small file compiled as ours will be:
# it shows a host compiler that is missing, too new or without C++, as well as a broken toolkit.
# Beside it stands what the proof found: gencode flags, dropped architectures, the runtime library.
function(nacre_nvcc_unfit nvcc version out)
    if(version STREQUAL "")
        set(${out} "it does not run" PARENT_SCOPE)
        return()
    endif()
    if(version VERSION_LESS NACRE_CUDA_VERSION_MIN)
        set(${out} "version ${version} is older than ${NACRE_CUDA_VERSION_MIN}" PARENT_SCOPE)
        return()
    endif()

    nacre_gencode_flags("${nvcc}" gencode dropped)
    if(NOT gencode)
        set(${out} "it compiles for none of ${NACRE_CUDA_ARCHITECTURES}" PARENT_SCOPE)
        return()
    endif()

    # Where the toolkit lies, nvcc knows best: it may be a link or a script in /usr/bin.
    file(WRITE "${PROJECT_BINARY_DIR}/cuda/probe.cu"
        "#include <cuda_runtime.h>\n"
        "__global__ void probe(int *x) { *x = 1; }\n"
        "int main() { probe<<<1, 1>>>(nullptr); return cudaGetLastError() == cudaSuccess; }\n")
    execute_process(COMMAND "${nvcc}" --dryrun -c probe.cu -o probe.o
        WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/cuda" OUTPUT_QUIET ERROR_VARIABLE dryrun)
    set(top "")
    if(dryrun MATCHES "#\\$ TOP=([^\n]+)")
        file(REAL_PATH "${CMAKE_MATCH_1}" top)
    endif()
    find_library(cudart NAMES libcudart_static.a
        HINTS "${top}" PATH_SUFFIXES lib64 lib targets/${CMAKE_SYSTEM_PROCESSOR}-linux/lib
        NO_CACHE)
    if(NOT cudart)
        set(${out} "its toolkit (${top}) has no libcudart_static.a" PARENT_SCOPE)
        return()
    endif()
    file(REAL_PATH "${cudart}" cudart)

    nacre_nvcc_flags(flags)
    set(proof "${nvcc} ${version} ${flags} ${gencode}")
    if(NOT proof STREQUAL NACRE_CUDA_PROVED)
        execute_process(COMMAND "${nvcc}" ${flags} ${gencode} -c probe.cu -o probe.o
            WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/cuda"
            OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE result)
        if(NOT result EQUAL 0)
            string(STRIP "${text}" text)
            string(REPLACE "\n" "\n      " text "${text}")
            set(${out} "it cannot compile a small file for the GPU:\n      ${text}" PARENT_SCOPE)
            return()
        endif()
        set(NACRE_CUDA_PROVED "${proof}" CACHE INTERNAL "nvcc and flags that compiled a small file")
    endif()

    set(${out} "" PARENT_SCOPE)
    set(gencode "${gencode}" PARENT_SCOPE)
    set(dropped "${dropped}" PARENT_SCOPE)
    set(cudart "${cudart}" PARENT_SCOPE)
endfunction()

# The fit nvcc: the one that the user named (NACRE_NVCC, CUDACXX), else the newest.
function(nacre_find_cuda)
    set(named FALSE)
    if(NACRE_NVCC OR DEFINED ENV{CUDACXX})
        set(named TRUE)
    endif()
    set(best "")
    set(best_version 0)
    set(reasons "")
    nacre_nvcc_candidates(candidates)
    foreach(nvcc IN LISTS candidates)
        nacre_nvcc_version("${nvcc}" version)
        if(best AND NOT version VERSION_GREATER best_version)
            continue()
        endif()
        nacre_nvcc_unfit("${nvcc}" "${version}" unfit)
        if(unfit)
            string(APPEND reasons "\n    ${nvcc}: ${unfit}")
            continue()
        endif()
        set(best "${nvcc}")
        set(best_version "${version}")
        set(best_gencode "${gencode}")
        set(best_dropped "${dropped}")
        set(best_cudart "${cudart}")
        if(named)
            break()
        endif()
    endforeach()

    if(best)
        # Kept, so that a later configure without CUDACXX in its environment stays with this nvcc.
        set(NACRE_NVCC "${best}" CACHE FILEPATH "The nvcc that compiles the kernels" FORCE)
        set(NACRE_CUDA_VERSION ${best_version} PARENT_SCOPE)
        set(NACRE_CUDA_GENCODE "${best_gencode}" PARENT_SCOPE)
        set(NACRE_CUDART_STATIC "${best_cudart}" PARENT_SCOPE)
        set(NACRE_CUDA_FOUND TRUE PARENT_SCOPE)
        if(reasons)
            message(STATUS "CUDA: passed over:${reasons}")
        endif()
        if(best_dropped)
            list(JOIN best_dropped ", " best_dropped)
            message(STATUS "CUDA: nvcc ${best_version} does not know: ${best_dropped}; left out")
        endif()
        return()
    endif()

    if(NOT reasons)
        string(CONCAT reasons "\n    there is no nvcc: not in CUDACXX, not on PATH, "
            "not under /usr/local/cuda*, /opt/cuda, /usr/lib/cuda, /usr/lib/nvidia-cuda-toolkit")
    endif()
    string(CONCAT cure
        "Cure: install a CUDA toolkit, ${NACRE_CUDA_VERSION_MIN} or newer, and a C++ compiler that it "
        "supports; name them by CUDACXX=/path/to/nvcc and CUDAHOSTCXX=/path/to/g++ if need be.")
    if(NACRE_CUDA STREQUAL "ON")
        message(FATAL_ERROR "NACRE_CUDA=ON, but no fit nvcc was found:${reasons}\n${cure}")
    endif()
    message(STATUS "CUDA: not built, CPU only:${reasons}\n    ${cure}")
endfunction()

# Rules that compile .cu files to objects, and the custom target `name` that makes them all;
# the objects' paths go to `out`. INCLUDES and DEFINITIONS as in target_*.
function(nacre_cuda_objects name out)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;INCLUDES;DEFINITIONS")
    nacre_nvcc_flags(flags)
    list(APPEND flags ${NACRE_CUDA_GENCODE})
    if(NACRE_FORCE_TWO_STEP)
        list(APPEND flags -DNACRE_FORCE_TWO_STEP)
    endif()
    foreach(definition IN LISTS arg_DEFINITIONS)
        list(APPEND flags "-D${definition}")
    endforeach()
    foreach(include IN ITEMS "${PROJECT_SOURCE_DIR}/cmake/nvcc" LISTS arg_INCLUDES)
        list(APPEND flags "-I\"${include}\"")
    endforeach()
    # In a file that the objects depend on: make does not see that a command has changed.
    set(options "${CMAKE_CURRENT_BINARY_DIR}/${name}.options")
    list(JOIN flags "\n" flags)
    file(CONFIGURE OUTPUT "${options}" CONTENT "${flags}\n" @ONLY)

    set(objects "")
    foreach(source IN LISTS arg_SOURCES)
        get_filename_component(source "${source}" ABSOLUTE)
        get_filename_component(stem "${source}" NAME)
        set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.dir/${stem}.o")
        file(RELATIVE_PATH shown "${PROJECT_BINARY_DIR}" "${object}")
        add_custom_command(OUTPUT "${object}"
            COMMAND "${NACRE_NVCC}" --options-file "${options}" -MMD -MT "${object}"
                    -MF "${object}.d" -c "${source}" -o "${object}"
            DEPENDS "${source}" "${options}" "${NACRE_NVCC}"
            DEPFILE "${object}.d"
            COMMENT "Building CUDA object ${shown}"
            VERBATIM)
        list(APPEND objects "${object}")
    endforeach()
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${name}.dir")
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    add_custom_target(${name} DEPENDS ${objects})
    set(${out} "${objects}" PARENT_SCOPE)
endfunction()

set(NACRE_CUDA_FOUND FALSE)
set(NACRE_CUDA_LIBRARIES "")
string(TOUPPER "${NACRE_CUDA}" NACRE_CUDA)
if(NACRE_CUDA STREQUAL "OFF")
    message(STATUS "CUDA: not built (NACRE_CUDA=OFF)")
elseif(NACRE_CUDA MATCHES "^(AUTO|ON)$")
    nacre_find_cuda()
else()
    message(FATAL_ERROR "NACRE_CUDA: '${NACRE_CUDA}' is none of: AUTO ON OFF")
endif()

if(NACRE_CUDA_FOUND)
    # The headers beside nvcc: bin/nvcc and include/, also where a link stands in between.
    get_filename_component(NACRE_CUDA_INCLUDE_DIR "${NACRE_NVCC}" REALPATH)
    get_filename_component(NACRE_CUDA_INCLUDE_DIR "${NACRE_CUDA_INCLUDE_DIR}/../../include" ABSOLUTE)
    list(JOIN NACRE_CUDA_ARCHITECTURES " " shown)
    message(STATUS "CUDA: ${NACRE_CUDA_VERSION}, ${NACRE_NVCC}, architectures ${shown}")
    # Plain names, not imported targets: those would be unknown in the folder of a project that
    # takes this one in by add_subdirectory.
    set(NACRE_CUDA_LIBRARIES "$<BUILD_INTERFACE:${NACRE_CUDART_STATIC}>"
        "$<INSTALL_INTERFACE:nacre::cudart_static>" pthread dl rt)
endif()
