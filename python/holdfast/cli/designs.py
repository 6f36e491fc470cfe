# SPDX-License-Identifier: Apache-2.0
from rich.markup import escape

from holdfast import catalog
from holdfast.cli import options, output
from holdfast.cli.verb import verb


@verb
def run(json_file: options.Json = None) -> None:
    """List the hardware designs for durability that simulated machines can have."""
    entries = catalog.designs()
    console = output.people(json_file)
    columns = ("design", "description", "survives a power failure")
    rows = [(e.name, e.title, e.survives) for e in entries]
    output.print_table(console, output.table("Hardware designs", columns, rows, left=len(columns)))
    for entry in entries:
        console.print(f"[bold]{escape(entry.name)}[/]  {escape(entry.source)}")
        for option in entry.options:
            text = f"{option.name}={option.fallback}"
            console.print(f"    {escape(text):<30} {escape(option.help)}")
    output.write_json(json_file, catalog.json_of(entries))
