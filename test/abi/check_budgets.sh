#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: no hot kernel needs more registers or spills more than when it was measured. Method: compiles
# the kernels of the widths (8,8) and (4,4) for sm_90 and compares what the compiler tells with what
# is recorded. A kernel that is not recorded, or recorded and not there, fails too.
#
#   check_budgets.sh NVCC TOP BUDGETS              compares
#   check_budgets.sh --update NVCC TOP BUDGETS     records
set -eu

update=0
[ "${1-}" != --update ] || { update=1; shift; }
[ $# -eq 3 ] || { echo "usage: check_budgets.sh [--update] NVCC TOP BUDGETS" >&2; exit 2; }
nvcc=$1 top=$2 budgets=$3
command -v c++filt > /dev/null || { echo "skipped: c++filt (binutils) is not here"; exit 77; }

# The compiler decides the numbers: they hold for the one that they were recorded with.
version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
recorded=$(sed -n 's/^# nvcc //p' "$budgets" 2> /dev/null || true)
if [ $update = 0 ] && [ "$version" != "$recorded" ]; then
    echo "skipped: nvcc is $version, and the budgets are of $recorded"
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in map_find map_insert map_erase map_grow map_partition map_retrieve map_erase_if map_match; do
    "$nvcc" -std=c++17 -O3 -DNDEBUG -DCUB_WRAPPED_NAMESPACE=nacrei_wrapped \
        -gencode=arch=compute_90,code=sm_90 -Xptxas=-v \
        -DNACRE_WIDTHS_8X4=0 -DNACRE_WIDTHS_8X0=0 -DNACRE_WIDTHS_4X8=0 -DNACRE_WIDTHS_4X0=0 \
        -I"$top/include" -I"$top" -c "$top/device/$source.cu" -o "$work/$source.o" \
        2>> "$work/log" || { cat "$work/log"; exit 1; }
done
c++filt < "$work/log" | awk '
    /Function properties for/ {
        name = $0
        sub(/.*Function properties for /, "", name)
        sub(/\(nacrei?_.*|\(unsigned.*/, "", name)  # the parameters
        gsub(/\(anonymous namespace\)::|void /, "", name)
    }
    /spill stores/ { spills = $5 + $9 }
    /Used [0-9]+ registers/ {
        match($0, /Used [0-9]+/)
        if (name !~ /nacrei_wrapped/) { # kernels of ours, not of CUB
            print name " | " substr($0, RSTART + 5, RLENGTH - 5) " | " spills
        }
    }' | sort > "$work/now"
[ -s "$work/now" ] || { echo "the compiler told nothing"; exit 1; }

if [ $update = 1 ]; then
    { echo "# Kernels on sm_90: registers, bytes spilled. Recorded by check_budgets.sh --update."
      echo "# nvcc $version"
      cat "$work/now"; } > "$budgets"
    exit 0
fi
grep -v '^#' "$budgets" > "$work/recorded"
awk -F ' [|] ' '
    NR == FNR { registers[$1] = $2; spills[$1] = $3; next }
    { seen[$1] = 1 }
    !($1 in registers) { print $1 ": not recorded"; bad = 1; next }
    $2 > registers[$1] + 0 || $3 > spills[$1] + 0 {
        print $1 ": " $2 " registers, " $3 " bytes spilled; recorded: " registers[$1] ", " spills[$1]
        bad = 1
    }
    END {
        for (name in registers) {
            if (!(name in seen)) { print name ": recorded, and not there"; bad = 1 }
        }
        exit bad
    }' "$work/recorded" "$work/now"
echo "$(wc -l < "$work/now") kernels within what is recorded"
