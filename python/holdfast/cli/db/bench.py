# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the key-value store, with the names, flags and lines of LevelDB's db_bench."""

import difflib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from holdfast import core, errors, results
from holdfast.cli import options, output
from holdfast.cli.bench import finish
from holdfast.cli.db import bench_lines, ycsb
from holdfast.cli.verb import verb

_DEFAULT = (
    "fillseq,fillbatch,fillsync,fillrandom,overwrite,readrandom,readmissing,readhot,readseq,readreverse,"
    "seekrandom,readwhilewriting,deleterandom,fill100K"
)
_DOMAINS = ("process", "file", "pmem", "eadr")
_NUM = 100_000


@verb
def bench(
    benchmarks: Annotated[
        str | None,
        typer.Option("--benchmarks", metavar="B,...", help="Names of db_bench. Default: most of them."),
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option("--ycsb", metavar="FILE", help="A property file of YCSB, or a to f; may be repeated."),
    ] = None,
    num: Annotated[
        int | None, typer.Option("--num", min=1, help=f"Keys; of YCSB, records. Default: {_NUM}.")
    ] = None,
    reads: Annotated[
        int | None,
        typer.Option("--reads", min=1, help="Reads of each thread; of YCSB, all operations. Default: --num."),
    ] = None,
    value_size: Annotated[
        int, typer.Option("--value_size", "--value-size", min=1, max=1 << 20, help="Bytes of a value.")
    ] = 100,
    threads: Annotated[int, typer.Option("--threads", min=1, max=128, help="Threads.")] = 1,
    directory: Annotated[
        Path | None,
        typer.Option("--db", metavar="DIR", help="Folder for the databases. Default: in memory, /dev/shm."),
    ] = None,
    histogram: Annotated[
        bool, typer.Option("--histogram", help="Time every operation and print percentiles.")
    ] = False,
    sync: Annotated[
        bool | None,
        typer.Option("--sync/--no-sync", help="Peers' writes are durable. Default: in fillsync and YCSB."),
    ] = None,
    engine: options.Engines = "romulus-log",
    domain: Annotated[
        str, typer.Option("--domain", metavar="D,...", help="What HoldfastDB's writes survive.")
    ] = "file",
    option: options.EngineOptions = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="LevelDB, RocksDB, LMDB and SQLite beside it, in turns.")
    ] = False,
    rounds: Annotated[int | None, typer.Option("--rounds", min=1, help="Default: 1, with --peers 3.")] = None,
    seed: options.Seed = 1,
    json_file: options.Json = None,
) -> None:
    """Measure the key-value store as LevelDB's db_bench does, or with YCSB's workloads; peers beside it."""
    given = options.assignments(option, "option")
    catalog = core.db_bench_catalog()
    workloads = [_sized(ycsb.read(one), num, reads) for one in workload or ()]
    names = _names(benchmarks or ("" if workloads else _DEFAULT), [b["name"] for b in catalog["benchmarks"]])
    spec: dict[str, Any] = {
        "benchmarks": [*names, *workloads],
        "num": num or _NUM,
        "reads": reads or num or _NUM,
        "value_size": value_size,
        "threads": threads,
        "engines": options.engines(engine, given, durable=True),
        "domains": _names(domain, _DOMAINS, "domain"),
        "options": given,
        "peers": [peer["name"] for peer in catalog["peers"]] if peers else [],
        "sync": {None: "default", True: "always", False: "never"}[sync],
        "rounds": rounds or (3 if peers else 1),
        "each": histogram,
        "seed": seed,
    }
    if directory is not None:
        spec["dir"] = str(directory)
    console = output.people(json_file)
    with output.progress(console, "db bench") as progress:
        report = core.db_bench(spec, progress)
    output.print_environment(console, results.add_environment(report))
    _print(console, report, histogram)
    output.write_json(json_file, report)
    finish(report)


def _print(console: Any, report: dict[str, Any], histogram: bool) -> None:
    def say(text: str) -> None:
        console.print(escape(text), soft_wrap=True)

    for text in bench_lines.head(report["context"]):
        say(text)
    for entry in results.medians(report):
        say(bench_lines.line(entry))
        for text in bench_lines.histogram(entry) if histogram else ():
            say(text)
    for entry in results.failures(report):
        console.print(f"[red]{escape(entry['name'])}: {escape(entry['error_message'])}[/]", soft_wrap=True)
    report["comparison"] = bench_lines.comparison(report)
    if report["comparison"]:
        say("-" * 48)
    for text in bench_lines.wins(report["comparison"]):
        say(text)


def _names(given: str, known: Any, what: str = "benchmark") -> list[str]:
    """Names from a list with commas; for one that is wrong, the nearest that is right."""
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise errors.BadUsage(f"no {what} '{name}'; {hint}There are {', '.join(known)}")
    return names


def _sized(properties: dict[str, Any], num: int | None, reads: int | None) -> dict[str, Any]:
    """What the command line says goes before what the file says."""
    given = {"recordcount": num, "operationcount": reads}
    return properties | {name: value for name, value in given.items() if value is not None}
