#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: no kernel asks for more blocks on a multiprocessor than the oldest GPU has threads for: the
# compiler would drop the bound. Method: the kernels that ask, of (8,8), compiled for sm_75; a warning
# is a failure.
#
#   check_launch_bounds.sh NVCC TOP
set -eu

[ $# -eq 2 ] || { echo "usage: check_launch_bounds.sh NVCC TOP" >&2; exit 2; }
nvcc=$1 top=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in map_grow map_retrieve; do
    "$nvcc" -std=c++17 -O3 -DNDEBUG -DCUB_WRAPPED_NAMESPACE=nacrei_wrapped \
        -gencode=arch=compute_75,code=sm_75 -DNACRE_WIDTHS_8X4=0 \
        -DNACRE_WIDTHS_8X0=0 -DNACRE_WIDTHS_4X8=0 -DNACRE_WIDTHS_4X4=0 -DNACRE_WIDTHS_4X0=0 \
        -I"$top/include" -I"$top" -c "$top/device/$source.cu" -o "$work/$source.o" \
        >> "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
done
cat "$work/log"
! grep -q 'warning' "$work/log"
