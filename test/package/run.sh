#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: every way of consuming the library works, for programs in C only, linked by the C
# compiler, and for one with kernels of its own.
# Method: the build is installed to a temporary prefix, and each case builds and runs a small program
# against it as a user would.
#
#   run.sh BUILD_DIR SOURCE_DIR [CASE...]
#
# Exits 0 when no case failed, 77 when every one was skipped, else 1. The compiler is CC, or cc, and
# NACRE_NVCC that of kernels (empty: none). NACRE_CUDA (default OFF, for the time it takes) goes to the
# build that add_subdirectory makes.
set -eu

all_cases="find_package cuda_view add_subdirectory pkg_config_shared pkg_config_static dlopen ctypes"
[ $# -ge 2 ] || { echo "usage: run.sh BUILD_DIR SOURCE_DIR [CASE...]" >&2; exit 2; }
build=$(cd "$1" && pwd)
source=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- $all_cases

here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
warnings="-std=c11 -Wall -Wextra -Wpedantic -Werror"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

# What CI sets for this project must not reach the consumers.
unset CFLAGS LDFLAGS LD_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH DESTDIR || :

skip() {
    echo "skipped: $*"
    return 77
}

# Runs a consumer; it must say OK and must not need libstdc++ or a CUDA library.
run_consumer() {
    if LC_ALL=C readelf -d "$1" | grep -E 'NEEDED.*(stdc\+\+|libcu)'; then
        echo "$1 needs more than C"
        return 1
    fi
    output=$(LD_LIBRARY_PATH=${2:-} "$1") || return 1
    echo "$(basename "$1"): $output"
    [ "$output" = OK ]
}

build_consumers() { # FOLDER OPTION...
    consumers=$work/$1
    folder=$here/$1
    shift
    cmake -S "$folder" -B "$consumers" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_FLAGS="-Wall -Wextra -Wpedantic -Werror" "$@" > "$work/log" 2>&1 &&
        cmake --build "$consumers" --parallel 2 >> "$work/log" 2>&1 || {
        cat "$work/log"
        return 1
    }
    run_consumer "$consumers/consumer_shared" && run_consumer "$consumers/consumer_static"
}

case_find_package() {
    build_consumers find_package -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
}

# Kernels with a view of a map, against the installed headers: it compiles and links.
case_cuda_view() {
    [ -n "${NACRE_NVCC:-}" ] || { skip "there is no fit nvcc"; return; }
    cmake -S "$here/cuda_view" -B "$work/cuda_view" -DCMAKE_CUDA_COMPILER="$NACRE_NVCC" \
        -DCMAKE_CUDA_ARCHITECTURES=90 -DCMAKE_CUDA_FLAGS=--Werror=all-warnings \
        -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF \
        -DNACRE_EXAMPLES_DIR="$source/examples" > "$work/log" 2>&1 &&
        cmake --build "$work/cuda_view" >> "$work/log" 2>&1 || {
        cat "$work/log"
        return 1
    }
}

# The folder of NVTX's headers, which the build of add_subdirectory alone is given.
nvtx_include() {
    for folder in "$(dirname "${NACRE_NVCC:-/}")/../include" /usr/local/cuda/include; do
        [ ! -f "$folder/nvtx3/nvToolsExt.h" ] || { echo "$folder"; return; }
    done
}

case_add_subdirectory() {
    set -- add_subdirectory -DNACRE_SOURCE_DIR="$source" -DNACRE_CUDA="${NACRE_CUDA:-OFF}"
    nvtx=$(nvtx_include)
    if [ -z "$nvtx" ]; then
        echo "without NACRE_NVTX: there is no nvtx3/nvToolsExt.h"
        build_consumers "$@"
        return
    fi
    build_consumers "$@" -DNACRE_NVTX=ON -DNACRE_NVTX_INCLUDE="$nvtx" &&
        nm "$consumers/consumer_static" | grep -qi ' t nacrei_range_begin$'
}

have_pkg_config() {
    command -v pkg-config > /dev/null || { skip "there is no pkg-config"; return; }
    libdir=$(dirname "$(find "$prefix" -name libnacre.so)")
    export PKG_CONFIG_PATH="$libdir/pkgconfig"
}

case_pkg_config_shared() {
    have_pkg_config || return
    # The flags are words, so they stay unquoted here and below.
    "$cc" $warnings "$here/consumer.c" -o "$work/consumer" $(pkg-config --cflags --libs nacre) &&
        run_consumer "$work/consumer" "$libdir"
}

case_pkg_config_static() {
    have_pkg_config || return
    # With both libraries in one folder the linker would take the shared one for -lnacre.
    libs=$(pkg-config --static --libs nacre | sed 's/-lnacre/-l:libnacre.a/')
    "$cc" $warnings "$here/consumer.c" -o "$work/consumer" $(pkg-config --cflags nacre) $libs &&
        run_consumer "$work/consumer"
}

case_dlopen() {
    "$cc" $warnings -I"$prefix/include" "$here/dlopen_smoke.c" -o "$work/dlopen_smoke" -ldl &&
        "$work/dlopen_smoke" "$(find "$prefix" -name libnacre.so)"
}

case_ctypes() {
    command -v python3 > /dev/null || { skip "there is no python3"; return; }
    "$cc" $warnings -I"$prefix/include" "$here/struct_sizes.c" -o "$work/struct_sizes" &&
        "$work/struct_sizes" > "$work/sizes" &&
        python3 "$here/ctypes_smoke.py" "$(find "$prefix" -name libnacre.so)" < "$work/sizes"
}

cmake --install "$build" --prefix "$prefix" > "$work/install.log" 2>&1 || {
    cat "$work/install.log"
    exit 1
}

failed=0
skipped=0
for name; do
    status=0
    "case_$name" || status=$?
    case $status in
        0) echo "passed: $name" ;;
        77) skipped=$((skipped + 1)) ;;
        *) echo "failed: $name"; failed=$((failed + 1)) ;;
    esac
done
[ $failed -eq 0 ] || exit 1
[ $skipped -lt $# ] || exit 77
