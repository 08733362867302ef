#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: libnacre.so needs the C library and the loader only, above all no libstdc++ and no libcuda.
# Method: its NEEDED entries against the names allowed (libdl, libpthread and librt belong to older
# C libraries).
#
#   check_needed.sh LIBRARY
set -eu

[ $# -eq 1 ] || { echo "usage: check_needed.sh LIBRARY" >&2; exit 2; }
command -v readelf >/dev/null || { echo "skipped: readelf (binutils) is not here"; exit 77; }

needed=$(LC_ALL=C readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p')
[ -n "$needed" ] || { echo "$1 needs nothing at all: is it a shared library?"; exit 1; }
status=0
for name in $needed; do
    case $name in
        libc.so.*|libm.so.*|libgcc_s.so.*|ld-linux*.so.*|libdl.so.*|libpthread.so.*|librt.so.*)
            echo "needs $name" ;;
        *)
            echo "needs $name, which is not allowed"
            status=1 ;;
    esac
done
exit $status
