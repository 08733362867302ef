#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: no symbol appears in or vanishes from libnacre.so unnoticed. Method: its dynamic symbols
# against the checked-in, sorted list.
#
#   check_symbols.sh [--update] LIBRARY LIST
set -eu

update=false
if [ "${1:-}" = --update ]; then
    update=true
    shift
fi
[ $# -eq 2 ] || { echo "usage: check_symbols.sh [--update] LIBRARY LIST" >&2; exit 2; }
library=$1
list=$2
command -v nm >/dev/null || { echo "skipped: nm (binutils) is not here"; exit 77; }

export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$library" > "$work/nm"
awk '{ sub(/@.*/, "", $NF); print $NF }' "$work/nm" | sort > "$work/now"

if $update; then
    cp "$work/now" "$list"
    echo "$(wc -l < "$list") symbols written to $list"
    exit 0
fi
if [ ! -e "$list" ]; then
    echo "there is no $list; create it by: $0 --update $library $list"
    exit 1
fi

comm -13 "$list" "$work/now" | sed 's/^/new:  /' > "$work/differences"
comm -23 "$list" "$work/now" | sed 's/^/gone: /' >> "$work/differences"
if [ -s "$work/differences" ]; then
    cat "$work/differences"
    echo "if this is meant: $0 --update $library $list"
    exit 1
fi
echo "$(wc -l < "$list") symbols, as listed"
