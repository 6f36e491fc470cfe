# SPDX-License-Identifier: Apache-2.0
from typing import Any

from rich.console import Console
from rich.markup import escape

from holdfast import catalog, environment
from holdfast.catalog import Machine
from holdfast.cli import options, output
from holdfast.cli.verb import verb

_SHOWN = ("name", "title", "supported", "reason")
_COLUMNS = ("machine", "description", "here", "cores x smt", "line", "HTM")


@verb
def run(json_file: options.Json = None) -> None:
    """List the machines: this computer with its abilities, and the simulated ones."""
    entries = catalog.machines()
    console = output.people(json_file)
    output.print_environment(console, environment.describe())
    for entry in entries:
        if entry.native:
            _print_native(console, entry)
    rows = [_row(entry) for entry in entries if not entry.native]
    output.print_table(
        console, output.table("Simulated machines", _COLUMNS, rows, left=len(_COLUMNS))
    )
    output.write_json(json_file, catalog.json_of(entries))


def _row(entry: Machine) -> tuple[str, ...]:
    """The functional machine has no cores and no lines of its own."""
    cores = f"{entry.cores} x {entry.smt}" if entry.cores else "-"
    line = str(entry.line_bytes or "-")
    here = "yes" if entry.supported else f"no: {entry.reason}"
    htm = entry.htm if entry.htm in ("none", "-") else "yes"
    return (entry.name, entry.title, here, cores, line, htm)


def _print_native(console: Console, entry: Machine) -> None:
    here = "" if entry.supported else f" [red](not here: {escape(entry.reason)})[/]"
    console.print(f"[bold]{escape(entry.name)}[/]  {escape(entry.title)}{here}")
    for name, value in entry.json.items():
        if name not in _SHOWN:
            _print_property(console, name, value)


def _print_property(console: Console, name: str, value: Any) -> None:
    """A list of objects becomes one line each; anything else one line."""
    label = name.replace("_", " ")
    if isinstance(value, list) and value and isinstance(value[0], dict):
        for entry in value:
            others = "; ".join(_text(v) for k, v in entry.items() if k != "name" and v != "")
            name_ = escape(str(entry["name"]))
            console.print(f"    {escape(label)} {name_:<12} {escape(others)}")
    else:
        console.print(f"    {escape(label):<20} {escape(_text(value))}")


def _text(value: Any) -> str:
    """A dictionary of switches becomes the names of those that are on."""
    if isinstance(value, dict):
        return ", ".join(name for name, on in value.items() if on) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
