# SPDX-License-Identifier: Apache-2.0
from rich.markup import escape

from holdfast import catalog
from holdfast.cli import options, output
from holdfast.cli.verb import verb


@verb
def run(json_file: options.Json = None) -> None:
    """List the workloads, with their operations and parameters."""
    entries = catalog.workloads()
    console = output.people(json_file)
    columns = ("workload", "description", "operations")
    rows = [(w.name, w.title, ", ".join(w.operations)) for w in entries]
    output.print_table(console, output.table("Workloads", columns, rows, left=3))
    for entry in entries:
        if entry.parameters:
            console.print(f"[bold]{escape(entry.name)}[/]")
        for parameter in entry.parameters:
            text = f"--param {parameter.name}={parameter.fallback}"
            console.print(f"    {escape(text):<36} {escape(parameter.help)}")
    output.write_json(json_file, catalog.json_of(entries))
