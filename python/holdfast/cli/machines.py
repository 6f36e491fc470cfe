# SPDX-License-Identifier: Apache-2.0
from typing import Any

from rich.console import Console
from rich.markup import escape

from holdfast import core, environment
from holdfast.cli import options, output
from holdfast.cli.verb import verb

_SHOWN = ("name", "title", "supported", "reason")


@verb
def run(json_file: options.Json = None) -> None:
    """List the machines: this computer and what it supports, and the simulated ones."""
    entries = core.machines()
    console = output.people(json_file)
    output.print_environment(console, environment.describe())
    for entry in entries:
        here = "" if entry["supported"] else f" [red](not here: {escape(entry.get('reason', ''))})[/]"
        console.print(f"[bold]{escape(entry['name'])}[/]  {escape(entry.get('title', ''))}{here}")
        for name, value in entry.items():
            if name not in _SHOWN:
                _print_property(console, name, value)
    output.write_json(json_file, entries)


def _print_property(console: Console, name: str, value: Any) -> None:
    """A list of objects becomes one line each; anything else one line."""
    label = name.replace("_", " ")
    if isinstance(value, list) and value and isinstance(value[0], dict):
        for entry in value:
            others = "; ".join(_text(v) for k, v in entry.items() if k != "name")
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
