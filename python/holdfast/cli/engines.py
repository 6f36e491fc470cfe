# SPDX-License-Identifier: Apache-2.0
from rich.markup import escape

from holdfast import catalog
from holdfast.catalog import Engine
from holdfast.cli import options, output
from holdfast.cli.verb import verb


@verb
def run(json_file: options.Json = None) -> None:
    """List the engines: the promises of each, its cost, and whether this computer can run it."""
    entries = catalog.engines()
    console = output.people(json_file)
    columns = ("engine", "algorithm", "isolation", "durability", "fences per update", "log", "here")
    rows = [
        (e.name, e.title, e.isolation, e.durability, e.fences, e.log, _here(e)) for e in entries
    ]
    output.print_table(console, output.table("Engines", columns, rows, left=len(columns)))
    for entry in entries:
        console.print(f"[bold]{escape(entry.name)}[/]  {escape(entry.paper)}")
        for option in entry.options:
            text = f"--option {entry.name}.{option.name}={option.fallback}"
            console.print(f"    {escape(text):<50} {escape(option.help)}")
    output.write_json(json_file, catalog.json_of(entries))


def _here(entry: Engine) -> str:
    return "yes" if entry.supported else f"no: {entry.reason or 'not supported'}"
