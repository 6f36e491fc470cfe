# SPDX-License-Identifier: Apache-2.0
"""The service of a database: statistics, verification, backup."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from holdfast.cli import options, output
from holdfast.cli.db.file import File, reading
from holdfast.cli.heap_file import print_facts
from holdfast.cli.verb import verb


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
            "entries": len(database),
            "file_bytes": file.stat().st_size,
            **{name: numbers[name] for name in ("data_bytes", "capacity_bytes", "old_versions")},
        }
    print_facts(output.people(json_file), facts)
    output.write_json(json_file, facts)


@verb
def verify(file: File) -> None:
    """Walk a whole database and report damage. Exit status 1 if there is any."""
    with reading(file) as database:
        database.verify()
    output.people(None).print(f"[green]{escape(str(file))} is in order[/]")


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
