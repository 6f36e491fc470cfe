# SPDX-License-Identifier: Apache-2.0
"""The service of a database: statistics, verification, backup."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from holdfast.cli import options, output
from holdfast.cli.db.file import Domain, File, Force, changing, reading
from holdfast.cli.heap_file import print_facts
from holdfast.cli.verb import verb

_SIZES = (
    "data_bytes", "used_bytes", "free_bytes", "reclaimable_bytes", "capacity_bytes",
    "old_versions", "open_snapshots", "oldest_snapshot_milliseconds",
    "journal_bytes", "journal_held_bytes",
)  # fmt: skip


@verb
def stats(
    file: File,
    prometheus: Annotated[
        bool, typer.Option("--prometheus", help="The numbers as text for a Prometheus server.")
    ] = False,
    json_file: options.Json = None,
) -> None:
    """Print the sizes of a database, and its engine. Reads all keys."""
    with reading(file) as database:
        if prometheus:
            sys.stdout.write(database.property("holdfast.prometheus") or "")
            return
        numbers = database.statistics()
        facts = {
            "path": str(file),
            "engine": database.property("holdfast.engine"),
            "domain": database.property("holdfast.domain"),
            "entries": len(database) + sum(len(database.map(name)) for name in database.maps()),
            "maps": len(database.maps()),
            "file_bytes": file.stat().st_size,
            "disk_bytes": numbers["file_bytes"],
            **{name: numbers[name] for name in _SIZES},
        }
    print_facts(output.people(json_file), facts)
    output.write_json(json_file, facts)


@verb
def maps(file: File, json_file: options.Json = None) -> None:
    """List the named maps of a database: name, tab, number of entries. Reads all keys."""
    with reading(file) as database, database.snapshot() as snapshot:
        found = [(name, len(snapshot.map(name))) for name in snapshot.maps()]
    stream = sys.stderr if json_file == "-" else sys.stdout
    for name, entries in found:
        print(f"{name}\t{entries}", file=stream)
    output.write_json(json_file, [{"map": name, "entries": entries} for name, entries in found])


@verb
def verify(file: File) -> None:
    """Walk a whole database and report damage. Exit status 1 if there is any."""
    with reading(file) as database:
        database.verify()
    output.people(None).print(f"[green]{escape(str(file))} is in order[/]")


@verb
def compact(
    file: File, domain: Domain = None, force: Force = False, json_file: options.Json = None
) -> None:
    """Free old versions of a database that no program has open, and unused space of its file.

    A program that has it open calls compact (DB::Compact) itself.
    """
    with changing(file, domain, force) as database:
        returned = database.compact()
    output.people(json_file).print(f"{escape(str(file))}: {returned} bytes returned to the disk")
    output.write_json(json_file, {"path": str(file), "returned_bytes": returned})


@verb
def backup(
    file: File,
    target: Annotated[
        Path, typer.Argument(metavar="NEW", help="The file to write; must not exist.")
    ],
) -> None:
    """Copy a database that no program has open.

    A program that has it open calls backup (DB::Checkpoint) itself.
    """
    with reading(file) as database:
        database.backup(target)
    output.people(None).print(f"{escape(str(file))} -> {escape(str(target))}")
