#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: the library that is shipped, for all architectures, does not grow unnoticed: it stays within
# the bytes recorded, which are below 60 MB. Method: the size of a stripped copy.
#
#   check_size.sh LIBRARY BYTES_MAX_FILE
set -eu

[ $# -eq 2 ] || { echo "usage: check_size.sh LIBRARY BYTES_MAX_FILE" >&2; exit 2; }
most=$(sed -n 's/^\([0-9]*\)$/\1/p' "$2")
[ "$most" -lt 60000000 ] || { echo "$2 records $most bytes; allowed: fewer than 60000000"; exit 1; }
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
strip -o "$copy" "$1"
bytes=$(wc -c < "$copy")
echo "$1: $bytes bytes stripped; recorded: at most $most"
[ "$bytes" -le "$most" ]
