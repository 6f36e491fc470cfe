# SPDX-License-Identifier: Apache-2.0
"""Outcomes of cells, by figure, panel, engine, point and seed."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast import errors
from holdfast.lab import metrics
from holdfast.lab.cells import Cell, Outcome
from holdfast.lab.figures import Figure, Panel, Value
from holdfast.lab.formula import NotRun, Series


@dataclass(frozen=True)
class Point:
    """One point of a series over its seeds."""

    x: Value
    mean: float
    least: float
    most: float


class Results:
    def __init__(
        self, figures: dict[str, Figure], outcomes: Sequence[tuple[Cell, Outcome]]
    ) -> None:
        self.figures = figures
        self._of: dict[tuple, dict[tuple, Outcome]] = {}
        for cell, outcome in outcomes:
            panel = self._of.setdefault((cell.figure, cell.panel), {})
            panel[(cell.series, cell.x, cell.seed)] = outcome

    def outcome(self, panel: Panel, series: str, x: Value, seed: int) -> Outcome:
        nothing = Outcome("not run", reason="it was not asked for")
        return self._of.get((panel.figure, panel.id), {}).get((series, x, seed), nothing)

    def missing(self, panel: Panel, series: str) -> dict[Value, str]:
        """The points that a series lacks, with the reason for each."""
        reasons: dict[Value, str] = {}
        for x in panel.values:
            for seed in panel.seeds:
                outcome = self.outcome(panel, series, x, seed)
                if outcome.state == "failed":
                    reasons.setdefault(x, f"{series} at {x}: {outcome.reason}")
                elif outcome.state != "ok":
                    reasons.setdefault(x, outcome.reason)
        return reasons

    def points(self, panel: Panel, series: str, metric: str) -> list[Point]:
        """The points that have all their seeds."""
        points = []
        for x in panel.values:
            entries = [self.outcome(panel, series, x, seed).entry for seed in panel.seeds]
            there = [entry for entry in entries if entry is not None]
            if len(there) == len(entries):
                values = [metrics.value(entry, metric) for entry in there]
                points.append(Point(x, sum(values) / len(values), min(values), max(values)))
        return points

    def drawn(self, panel: Panel, series: str) -> list[Point]:
        """The points of the panel's metric, relative to the panel's `relative_to` if it has one."""
        points = self.points(panel, series, panel.metric)
        if not panel.relative_to:
            return points
        base = {p.x: p.mean for p in self.points(panel, panel.relative_to, panel.metric)}
        return [
            Point(p.x, p.mean / base[p.x], p.least / base[p.x], p.most / base[p.x])
            for p in points
            if base.get(p.x)
        ]

    def series(self, metric: str, figure: str, panel: str, series: str) -> Series:
        """A series for formulas. Raises NotRun, with the reason, if no point of it was run."""
        found = self.figures[figure].panel(panel) if figure in self.figures else None
        if found is None:
            raise errors.BadUsage(f"there is no figure '{figure}'")
        if series not in found.names:
            raise errors.BadUsage(f"figure {figure}, panel {panel} has no series '{series}'")
        missing = self.missing(found, series)
        if len(missing) == len(found.values):
            raise NotRun(next(iter(missing.values())))
        points = self.points(found, series, metric)
        return Series({point.x: point.mean for point in points}, missing)
