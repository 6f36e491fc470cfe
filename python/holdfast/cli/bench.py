# SPDX-License-Identifier: Apache-2.0
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from holdfast import errors, fleet, places, results
from holdfast.cli import options, output, result_table
from holdfast.cli.verb import verb
from holdfast.results import Report
from holdfast.specs import BenchSpec

Domain = Annotated[
    str,
    typer.Option(
        "--domain", metavar="D", help="The failures to survive: process, file, pmem, eadr."
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Allow a domain the medium does not have (emulated).")
]
Latency = Annotated[
    str,
    typer.Option("--latency", metavar="PRESET", help="Emulated delays: none, fur, stt, pcm."),
]
Htm = Annotated[
    str,
    typer.Option("--htm", metavar="BACKEND", help="Hardware transactions: auto, soft, rtm, power."),
]
HeapFolder = Annotated[
    Path | None, typer.Option("--dir", metavar="DIR", help="Folder for heap files.")
]
HeapBytes = Annotated[
    int, typer.Option("--bytes", min=0, help="First size of each heap; 0 for the default.")
]

# A warehouse of TPC-C with its logs and second copies; all heaps of a benchmark are open side by
# side.
BYTES_PER_HEAP = 512 << 20


@verb
def run(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD,...", help="Names `holdfast workloads` lists, one after another."
        ),
    ],
    engine: options.Engines = "all",
    threads: options.Threads = "1",
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds", min=0.001, callback=options.finite, help="Measured time per configuration."
        ),
    ] = 2.0,
    repetitions: Annotated[
        int, typer.Option("--repetitions", min=1, help="Turns per configuration.")
    ] = 5,
    domain: Domain = "process",
    force: Force = False,
    latency: Latency = "none",
    htm: Htm = "auto",
    directory: HeapFolder = None,
    bytes_: HeapBytes = 0,
    journal_bytes: options.JournalBytes = None,
    param: options.Params = None,
    option: options.EngineOptions = None,
    seed: options.Seed = 1,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Check the workload's invariants at the end.")
    ] = True,
    json_file: options.Json = None,
) -> None:
    """Measure workloads on this computer: configurations in turns, median and spread.

    The engine `plain` is the workload on ordinary memory, the baseline that is not durable.
    """
    given = options.assignments(option, "option")
    entries = [options.workload(name) for name in workload.split(",")]
    parameters = options.assignments(param, "parameter")
    for entry in entries:  # every workload must have the parameter
        options.check_names(parameters, entry.parameter_names, "parameter")
    spec = BenchSpec(
        engines=options.engines(engine, given, extra=(result_table.PLAIN,)),
        threads=options.whole_numbers(threads, "--threads"),
        seconds=seconds,
        repetitions=repetitions,
        domain=domain,
        force=force,
        journal_bytes=journal_bytes,
        latency=latency,
        htm=htm,
        params=parameters,
        options=given,
        bytes=bytes_,
        seed=seed,
        check=check,
    )
    configurations = len(spec.engines) * len(spec.threads)
    directory = directory or _roomier_folder(domain, configurations)
    console = output.people(json_file)
    reports = []
    for entry in entries:
        one = replace(spec, workload=entry.name, dir=directory and str(directory))
        with output.progress(console, f"bench {entry.name}") as progress:
            reports.append(fleet.alone("bench", one, progress))
        if len(reports) == 1:
            result_table.print_environment(console, reports[0])
        title = f"{entry.name}: {seconds:g} s per configuration"
        result_table.print_report(console, reports[-1], title)
    report = results.merged(reports)
    output.write_json(json_file, report.json)
    finish(report)


def _roomier_folder(domain: str, configurations: int) -> Path | None:
    """A folder on a disk if memory, the core's own choice, has no room for all heaps; else None.

    The disk's page cache serves domains that flush no file as well as memory does.
    """
    if domain == "file" or places.memory_backed(BYTES_PER_HEAP * configurations):
        return None
    return Path(tempfile.gettempdir())


def finish(report: Report, *, may_refuse: bool = False) -> None:
    """Fails if a configuration did, with the exit status of its failure.

    `may_refuse`: an engine that cannot run in this setting is no failure.
    """
    failed = report.failures()
    if may_refuse:
        failed = [one for one in failed if not isinstance(one.reason, errors.BadUsage)]
    if failed:
        why = failed[0].error_message
        kind = type(failed[0].reason)
        raise kind(f"{len(failed)} of the configurations did not finish: {why}")
