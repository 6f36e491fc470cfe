#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants every kind of bug at every labelled site of every engine, hunts for what it does, and writes the table of
docs/testing.md. Takes some ten minutes for each engine on two cores; an engine's lines are
replaced when it is done.

    .venv/bin/python tools/update_planted_bugs.py [--engine E,...] [--searches N]

A bug that is not caught is harmless for the reason that experiments/harmless.toml gives, or stands as `not caught`.
"""

import argparse
import tomllib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from holdfast import core, fleet

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- planted bugs: begin -->", "<!-- planted bugs: end -->"
KINDS = ("drop", "delay", "swap")
# Settings under which sites are listed: rare paths need them.
LISTINGS: tuple[dict[str, Any], ...] = ({}, {"options": {"retries": "0"}}, {"params": {"transactions": "12"}})

Canaries = dict[tuple[str, str], dict[str, Any]]


def sites(engine: str, options: set[str]) -> dict[str, str]:
    """Labels that runs and recoveries come to, and what stands there."""
    found: dict[str, str] = {}
    for listing in LISTINGS:
        if not set(listing.get("options", {})) <= options:
            continue
        spec = {
            "engine": engine,
            "sites": True,
            "schedules": 30,
            "points": 30,
            "images": 4,
            "crash_recovery": 8,
        }
        for site in core.crash(spec | listing)["sites"]:
            found[site["name"]] = site["kind"]
    return {name: kind for name, kind in sorted(found.items()) if not name.startswith("heap.")}


def hunt(job: tuple[str, str, int, dict[str, Any]]) -> dict[str, Any]:
    engine, mutation, searches, needs = job
    return core.module().hunt(needs | {"engine": engine, "mutation": mutation, "searches": searches})


def verdict(report: dict[str, Any], reason: str | None) -> str:
    if report["violations"]:
        return report["violations"][0]["name"]
    if not report["mutated"]:
        return "never met"
    return f"harmless: {reason}" if reason else "**not caught**"


def rows(engine: str, options: set[str], searches: int) -> list[str]:
    """The table's lines of one engine."""
    canaries: Canaries = {
        (row["engine"], row["mutation"]): row.get("needs", {})
        for row in tomllib.loads((ROOT / "experiments/canaries.toml").read_text())["canary"]
    }
    harmless = tomllib.loads((ROOT / "experiments/harmless.toml").read_text())["harmless"]
    found = sites(engine, options)
    jobs = []
    for name, kind in found.items():
        for mutation in (f"{name}={k}" for k in (KINDS if kind != "check" else KINDS[:1])):
            needs = canaries.get((engine, mutation))
            # What is known to need a long search gets one.
            jobs.append((engine, mutation, searches if needs is None else 99, needs or {}))
    with ProcessPoolExecutor(fleet.cores(), mp_context=get_context("spawn")) as pool:
        reports = dict(zip([job[1] for job in jobs], pool.map(hunt, jobs), strict=True))
    lines = []
    for name, kind in found.items():
        cells = []
        for mutation in (f"{name}={k}" for k in KINDS):
            reason = next(
                (
                    h["reason"]
                    for h in harmless
                    if mutation in h["mutations"] and engine in h.get("engines", [engine])
                ),
                None,
            )
            cells.append(verdict(reports[mutation], reason) if mutation in reports else "")
        lines.append(f"| {engine} | `{name}` | {kind} | {' | '.join(cells)} |")
    return lines


def replace(engine: str, lines: list[str]) -> None:
    """Puts an engine's lines into the page; those of the others stay."""
    page = ROOT / "docs/testing.md"
    before, _, rest = page.read_text().partition(BEGIN)
    table, _, after = rest.partition(END)
    others = [line for line in table.splitlines()[3:] if line and not line.startswith(f"| {engine} |")]
    head = ["", "| engine | site | stands there | drop | delay | swap |", "|---|---|---|---|---|---|"]
    page.write_text(before + BEGIN + "\n".join([*head, *others, *lines]) + f"\n{END}" + after)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--engine", default="", help="engines by name; default: all but those of hardware designs"
    )
    parser.add_argument(
        "--searches", type=int, default=3, help="searches for each bug, from cheap to thorough"
    )
    given = parser.parse_args()
    known = {entry["name"]: entry for entry in core.engines()}
    chosen = (
        given.engine.split(",")
        if given.engine
        else [name for name, entry in known.items() if not entry.get("simulated_only")]
    )
    for engine in chosen:
        lines = rows(engine, {option["name"] for option in known[engine]["options"]}, given.searches)
        replace(engine, lines)
        print(f"{engine}: {len(lines)} sites", flush=True)


if __name__ == "__main__":
    main()
