# SPDX-License-Identifier: Apache-2.0
"""The database file of the verbs of `holdfast db`, opened as the verb needs it."""

from pathlib import Path
from typing import Annotated, Any

import typer

import holdfast
from holdfast import errors

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
) -> holdfast.Database:
    """Opens the file for changes. Raises BadUsage if a present file has another engine or limit."""
    new: dict[str, Any] = {"engine": engine, "max_bytes": max_bytes}
    given = {name: value for name, value in new.items() if value is not None}
    database = holdfast.open(file, create=create, domain=domain, force=force, **given)
    there = database.property("holdfast.engine")
    most = database.statistics()["capacity_bytes"]
    wrong = [] if engine in (None, there) else [f"its engine is {there}"]
    if max_bytes is not None and most < max_bytes:
        wrong.append(f"it grows to {most} bytes at most")
    if wrong:
        database.close()
        raise errors.BadUsage(
            f"{file} exists, and {' and '.join(wrong)}; `holdfast convert` makes a copy with "
            "another engine or limit"
        )
    return database
