# SPDX-License-Identifier: Apache-2.0
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from holdfast import catalog, environment, errors, fleet, plots, units
from holdfast.cli import options, output
from holdfast.cli.verb import verb
from holdfast.lab import claims, reproduce
from holdfast.lab.claims import Verdict
from holdfast.lab.reproduce import Reproduction, Selection
from holdfast.shapes import Json

_COLOURS = {
    claims.GREEN: "green",
    claims.EXPLAINED: "cyan",
    claims.RED: "red",
    claims.NOT_RUN: "yellow",
}


@verb
def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Papers, figures, claims: fur, fur-7, F6, F6a. Default: everything.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points, shorter runs.")] = False,
    machine: Annotated[
        str,
        typer.Option(
            "--machine", metavar="M", help="Run simulated panels on this described machine instead."
        ),
    ] = "",
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", min=1, help="Runs at a time; default: one per core of this computer."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for figures and data.")
    ] = Path("out/reproduce"),
    listing: Annotated[
        bool, typer.Option("--list", help="List figures and claims, and run nothing.")
    ] = False,
    json_file: options.Json = None,
) -> None:
    """Run figures of papers, draw them, and judge the papers' claims by them.

    An interrupted reproduction goes on where it stopped.
    """
    if machine and not machine.endswith(".toml"):
        described = [m for m in catalog.simulated_machines() if m.name != "sim"]
        options.choose(machine, described, "described machine")
    selection = reproduce.select(names or [], quick, machine)
    console = output.people(json_file)
    if listing:
        _list(console, selection)
        output.write_json(json_file, _as_json(selection))
        return
    out.mkdir(parents=True, exist_ok=True)
    output.check_target(out / "claims.json", in_place=True)
    facts = environment.describe()
    output.print_environment(console, facts)
    start = time.monotonic()
    with output.progress(console, "reproduce") as progress:
        done = reproduce.run(
            selection,
            jobs or fleet.cores(),
            tell=lambda done, of, name: progress(done / of, f"{done} of {of} runs, last {name}"),
            say=console.print,
        )
        pictures = reproduce.write(done, out, lambda name: progress(1.0, f"drawing {name}"))
    _print_figures(console, selection, done)
    _print_claims(console, done.verdicts)
    cached = sum(outcome.cached for _, outcome in done.outcomes)
    console.print(
        f"{len(done.outcomes)} cells, {cached} of them known from before, in "
        f"{time.monotonic() - start:.0f} s; {len(pictures) // 2} figures and their data are in "
        f"{escape(str(out))}"
    )
    if advice := plots.missing():
        console.print(f"[yellow]There are no pictures: {escape(advice)}[/]")
    output.write_json(
        json_file,
        {
            "context": asdict(facts) | {"quick": quick, "machine": machine},
            "claims": [verdict.as_json() for verdict in done.verdicts],
            "groups": claims.by_group(done.verdicts),
            "figures": [str(picture) for picture in pictures],
        },
    )
    if failed := done.failed():
        told = "\n".join(f"  {cell.name}: {outcome.reason}" for cell, outcome in failed[:10])
        raise errors.CheckFailed(f"{len(failed)} of {len(done.outcomes)} cells failed:\n{told}")


def _as_json(selection: Selection) -> Json:
    return {
        "figures": [
            {
                "id": figure.id,
                "title": figure.title,
                "reference": figure.reference,
                "cells": len(list(figure.cells())),
            }
            for figure in selection.figures.values()
        ],
        "claims": [
            {
                "id": claim.id,
                "sentence": claim.sentence,
                "figure": claim.figure,
                "paper": claim.value,
            }
            for claim in selection.claims
        ],
    }


def _list(console: Console, selection: Selection) -> None:
    rows = [
        (figure.id, figure.reference, figure.title, len(list(figure.cells())))
        for figure in selection.figures.values()
    ]
    output.print_table(
        console, output.table("figures", ("figure", "of", "title", "cells"), rows, left=3)
    )
    claimed = [(c.id, c.figure, c.sentence, _value(c.value)) for c in selection.claims]
    columns = ("claim", "figure", "statement", "paper")
    output.print_table(console, output.table("claims", columns, claimed, left=3))


def _print_figures(console: Console, selection: Selection, done: Reproduction) -> None:
    rows = []
    for figure in selection.figures.values():
        outcomes = [outcome for cell, outcome in done.outcomes if cell.figure == figure.id]
        states = [outcome.state for outcome in outcomes]
        why = dict.fromkeys(outcome.reason for outcome in outcomes if outcome.reason)
        counts = [states.count(state) for state in ("ok", "not run", "failed")]
        rows.append((figure.id, figure.title, "; ".join(list(why)[:3]), *counts))
    columns = ("figure", "title", "not run because", "cells run", "not run", "failed")
    output.print_table(console, output.table("figures", columns, rows, left=3))


def _print_claims(console: Console, verdicts: Sequence[Verdict]) -> None:
    if not verdicts:
        return
    columns = ("claim", "statement", "verdict", "reason", "paper", "measured", "tolerance")
    table = output.table("claims", columns, [], left=4)
    for verdict in verdicts:
        table.add_row(
            verdict.claim.id,
            verdict.claim.sentence,
            f"[{_COLOURS[verdict.verdict]}]{verdict.verdict}[/]",
            escape(verdict.reason),
            _value(verdict.claim.value),
            _value(verdict.measured),
            verdict.claim.tolerance,
        )
    console.print(table)
    groups = claims.by_group(verdicts)
    for wanted in _COLOURS:
        names = [group for group, found in groups.items() if found == wanted]
        if names:
            console.print(f"[{_COLOURS[wanted]}]{wanted}[/]: {', '.join(names)}")


def _value(value: float | bool | None) -> str:
    if isinstance(value, bool):
        return "holds" if value else "does not"
    return units.number(value)
