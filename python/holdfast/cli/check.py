# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from rich.markup import escape

import holdfast
from holdfast import core, errors
from holdfast.cli import options, output
from holdfast.cli.heap_file import HeapPath, existing, print_facts
from holdfast.cli.verb import verb
from holdfast.findings import HeapCheck
from holdfast.shapes import Json, decode

# The root of a database (holdfast/db/store/store_blocks.h).
_DATABASE = "holdfast.db"


def _verify(heap: Path, found: Json) -> Json:
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
    except errors.BadUsage as refused:  # ordered by a C++ program's comparator; found in order
        outcome = f"ok, except for the order of keys: {refused}"
    ours = [
        {**root, "check": outcome} if root["name"].startswith(_DATABASE) else root
        for root in found["roots"]
    ]
    problems = [*found["problems"], *problems]
    return {**found, "roots": ours, "problems": problems, "ok": not problems}


@verb
def run(heap: HeapPath, json_file: options.Json = None) -> None:
    """Walk a heap's allocator and structures, or a database, and report damage and leaks.

    Exit status 1 if there are any.
    """
    report = decode(HeapCheck, _verify(heap, core.check(existing(heap))))
    output.write_json(json_file, report.json)
    console = output.people(json_file)
    facts = {name: value for name, value in report.json.items() if name not in ("ok", "problems")}
    print_facts(console, facts)
    for problem in report.problems:
        console.print(f"[red]{escape(problem)}[/]")
    if not report.ok:
        raise errors.CheckFailed(f"{heap}: {len(report.problems)} problems")
    console.print(f"[green]{escape(str(heap))} is in order[/]")
