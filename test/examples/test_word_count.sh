#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Goal: word_count's whole table is right, and bad input yields a message, a status and no table.
# Method: byte for byte against tr, sort and uniq, on its default text and on odd inputs.
#
#   test_word_count.sh BUILD_DIR [cpu|auto|cuda ...]     (cpu and auto unless given)
set -eu

[ $# -ge 1 ] || { echo "usage: test_word_count.sh BUILD_DIR [DEVICE ...]" >&2; exit 2; }
program=$1/examples/word_count
shift
[ -x "$program" ] || { echo "there is no $program"; exit 1; }
[ $# -gt 0 ] || set -- cpu auto
devices=$*
repository=$(cd "$(dirname "$0")/../.." && pwd)
licences=/usr/share/common-licenses

export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir in
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# The reference; a word ends with its file.
count_by_tools() {
    for file in "$@"; do
        cat "$file"
        echo
    done | tr -cs 'A-Za-z' '\n' | tr 'A-Z' 'a-z' | { grep . || true; } | sort | uniq -c |
        sort -k1,1nr -k2
}

# compare NAME EXPECTED ARGUMENT...: standard input is handed on.
compare() {
    name=$1
    expected=$2
    shift 2
    if ! "$program" --device "$device" "$@" >table 2>messages; then
        fail "$device, $name: $(tail -n 1 messages)"
    elif ! cmp "$expected" table; then
        fail "$device, $name"
    else
        echo "$device, $name: $(wc -l <table) lines, as expected"
    fi
}

# refuse NAME STATUS MESSAGE ARGUMENT...: it ends so, and prints no table.
refuse() {
    name=$1
    status=$2
    message=$3
    shift 3
    got=0
    "$program" "$@" >table 2>messages </dev/null || got=$?
    if [ $got -ne "$status" ] || [ -s table ] || ! grep -q -e "$message" messages; then
        fail "$name: status $got, $(wc -l <table) lines, $(tail -n 1 messages)"
    else
        echo "$name: refused with status $got"
    fi
}

# ---- inputs ----

: >in/empty
printf '123 456\n\n--\n' >in/no_word
printf 'one two\nTwo three' >in/no_newline
printf 'edge' >in/one_word
printf 'Na\303\257ve\0caf\303\251 \377\376word\0word\r\nWORD_word' >in/bytes
awk 'BEGIN {
    word = "abcdefghijklm"
    for (i = 0; i < 17; i++) word = word word
    printf "x %s y", word
}' >in/giant_word

# Three million words of random length: batches and read blocks end within words.
awk 'BEGIN {
    srand(20231)
    for (i = 0; i < 3000000; i++) {
        n = int(4 * rand()) + 1
        x = int(456976 * rand())
        word = ""
        for (j = 0; j < n; j++) {
            word = word sprintf("%c", 97 + x % 26)
            x = int(x / 26)
        }
        printf "%s%s", word, i % 11 ? " " : "\n"
    }
}' >in/many_words

# Two words of one FNV-1a hash; in pieces here, since this script is part of the default text.
printf '%s%s %s%s\n' dembbbcf dmgjdgch aigpdhom nekfnkgd >in/collision

mkdir -p folder/sub/deep folder/.hidden
cp in/no_newline folder/a
cp in/one_word folder/sub/b
cp in/one_word folder/sub/deep/c
cp in/one_word folder/.hidden/d
cp in/one_word folder/.e
printf 'not\0text' >folder/f
ln -s a folder/g
ln -s sub folder/h

# What the default is, said again.
for name in CHANGELOG.md CMakeLists.txt LICENSE README.md \
    bench cmake device examples include lib test; do
    echo "$repository/$name"
done >default_names
[ ! -d $licences ] || echo $licences >>default_names
while read -r name; do
    find "$name" -name '.?*' -prune -o -type f -print
done <default_names | while read -r file; do
    [ "$(head -c 8192 "$file" | tr -d -c '\000' | wc -c)" -ne 0 ] || echo "$file"
done >default_files

# ---- expected tables ----

for input in empty no_word no_newline one_word bytes giant_word many_words; do
    count_by_tools in/$input >expected_$input
done
count_by_tools in/one_word in/one_word in/no_newline >expected_together
count_by_tools folder/a folder/sub/b folder/sub/deep/c >expected_folder
# shellcheck disable=SC2046 # no name there has a blank
count_by_tools $(cat default_files) >expected_default
head -n 20 expected_default >expected_default_20
head -n 1000 expected_many_words >expected_many_words_1000
: >expected_nothing

# ---- comparisons ----

for device in $devices; do
    compare "the default" expected_default --top 0
    compare "the default, first 20" expected_default_20
    for input in empty no_word no_newline one_word bytes giant_word many_words; do
        compare "$input" expected_$input --top 0 in/$input
    done
    compare "ties cut by the alphabet" expected_many_words_1000 --top 1000 in/many_words
    compare "more asked for than there is" expected_no_newline \
        --top 18446744073709551615 in/no_newline
    compare "three files, a word does not go on in the next" expected_together \
        --top 0 in/one_word in/one_word in/no_newline
    compare "a folder" expected_folder --top 0 folder
    compare "standard input" expected_many_words --top 0 - <in/many_words
    compare "standard input, empty" expected_nothing - </dev/null
    compare "standard input among files" expected_together \
        --top 0 in/one_word - in/one_word <in/no_newline
    mkfifo pipe
    cat in/many_words >pipe &
    compare "a pipe" expected_many_words --top 0 pipe
    wait
    rm pipe
    refuse "$device, two words of one hash" 1 'have the same hash' --device "$device" in/collision
done

refuse "a file that is not there" 1 'in/nowhere: No such file' in/one_word in/nowhere
if [ "$(id -u)" -ne 0 ]; then
    cp in/one_word in/locked
    chmod 000 in/locked
    refuse "a file without permission" 1 'in/locked: Permission denied' in/one_word in/locked
    mkdir folder/locked
    chmod 000 folder/locked
    refuse "a folder without permission" 1 'folder/locked: Permission denied' folder
    chmod 700 folder/locked
fi
refuse "an unknown device" 2 'auto, cpu and cuda' --device tpu in/one_word
refuse "an unknown option" 2 'word_count --help' --bottom 3
refuse "a top that is no number" 2 'top 3x' --top 3x
refuse "a negative top" 2 'top -1' --top -1
if [ -c /dev/full ]; then
    got=0
    "$program" --device cpu in/one_word >/dev/full 2>messages || got=$?
    [ $got -eq 1 ] || fail "a full disk: status $got"
fi
"$program" --help | grep -q -e '--top N' || fail "--help"

[ $failures -eq 0 ] || { echo "$failures failures"; exit 1; }
