#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the suite's JSON into a report, or compares two runs.

    report.py RESULTS.json [FOLDER]     report.md and, where matplotlib is, PNG plots in FOLDER
                                        (default: the folder of RESULTS.json); a cpu_duel.txt
                                        beside RESULTS.json, cpu_duel's output, becomes part of it
    report.py --compare OLD.json NEW.json    per case: better, worse, or noise; a limit: machine

Only Python 3.8's own library is needed; without matplotlib the report has no pictures and says so.
"""

import json
import os
import re
import statistics
import sys

import plots

LIMIT_NAMES = {
    "copy": "C, copy bandwidth",
    "read": "G, random reads",
    "update": "A, random updates",
}
SIDES = ("cpu", "cuda")
NOISE_MIN = 0.03  # less than this is never told as a change


class Case:
    def __init__(self, entry):
        # Google Benchmark appends how it was run: /iterations:5/manual_time.
        self.name = re.sub(r"/iterations:.*$", "", entry["name"])
        self.counters = {k: v for k, v in entry.items() if isinstance(v, (int, float))}
        self.error = entry.get("error_message") or entry.get("skip_message") or ""
        parts = self.name.split("/")
        self.kind = parts[0]
        self.operation, self.side = parts[1], parts[2]
        self.widths = parts[3] if len(parts) > 3 else ""
        self.rest = "/".join(parts[4:])

    def get(self, counter, default=None):
        return self.counters.get(counter, default)

    def limit(self):
        """The limit that bounds the case, and its rate."""
        for key, value in self.counters.items():
            if key.startswith("limit:"):
                return key[len("limit:") :], value
        return None, None

    def rate(self):
        """What is compared: the more, the better."""
        for counter in ("keys/s", "bytes/s", "accesses/s"):
            if counter in self.counters:
                return self.counters[counter]
        return None

    def curve(self, what):
        points = []
        while "curve:%02d:%s" % (len(points), what) in self.counters:
            points.append(self.counters["curve:%02d:%s" % (len(points), what)])
        return points

    def targets(self):
        """(counter, sign, target, met) of each target."""
        for key, target in sorted(self.counters.items()):
            bound, _, counter = key.partition(":")
            if bound in ("min", "max") and counter in self.counters:
                value = self.counters[counter]
                met = value >= target if bound == "min" else value <= target
                yield counter, ">=" if bound == "min" else "<=", value, target, met


class Results:
    def __init__(self, path):
        with open(path) as file:
            data = json.load(file)
        self.context = data["context"]
        self.cases = [Case(entry) for entry in data["benchmarks"]]
        self.by_name = {case.name: case for case in self.cases}
        self.sides = [side for side in SIDES if any(case.side == side for case in self.cases)]

    def drift(self, side, which):
        """
        How much the machine moves from case to case: the distance between the quartiles of what is
        one limit over tables of one size, measured beside each case, as a share of its median.
        """
        tables = {}
        for case in self.cases:
            if case.side == side and which and case.limit()[0] == which:
                table = (case.widths, case.get("slots"))
                tables.setdefault(table, []).append(case.limit()[1])
        moves = [
            limit / statistics.median(limits)
            for limits in tables.values()
            if len(limits) > 2
            for limit in limits
        ]
        if len(moves) < 2:
            return 0
        below, _, above = statistics.quantiles(moves, n=4, method="inclusive")
        return above - below


# ---- numbers as text ----------------------------------------------------------------------------


def human(value, unit=""):
    if value is None:
        return ""
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if abs(value) >= scale:
            return "%.3g %s%s" % (value / scale, prefix, unit)
    return "%.3g %s" % (value, unit)


def ratio_text(value):
    return "" if value is None else "%.2f" % value


def verdict(case):
    texts = []
    for counter, sign, value, target, met in case.targets():
        shown = "" if counter == "ratio" else "%s %s, " % (counter, human(value).strip())
        texts.append(
            "%s%s %s: %s" % (shown, sign, human(target).strip(), "met" if met else "**NOT MET**")
        )
    return "; ".join(texts)


# ---- the report ---------------------------------------------------------------------------------


def write_head(results, out):
    context = results.context
    out.write("# Benchmark report\n\n")
    for side in results.sides:
        out.write("- %s: %s\n" % (side, context.get(side, "unknown")))
    for name in ("processor", "compiler", "profile", "commit", "driver", "toolkit", "date"):
        if context.get(name):
            out.write("- %s: %s\n" % (name, context[name]))
    out.write(
        "\nMedians of the rounds after a warm-up; *spread* is the distance between the quartiles, "
        "as a share\nof the median. *Ratio* is to the limit that bounds the case, measured beside "
        "it over a table of the\nsame size: C copy bandwidth, G random reads, A random updates. "
        "*Predicted* is what the pairs visited\nallow by that limit; the picture shows it where "
        "the limit kept within %d %% over the run. Targets in\nkeys per second and microseconds "
        "are for an H200.\n\n" % (100 * plots.STEADY)
    )


def write_limits(results, out):
    limits = [case for case in results.cases if case.kind == "limit" and not case.error]
    if limits:
        out.write(
            "## Limits\n\n| limit | device | table | rate | spread |\n|---|---|---|---|---|\n"
        )
        for case in limits:
            unit = "B/s" if case.operation == "copy" else "/s"
            out.write(
                "| %s | %s | %s | %s | %.1f %% |\n"
                % (
                    LIMIT_NAMES[case.operation],
                    case.side,
                    human(case.get("table_bytes"), "B"),
                    human(case.rate(), unit),
                    100 * case.get("spread", 0),
                )
            )
        out.write("\n")


def read_duel(path):
    """What cpu_duel said; nothing where it did not run."""
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        return file.read()


def duel_targets(duel):
    """(keys, what, sign, value, target, met) of each target that cpu_duel's output judges."""
    keys = ""
    for line in duel.splitlines():
        head = re.match(r"(\d+) keys of ", line)
        keys = human(int(head.group(1))).strip() if head else keys
        found = re.fullmatch(r"(.*?) +([\d.]+) x +>= +([\d.]+) +(met|NOT MET)", line)
        if found:
            what, value, target, word = found.groups()
            yield keys, what, ">=", float(value), float(target), word == "met"


def write_targets(results, duel, out):
    judged = [("`%s`" % case.name, *target) for case in results.cases for target in case.targets()]
    judged += [("cpu_duel, %s keys" % keys, *target) for keys, *target in duel_targets(duel)]
    if judged:
        out.write(
            "## Targets: %d of %d met\n\n| case | what | is | target | |\n|---|---|---|---|---|\n"
            % (sum(met for *_, met in judged), len(judged))
        )
        for case, what, sign, value, target, met in judged:
            out.write(
                "| %s | %s | %s | %s %s | %s |\n"
                % (
                    case,
                    what,
                    human(value).strip(),
                    sign,
                    human(target).strip(),
                    "met" if met else "**NOT MET**",
                )
            )
        out.write("\n")


def write_cases(results, side, out):
    out.write("## Cases: %s\n\n" % side)
    out.write(
        "| case | load | keys/s | bytes/s | ratio | of | spread | pairs | predicted | beside |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
    )
    for case in results.cases:
        if case.side != side or case.kind == "limit" or case.error or case.rate() is None:
            continue
        which, _ = case.limit()
        letter = LIMIT_NAMES[which][0] if which else ""
        beside = [verdict(case)] if verdict(case) else []
        for counter, form in (
            ("us/call", "%.2f us a call"),
            ("of_fresh", "%.2f of a fresh map"),
            ("of_batch", "%.2f of the batch call"),
            ("longest", "longest batch %.1f x the median"),
            ("memory_peak", "memory peak %.2f of the end's"),
            ("mean_load", "mean load %.2f"),
        ):
            if counter in case.counters and counter not in verdict(case):
                beside.append(form % case.get(counter))
        out.write(
            "| `%s/%s/%s` | %s | %s | %s | %s | %s | %.1f %% | %s | %s | %s |\n"
            % (
                case.operation,
                case.widths,
                case.rest,
                ratio_text(case.get("load")),
                human(case.get("keys/s")),
                human(case.get("bytes/s"), "B"),
                ratio_text(case.get("ratio")),
                letter,
                100 * case.get("spread", 0),
                ratio_text(case.get("pairs")),
                human(case.get("predicted")),
                "; ".join(beside),
            )
        )
    out.write("\n")


def write_table(out, rows, columns, head):
    """rows: name -> column -> ratio."""
    out.write("| %s | %s |\n" % (head, " | ".join(columns)))
    out.write("|---|%s\n" % ("---|" * len(columns)))
    for name, ratios in rows.items():
        out.write(
            "| %s | %s |\n" % (name, " | ".join(ratio_text(ratios.get(at)) for at in columns))
        )
    out.write("\n")


def write_compaction(results, side, out):
    arrays, maps = {}, {}
    for case in results.cases:
        found = re.fullmatch(r"(kept|load)=([0-9.]+)(?:/algorithm=(.*))?", case.rest)
        if case.side != side or case.error or not found:
            continue
        algorithm, ratio = found.group(3) or "auto", case.get("ratio")
        if case.operation == "compact":
            row = "%s, %s bytes" % (algorithm, case.widths[1:])
            arrays.setdefault(row, {})[found.group(2)] = ratio
        elif case.operation == "retrieve" and case.widths == "k8v8":
            maps.setdefault(algorithm, {})[found.group(2)] = ratio
    if len(maps) > 1:
        out.write("## Retrieving 8 + 8 bytes: ratio to C, %s\n\n" % side)
        loads = sorted({load for ratios in maps.values() for load in ratios})
        loads = [load for load in loads if all(load in ratios for ratios in maps.values())]
        write_table(out, maps, loads, "algorithm; load")
    if arrays:
        out.write("## Compaction of arrays with a flag byte an item: ratio to C, %s\n\n" % side)
        shares = sorted({share for ratios in arrays.values() for share in ratios})
        write_table(out, arrays, shares, "algorithm, items; share kept")


def write_memory(results, out):
    grown = [case for case in results.cases if case.operation == "growth" and not case.error]
    if grown:
        out.write(
            "## Memory of a map that grows\n\n| case | keys | at the end | peak | bytes a key |\n"
            "|---|---|---|---|---|\n"
        )
        for case in grown:
            end, keys = case.get("memory_bytes"), case.get("keys")
            out.write(
                "| `%s` | %s | %s | %.2f x | %.1f |\n"
                % (case.name, human(keys), human(end, "B"), case.get("memory_peak"), end / keys)
            )
        out.write("\n")


def write_duel(duel, out):
    if duel:
        out.write("## CPU against boost::unordered_flat_map\n\n```\n%s```\n\n" % duel)


def write_errors(results, out):
    wrong = [case for case in results.cases if case.error]
    if wrong:
        out.write("## Not measured\n\n| case | why |\n|---|---|\n")
        for case in wrong:
            out.write("| `%s` | %s |\n" % (case.name, case.error.replace("|", "\\|")))
        out.write("\n")


def report(path, folder):
    results = Results(path)
    os.makedirs(folder, exist_ok=True)
    plots.remove_all(folder, SIDES)
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plot

        pictures = plots.draw_all(results, folder, plot)
    except ImportError:
        pictures = None
    target = os.path.join(folder, "report.md")
    duel = read_duel(os.path.join(os.path.dirname(path), "cpu_duel.txt"))
    with open(target, "w") as out:
        write_head(results, out)
        write_limits(results, out)
        for title, file in pictures or []:
            out.write("![%s](%s)\n\n" % (title, file))
        if pictures is None:
            out.write("(No plots: they need matplotlib, Debian's python3-matplotlib.)\n\n")
        write_targets(results, duel, out)
        for side in results.sides:
            write_cases(results, side, out)
            write_compaction(results, side, out)
        write_memory(results, out)
        write_duel(duel, out)
        write_errors(results, out)
    print("report: %s" % target)
    if pictures is None:
        print(
            "no plots: install matplotlib (Debian: python3-matplotlib) and run %s %s"
            % (sys.argv[0], path)
        )


# ---- comparing two runs -------------------------------------------------------------------------


def judge(old, new, drift):
    """(change of the rate or None, verdict); `drift` is that of both runs."""
    if old.error or new.error or old.rate() is None or new.rate() is None:
        return None, "failed" if new.error and not old.error else "not measured"
    for counter in ("slots", "keys", "table_bytes"):
        # What a map makes of its room may change; a tenth more is still the same case.
        a, b = old.get(counter, 0), new.get(counter, 0)
        if abs(a - b) > 0.1 * max(a, b):
            return None, "other size"
    change = new.rate() / old.rate() - 1
    noise = max(NOISE_MIN, old.get("spread", 0) + new.get("spread", 0), drift)
    # A faster machine is no better program: the ratio to the limit has to move the same way.
    changes = [change]
    if old.get("ratio") and new.get("ratio"):
        changes.append(new.get("ratio") / old.get("ratio") - 1)
    if new.kind == "limit" and abs(change) > noise:
        return change, "machine"
    if min(changes) > noise:
        return change, "better"
    if max(changes) < -noise:
        return change, "worse"
    return change, "noise"


def compare(old_path, new_path):
    old, new = Results(old_path), Results(new_path)
    counts, drifts = {}, {}
    print("| case | old | new | change | verdict |\n|---|---|---|---|---|")
    for case in new.cases:
        before = old.by_name.get(case.name)
        limit = (case.side, case.limit()[0])
        if limit not in drifts:
            drifts[limit] = old.drift(*limit) + new.drift(*limit)
        change, word = judge(before, case, drifts[limit]) if before else (None, "new")
        counts[word] = counts.get(word, 0) + 1
        print(
            "| `%s` | %s | %s | %s | %s |"
            % (
                case.name,
                human(before.rate()) if before else "",
                human(case.rate()),
                "" if change is None else "%+.1f %%" % (100 * change),
                word,
            )
        )
    for name in old.by_name:
        if name not in new.by_name:
            counts["gone"] = counts.get("gone", 0) + 1
            print("| `%s` | %s | | | gone |" % (name, human(old.by_name[name].rate())))
    print(
        "\nNoise is a change of the rate, or of its ratio to the limit, by less than both spreads, "
        "by less than %.0f %%,\nor by less than the machines moved from case to case: %s.\n"
        % (
            100 * NOISE_MIN,
            ", ".join(
                "%.0f %% in %s on %s" % (100 * drift, LIMIT_NAMES[which], side)
                for (side, which), drift in sorted(drifts.items(), key=str)
                if which
            ),
        )
    )
    print(", ".join("%d %s" % (count, word) for word, count in sorted(counts.items())))


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--compare":
        compare(arguments[1], arguments[2])
    elif len(arguments) in (1, 2) and not arguments[0].startswith("-"):
        path = arguments[0]
        report(path, arguments[1] if len(arguments) == 2 else os.path.dirname(path) or ".")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
