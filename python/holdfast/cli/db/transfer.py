# SPDX-License-Identifier: Apache-2.0
"""Loading and dumping whole databases."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TextIO

import typer
from rich.console import Console
from rich.markup import escape

import holdfast
from holdfast import errors
from holdfast.cli import options, output
from holdfast.cli.db.coding import AsText, Bytes
from holdfast.cli.db.file import Domain, File, Force, MapName, changing, map_of, reading
from holdfast.cli.db.rows import Format, Numbered, ending_of, format_of, read, writer
from holdfast.cli.verb import verb

# The entries, or bytes, of one durable write.
_BATCH_ENTRIES = 1000
_BATCH_BYTES = 1 << 20

As = Annotated[
    Format | None, typer.Option("--format", help="Default: by the ending of the file's name.")
]


@verb
def load(
    file: File,
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="CSV or TSV, whose first line names the columns, or JSON lines; - is standard "
            "input.",
        ),
    ],
    form: As = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="COLUMN", help="Column of the key. Default: the first; in JSON `key`."
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            "--value",
            metavar="COLUMN",
            help="Column of the value. Default: the only other one; else all others as a JSON "
            "object.",
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter", metavar="C", help="Separates the columns of CSV; `tab` for a tab."
        ),
    ] = None,
    as_text: AsText = Bytes.text,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="E", help="The engine of a new database.")
    ] = None,
    max_bytes: Annotated[
        int | None,
        typer.Option("--max-bytes", metavar="N", min=1, max=1 << 44, help="The limit of growth."),
    ] = None,
    journal_bytes: options.JournalBytes = None,
    named: MapName = None,
    domain: Domain = None,
    force: Force = False,
    json_file: options.Json = None,
) -> None:
    """Put the rows of a table into a database, which is made if there is none.

    Known keys get the new values. A column `holdfast.map` names the map of each row, as `dump`
    writes it; --map is the map of rows without a name.
    """
    chosen = format_of(source, form)
    separator = "\t" if delimiter == "tab" else delimiter
    if separator is not None and (chosen is Format.jsonl or len(separator) != 1):
        raise errors.BadUsage("--delimiter is one character, or `tab`, and for CSV only")
    console = output.people(json_file)
    new: dict[str, Any] = {"engine": engine, "max_bytes": max_bytes, "journal_bytes": journal_bytes}

    def warn(text: str) -> None:
        output.warning(f"{source}: {text}")

    with (
        _opened(source) as (stream, size),
        changing(file, domain, force, create=True, **new) as database,
        output.progress(console, "load") as progress,
    ):
        how = (chosen, key, value, as_text, separator, warn)
        lines = Numbered(stream, source)
        loaded = _load(database, named, lines, size, progress, how)
    # A table without a heading loses its first row to it. Then these names are no names.
    columns = f"; columns: {', '.join(lines.columns)}" if lines.columns else ""
    console.print(escape(f"{loaded:,} entries loaded into {file}{columns}"))
    output.write_json(json_file, {"path": str(file), "entries": loaded})


def _load(
    database: holdfast.Database,
    named: str | None,
    lines: Numbered,
    size: int,
    progress: Any,
    how: tuple,
) -> int:
    loaded = 0
    batch: list[tuple[Any, bytes, bytes]] = []
    maps: dict[str | None, Any] = {}

    def write() -> None:
        nonlocal loaded
        database.write(batch)
        loaded += len(batch)
        batch.clear()
        progress(lines.bytes / size if size else 0.0, f"{loaded:,} entries")

    try:
        try:
            held = 0
            for *of_row, key, value in read(lines, *how):
                name = of_row[0] if of_row else named
                if name not in maps:
                    maps[name] = map_of(database, name, create=True)
                batch.append((maps[name], key, value))
                held += len(key) + len(value)
                if len(batch) >= _BATCH_ENTRIES or held >= _BATCH_BYTES:
                    write()
                    held = 0
            write()
        except errors.BadUsage as failure:
            write()
            raise errors.BadUsage(
                f"{failure}; the {loaded:,} entries before it have been loaded"
            ) from None
    except errors.OutOfSpace as failure:
        raise errors.OutOfSpace(f"{failure}; {loaded:,} entries have been loaded") from None
    return loaded


@contextmanager
def _opened(source: str) -> Iterator[tuple[BinaryIO, int]]:
    """A stream of bytes, and their number; 0 if it is unknown."""
    if source == "-":
        yield sys.stdin.buffer, 0
        return
    try:
        stream = Path(source).open("rb")  # noqa: SIM115
    except OSError as failure:
        raise errors.BadUsage(f"cannot read {source}: {failure.strerror}") from None
    with stream:
        yield stream, Path(source).stat().st_size


@verb
def dump(
    file: File,
    target: Annotated[
        str,
        typer.Argument(
            metavar="[OUTPUT]",
            help="The file to write, which replaces an earlier one; - is standard output.",
        ),
    ] = "-",
    named: MapName = None,
    form: As = None,
    as_text: AsText = Bytes.text,
) -> None:
    """Write all entries as a table that `load` reads, JSON lines unless told otherwise.

    Entries of named maps get a column `holdfast.map`. With --map, writes the entries of that map
    alone, without the column. A map without entries leaves no trace.
    """
    chosen = form or ending_of(target) or Format.jsonl
    with reading(file) as database, database.snapshot() as snapshot:
        sources: list[tuple[str | None, Any]] = (
            [(None, snapshot), *((name, snapshot.map(name)) for name in snapshot.maps())]
            if named is None
            else [(None, map_of(snapshot, named))]
        )
        console = Console(stderr=True)
        total = sum(len(entries) for _, entries in sources) if console.is_terminal else 0
        with _made(target, file) as stream, output.progress(console, "dump") as progress:
            write = writer(stream, chosen, len(sources) > 1)
            number = 0
            for name, entries in sources:
                for key, value in entries.items():
                    write(as_text.encode_bytes(key), as_text.encode_bytes(value), name)
                    if total and number % 1000 == 0:
                        progress(number / total, f"{number:,} entries")
                    number += 1


def _made(target: str, source: Path) -> AbstractContextManager[TextIO]:
    if target == "-":
        return nullcontext(_utf8(sys.stdout))
    if Path(target).exists() and source.samefile(target):
        raise errors.BadUsage(f"{target} is the database itself; give another name")
    return output.new_file(target)


def _utf8(stream: TextIO) -> TextIO:
    """The stream with UTF-8, whatever the locale."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(encoding="utf-8", newline="")
    return stream
