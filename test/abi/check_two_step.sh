#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: code for GPUs below compute capability 9.0, and code that NACRE_FORCE_TWO_STEP makes like it,
# compares and swaps no 16 bytes, nor traps in place of that; code for 9.0 does it in one step.
# Method: the PTX of the kernels of (8,8) that insert and erase.
#
#   check_two_step.sh NVCC TOP
set -eu

[ $# -eq 2 ] || { echo "usage: check_two_step.sh NVCC TOP" >&2; exit 2; }
nvcc=$1 top=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for case in "75 0" "90 0" "90 1"; do
    arch=${case% *} forced=${case#* }
    force=$([ "$forced" = 0 ] || echo -DNACRE_FORCE_TWO_STEP)
    : > "$work/ptx"
    for source in map_insert map_erase; do
        "$nvcc" -std=c++17 -O3 -DNDEBUG -arch="compute_$arch" -ptx $force -DNACRE_WIDTHS_8X4=0 \
            -DNACRE_WIDTHS_8X0=0 -DNACRE_WIDTHS_4X8=0 -DNACRE_WIDTHS_4X4=0 -DNACRE_WIDTHS_4X0=0 \
            -I"$top/include" -I"$top" "$top/device/$source.cu" -o "$work/$source.ptx"
        cat "$work/$source.ptx" >> "$work/ptx"
    done
    wide=$(grep -c 'cas\.b128' "$work/ptx" || :)
    narrow=$(grep -c 'cas\.b64' "$work/ptx" || :)
    traps=$(grep -c 'trap' "$work/ptx" || :)
    echo "compute_$arch, forced $forced: $wide swaps of 16 bytes, $narrow of 8, $traps traps"
    if [ "$arch$forced" = 900 ]; then
        [ "$wide" -gt 0 ]
    else
        [ "$wide" -eq 0 ]
        [ "$narrow" -gt 0 ]
    fi
    [ "$traps" -eq 0 ]
done
