#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The benchmark suite cannot rot: its smallest profile runs on the CPU, every case but the one that
# has to fail goes well, and the report and the comparison of two runs say what is so.
#
#     test_suite.sh BENCH_PROGRAM PYTHON REPORT.PY      (none: it is not here)
set -eu
bench=$1
python=$2
report=$3
if [ "$bench" = none ]; then
    echo "SKIPPED: the suite is not built: no C++ compiler or no Google Benchmark"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}

# All cases; one of them looks up keys that are not there and takes them for found.
status=0
"$bench" --profile=smoke --benchmark_out="$folder/all.json" > "$folder/all.txt" || status=$?
cat "$folder/all.txt"
[ $status -eq 1 ] || fail "a wrong answer gave exit status $status"
[ "$(grep -c 'FAILED' "$folder/all.txt")" -eq 1 ] || fail "not exactly one case failed"
grep -q 'wrong_answer .*FAILED: WRONG' "$folder/all.txt" || fail "another case failed"
"$bench" --profile=smoke --benchmark_filter='/(insert|erase)/cpu/k8v8/load=0.[589]0$' \
    --benchmark_out="$folder/some.json" > /dev/null || fail "some cases alone failed"
status=0
"$bench" --profile=smoke --benchmark_filter=no_such_case > /dev/null 2>&1 || status=$?
[ $status -eq 1 ] || fail "a filter that matches nothing gave exit status $status"
status=0
"$bench" --profile=smoke '--benchmark_filter=[' > /dev/null 2> "$folder/bad.txt" || status=$?
[ $status -eq 1 ] || fail "a filter that is no regular expression gave exit status $status"
grep -q '^\[ is not a regular expression: ' "$folder/bad.txt" ||
    fail "its message: $(cat "$folder/bad.txt")"

if [ "$python" = none ]; then
    echo "SKIPPED: the report: there is no Python 3"
    exit 0
fi
mkdir "$folder/out"
touch "$folder/out/growth_cuda.png" "$folder/out/other.png"
cat > "$folder/cpu_duel.txt" << 'EOF'
10000000 keys of 8 bytes, values of 8; medians of 3; ratios to the first line
one thread to boost: find, hits               1.70 x  >= 1.8  NOT MET
EOF
"$python" "$report" "$folder/all.json" "$folder/out"
# A row for each case of a map or an array; limits have another table, and the judge has no rate.
cases=$(grep -E '^\[.*\] (map|array)/' "$folder/all.txt" | grep -vc 'map/self/')
rows=$(grep -cE '^\| `[a-z_]*/(k[48]v[048]|b[0-9]+)/' "$folder/out/report.md")
[ "$rows" -eq "$cases" ] || fail "$rows rows of a report on $cases cases"
grep -q '^| `map/self/cpu/k8v8/wrong_answer` | FAILED: WRONG' "$folder/out/report.md" ||
    fail "the report keeps quiet about the case that failed"

grep -qE '^- compiler: (gcc|[A-Za-z ]*[Cc]lang) ?[0-9]' "$folder/out/report.md" ||
    fail "the compiler has no name: $(grep '^- compiler' "$folder/out/report.md")"
grep -qE '^\| `map/growth/[^|]*\| [0-9]' "$folder/out/report.md" || fail "no memory of growth"
grep -qE '^\| auto, 8 bytes( \| [0-9.]+){6} \|$' "$folder/out/report.md" ||
    fail "no table of compaction"
grep -q '^10000000 keys of 8 bytes' "$folder/out/report.md" || fail "the duel is left out"
grep -qF '| cpu_duel, 10 M keys | one thread to boost: find, hits | 1.7 | >= 1.8 | **NOT MET** |' \
    "$folder/out/report.md" || fail "the duel's target is not among the targets"
grep -qE '^- commit: [^ ]' "$folder/out/report.md" || fail "the report does not name the commit"
[ ! -e "$folder/out/growth_cuda.png" ] || fail "a picture of an earlier run is kept"
[ -e "$folder/out/other.png" ] || fail "a picture of somebody else is gone"
if "$python" -c 'import matplotlib' 2> /dev/null; then
    for picture in rate ratio growth compaction; do
        [ -s "$folder/out/${picture}_cpu.png" ] || fail "there is no ${picture}_cpu.png"
        grep -q "(${picture}_cpu.png)" "$folder/out/report.md" || fail "$picture is not shown"
    done
else
    grep -q 'No plots: they need matplotlib' "$folder/out/report.md" || fail "no word on plots"
fi

# Against itself everything is noise; at twice the rate everything is better, at half worse; on a
# machine that is twice as fast, limits and all, nothing has changed; and twice the rate is noise on
# a machine that is at times four times as fast as at others.
"$python" - "$folder" << 'EOF'
import json, sys
folder = sys.argv[1]
data = json.load(open(folder + "/some.json"))
def write(name, rate, ratio):
    for case in data["benchmarks"]:
        case["spread"] = 0.01
        case["keys/s"] *= rate
        case["ratio"] *= ratio
        case["limit:update"] = 1e8
    json.dump(data, open(folder + "/" + name, "w"))
write("steady.json", 1, 1)
write("machine.json", 2, 1)
write("twice.json", 1, 2)
for i, case in enumerate(data["benchmarks"]):
    case["limit:update"] = 1e8 * (1 + 3 * (i % 2))
json.dump(data, open(folder + "/restless.json", "w"))
EOF
summary() { "$python" "$report" --compare "$folder/$1" "$folder/$2" | tail -n 1; }
count=$("$python" -c "import json; print(len(json.load(open('$folder/some.json'))['benchmarks']))")
[ "$(summary steady.json steady.json)" = "$count noise" ] || fail "a run differs from itself"
[ "$(summary steady.json machine.json)" = "$count noise" ] ||
    fail "a faster machine is told as better"
[ "$(summary steady.json twice.json)" = "$count better" ] || fail "twice the rate is not better"
[ "$(summary twice.json steady.json)" = "$count worse" ] || fail "half the rate is not worse"
[ "$(summary steady.json restless.json)" = "$count noise" ] ||
    fail "what may be the machine is told as better"
summary some.json all.json | grep -q 'new' || fail "cases that are new are not told"
