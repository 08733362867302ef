#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: a kernel that may be launched before the one before it has ended touches no memory until it
# has waited for that. Method: the PTX for 9.0 of the files that launch so (nacrei_launch_batch), all
# of whose kernels are launched so: none accesses memory, parameters excepted, before its
# griddepcontrol.wait, and each has one.
#
#   check_early_launch.sh NVCC TOP
set -eu

[ $# -eq 2 ] || { echo "usage: check_early_launch.sh NVCC TOP" >&2; exit 2; }
nvcc=$1 top=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in $(cd "$top/device" && grep -l 'nacrei_launch_batch' *.cu); do
    "$nvcc" -std=c++17 -O3 -DNDEBUG -DCUB_WRAPPED_NAMESPACE=nacrei_wrapped \
        -arch=compute_90 -ptx -DNACRE_WIDTHS_8X4=0 \
        -DNACRE_WIDTHS_8X0=0 -DNACRE_WIDTHS_4X8=0 -DNACRE_WIDTHS_4X0=0 \
        -I"$top/include" -I"$top" "$top/device/$source" -o "$work/$source.ptx"
done
awk '
    /\.entry / { name = $NF; waits = 0; entries++ }
    /griddepcontrol\.wait/ { waits = 1 }
    /^[ \t]*(@%?!?[a-z0-9]+[ \t]+)?(ld|st|atom|red|cp)\./ && !/ld\.param/ && name != "" && !waits {
        print name " does before it waits: " $0
        name = ""
        bad = 1
    }
    /^}/ && name != "" {
        if (!waits) { print name " does not wait"; bad = 1 }
        name = ""
    }
    END {
        print entries + 0 " kernels that may be early"
        exit bad || entries == 0
    }' "$work"/*.ptx
