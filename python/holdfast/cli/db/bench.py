# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the key-value store, with the names, flags and lines of LevelDB's db_bench."""

import difflib
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from holdfast import catalog, errors, fleet
from holdfast.cli import options, output
from holdfast.cli.bench import finish
from holdfast.cli.db import bench_lines, ycsb
from holdfast.cli.verb import verb
from holdfast.results import Report, StoreEntry
from holdfast.specs import StoreSpec

_DEFAULT = (
    "fillseq,fillbatch,fillsync,fillrandom,overwrite,readrandom,readmissing,readhot,readseq,"
    "readreverse,seekrandom,readwhilewriting,deleterandom,fill100K"
)
_DOMAINS = ("process", "file", "pmem", "eadr")
_NUM = 100_000


@verb
def bench(
    benchmarks: Annotated[
        str | None,
        typer.Option(
            "--benchmarks", metavar="B,...", help="Names of db_bench. Default: most of them."
        ),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--ycsb", metavar="FILE", help="A property file of YCSB, or a to f; may be repeated."
        ),
    ] = None,
    num: Annotated[
        int | None, typer.Option("--num", min=1, help=f"Keys; of YCSB, records. Default: {_NUM}.")
    ] = None,
    reads: Annotated[
        int | None,
        typer.Option(
            "--reads",
            min=1,
            help="Reads of each thread; of YCSB, all operations. Default: --num.",
        ),
    ] = None,
    value_size: Annotated[
        int,
        typer.Option("--value_size", "--value-size", min=1, max=1 << 20, help="Bytes of a value."),
    ] = 100,
    threads: Annotated[int, typer.Option("--threads", min=1, max=128, help="Threads.")] = 1,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--db", metavar="DIR", help="Folder for the databases. Default: in memory, /dev/shm."
        ),
    ] = None,
    histogram: Annotated[
        bool, typer.Option("--histogram", help="Time every operation and print percentiles.")
    ] = False,
    sync: Annotated[
        bool | None,
        typer.Option(
            "--sync/--no-sync",
            help="Writes are durable. Default: those of HoldfastDB are, those of peers in fillsync "
            "and YCSB.",
        ),
    ] = None,
    engine: options.Engines = "romulus-log",
    domain: Annotated[
        str,
        typer.Option(
            "--domain", metavar="D,...", help="The failures that HoldfastDB's writes survive."
        ),
    ] = "file",
    option: options.EngineOptions = None,
    journal_bytes: options.JournalBytes = None,
    peers: Annotated[
        bool,
        typer.Option("--peers", help="LevelDB, RocksDB, LMDB and SQLite beside it, in turns."),
    ] = False,
    rounds: Annotated[
        int | None, typer.Option("--rounds", min=1, help="Default: 1, with --peers 3.")
    ] = None,
    seed: options.Seed = 1,
    json_file: options.Json = None,
) -> None:
    """Measure the key-value store like LevelDB's db_bench or with YCSB; peers beside it."""
    given = options.assignments(option, "option")
    known = catalog.stores()
    workloads = [_sized(ycsb.read(one), num, reads) for one in workload or ()]
    wanted = benchmarks or ("" if workloads else _DEFAULT)
    names = _names(wanted, [one.name for one in known.benchmarks])
    spec = StoreSpec(
        benchmarks=[*names, *(one.json() for one in workloads)],
        num=num or _NUM,
        reads=reads or num or _NUM,
        value_size=value_size,
        threads=threads,
        engines=options.engines(engine, given, durable=True),
        domains=_names(domain, _DOMAINS, "domain"),
        options=given,
        peers=[peer.name for peer in known.peers] if peers else [],
        sync={None: "default", True: "always", False: "never"}[sync],
        rounds=rounds or (3 if peers else 1),
        each=histogram,
        seed=seed,
        dir=directory and str(directory),
        journal_bytes=journal_bytes,
    )
    console = output.people(json_file)
    with output.progress(console, "db bench") as progress:
        report = fleet.alone("db_bench", spec, progress)
    output.print_environment(console, report.add_environment())
    compared = bench_lines.comparison(report.medians())
    _print(console, report, compared, histogram)
    output.write_json(json_file, report.json | {"comparison": [asdict(one) for one in compared]})
    finish(report)


def _print(
    console: Console, report: Report, compared: Sequence[bench_lines.Compared], histogram: bool
) -> None:
    def say(text: str) -> None:
        console.print(escape(text), soft_wrap=True)

    for text in bench_lines.head(report.store_context):
        say(text)
    entries: list[StoreEntry] = report.medians()
    for entry in entries:
        say(bench_lines.line(entry))
        for text in bench_lines.histogram(entry) if histogram else ():
            say(text)
    for failed in report.failures():
        text = f"{escape(failed.name)}: {escape(failed.error_message)}"
        console.print(f"[red]{text}[/]", soft_wrap=True)
    if compared:
        say("-" * 48)
    for text in bench_lines.wins(compared):
        say(text)


def _names(given: str, known: Sequence[str], what: str = "benchmark") -> list[str]:
    """The names in a list with commas. Raises BadUsage, with the nearest right name."""
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            there = f"did you mean {near[0]}? There" if near else "there"
            raise errors.BadUsage(f"no {what} '{name}'; {there} are {', '.join(known)}")
    return names


def _sized(workload: ycsb.Workload, num: int | None, reads: int | None) -> ycsb.Workload:
    """The workload with the command line's sizes in place of the file's."""
    return replace(
        workload,
        recordcount=num or workload.recordcount,
        operationcount=reads or workload.operationcount,
    )
