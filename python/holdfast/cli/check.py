# SPDX-License-Identifier: Apache-2.0
from rich.markup import escape

from holdfast import core, errors
from holdfast.cli import options, output
from holdfast.cli.heap_file import HeapPath, existing, print_facts, verified
from holdfast.cli.verb import verb
from holdfast.findings import HeapCheck
from holdfast.shapes import decode


@verb
def run(heap: HeapPath, json_file: options.Json = None) -> None:
    """Walk a heap's allocator and structures, or a database, and report damage and leaks.

    Exit status 1 if there are any.
    """
    report = decode(HeapCheck, verified(heap, core.check(existing(heap))))
    output.write_json(json_file, report.json)
    console = output.people(json_file)
    facts = {name: value for name, value in report.json.items() if name not in ("ok", "problems")}
    print_facts(console, facts)
    for problem in report.problems:
        console.print(f"[red]{escape(problem)}[/]")
    if not report.ok:
        raise errors.CheckFailed(f"{heap}: {len(report.problems)} problems")
    console.print(f"[green]{escape(str(heap))} is in order[/]")
