# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from holdfast import core, errors
from holdfast.cli import options, output
from holdfast.cli.heap_file import HeapPath, existing
from holdfast.cli.verb import verb


@verb
def run(
    heap: HeapPath,
    target: Annotated[
        Path, typer.Argument(metavar="NEW", help="The file to write; must not exist.")
    ],
    engine: Annotated[
        str,
        typer.Option("--engine", metavar="E", help="The new file's engine. Default: as in HEAP."),
    ] = "",
    option: options.EngineOptions = None,
    max_bytes: Annotated[
        int,
        typer.Option(
            "--max-bytes",
            metavar="N",
            min=0,
            max=1 << 44,
            help="The limit of the new file's growth. Default: as in HEAP.",
        ),
    ] = 0,
    max_threads: Annotated[
        int,
        typer.Option(
            "--max-threads",
            metavar="N",
            min=0,
            max=256,
            help="Threads with a place of their own, at least. Default: as in HEAP.",
        ),
    ] = 0,
    journal_bytes: Annotated[
        int | None,
        options.journal_bytes("The size of the new file's journal; 0: none. Default: as in HEAP."),
    ] = None,
    json_file: options.Json = None,
) -> None:
    """Copy a heap to a new file: for another engine, the newest format, more room, a journal."""
    source = existing(heap)
    present = core.info(source)["engine"]
    engine = engine or present
    given = options.assignments(option, "option")
    chosen = options.engines(engine, given, durable=engine != present)
    if len(chosen) != 1:
        raise errors.BadUsage("convert takes one engine")
    if target.exists():
        raise errors.BadUsage(f"{target} exists already; delete it, or choose another name")
    plain = {name.removeprefix(f"{engine}."): value for name, value in given.items()}
    report = core.convert(source, str(target), engine, plain, max_bytes, max_threads, journal_bytes)
    output.people(json_file).print(f"{escape(str(heap))} -> {escape(str(target))} for {engine}")
    output.write_json(json_file, report)
