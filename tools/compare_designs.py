#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures every hardware design in the same run and updates the table of designs.

    .venv/bin/python tools/compare_designs.py

The table is in docs/reference/designs.md, between two marks. A person writes the first columns, the
options of the run among them. This program replaces the last four. A design without a row gets one
with a question mark in each column that a person has to write.
"""

from pathlib import Path

from holdfast import core, errors

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/designs.md"
BEGIN = "<!-- comparison: tools/compare_designs.py -->\n"
END = "<!-- end of comparison -->\n"
WRITTEN, MEASURED = 7, 4  # columns
OPTIONS = 6  # the column with the options of the run
NONE = "none"


def lines_of_code(name: str) -> str:
    """Counts the lines of a design's folder that are neither empty nor a comment."""
    folder = ROOT / "holdfast/hardware" / name.replace("-", "_")
    texts = [path.read_text() for path in folder.iterdir() if path.suffix in (".h", ".cc")]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return str(sum(1 for line in lines if line and not line.startswith("//")))


def measure(name: str, options: str) -> list[str]:
    """Returns the measured cells of a row. All of them are simulated, so they repeat exactly."""
    spec = {
        "workload": "array-swap", "engines": ["hw"], "machine": "gem5-hercules", "threads": 1,
        "transactions": 10_000, "design": name, "recovery": True,
        "design_options": dict(text.split("=") for text in options.split() if "=" in text),
    }  # fmt: skip
    try:
        result = core.sim(spec)["benchmarks"][0]
        recovery = f"{result['recovery']['design']['seconds'] * 1e6:,.1f}"
    except errors.BadUsage:  # the design keeps nothing
        result = core.sim({**spec, "recovery": False})["benchmarks"][0]
        recovery = NONE
    counters = result["design_counters"]
    writes = sum(counters["writes_by_cause"].values()) / result["update_commits"]
    return [f"{counters['structure_bytes']:,}", f"{writes:.2f}", recovery, lines_of_code(name)]


def rows(text: str) -> dict[str, list[str]]:
    """Returns the cells of each row of the table in this page, by the name of the design."""
    table = text.split(BEGIN)[1].split(END)[0].strip().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
    return {row[0].strip("[").split("]")[0]: row for row in cells}


def updated(text: str) -> str:
    """Returns the page with current measurements."""
    head, rest = text.split(BEGIN)
    body, tail = rest.split(END)
    known = rows(text)
    lines = body.strip().splitlines()[:2]
    for design in core.designs():
        name = design["name"]
        row = known.get(name, [f"[{name}](hardware/{name}.md)", *["?"] * (WRITTEN - 1)])[:WRITTEN]
        cells = [*row, *measure(name, row[OPTIONS])]
        lines.append("| " + " | ".join(cells) + " |")
    return head + BEGIN + "\n".join(lines) + "\n" + END + tail


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
