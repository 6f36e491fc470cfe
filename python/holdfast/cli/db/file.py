# SPDX-License-Identifier: Apache-2.0
"""The database file of the verbs of `holdfast db`, opened as the verb needs it."""

from pathlib import Path
from typing import Annotated

import typer

import holdfast

File = Annotated[Path, typer.Argument(metavar="FILE", help="A database file.")]
Domain = Annotated[
    str | None,
    typer.Option(
        "--domain",
        metavar="D",
        help="The failures that a write survives: process, file, pmem or eadr. Default: the most.",
    ),
]


def reading(file: Path) -> holdfast.Database:
    """Opens the file without changing it. Recovery after a crash happens in memory."""
    return holdfast.open(file, read_only=True)


def changing(file: Path, domain: str | None, create: bool = False) -> holdfast.Database:
    return holdfast.open(file, create=create, domain=domain)
