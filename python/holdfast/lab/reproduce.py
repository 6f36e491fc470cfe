# SPDX-License-Identifier: Apache-2.0
"""Runs figures and judges claims, without a word to people."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast import errors, plots
from holdfast.lab import claims, draw, figures, report, runs
from holdfast.lab.cache import Cache
from holdfast.lab.cells import Cell, Outcome
from holdfast.lab.claims import Claim, Verdict
from holdfast.lab.figures import Figure
from holdfast.lab.results import Results


@dataclass(frozen=True)
class Selection:
    """The figures to run, and the claims to judge."""

    figures: dict[str, Figure]
    claims: list[Claim]

    def cells(self) -> list[Cell]:
        return [cell for figure in self.figures.values() for cell in figure.cells()]


@dataclass(frozen=True)
class Reproduction:
    results: Results
    verdicts: list[Verdict]
    outcomes: list[tuple[Cell, Outcome]]

    def failed(self) -> list[tuple[Cell, Outcome]]:
        return [(cell, outcome) for cell, outcome in self.outcomes if outcome.state == "failed"]


def select(names: Sequence[str], quick: bool = False, machine: str = "") -> Selection:
    """Papers, figures, claims and groups of claims by name; no name stands for everything."""
    all_figures = figures.load_all(quick)
    all_claims = claims.load(all_figures)
    if names:
        _check(names, all_figures, all_claims)
    wanted = [
        claim
        for claim in all_claims
        if not names or {claim.id, claim.group, claim.paper, claim.figure} & set(names)
    ]
    by_claims = {
        figure
        for claim in wanted
        for figure in claim.figures()
        if {claim.id, claim.group} & set(names)
    }
    chosen = {
        name: figure.on_machine(machine) if machine else figure
        for name, figure in all_figures.items()
        if not names or {name, figure.paper} & set(names) or name in by_claims
    }
    # A claim is judged when all figures it reads are there.
    judged = [claim for claim in wanted if all(figure in chosen for figure, _ in claim.needs())]
    return Selection(chosen, judged)


def run(
    selection: Selection,
    jobs: int,
    cache: Cache | None = None,
    tell: runs.Tell = lambda done, of, name: None,
    say: Callable[[str], None] = lambda text: None,
) -> Reproduction:
    cells = selection.cells()
    outcomes = runs.run_all(cells, jobs, cache or Cache(), tell, say)
    paired = list(zip(cells, outcomes, strict=True))
    results = Results(selection.figures, paired)
    return Reproduction(
        results, [claims.judge(claim, results) for claim in selection.claims], paired
    )


def write(
    reproduction: Reproduction, folder: Path, say: Callable[[str], None] = lambda text: None
) -> list[Path]:
    """Writes figures, data and claims into the folder; returns the pictures.

    There are no pictures where there is nothing to draw with (plots.missing()).
    """
    pictures = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for figure in reproduction.results.figures.values():
            say(figure.id)
            own = [v for v in reproduction.verdicts if v.claim.figure == figure.id]
            if not plots.missing():
                pictures += draw.draw(folder / figure.id, figure, reproduction.results, own)
            report.write_csv(folder / f"{figure.id}.csv", figure, reproduction.results)
            report.write_json(folder / f"{figure.id}.json", figure, reproduction.results)
        text = json.dumps({"claims": [v.as_json() for v in reproduction.verdicts]}, indent=1)
        (folder / "claims.json").write_text(text + "\n")
    except OSError as failure:
        raise errors.of_system(failure, f"cannot write to {folder}") from None
    return pictures


def _check(
    names: Sequence[str], all_figures: dict[str, Figure], all_claims: Sequence[Claim]
) -> None:
    papers = dict.fromkeys(figure.paper for figure in all_figures.values())
    groups = dict.fromkeys(claim.group for claim in all_claims)
    ids = [claim.id for claim in all_claims]
    for name in names:
        if name not in (*papers, *all_figures, *groups, *ids):
            raise errors.BadUsage(
                f"nothing is called '{name}'; papers: {', '.join(papers)}; "
                f"figures: {', '.join(all_figures)}; claims: {', '.join(groups)} and their parts, "
                f"such as {ids[0] if ids else 'none'}"
            )
