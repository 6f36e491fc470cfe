# SPDX-License-Identifier: Apache-2.0
"""Claims of papers as data, experiments/claims/PAPER.toml and PAPER_PART.toml, and their verdicts.

One statement per claim; F6a, F6b, ... are the parts of F6, which is green only if all of them are.
The tolerance says how the measured value is compared with the paper's:

    factor 1.5          within a factor of 1.5, either way
    at most factor 1.5  not more than 1.5 times the paper's value: for values that the paper calls
                        negligible
    at least factor 1.5 not less than the paper's value divided by 1.5
    holds               the formula is a comparison and true

A claim is green or red as its experiment stands. A red one is `explained` if its cause is given and
shown: a second experiment, in which a condition of the paper holds, makes the same formula green.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast import errors
from holdfast.lab import metrics
from holdfast.lab.figures import Figure
from holdfast.lab.files import Table, experiments, read
from holdfast.lab.formula import Formula, FormulaError, NotRun
from holdfast.lab.results import Results
from holdfast.shapes import Json

GREEN, EXPLAINED, RED, NOT_RUN = "green", "explained", "red", "not run"
_TOLERANCE = re.compile(r"(at most |at least |)factor (\d+(?:\.\d+)?)|holds")
_ID = re.compile(r"([A-Z]+\d+)([a-z]*)")


@dataclass(frozen=True)
class Cause:
    """Why a claim is red: a condition of the paper that its own experiment does not have."""

    figure: str  # the experiment that has it
    panel: str  # in place of the claim's own; "": panels of the same names, for all of its figure
    changes: str
    source: str  # the paper's text, or a measurement; never a fit

    @property
    def where(self) -> str:
        return f"{self.figure}, panel {self.panel}" if self.panel else self.figure

    def as_json(self, measured: float | bool | None) -> Json:
        return {
            "figure": self.figure,
            "panel": self.panel,
            "changes": self.changes,
            "source": self.source,
            "measured": measured,
        }


@dataclass(frozen=True)
class Claim:
    id: str
    paper: str
    where: str  # in the paper
    sentence: str
    figure: str
    panel: str
    formula: Formula
    value: float | bool
    tolerance: str
    ordering: bool  # the value says which of two is larger, so 1 is a border, too
    known: str  # the reason why it does not hold here, as far as measured; only for reds
    cause: Cause | None

    @property
    def group(self) -> str:
        return _ID.fullmatch(self.id)[1]

    def needs(self) -> set[tuple[str, str]]:
        """The figures and panels its formula reads."""
        return {
            (figure or self.figure, panel or self.panel)
            for _, figure, panel, _ in self.formula.needs
        }

    def in_cause(self, place: tuple[str, str]) -> tuple[str, str]:
        """The figure and panel that its formula reads in place of `place`."""
        cause = self.cause
        if cause and cause.panel:
            return (cause.figure, cause.panel) if place == (self.figure, self.panel) else place
        return (cause.figure, place[1]) if cause and place[0] == self.figure else place

    def figures(self) -> set[str]:
        """The figures its formula reads, and that of its cause."""
        return {figure for figure, _ in self.needs()} | (
            {self.cause.figure} if self.cause else set()
        )


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    measured: float | bool | None
    verdict: str
    reason: str = ""
    in_cause: float | bool | None = None  # measured in the experiment of the claim's cause

    def as_json(self) -> Json:
        claim = self.claim
        return {
            "id": claim.id,
            "paper": claim.value,
            "measured": self.measured,
            "tolerance": claim.tolerance,
            "verdict": self.verdict,
            "reason": self.reason,
            "cause": claim.cause.as_json(self.in_cause) if claim.cause else None,
            "sentence": claim.sentence,
            "source": f"{claim.paper}, {claim.where}",
            "figure": claim.figure,
            "panel": claim.panel,
            "formula": claim.formula.text,
        }


def load(figures: dict[str, Figure], path: Path | None = None) -> list[Claim]:
    """Reads all claims and checks each against the figures it reads."""
    paths = [path] if path else sorted((experiments() / "claims").glob("*.toml"))
    claims: dict[str, Claim] = {}
    for path in paths:
        root = Table(read(path), str(path))
        headings = root.get("of", list)
        for claim in [claim for values in headings for claim in _claims_of(values, str(path))]:
            if claim.id in claims:
                raise errors.BadUsage(f"{path}: claim {claim.id} is there twice")
            claims[claim.id] = claim
            _check_names(claim, figures, str(path))
        root.finish()
    return list(claims.values())


def judge(claim: Claim, results: Results) -> Verdict:
    """Raises BadUsage, with the claim's name, for a formula that makes no sense."""
    try:
        measured, notes = _measure(claim, results, lambda place: place)
    except NotRun as missing:
        return Verdict(claim, None, NOT_RUN, str(missing))
    if _within(measured, claim):
        return Verdict(claim, measured, GREEN)
    reasons = [text for text in (*notes, claim.known) if text]
    if claim.cause is None:
        return Verdict(claim, measured, RED, "; ".join(reasons))
    cause = claim.cause
    where = cause.where
    try:
        in_cause, _ = _measure(claim, results, claim.in_cause)
    except NotRun as missing:
        reasons.append(f"its cause was not run ({where}): {missing}")
        return Verdict(claim, measured, RED, "; ".join(reasons))
    shown = _within(in_cause, claim)
    reasons.append(f"{where} ({cause.changes}): {_value(in_cause)}")
    return Verdict(claim, measured, EXPLAINED if shown else RED, "; ".join(reasons), in_cause)


def by_group(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Red if a part is, else not run if a part is not, else explained if a part is, else green."""
    groups: dict[str, str] = {}
    order = [GREEN, EXPLAINED, NOT_RUN, RED]
    for verdict in verdicts:
        group = verdict.claim.group
        groups[group] = max(groups.get(group, GREEN), verdict.verdict, key=order.index)
    return groups


def _value(measured: float | bool) -> str:
    if isinstance(measured, bool):
        return "it holds" if measured else "it does not hold"
    return f"{measured:.3g}"


def _measure(
    claim: Claim, results: Results, read: Callable[[tuple[str, str]], tuple[str, str]]
) -> tuple[float | bool, Sequence[str]]:
    """The formula's value and notes. read() says which figure and panel stand in for others."""

    def lookup(metric: str, figure: str | None, panel: str | None, series: str) -> Any:
        place = read((figure or claim.figure, panel or claim.panel))
        if place[0] not in results.figures:
            raise NotRun(f"figure {place[0]} was not asked for")
        return results.series(metric, *place, series)

    try:
        measured, notes = claim.formula.evaluate(lookup)
    except FormulaError as wrong:
        raise errors.BadUsage(f"claim {claim.id}: {wrong}") from None
    if isinstance(measured, bool) != (claim.tolerance == "holds"):
        raise errors.BadUsage(
            f"claim {claim.id}: tolerance '{claim.tolerance}' does not fit the value of its "
            f"formula, {measured}"
        )
    return measured, notes


def _within(measured: float | bool, claim: Claim) -> bool:
    match = _TOLERANCE.fullmatch(claim.tolerance)
    if match[2] is None:
        return bool(measured) == bool(claim.value)
    if claim.ordering and (measured > 1) != (claim.value > 1):
        return False
    factor, side = float(match[2]), match[1]
    low = measured >= claim.value / factor or side == "at most "
    high = measured <= claim.value * factor or side == "at least "
    return low and high


def _claims_of(values: Any, source: str) -> list[Claim]:
    """The claims under one heading: a place in a paper, and the panel that judges them."""
    table = Table(values, f"{source}, [[of]]")
    heading = {key: table.get(key, str) for key in ("paper", "where", "figure", "panel")}
    claims = [_claim(inner, heading, source) for inner in table.get("claim", list)]
    table.finish()
    return claims


def _claim(values: Any, heading: dict[str, str], source: str) -> Claim:
    name = values.get("id", "?") if isinstance(values, dict) else "?"
    table = Table(values, f"{source}, claim {name}")
    texts = heading | {key: table.get(key, str) for key in ("id", "sentence")}
    value = table.get("value", (int, float, bool), True)
    tolerance = table.get("tolerance", str, "holds" if value is True else "factor 1.5")
    ordering = table.get("ordering", bool, False)
    known = table.get("known", str, "")
    cause = _cause(table.get("cause", dict, {}), table.where)
    try:
        formula = Formula(table.get("formula", str))
    except FormulaError as wrong:
        raise errors.BadUsage(f"{table.where}: {wrong}") from None
    table.finish()
    if not _ID.fullmatch(texts["id"]):
        raise errors.BadUsage(
            f"{table.where}: an id is like F6a: capitals, a number, letters of its part"
        )
    if not _TOLERANCE.fullmatch(tolerance):
        raise errors.BadUsage(
            f"{table.where}: tolerance '{tolerance}' is none of factor N, at most factor N, at "
            "least factor N, holds"
        )
    if isinstance(value, bool) != (tolerance == "holds"):
        raise errors.BadUsage(f"{table.where}: 'holds' goes with true, factors with a number")
    if ordering and (isinstance(value, bool) or value == 1):
        raise errors.BadUsage(f"{table.where}: 'ordering' goes with a number that is not 1")
    if cause and cause.figure == texts["figure"] and cause.panel in ("", texts["panel"]):
        raise errors.BadUsage(f"{table.where}: its cause is its own panel")
    return Claim(
        **texts,
        formula=formula,
        value=value,
        tolerance=tolerance,
        ordering=ordering,
        known=known,
        cause=cause,
    )


def _cause(values: dict[str, Any], source: str) -> Cause | None:
    if not values:
        return None
    table = Table(values, f"{source}, cause")
    panel = table.get("panel", str, "")
    texts = {key: table.get(key, str) for key in ("figure", "changes", "source")}
    cause = Cause(panel=panel, **texts)
    table.finish()
    return cause


def _check_names(claim: Claim, figures: dict[str, Figure], source: str) -> None:
    for metric, figure, panel, series in claim.formula.needs:
        where = f"{source}, claim {claim.id}"
        place = (figure or claim.figure, panel or claim.panel)
        _check_series(*place, series, figures, where)
        if claim.in_cause(place) != place:
            _check_series(*claim.in_cause(place), series, figures, where)
        if not metrics.known(metric):
            raise errors.BadUsage(f"{where}: there is no metric '{metric}'")
    if claim.cause and all(claim.in_cause(place) == place for place in claim.needs()):
        raise errors.BadUsage(
            f"{source}, claim {claim.id}: its formula does not read its own panel, so an "
            "experiment for its cause changes nothing"
        )


def _check_series(
    figure: str, panel: str, series: str, figures: dict[str, Figure], where: str
) -> None:
    in_figure = figures.get(figure)
    if in_figure is None:
        there = ", ".join(figures)
        raise errors.BadUsage(f"{where}: there is no figure '{figure}'; there are {there}")
    in_panel = in_figure.panel(panel)
    if series not in in_panel.names:
        raise errors.BadUsage(
            f"{where}: figure {in_figure.id}, panel {in_panel.id} has no engine or design "
            f"'{series}'; it has {', '.join(in_panel.names)}"
        )
