# SPDX-License-Identifier: Apache-2.0
"""The database file of the verbs of `holdfast db`, opened as the verb needs it."""

from pathlib import Path
from typing import Annotated, Any

import typer

import holdfast
from holdfast import errors
from holdfast.cli.db.coding import is_text

File = Annotated[Path, typer.Argument(metavar="FILE", help="A database file.")]
Domain = Annotated[
    str | None,
    typer.Option(
        "--domain",
        metavar="D",
        help="The failures that a write survives: process, file, pmem or eadr. Default: the most.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Allow a domain the medium does not have (emulated).")
]
MapName = Annotated[
    str | None, typer.Option("--map", metavar="NAME", help="A named map. Default: the default map.")
]


def map_of(
    database: holdfast.Database | holdfast.Snapshot, name: str | None, create: bool = False
) -> Any:
    """The named map, or the default map without a name. Raises BadUsage for a bad name."""
    if name is None:
        return database
    if not is_text(name):
        raise errors.BadUsage(f"--map {name!r} is not UTF-8")
    try:
        if isinstance(database, holdfast.Snapshot):
            return database.map(name)
        return database.map(name, create=create)
    except errors.MisuseError as error:
        known = ", ".join(database.maps()) or "none"
        raise errors.BadUsage(f"{error}; the database's maps: {known}") from None


def reading(file: Path) -> holdfast.Database:
    """Opens the file without changing it. Recovery after a crash happens in memory."""
    return holdfast.open(file, read_only=True)


def changing(
    file: Path,
    domain: str | None,
    force: bool,
    create: bool = False,
    engine: str | None = None,
    max_bytes: int | None = None,
    journal_bytes: int | None = None,
) -> holdfast.Database:
    """Opens the file for changes.

    A present file with another engine, limit or journal is refused.
    """
    new: dict[str, Any] = {
        "engine": engine,
        "max_bytes": max_bytes,
        "journal_bytes": journal_bytes,
    }
    given = {name: value for name, value in new.items() if value is not None}
    return holdfast.open(file, create=create, domain=domain, force=force, **given)
