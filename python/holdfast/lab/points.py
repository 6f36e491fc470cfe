# SPDX-License-Identifier: Apache-2.0
"""Draws one metric of a panel: as lines, as columns by category, or beside the paper's values."""

import statistics
from collections.abc import Callable
from typing import Any

from holdfast.lab import style
from holdfast.lab.figures import Panel
from holdfast.lab.results import Point, Results

# A logarithmic scale from such a factor on: between the panel's values, and between points of an
# axis that is not numbers of threads.
_MANY_TIMES = 100
_FAR_APART = 30

_NAMES = {
    "tput": "operations per second",
    "reads": "loads per transaction",
    "writes": "words stored per transaction",
    "time_us": "microseconds",
    "media_writes": "writes to the medium per transaction",
    "media_reads": "reads of the medium per transaction",
    "response_p99": "99th percentile, microseconds",
    "response_p999": "99.9th percentile, microseconds",
}


def _positions(panel: Panel) -> dict[Any, float]:
    """Places on the axis: numbers at their values, names side by side."""
    if all(isinstance(x, int | float) for x in panel.values):
        return {x: float(x) for x in panel.values}
    return {x: float(i) for i, x in enumerate(panel.values)}


def _lines(axes: Any, panel: Panel, results: Results) -> None:
    where = _positions(panel)
    for series in panel.names:
        points = results.drawn(panel, series)
        xs = [where[p.x] for p in points]
        look = style.look(series)
        axes.plot(
            xs,
            [p.mean for p in points],
            color=look.colour,
            marker=look.marker,
            markersize=5,
            linewidth=1.4,
            label=look.label + _state(panel, series, results),
        )
        if len(panel.seeds) > 1 and points:
            low, high = [p.least for p in points], [p.most for p in points]
            axes.fill_between(xs, low, high, color=look.colour, alpha=0.18, linewidth=0)
    _scale(axes, panel, results)
    if panel.axis != "threads" and 0 < min(where.values()) <= max(where.values()) / _FAR_APART:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_ylabel(_label(panel))
    axes.set_xlabel(panel.unit or panel.axis)
    axes.set_xticks(list(where.values()), [str(x) for x in where], fontsize=7)
    axes.legend(fontsize=7, frameon=False)


def _columns(axes: Any, panel: Panel, results: Results) -> None:
    """Per point a group of columns, one per series; and the mean over the points."""
    groups = [str(x) for x in panel.values] + ([f"{panel.mean} mean"] if panel.mean else [])
    width = 0.85 / len(panel.names)
    for number, series in enumerate(panel.names):
        points = results.drawn(panel, series)
        look = style.look(series)
        heights = {str(p.x): p.mean for p in points}
        if panel.mean and len(points) == len(panel.values):
            heights[groups[-1]] = mean_of(points, panel.mean)
        at = (number - (len(panel.names) - 1) / 2) * width
        axes.bar(
            [group + at for group in range(len(groups))],
            [heights.get(name, 0) for name in groups],  # a point that was not run has no height
            width * 0.92,
            color=look.colour,
            label=look.label + _state(panel, series, results),
        )
    _scale(axes, panel, results)
    axes.set_ylabel(_label(panel), fontsize=9)
    axes.set_xlabel(panel.unit)
    axes.set_xticks(range(len(groups)), groups, fontsize=7, rotation=20, ha="right")
    axes.legend(fontsize=6, framealpha=0.7, edgecolor="none")


def mean_of(points: list[Point], kind: str) -> float:
    """The `arithmetic` or `geometric` mean; a geometric one is 0 if a value is."""
    values = [point.mean for point in points]
    if kind == "arithmetic":
        return statistics.fmean(values)
    return statistics.geometric_mean(values) if min(values) > 0 else 0.0


def _state(panel: Panel, series: str, results: Results) -> str:
    """A note for the legend about points that were not run."""
    missing = len(results.missing(panel, series))
    return "" if not missing else " (not run)" if missing == len(panel.values) else " (incomplete)"


def _scale(axes: Any, panel: Panel, results: Results) -> None:
    points = [point for series in panel.names for point in results.drawn(panel, series)]
    highest = max((p.most for p in points), default=1)
    lowest = min((p.least for p in points), default=0)
    if 0 < lowest <= highest / _MANY_TIMES:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1.08 * highest or 1)
    axes.yaxis.set_major_formatter(lambda value, _: _short(value))


def _label(panel: Panel) -> str:
    name = _NAMES.get(panel.metric, panel.metric.replace("_", " "))
    return f"{name}, relative to {panel.relative_to}" if panel.relative_to else name


def _short(value: float) -> str:
    for limit, unit in ((1e6, "M"), (1e3, "K")):
        if abs(value) >= limit:
            return f"{value / limit:g}{unit}"
    return f"{value:g}"


def _beside_the_paper(axes: Any, panel: Panel, results: Results) -> None:
    """Categories with bars: each metric measured, and the paper's value of it."""
    series = panel.names[0]
    names = list(panel.paper) or [panel.metric]
    sides = 2 if any(panel.paper.values()) else 1
    width = 0.85 / (sides * len(names))
    for number, metric in enumerate(names):
        colour = style.colour_of(number)
        measured = {point.x: point.mean for point in results.points(panel, series, metric)}
        both = (("here", measured, ""), ("paper", panel.paper.get(metric, {}), "///"))
        for side, (source, values, hatch) in enumerate(both[:sides]):
            at = (sides * number + side - (sides * len(names) - 1) / 2) * width
            heights = [values.get(str(x), values.get(x, 0)) for x in panel.values]
            bars = axes.bar(
                [i + at for i in range(len(panel.values))],
                heights,
                width * 0.92,
                color=colour,
                alpha=0.5 if hatch else 1,
                hatch=hatch,
                label=f"{_NAMES.get(metric, metric)}, {source}",
            )
            axes.bar_label(bars, [f"{h:,.0f}" for h in heights], fontsize=6)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_xticks(range(len(panel.values)), [str(x) for x in panel.values], fontsize=8)
    axes.legend(fontsize=6, framealpha=0.7, edgecolor="none")


PLOTS: dict[str, Callable[[Any, Panel, Results], None]] = {
    "throughput": _lines,
    "columns": _columns,
    "bars": _beside_the_paper,
}
