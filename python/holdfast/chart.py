# SPDX-License-Identifier: Apache-2.0
"""The chart of the demo: one workload on several engines, with each one's cost of durability."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast import plots

# The five types of transaction in colours that colour-blind readers can tell apart (Okabe and Ito).
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
_COST_COLOUR = "#7f8c9a"
# The scale is logarithmic if the largest value is more than this many times the smallest.
_DWARFED = 30


@dataclass(frozen=True)
class EngineBar:
    """One engine's measurement, per second and per committed update transaction."""

    engine: str
    total: float  # transactions per second: the median, not quite the sum of medians by type
    per_second: dict[str, float]  # by type of transaction
    fences: float
    write_backs: float
    bytes_per_byte: float  # written to the medium per byte the program stored


def draw(path: Path, bars: Sequence[EngineBar], title: str, notes: Sequence[str]) -> None:
    """Writes a PNG. The engines stand in the order given, the first on top."""
    pyplot = plots.pyplot()
    figure, (speed, *costs) = pyplot.subplots(
        1,
        4,
        figsize=(13, 1.9 + 0.55 * len(bars)),
        width_ratios=(3.2, 1, 1, 1),
        sharey=True,
        layout="constrained",
    )
    _draw_speed(speed, bars)
    _draw_cost(costs[0], "fences\nper update", [bar.fences for bar in bars])
    _draw_cost(costs[1], "line write-backs\nper update", [bar.write_backs for bar in bars])
    _draw_cost(costs[2], "bytes written\nper byte stored", [bar.bytes_per_byte for bar in bars])
    speed.set_yticks(range(len(bars)), [bar.engine for bar in bars])
    speed.invert_yaxis()
    figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    figure.supxlabel("\n".join(notes), x=0.01, ha="left", fontsize=8, color="#555555")
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _draw_speed(axes, bars: Sequence[EngineBar]) -> None:
    kinds = list(dict.fromkeys(kind for bar in bars for kind in bar.per_second))
    left = [0.0] * len(bars)
    for index, kind in enumerate(kinds):
        widths = [bar.per_second.get(kind, 0.0) for bar in bars]
        axes.barh(
            range(len(bars)), widths, 0.62, left, color=_COLOURS[index % len(_COLOURS)], label=kind
        )
        left = [a + b for a, b in zip(left, widths, strict=True)]
    widest = max(left, default=0.0) or 1.0
    for row, (right, bar) in enumerate(zip(left, bars, strict=True)):
        axes.text(right + widest * 0.012, row, f"{bar.total:,.0f}", va="center", fontsize=9)
    axes.set_xlim(0, widest * 1.13)
    axes.set_title("transactions per second, by type", fontsize=10, loc="left")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.09),
        ncols=max(len(kinds), 1),
        fontsize=8,
        frameon=False,
    )
    _tidy(axes)


def _draw_cost(axes, label: str, values: Sequence[float]) -> None:
    """Bars with their values; on a logarithmic scale where one would dwarf the others."""
    from matplotlib.ticker import LogLocator

    widest = max(values, default=0.0) or 1.0
    smallest = min((value for value in values if value > 0), default=widest)
    logarithmic = widest > _DWARFED * smallest
    axes.barh(range(len(values)), values, 0.62, color=_COST_COLOUR)
    for row, value in enumerate(values):
        text = f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
        axes.annotate(
            text, (value, row), (4, 0), textcoords="offset points", va="center", fontsize=9
        )
    if logarithmic:
        decades = math.log10(widest / smallest) + 0.5
        axes.set_xscale("log")
        axes.set_xlim(smallest / 3, widest * 10 ** (0.45 * decades))
        axes.xaxis.set_major_locator(LogLocator(numticks=4))
        axes.xaxis.set_major_formatter(
            lambda value, _: f"{value / 1000:g}K" if value >= 1000 else f"{value:g}"
        )
        axes.minorticks_off()
    else:
        axes.set_xlim(0, widest * 1.45)
    axes.set_title(label + (" (log)" if logarithmic else ""), fontsize=10, loc="left")
    _tidy(axes)


def _tidy(axes) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
