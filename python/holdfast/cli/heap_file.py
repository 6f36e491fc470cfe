# SPDX-License-Identifier: Apache-2.0
"""Parts that the verbs for heap files share."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import holdfast
from holdfast import errors, units
from holdfast.cli import output
from holdfast.shapes import Json

# The root of a database (holdfast/db/store/store_blocks.h).
_DATABASE = "holdfast.db"

HeapPath = Annotated[Path, typer.Argument(metavar="HEAP", help="A heap file.")]


def existing(heap: Path) -> str:
    if not heap.is_file():
        raise errors.BadUsage(f"there is no heap file {heap}")
    return str(heap)


def verified(heap: Path, found: Json) -> Json:
    """Adds the verification of the database in the heap, if there is one, to the findings."""
    if all(root["name"] != _DATABASE for root in found.get("roots", [])):
        return found
    problems = []
    outcome = "ok"
    try:
        holdfast.open(heap, read_only=True, verify=True).close()
    except errors.DamagedError as damage:
        outcome = str(damage)
        problems = [outcome]
    except errors.MisuseError as refused:
        if "is ordered by comparator" in str(refused):  # a C++ program's own; found in order
            outcome = f"ok, except for the order of keys: {refused}"
        else:
            outcome = f"not verified: {refused}"
            problems = [outcome]
    ours = [
        {**root, "check": outcome} if root["name"].startswith(_DATABASE) else root
        for root in found["roots"]
    ]
    problems = list(dict.fromkeys([*found["problems"], *problems]))  # both compare all pages
    return {**found, "roots": ours, "problems": problems, "ok": not problems}


def print_facts(console: Console, facts: dict[str, Any], indent: int = 0) -> None:
    """Prints an object of any shape: inner objects indented, lists of objects as tables."""
    for name, value in facts.items():
        label = " " * indent + name.replace("_", " ")
        if isinstance(value, dict):
            console.print(f"[bold]{escape(label)}[/]")
            print_facts(console, value, indent + 2)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            columns = list(value[0])
            rows = [[_text(column, row.get(column)) for column in columns] for row in value]
            heads = [column.replace("_", " ") for column in columns]
            output.print_table(console, output.table(label, heads, rows, left=len(columns)))
        else:
            console.print(f"{escape(label):<24} {escape(_text(name, value))}")


def _text(name: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, int) and not isinstance(value, bool):
        if name in ("base", "base_address", "address"):
            return f"0x{value:x}"
        if "bytes" in name and value >= 1024:
            return f"{value:,} ({units.bytes_text(value)})"
    return value if isinstance(value, str) else units.number(value)
