#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: the first C program in README.md is whole and prints what the README says. Method: it is cut
# out, compiled by the C compiler alone against the build, run, and compared.
#
#   test_readme.sh BUILD_DIR
set -eu

[ $# -eq 1 ] || { echo "usage: test_readme.sh BUILD_DIR" >&2; exit 2; }
build=$1
repository=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# block LANGUAGE: the first code block of that language.
block() {
    awk -v fence='```'"$1" '
        inside && $0 == "```" { exit }
        inside { print }
        $0 == fence { inside = 1 }' "$repository/README.md"
}

block c >"$work/program.c"
block text >"$work/expected"
for part in program.c expected; do
    [ -s "$work/$part" ] || { echo "README.md has no block for $part"; exit 1; }
done

${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$repository/include" "$work/program.c" \
    -o "$work/program" -L "$build/lib" -lnacre -Wl,-rpath,"$build/lib"
"$work/program" >"$work/printed"
diff "$work/expected" "$work/printed"
echo "the program of README.md prints what it should:"
cat "$work/printed"
