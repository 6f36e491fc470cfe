#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants every kind of bug at every labelled site of every engine and searches for violations.

Writes docs/inside/planted-bugs/ENGINE.md and the summary in docs/inside/testing.md. Takes minutes
for each engine on two cores.

    .venv/bin/python tools/update_planted_bugs.py [--engine E,...] [--searches N] [--sites NAME,...]

A bug is searched under a few of the settings in which its site is met: those that canaries at this
site need, plain ones, and settings that take rare paths. A bug that is not caught is harmless for
the reason in checks.toml beside the engine, or its entry is `not caught`. A bug with such a reason
is searched all the same, for a short time, so that a wrong reason shows.
"""

import argparse
import json
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from holdfast import core, fleet

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs/inside/planted-bugs"
BEGIN, END = "<!-- planted bugs: begin -->", "<!-- planted bugs: end -->"
KINDS = ("drop", "delay", "swap", "first", "last")
# The kinds that change something at sites of a kind.
KINDS_AT = {"check": ("drop",), "scan": ("drop", "first", "last")}
MOVED = ("drop", "delay", "swap")
NOT_CAUGHT = "**not caught**"
NEVER_MET = "never met"
WEAK = " (weak)"

MOST_SETTINGS = 6  # for a bug; the settings that canaries need come last, and are often slow

Setting = dict[str, Any]
# Stores stay in their buffers for long.
HIDDEN: Setting = {"drain_probability": 0.05, "switch_probability": 0.1}
UNORDERED: Setting = {"rmw_orders_pwb": False}
# Rare paths: the lock and its failures, roll-backs, logs that wrap around, ranges of bytes.
SETTINGS: tuple[Setting, ...] = (
    {},
    UNORDERED,
    {"options": {"retries": "0"}},
    {"options": {"retries": "0"}, "program": "x w0 w0 ; w1 | s ; s"},
    {"options": {"retries": "1"}, "program": "w0 w1 ; w0 | x w0 r1 ; x w1 r0 | u w0 r1 ; u r1 r0"},
    {"program": "w0 ; w1 | x r0 ; x r1 | u r0 ; u r1"},
    {"program": "r0 w1 | w2 | w0", "params": {"prelude": "0"}},
    {"options": {"retries": "0"}, "params": {"throws": "60"}},
    {"options": {"retries": "0"}, "params": {"reads": "70"}},
    {"params": {"throws": "60"}},
    {"options": {"retries": "0"}, "rmw_orders_pwb": False},
    HIDDEN,
)


def settings(engine: dict[str, Any], needed: list[Setting]) -> list[Setting]:
    """The settings under which bugs of the engine are searched, each once."""
    options = {option["name"] for option in engine["options"]}
    found: dict[str, Setting] = {}
    durable = (row["name"] for row in core.designs() if row["durable"])
    design = {"design": next(durable)} if engine.get("simulated_only") else {}
    for setting in [*SETTINGS, *needed]:
        if set(setting.get("options", {})) <= options:
            setting = design | setting
            found.setdefault(json.dumps(setting, sort_keys=True), setting)
    return list(found.values())


def sites(job: tuple[str, Setting]) -> dict[str, dict[str, Any]]:
    """Sites that runs, recoveries and the creation of a heap meet under a setting."""
    engine, setting = job
    spec = dict(setting)
    least = spec.pop("transactions", 2)
    spec["params"] = {"transactions": str(least)} | spec.get("params", {})
    if "design" in spec:
        spec.setdefault("machine", "tiny")
    small = {
        "engine": engine,
        "sites": True,
        "schedules": 30,
        "points": 30,
        "images": 4,
        "crash_recovery": 8,
    }
    if spec.get("schedule") == "exhaustive":  # neighbours differ little
        small["schedules"] = spec["schedules"]
    return {site["name"]: site for site in core.crash(spec | small)["sites"]}


def hunt(job: tuple[str, str, list[tuple[Setting, int]]]) -> tuple[str, bool]:
    """Returns the violation that a bug leads to, `not caught` or `never met`.

    The second value tells whether read-modify-writes ordered write-backs where it was found.
    """
    engine, mutation, hunts = job
    met = False
    for setting, searches in hunts:
        report = core.module().hunt(
            setting | {"engine": engine, "mutation": mutation, "searches": searches}
        )
        if report["violations"]:
            return report["violations"][0]["name"], setting.get("rmw_orders_pwb", True)
        met = met or report["mutated"] + report["mutated_in_creation"] > 0
    return (NOT_CAUGHT if met else NEVER_MET), True


class Sweep:
    """All bugs of one engine."""

    def __init__(self, engine: dict[str, Any], searches: int, only: set[str]):
        self.engine = engine["name"]
        self.searches = searches
        known = core.module().planted_bugs()[self.engine]
        self.canaries: dict[str, Setting] = known["canaries"]
        self.harmless: dict[str, str] = known["harmless"]
        self.settings = settings(engine, list(self.canaries.values()))
        self.only = only

    def hunts(
        self, site: dict[str, Any], mutation: str, met_in: list[Setting]
    ) -> list[tuple[Setting, int]]:
        """Settings, and the number of searches in each. A canary's setting gets all searches."""
        needed = [
            needs for other, needs in self.canaries.items() if other.split("=")[0] == site["name"]
        ]
        chosen = [setting for setting in needed if setting in met_in][:1]
        chosen += [setting | UNORDERED for setting in chosen if setting | UNORDERED != setting]
        chosen += [HIDDEN] if site["kind"] == "full fence" and HIDDEN in met_in else []
        chosen += [setting for setting in met_in if setting not in chosen]
        first = [(self.canaries[mutation], 99)] if mutation in self.canaries else []
        if mutation in self.harmless:
            return first + [(setting, 1) for setting in chosen[:2]]
        # A setting that shows one kind of bug at a site may show the other kinds as well.
        many = max(self.searches, 4)
        return first + [(s, many if s in needed else self.searches) for s in chosen[:MOST_SETTINGS]]

    def run(self) -> list[tuple[str, str, list[str]]]:
        """Per site: its name, its kind, and a verdict for each kind of bug."""
        with ProcessPoolExecutor(fleet.cores(), mp_context=get_context("spawn")) as pool:
            seen = list(pool.map(sites, [(self.engine, setting) for setting in self.settings]))
            every = {name: site for one in seen for name, site in one.items()}
            every = {
                name: every[name]
                for name in sorted(every)
                if not name.startswith("heap.") and (not self.only or name in self.only)
            }
            jobs = []
            for name, site in every.items():
                pairs = list(zip(self.settings, seen, strict=True))
                met_in = [
                    setting
                    for setting, one in pairs
                    if name in one and not one[name]["only_in_creation"]
                ]
                for k in KINDS_AT.get(site["kind"], MOVED):
                    hunts = self.hunts(site, f"{name}={k}", met_in or self.settings[:1])
                    jobs.append((self.engine, f"{name}={k}", hunts))
            found = {}
            for job, verdict in zip(jobs, pool.map(hunt, jobs), strict=True):
                found[job[1]] = verdict
                print(f"{job[1]}: {verdict[0]}", file=sys.stderr, flush=True)
        return [
            (name, site["kind"], [self.verdict(f"{name}={k}", found) for k in KINDS])
            for name, site in every.items()
        ]

    def verdict(self, mutation: str, found: dict[str, tuple[str, bool]]) -> str:
        if mutation not in found:
            return ""
        name, ordered = found[mutation]
        if name in (NOT_CAUGHT, NEVER_MET):
            reason = self.harmless.get(mutation)
            return f"harmless: {reason}" if reason else name
        return name if ordered else name + WEAK


def read_page(engine: str) -> dict[str, str]:
    """The table's lines by site."""
    page = PAGES / f"{engine}.md"
    lines = page.read_text().splitlines() if page.exists() else []
    # An older page has fewer columns.
    return {
        line.split("`")[1]: line + " |" * (len(KINDS) + 3 - line.count("|"))
        for line in lines
        if line.startswith("| `")
    }


def write_page(engine: str, lines: dict[str, str]) -> None:
    PAGES.mkdir(exist_ok=True)
    (PAGES / f"{engine}.md").write_text(
        f"# Bugs planted in `{engine}`\n\n"
        "Each cell names the violation that the crash explorer reports when the bug is planted\n"
        '(docs/inside/testing.md, "Planted bugs"). `tools/update_planted_bugs.py` makes this page;'
        "\nreasons are in `checks.toml` beside the engine.\n\n"
        f"| site | operation | {' | '.join(KINDS)} |\n|---|---|{'---|' * len(KINDS)}\n"
        + "".join(lines[name] + "\n" for name in sorted(lines))
    )


def summary(names: list[str]) -> str:
    """One line per engine."""
    lines = [
        "| engine | sites | bugs | caught | harmless | not caught |",
        "|---|---|---|---|---|---|",
    ]
    for name in names:
        page = read_page(name)
        if not page:
            lines.append(f"| {name} | not swept yet | | | | |")
            continue
        cells = [
            cell.strip() for line in page.values() for cell in line.split("|")[3:-1] if cell.strip()
        ]
        harmless = sum(cell.startswith("harmless") for cell in cells)
        missed = sum(cell in (NOT_CAUGHT, NEVER_MET) for cell in cells)
        link = f"[{name}](planted-bugs/{name}.md)"
        counts = (len(page), len(cells), len(cells) - harmless - missed, harmless, missed)
        lines.append(f"| {link} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def in_order(listed: list[str], built: list[str]) -> list[str]:
    """The engines of this build. A build of a few engines keeps the lines of all others."""
    if set(listed) <= set(built):
        return built
    return [*listed, *(name for name in built if name not in listed)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--engine", default="", help="engines by name; default: all that are durable"
    )
    parser.add_argument(
        "--searches", type=int, default=3, help="searches for each bug, from cheap to thorough"
    )
    parser.add_argument("--sites", default="", help="only these; the other lines of the page stay")
    given = parser.parse_args()
    durable = {entry["name"]: entry for entry in core.engines() if entry["durability"] != "none"}
    only = set(filter(None, given.sites.split(",")))
    for name in given.engine.split(",") if given.engine else durable:
        rows = Sweep(durable[name], given.searches, only).run()
        lines = {site: f"| `{site}` | {kind} | {' | '.join(cells)} |" for site, kind, cells in rows}
        write_page(name, (read_page(name) if only else {}) | lines)
        print(f"{name}: {len(lines)} sites", flush=True)
    page = ROOT / "docs/inside/testing.md"
    before, _, rest = page.read_text().partition(BEGIN)
    old, _, after = rest.partition(END)
    rows = re.findall(r"^\| \[([\w-]+)\]", old, re.MULTILINE)
    listed = [name for name in rows if (PAGES / f"{name}.md").exists()]
    page.write_text(f"{before}{BEGIN}\n{summary(in_order(listed, list(durable)))}\n{END}{after}")


if __name__ == "__main__":
    main()
