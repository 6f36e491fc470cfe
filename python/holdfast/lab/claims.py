# SPDX-License-Identifier: Apache-2.0
"""Claims of papers as data, experiments/claims/PAPER.toml and PAPER_PART.toml, and their verdicts.

One statement per claim; F6a, F6b, ... are the parts of F6, which is green only if all of them are.
The tolerance says how the measured value is compared with the paper's:

    factor 1.5          within a factor of 1.5, either way
    at most factor 1.5  not more than 1.5 times the paper's value: for values that the paper calls
                        negligible
    at least factor 1.5 not less than the paper's value divided by 1.5
    holds               the formula is a comparison and true
"""

import re
from collections.abc import Sequence
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

GREEN, RED, NOT_RUN = "green", "red", "not run"
_TOLERANCE = re.compile(r"(at most |at least |)factor (\d+(?:\.\d+)?)|holds")
_ID = re.compile(r"([A-Z]+\d+)([a-z]*)")


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
    known: str  # the reason why it does not hold here, as far as measured; only for reds

    @property
    def group(self) -> str:
        return _ID.fullmatch(self.id)[1]

    def needs(self) -> set[tuple[str, str]]:
        """The figures and panels its formula reads."""
        return {
            (figure or self.figure, panel or self.panel)
            for _, figure, panel, _ in self.formula.needs
        }


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    measured: float | bool | None
    verdict: str
    reason: str = ""

    def as_json(self) -> Json:
        claim = self.claim
        return {
            "id": claim.id,
            "paper": claim.value,
            "measured": self.measured,
            "tolerance": claim.tolerance,
            "verdict": self.verdict,
            "reason": self.reason,
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

    def lookup(metric: str, figure: str | None, panel: str | None, engine: str) -> Any:
        return results.series(metric, figure or claim.figure, panel or claim.panel, engine)

    try:
        measured, notes = claim.formula.evaluate(lookup)
    except NotRun as missing:
        return Verdict(claim, None, NOT_RUN, str(missing))
    except FormulaError as wrong:
        raise errors.BadUsage(f"claim {claim.id}: {wrong}") from None
    if isinstance(measured, bool) != (claim.tolerance == "holds"):
        raise errors.BadUsage(
            f"claim {claim.id}: tolerance '{claim.tolerance}' does not fit the value of its "
            f"formula, {measured}"
        )
    if _within(measured, claim):
        return Verdict(claim, measured, GREEN)
    reasons = [text for text in (*notes, claim.known) if text]
    return Verdict(claim, measured, RED, "; ".join(reasons))


def by_group(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Red if a part is, else not run if a part is not, else green."""
    groups: dict[str, str] = {}
    order = [GREEN, NOT_RUN, RED]
    for verdict in verdicts:
        group = verdict.claim.group
        groups[group] = max(groups.get(group, GREEN), verdict.verdict, key=order.index)
    return groups


def _within(measured: float | bool, claim: Claim) -> bool:
    match = _TOLERANCE.fullmatch(claim.tolerance)
    if match[2] is None:
        return bool(measured) == bool(claim.value)
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
    known = table.get("known", str, "")
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
    return Claim(**texts, formula=formula, value=value, tolerance=tolerance, known=known)


def _check_names(claim: Claim, figures: dict[str, Figure], source: str) -> None:
    for metric, figure, panel, engine in claim.formula.needs:
        where = f"{source}, claim {claim.id}"
        in_figure = figures.get(figure or claim.figure)
        if in_figure is None:
            there = ", ".join(figures)
            raise errors.BadUsage(
                f"{where}: there is no figure '{figure or claim.figure}'; there are {there}"
            )
        in_panel = in_figure.panel(panel or claim.panel)
        if engine not in in_panel.engines:
            raise errors.BadUsage(
                f"{where}: figure {in_figure.id}, panel {in_panel.id} has no engine '{engine}'; "
                f"it has {', '.join(in_panel.engines)}"
            )
        if not metrics.known(metric):
            raise errors.BadUsage(f"{where}: there is no metric '{metric}'")
