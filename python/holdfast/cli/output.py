# SPDX-License-Identifier: Apache-2.0
"""Printing: tables and notes for people, JSON for programs.

`--json -` leaves standard output to the JSON alone; everything for people then goes to standard error.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from holdfast import core, environment, errors

# A table in a pipe or a log file keeps its columns instead of being folded to 80 characters.
_PLAIN_WIDTH = 160


def people(json_file: str | None) -> Console:
    """Where tables and notes go, given what `--json` said."""
    stream = sys.stderr if json_file == "-" else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else _PLAIN_WIDTH)


def error(message: str) -> None:
    Console(file=sys.stderr, highlight=False, soft_wrap=True).print(f"[bold red]error:[/] {escape(message)}")


def write_json(json_file: str | None, value: Any) -> None:
    """Writes to the file, to standard output for "-", nowhere for None."""
    if json_file is None:
        return
    text = json.dumps(value, indent=2) + "\n"
    if json_file == "-":
        sys.stdout.write(text)
        return
    try:
        Path(json_file).write_text(text)
    except OSError as failure:
        raise errors.BadUsage(f"cannot write {json_file}: {failure.strerror}") from None


def print_environment(console: Console, described: dict[str, Any]) -> None:
    for line in environment.summary(described):
        console.print(f"[dim]{escape(line)}[/]")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> Table:
    """The first `left` columns are names, the others numbers."""
    result = Table(title=escape(title), title_justify="left", title_style="bold", header_style="bold")
    for index, column in enumerate(columns):
        if index < left:
            result.add_column(column, overflow="fold")
        else:
            result.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        result.add_row(*(escape(cell if isinstance(cell, str) else number(cell)) for cell in row))
    return result


def number(value: Any) -> str:
    """Three significant digits or whole thousands, a dash for what was not measured."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def bytes_text(value: float) -> str:
    """A size with a binary unit."""
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def duration(seconds: float) -> str:
    """A time with the unit that suits it."""
    for limit, scale, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds:.1f} s"


@contextmanager
def progress(console: Console, title: str) -> Iterator[core.Progress]:
    """A bar that vanishes when the work is done. Yields what takes the share done and a text."""
    columns = (
        TextColumn("{task.fields[title]}"),
        BarColumn(bar_width=32),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=1.0, title=title)
        yield lambda share, text: bar.update(task, completed=share, description=escape(text))
