# SPDX-License-Identifier: Apache-2.0
"""The report's pictures, by matplotlib, whose pyplot is handed in as `plot`."""

import math
import os
import re
import statistics

PICTURES = ("rate_%s.png", "ratio_%s.png", "batch_%s.png", "growth_%s.png", "compaction_%s.png")
OVER_LOAD = ("find_hit", "find_miss", "insert", "erase", "retrieve", "maintain")


STEADY = 0.1  # a limit that moved more over the run predicts nothing
LIMITS = {"copy": "C", "read": "G", "update": "A"}


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
    scale, unit = unit_of(side) if counter == "keys/s" else (1, "ratio to the limit (C, G or A)")
    goals = False
    every = [case for name in OVER_LOAD for case in over_load(results, side, name, "k8v8")]
    lookups = [case for case in every if case.get("predicted")]
    steady = counter == "keys/s" and results.drift(side, "read") < STEADY
    for operation in OVER_LOAD:
        if counter == "keys/s" and operation in ("retrieve", "maintain"):
            continue  # bounded by bytes: another scale
        cases = over_load(results, side, operation, "k8v8")
        if not cases:
            continue
        loads = [case.get("load") for case in cases]
        of = ", of " + LIMITS[cases[0].limit()[0]] if counter == "ratio" else ""
        (line,) = axes.plot(
            loads, [case.get(counter) / scale for case in cases], marker="o", label=operation + of
        )
        if steady and cases[0] in lookups:
            # One limit for all: beside each case it is the same but for the noise.
            limit = statistics.median(case.limit()[1] for case in lookups)
            axes.plot(
                loads,
                [case.get("predicted") / case.limit()[1] * limit / scale for case in cases],
                linestyle=":",
                color=line.get_color(),
                label=operation + ", predicted",
            )
        for case in cases:
            if "min:" + counter in case.counters:
                goals = True
                axes.scatter(
                    case.get("load"),
                    case.get("min:" + counter) / scale,
                    marker="_",
                    s=300,
                    color=line.get_color(),
                )
    if goals:
        axes.scatter([], [], marker="_", s=300, color="gray", label="targets")
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("load: keys by slots")
    axes.set_ylabel(unit)
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
        points = list(zip(case.curve("seconds"), case.curve("memory")))
        memory.plot(
            [1e3 * seconds for seconds, _ in points],
            [size / 1e6 for _, size in points],
            marker=".",
            label=case.rest,
        )
    for axes, across, label in (
        (rates, "million keys", unit_of(side)[1] + ", growth included"),
        (memory, "ms since the first batch", "MB of memory held by the map"),
    ):
        axes.set_xlabel(across)
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle("Growing by itself, %s, 8-byte keys and values" % side)
    save(figure, folder, file, plot)
    return "Growth, " + side, file


def draw_over_batch(results, side, folder, plot, file):
    """Lookups in batches of every length, without a graph."""
    cases = [
        case
        for case in results.cases
        if case.side == side
        and case.operation == "find_hit"
        and re.fullmatch(r"load=0.80(/batch=.*)?", case.rest)
        and case.widths == "k8v8"
        and case.get("keys/s")
    ]
    cases.sort(key=lambda case: case.get("keys"))
    if len(cases) < 3:
        return None
    figure, axes = plot.subplots(figsize=(9, 5))
    rates = [case.get("keys/s") / unit_of(side)[0] for case in cases]
    axes.loglog([case.get("keys") for case in cases], rates, marker="o")
    axes.set_ylim(10 ** math.floor(math.log10(min(rates))), 10 ** math.ceil(math.log10(max(rates))))
    axes.xaxis.set_major_formatter(lambda keys, _: "%g" % keys)
    axes.yaxis.set_major_formatter(lambda rate, _: "%g" % rate)
    axes.set_xlabel("keys a call")
    axes.set_ylabel(unit_of(side)[1] + ", a call by itself")
    axes.set_title("find_hit against batch length, %s, load 0.8, 8-byte keys and values" % side)
    axes.grid(alpha=0.3, which="both")
    save(figure, folder, file, plot)
    return "Batch length, " + side, file


def draw_compaction(results, side, folder, plot, file):
    """Ratio to the copy bandwidth over the share kept: by algorithm, and by size of items."""
    algorithms, sizes = {}, {}
    for case in results.cases:
        found = re.fullmatch(r"kept=[0-9.]+/algorithm=(.*)", case.rest)
        if case.side == side and case.operation == "compact" and found and case.get("ratio"):
            if case.widths == "b8":
                algorithms.setdefault(found.group(1), []).append(case)
            if found.group(1) == "auto":
                sizes.setdefault("items of %s B" % case.widths[1:], []).append(case)
    if not algorithms:
        return None
    panels = []
    if len(algorithms) > 1 or len(sizes) == 1:
        panels.append(("Compaction of items of 8 bytes, by algorithm", algorithms))
    if len(sizes) > 1:
        sizes = dict(sorted(sizes.items(), key=lambda size: int(size[0].split()[2])))
        panels.append(("Compaction by auto", sizes))
    figure, all_axes = plot.subplots(1, len(panels), figsize=(8 * len(panels), 5), squeeze=False)
    for axes, (title, lines) in zip(all_axes[0], panels):
        shares = sorted({case.get("kept") for cases in lines.values() for case in cases})
        for number, (label, cases) in enumerate(lines.items()):
            axes.plot(
                [shares.index(case.get("kept")) for case in cases],
                [case.get("ratio") for case in cases],
                marker="os^Dv"[number // 10 % 5],
                linestyle="--" if label.startswith("naive") else "-",
                label=label,
            )
        axes.set_xticks(range(len(shares)))
        axes.set_xticklabels(["%g" % share for share in shares])
        axes.set_xlabel("share of the items kept")
        axes.set_ylabel("ratio to the copy bandwidth (bytes read and written)")
        axes.set_ylim(bottom=0)
        axes.set_title("%s, %s" % (title, side))
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, folder, file, plot)
    return "Compaction, " + side, file


def remove_all(folder, sides):
    """Those of an earlier run are not of this one."""
    for side in sides:
        for file in PICTURES:
            picture = os.path.join(folder, file % side)
            if os.path.exists(picture):
                os.remove(picture)


def draw_all(results, folder, plot):
    pictures = []
    for side in results.sides:
        rate, ratio, batch, growth, compaction = (file % side for file in PICTURES)
        if over_load(results, side, "find_hit", "k8v8"):
            for counter, title, file in (
                ("keys/s", "Rate against load", rate),
                ("ratio", "Ratio to the limit", ratio),
            ):
                pictures.append(draw_over_load(results, side, folder, plot, counter, title, file))
        pictures.append(draw_over_batch(results, side, folder, plot, batch))
        pictures.append(draw_growth(results, side, folder, plot, growth))
        pictures.append(draw_compaction(results, side, folder, plot, compaction))
    return [picture for picture in pictures if picture]
