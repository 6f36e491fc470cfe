# SPDX-License-Identifier: Apache-2.0
from typing import Annotated

import typer

from holdfast import cache_folder, errors, units
from holdfast.cli import options, output
from holdfast.cli.verb import verb


@verb
def run(
    older_than: Annotated[
        float,
        typer.Option(
            "--older-than",
            callback=options.finite,
            metavar="DAYS",
            min=0.0,
            help="Only files not used for DAYS days.",
        ),
    ] = 0.0,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help=f"Only files of this kind: {' or '.join(cache_folder.KINDS)}; may be repeated.",
        ),
    ] = None,
    json_file: options.Json = None,
) -> None:
    """Delete files of the cache folder. A run that needs one of them makes it again."""
    for name in kind or ():
        if name not in cache_folder.KINDS:
            known = ", ".join(cache_folder.KINDS)
            raise errors.BadUsage(f"no kind '{name}'; there are {known}")
    removed = cache_folder.clear(
        older_than_days=older_than, kinds=kind or tuple(cache_folder.KINDS)
    )
    size = sum(item.bytes for item in removed)
    output.people(json_file).print(f"deleted {len(removed)} files, {units.bytes_text(size)}")
    output.write_json(json_file, {"files": len(removed), "bytes": size})
