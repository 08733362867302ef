#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the suite's JSON into a report, or compares two runs.

    report.py RESULTS.json [FOLDER]     report.md and, where matplotlib is, PNG plots in FOLDER
                                        (default: the folder of RESULTS.json)
    report.py --compare OLD.json NEW.json    per case: better, worse, or noise

Only Python 3.8's own library is needed; without matplotlib the report has no pictures and says so.
"""

import json
import os
import re
import sys

LIMIT_NAMES = {
    "copy": "C, copy bandwidth",
    "read": "G, random reads",
    "update": "A, random updates",
}
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
        self.sides = [
            side for side in ("cpu", "cuda") if any(case.side == side for case in self.cases)
        ]


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
        "*Predicted* is what the buckets visited\nallow by that limit. Targets in keys per second "
        "and microseconds are for an H200.\n\n"
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


def write_targets(results, out):
    judged = [(case, target) for case in results.cases for target in case.targets()]
    if judged:
        met = sum(target[4] for _, target in judged)
        out.write(
            "## Targets: %d of %d met\n\n| case | what | is | target | |\n|---|---|---|---|---|\n"
            % (met, len(judged))
        )
        for case, (counter, sign, value, target, met) in judged:
            out.write(
                "| `%s` | %s | %s | %s %s | %s |\n"
                % (
                    case.name,
                    counter,
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
        "| case | load | keys/s | bytes/s | ratio | of | spread | buckets | predicted | beside |\n"
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
                ratio_text(case.get("buckets")),
                human(case.get("predicted")),
                "; ".join(beside),
            )
        )
    out.write("\n")


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
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plot

        pictures = draw_all(results, folder, plot)
    except ImportError:
        pictures = None
    target = os.path.join(folder, "report.md")
    with open(target, "w") as out:
        write_head(results, out)
        write_limits(results, out)
        for title, file in pictures or []:
            out.write("![%s](%s)\n\n" % (title, file))
        if pictures is None:
            out.write("(No plots: they need matplotlib, Debian's python3-matplotlib.)\n\n")
        write_targets(results, out)
        for side in results.sides:
            write_cases(results, side, out)
        write_errors(results, out)
    print("report: %s" % target)
    if pictures is None:
        print(
            "no plots: install matplotlib (Debian: python3-matplotlib) and run %s %s"
            % (sys.argv[0], path)
        )


# ---- plots --------------------------------------------------------------------------------------

OVER_LOAD = ("find_hit", "find_miss", "insert", "erase", "retrieve", "maintain")


def unit_of(side):
    return (1e9, "G keys/s") if side == "cuda" else (1e6, "M keys/s")


def over_load(results, side, operation, widths):
    """The cases of an operation that differ in nothing but the load."""
    cases = [
        case
        for case in results.cases
        if case.side == side
        and case.operation == operation
        and case.widths == widths
        and re.fullmatch(r"load=[0-9.]+", case.rest)
        and case.get("keys/s")
    ]
    return sorted(cases, key=lambda case: case.get("load"))


def save(figure, folder, file, plot):
    figure.tight_layout()
    figure.savefig(os.path.join(folder, file), dpi=110)
    plot.close(figure)


def draw_over_load(results, side, folder, plot, counter, title, file):
    figure, axes = plot.subplots(figsize=(9, 5))
    for operation in OVER_LOAD:
        if counter == "keys/s" and operation in ("retrieve", "maintain"):
            continue  # bounded by bytes: another scale
        cases = over_load(results, side, operation, "k8v8")
        if not cases:
            continue
        scale = unit_of(side)[0] if counter == "keys/s" else 1
        (line,) = axes.plot(
            [case.get("load") for case in cases],
            [case.get(counter) / scale for case in cases],
            marker="o",
            label=operation,
        )
        if counter == "keys/s" and cases[0].get("predicted"):
            axes.plot(
                [case.get("load") for case in cases],
                [case.get("predicted") / scale for case in cases],
                linestyle=":",
                color=line.get_color(),
                label=operation + ", predicted",
            )
        goals = [case for case in cases if "min:" + counter in case.counters]
        axes.scatter(
            [case.get("load") for case in goals],
            [case.get("min:" + counter) for case in goals],
            marker="_",
            s=300,
            color=line.get_color(),
        )
    axes.set_xlabel("load")
    axes.set_ylabel(unit_of(side)[1] if counter == "keys/s" else "ratio (dashes: targets)")
    axes.set_ylim(bottom=0)
    axes.set_title("%s, %s, 8-byte keys and values" % (title, side))
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, folder, file, plot)
    return title + ", " + side, file


def draw_growth(results, side, folder, plot, file):
    cases = [
        case
        for case in results.cases
        if case.side == side
        and case.operation == "growth"
        and case.widths == "k8v8"
        and len(case.curve("keys")) > 1
    ]
    if not cases:
        return None
    figure, (rates, memory) = plot.subplots(1, 2, figsize=(12, 5))
    for case in cases:
        millions = [keys / 1e6 for keys in case.curve("keys")]
        rates.plot(
            millions,
            [rate / unit_of(side)[0] for rate in case.curve("rate")],
            marker=".",
            label=case.rest,
        )
        memory.plot(
            millions, [size / 1e6 for size in case.curve("memory")], marker=".", label=case.rest
        )
    for axes, label in (
        (rates, unit_of(side)[1] + ", growth included"),
        (memory, "MB held by the map"),
    ):
        axes.set_xlabel("million keys")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle("Growing by itself, %s" % side)
    save(figure, folder, file, plot)
    return "Growth, " + side, file


def draw_over_batch(results, side, folder, plot, file):
    """Lookups in batches of every length, without a graph."""
    cases = [
        case
        for case in results.cases
        if case.side == side
        and case.operation == "find_hit"
        and re.fullmatch(r"load=0.50/batch=.*", case.rest)
        and case.get("keys/s")
    ]
    if len(cases) < 3:
        return None
    figure, axes = plot.subplots(figsize=(9, 5))
    axes.loglog(
        [case.get("keys") for case in cases],
        [case.get("keys/s") / unit_of(side)[0] for case in cases],
        marker="o",
    )
    axes.set_xlabel("keys a call")
    axes.set_ylabel(unit_of(side)[1])
    axes.set_title("Lookups against batch length, %s, load 0.5" % side)
    axes.grid(alpha=0.3, which="both")
    save(figure, folder, file, plot)
    return "Batch length, " + side, file


def draw_all(results, folder, plot):
    pictures = []
    for side in results.sides:
        if over_load(results, side, "find_hit", "k8v8"):
            pictures.append(
                draw_over_load(
                    results, side, folder, plot, "keys/s", "Rate against load", "rate_%s.png" % side
                )
            )
            pictures.append(
                draw_over_load(
                    results,
                    side,
                    folder,
                    plot,
                    "ratio",
                    "Ratio to the limit",
                    "ratio_%s.png" % side,
                )
            )
        pictures.append(draw_over_batch(results, side, folder, plot, "batch_%s.png" % side))
        pictures.append(draw_growth(results, side, folder, plot, "growth_%s.png" % side))
    return [picture for picture in pictures if picture]


# ---- comparing two runs -------------------------------------------------------------------------


def judge(old, new):
    """(change of the rate or None, verdict)"""
    if old.error or new.error or old.rate() is None or new.rate() is None:
        return None, "failed" if new.error and not old.error else "not measured"
    for counter in ("slots", "keys", "table_bytes"):
        # What a map makes of its room may change; a tenth more is still the same case.
        a, b = old.get(counter, 0), new.get(counter, 0)
        if abs(a - b) > 0.1 * max(a, b):
            return None, "other size"
    change = new.rate() / old.rate() - 1
    noise = max(NOISE_MIN, old.get("spread", 0) + new.get("spread", 0))
    # A faster machine is no better program: the ratio to the limit has to move the same way.
    changes = [change]
    if old.get("ratio") and new.get("ratio"):
        changes.append(new.get("ratio") / old.get("ratio") - 1)
    if min(changes) > noise:
        return change, "better"
    if max(changes) < -noise:
        return change, "worse"
    return change, "noise"


def compare(old_path, new_path):
    old, new = Results(old_path), Results(new_path)
    counts = {}
    print("| case | old | new | change | verdict |\n|---|---|---|---|---|")
    for case in new.cases:
        before = old.by_name.get(case.name)
        change, word = judge(before, case) if before else (None, "new")
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
    print("\n" + ", ".join("%d %s" % (count, word) for word, count in sorted(counts.items())))


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
