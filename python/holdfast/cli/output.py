# SPDX-License-Identifier: Apache-2.0
"""Printing: tables and notes for people, JSON for programs.

`--json -` leaves standard output to the JSON; tables and notes then go to standard error.
"""

import errno
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from holdfast import core, errors, termination
from holdfast.environment import Environment
from holdfast.units import number

# A table in a pipe or a log file keeps its columns instead of being folded to 80 characters.
_PLAIN_WIDTH = 160
# So much of a name or a text stays where numbers leave too little room.
_NAME_WIDTH = 12
# The first bytes of every heap file (holdfast/heap/file/superblock_text.h).
_HEAP_MAGIC = b"HOLDFAST"


def people(json_file: str | None) -> Console:
    """The console for tables and notes, given the value of `--json`."""
    stream = sys.stderr if json_file == "-" else sys.stdout
    if getattr(stream, "errors", None) == "strict":  # names of files need not be text
        stream.reconfigure(errors="surrogateescape")
    width = None if stream.isatty() else _PLAIN_WIDTH
    return Console(file=stream, highlight=False, width=width)


def error(message: str) -> None:
    console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
    console.print(f"[bold red]error:[/] {escape(message)}")


def warning(message: str) -> None:
    console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
    console.print(f"[bold yellow]warning:[/] {escape(message)}")


def write_json(json_file: str | None, value: Any) -> None:
    """Writes to the file, to standard output for "-", nowhere for None."""
    if json_file is None:
        return
    text = json.dumps(value, indent=2) + "\n"
    if json_file == "-":
        sys.stdout.write(text)
        return
    with new_file(json_file) as stream:
        stream.write(text)


def check_target(
    target: str | os.PathLike[str], made: Path | None = None, in_place: bool = False
) -> None:
    """Raises BadUsage if the target could not be written: before a long run, not after it.

    It is written by `new_file`, or else `in_place`: an earlier file is not replaced. `made` is a
    folder that the run makes if it is missing.
    """
    path = Path(target)
    replaceable = path.is_file() and not in_place and not _cannot_be_replaced(path)
    replaced = not path.exists() or replaceable
    needed = Path(os.path.realpath(path)).parent if replaced else path
    code = 0
    if path.is_dir():
        code = errno.EISDIR
    elif not needed.exists():
        makes = made is not None and Path(os.path.realpath(made)).is_relative_to(needed)
        code = 0 if makes else errno.ENOENT
    elif replaced and not needed.is_dir():
        code = errno.ENOTDIR
    elif not os.access(needed, os.W_OK):
        code = errno.EACCES
    if code:
        raise errors.of_system(OSError(code, os.strerror(code)), f"cannot write {target}")
    if path.is_file():
        _refuse_heap(path)


@contextmanager
def new_file(target: str) -> Iterator[TextIO]:
    """A stream that becomes the file `target`, in place of an earlier one, when the block ends.

    If the block fails, an earlier file stays as it was. A target that cannot be replaced, such
    as a pipe, is written directly. Raises BadUsage, changing nothing, if the target is a heap file.
    """
    path = Path(target)
    try:
        if path.is_file():
            _refuse_heap(path)
        if path.exists() and (not path.is_file() or _cannot_be_replaced(path)):
            with path.open("w", encoding="utf-8", newline="") as stream:
                yield stream
            return
        with termination.raised(), _renamed(Path(os.path.realpath(path))) as stream:
            yield stream
    except (errors.Failure, BrokenPipeError):
        raise
    except OSError as failure:
        raise errors.of_system(failure, f"cannot write {target}") from None


def _cannot_be_replaced(path: Path) -> bool:
    """A file behind /dev/stdout has other writers; in some folders only its content may change."""
    in_system = any(path.absolute().is_relative_to(folder) for folder in ("/dev", "/proc"))
    in_memory = path.absolute().is_relative_to("/dev/shm")
    folder = os.path.dirname(os.path.realpath(path))
    return (in_system and not in_memory) or not os.access(folder, os.W_OK)


def _refuse_heap(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(len(_HEAP_MAGIC)) == _HEAP_MAGIC:
            raise errors.BadUsage(f"{path} is a heap file or a database; give another name")


@contextmanager
def _renamed(path: Path) -> Iterator[TextIO]:
    unfinished = path.with_name(f".holdfast-{secrets.token_hex(8)}.new")
    try:
        with unfinished.open("x", encoding="utf-8", newline="") as stream:
            if path.exists():
                shutil.copymode(path, unfinished)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def print_environment(console: Console, described: Environment) -> None:
    for line in described.summary():
        console.print(f"[dim]{escape(line)}[/]")


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1
) -> Table:
    """A table whose first `left` columns are names, and whose others are numbers.

    In a narrow terminal names and headings are folded, numbers are not.
    """
    result = Table(
        title=escape(title), title_justify="left", title_style="bold", header_style="bold"
    )
    cells = [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in rows]
    for index, column in enumerate(columns):
        least = max(len(word) for word in [*column.split(), *(row[index] for row in cells)])
        if index < left:
            result.add_column(column, overflow="fold", min_width=min(least, _NAME_WIDTH))
        else:
            result.add_column(column, justify="right", min_width=least)
    for row in cells:
        result.add_row(*(escape(cell) for cell in row))
    return result


def print_table(console: Console, made: Table) -> None:
    """Prints a table whole. In a terminal that is too narrow for it the lines go on below."""
    least = Measurement.get(console, console.options, made).minimum
    if least > console.width:
        made.width = least
    console.print(made, crop=False, no_wrap=True, overflow="ignore")


@contextmanager
def progress(console: Console, title: str) -> Iterator[core.Progress]:
    """Shows a bar until the work is done. Yields a function for the share done and a text."""
    columns = (
        TextColumn("{task.fields[title]}"),
        BarColumn(bar_width=32),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=1.0, title=title)
        yield lambda share, text: bar.update(task, completed=share, description=escape(text))
