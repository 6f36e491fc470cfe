# SPDX-License-Identifier: Apache-2.0
"""Draws a figure: a column per panel, a row per kind of plot; PNG and SVG."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast import plots
from holdfast.lab import metrics, points, style
from holdfast.lab.claims import GREEN, NOT_RUN, Verdict
from holdfast.lab.figures import Figure, Panel
from holdfast.lab.results import Results
from holdfast.results import Entry

# Points of the axis that bars are drawn for: more would be too thin to read.
_BARS_AT = (1, 8, 16, 32, 64)


def draw(path: Path, figure: Figure, results: Results, verdicts: Sequence[Verdict]) -> list[Path]:
    """Writes path.png and path.svg. The same results give the same files."""
    pyplot = plots.pyplot(**{"svg.hashsalt": figure.id})
    height = max(len(panel.rows) for panel in figure.panels)
    width = len(figure.panels)
    drawing, grid = pyplot.subplots(
        height,
        width,
        figsize=(5.2 * width + 1.2, 3.1 * height + 1.4),
        layout="constrained",
        squeeze=False,
    )
    for column, panel in enumerate(figure.panels):
        for row in range(height):
            axes = grid[row][column]
            if row >= len(panel.rows):
                axes.set_axis_off()
                continue
            _plot(axes, panel, panel.rows[row], results)
            if row == 0:
                axes.set_title(panel.title, fontsize=11, loc="left")
                _note_claims(axes, [v for v in verdicts if v.claim.panel == panel.id])
    title = figure.title + ("\n" if width == 1 else " ") + f"({figure.reference})"
    drawing.suptitle(title, x=0.01, ha="left", fontsize=13, weight="bold")
    if figure.notes:
        drawing.supxlabel(figure.notes, x=0.01, ha="left", fontsize=8, color="#555555", wrap=True)
    written = [path.with_name(path.name + ending) for ending in (".png", ".svg")]
    drawing.savefig(written[0], dpi=130)
    drawing.savefig(written[1], metadata={"Date": None})
    pyplot.close(drawing)
    return written


def _plot(axes: Any, panel: Panel, row: str, results: Results) -> None:
    kind, _, which = row.partition(".")
    if kind in points.PLOTS:
        points.PLOTS[kind](axes, panel, results)
    elif kind == "pending":
        _over_time(axes, panel, results)
    elif kind == "outcomes":
        _stacks(axes, panel, results, _outcome_parts, "share of attempts")
    elif kind == "overhead":
        phases = [(phase, style.PHASES[phase]) for phase in metrics.OVERHEAD]
        _stacks(
            axes,
            panel,
            results,
            lambda entry: [
                (name, colour, metrics.value(entry, f"{which}_{name}")) for name, colour in phases
            ],
            f"{which}s: time / plain execution",
        )
    else:
        _stacks(
            axes,
            panel,
            results,
            lambda entry: [
                (name, colour, metrics.value(entry, f"{which}_{name}_ns"))
                for name, colour in style.PHASES.items()
            ],
            f"{which}s: ns per transaction",
        )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _over_time(axes: Any, panel: Panel, results: Results) -> None:
    """The samples of the gauge: one line per engine, at the axis' last value."""
    for series in panel.names:
        entry = results.outcome(panel, series, panel.values[-1], panel.seeds[0]).entry
        if not isinstance(entry, Entry) or entry.pending is None:
            continue
        look = style.look(series)
        times = [sample[0] for sample in entry.pending.samples]
        counts = [sample[1] for sample in entry.pending.samples]
        axes.plot(times, counts, color=look.colour, linewidth=0.8, label=look.label)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("microseconds of the run")
    axes.set_ylabel("updates that are not durable", fontsize=9)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, frameon=False)


def _stacks(axes: Any, panel: Panel, results: Results, parts: Any, ylabel: str) -> None:
    """Per chosen point a group of bars, one per series that ran."""
    ran = [series for series in panel.names if results.points(panel, series, "tput")]
    chosen = [x for x in panel.values if x in _BARS_AT] or list(panel.values)[:5]
    width = 0.85 / max(len(ran), 1)
    named: set[str] = set()
    for group, x in enumerate(chosen):
        for number, series in enumerate(ran):
            entry = results.outcome(panel, series, x, panel.seeds[0]).entry
            if entry is None:
                continue
            at = group + (number - (len(ran) - 1) / 2) * width
            bottom = 0.0
            for name, colour, value in parts(entry):
                new = name.replace("_", " ") if value > 0 and name not in named else None
                named |= {name} if new else set()
                axes.bar(at, value, width * 0.92, bottom, color=colour, label=new)
                bottom += value
            axes.annotate(
                style.look(series).label, (at, 0), (0, -3), textcoords="offset points",
                rotation=90, fontsize=5, ha="center", va="top",
            )  # fmt: skip
    axes.set_xticks(range(len(chosen)), [str(x) for x in chosen], fontsize=8)
    axes.tick_params(axis="x", length=0, pad=32)
    axes.set_ylabel(ylabel, fontsize=9)
    axes.set_xlabel(panel.unit or panel.axis)
    if named:
        axes.legend(fontsize=6, framealpha=0.7, edgecolor="none")


def _outcome_parts(entry: Entry) -> list[tuple[str, str, float]]:
    htm = metrics.counters(entry).htm
    aborts = entry.aborts
    software = 0 if htm.begins else entry.update_commits
    other = sum(count for cause, count in aborts.items() if cause not in ("conflict", "capacity"))
    counts = [
        htm.commits,
        software,
        entry.lock_fallbacks,
        aborts["conflict"],
        aborts["capacity"],
        other,
    ]
    total = sum(counts) or 1
    return [
        (name, colour, count / total)
        for (name, colour), count in zip(style.OUTCOMES, counts, strict=True)
    ]


def _note_claims(axes: Any, verdicts: Sequence[Verdict]) -> None:
    """Notes the paper's headline values and the measured ones in the panel they are about."""
    lines = []
    for verdict in verdicts:
        if isinstance(verdict.claim.value, bool):
            continue
        measured = "not run" if verdict.verdict == NOT_RUN else f"{verdict.measured:.3g}"
        mark = "" if verdict.verdict in (GREEN, NOT_RUN) else f"  ({verdict.verdict})"
        lines.append(f"{verdict.claim.id}: paper {verdict.claim.value:g}, here {measured}{mark}")
    if lines:
        axes.annotate(
            "\n".join(lines), (1, 1), (-2, -2), xycoords="axes fraction",
            textcoords="offset points", ha="right", va="bottom", fontsize=6, color="#333333",
        )  # fmt: skip
