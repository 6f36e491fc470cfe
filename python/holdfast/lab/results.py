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
            panel[(cell.engine, cell.x, cell.seed)] = outcome

    def outcome(self, panel: Panel, engine: str, x: Value, seed: int) -> Outcome:
        nothing = Outcome("not run", reason="it was not asked for")
        return self._of.get((panel.figure, panel.id), {}).get((engine, x, seed), nothing)

    def missing(self, panel: Panel, engine: str) -> str:
        """The reason why a series is not complete; empty if it is."""
        for x in panel.values:
            for seed in panel.seeds:
                outcome = self.outcome(panel, engine, x, seed)
                if outcome.state == "failed":
                    return f"{engine} at {x}: {outcome.reason}"
                if outcome.state != "ok":
                    return outcome.reason
        return ""

    def points(self, panel: Panel, engine: str, metric: str) -> list[Point]:
        """The points that have all their seeds."""
        points = []
        for x in panel.values:
            entries = [self.outcome(panel, engine, x, seed).entry for seed in panel.seeds]
            there = [entry for entry in entries if entry is not None]
            if len(there) == len(entries):
                values = [metrics.value(entry, metric) for entry in there]
                points.append(Point(x, sum(values) / len(values), min(values), max(values)))
        return points

    def series(self, metric: str, figure: str, panel: str, engine: str) -> Series:
        """A complete series, for formulas. Raises NotRun, with the reason, for another one."""
        found = self.figures[figure].panel(panel) if figure in self.figures else None
        if found is None:
            raise errors.BadUsage(f"there is no figure '{figure}'")
        if engine not in found.engines:
            raise errors.BadUsage(f"figure {figure}, panel {panel} has no engine '{engine}'")
        if reason := self.missing(found, engine):
            raise NotRun(reason)
        points = self.points(found, engine, metric)
        return Series({point.x: point.mean for point in points}, f"{metric} of {engine}")
