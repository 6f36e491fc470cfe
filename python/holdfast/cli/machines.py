# SPDX-License-Identifier: Apache-2.0
from typing import Any

from rich.console import Console
from rich.markup import escape

from holdfast import core, environment
from holdfast.cli import options, output
from holdfast.cli.verb import verb

_SHOWN = ("name", "title", "supported", "reason")
_COLUMNS = ("machine", "what it is", "here", "cores x smt", "line", "HTM")


@verb
def run(json_file: options.Json = None) -> None:
    """List the machines: this computer and what it supports, and the simulated ones."""
    entries = core.machines()
    console = output.people(json_file)
    output.print_environment(console, environment.describe())
    for entry in entries:
        if entry["name"] == "native":
            _print_native(console, entry)
    rows = [_row(entry) for entry in entries if entry["name"] != "native"]
    console.print(output.table("Simulated machines", _COLUMNS, rows, left=len(_COLUMNS)))
    output.write_json(json_file, entries)


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    """The functional machine has no cores and no lines of its own."""
    cores = f"{entry['cores']} x {entry['smt']}" if "cores" in entry else "-"
    line = str(entry.get("line_bytes", "-"))
    here = "yes" if entry["supported"] else f"no: {entry['reason']}"
    htm = entry.get("htm", "-")
    return (entry["name"], entry["title"], here, cores, line, htm if htm in ("none", "-") else "yes")


def _print_native(console: Console, entry: dict[str, Any]) -> None:
    here = "" if entry["supported"] else f" [red](not here: {escape(entry.get('reason', ''))})[/]"
    console.print(f"[bold]{escape(entry['name'])}[/]  {escape(entry.get('title', ''))}{here}")
    for name, value in entry.items():
        if name not in _SHOWN:
            _print_property(console, name, value)


def _print_property(console: Console, name: str, value: Any) -> None:
    """A list of objects becomes one line each; anything else one line."""
    label = name.replace("_", " ")
    if isinstance(value, list) and value and isinstance(value[0], dict):
        for entry in value:
            others = "; ".join(_text(v) for k, v in entry.items() if k != "name" and v != "")
            console.print(f"    {escape(label)} {escape(str(entry['name'])):<12} {escape(others)}")
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
