# SPDX-License-Identifier: Apache-2.0
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast import core, errors, places, results
from holdfast.cli import options, output, result_table
from holdfast.cli.verb import verb

Domain = Annotated[
    str, typer.Option("--domain", metavar="D", help="What is to survive: process, file, pmem, eadr.")
]
Force = Annotated[bool, typer.Option("--force", help="Allow a domain the medium does not have (emulated).")]
Latency = Annotated[
    str, typer.Option("--latency", metavar="PRESET", help="Emulated delays: none, fur, stt, pcm.")
]
Htm = Annotated[
    str,
    typer.Option("--htm", metavar="BACKEND", help="Who runs hardware transactions: soft, rtm, power."),
]

# A warehouse of TPC-C with its logs and second copies; all heaps of a benchmark are open side by side.
BYTES_PER_HEAP = 512 << 20


@verb
def run(
    workload: Annotated[
        str,
        typer.Argument(metavar="WORKLOAD,...", help="Names `holdfast workloads` lists, one after another."),
    ],
    engine: options.Engines = "all",
    threads: options.Threads = "1",
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.001, help="Measured time per configuration.")
    ] = 2.0,
    repetitions: Annotated[int, typer.Option("--repetitions", min=1, help="Turns per configuration.")] = 5,
    domain: Domain = "process",
    force: Force = False,
    latency: Latency = "none",
    htm: Htm = "soft",
    directory: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Where heap files go.")
    ] = None,
    bytes_: Annotated[
        int, typer.Option("--bytes", min=0, help="First size of each heap; 0 for the default.")
    ] = 0,
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
    for entry in entries:  # a parameter is of all of them
        options.check_names(parameters, (p["name"] for p in entry["parameters"]), "parameter")
    spec: dict[str, Any] = {
        "engines": options.engines(engine, given, extra=(result_table.PLAIN,)),
        "threads": options.whole_numbers(threads, "--threads"),
        "seconds": seconds,
        "repetitions": repetitions,
        "domain": domain,
        "force": force,
        "latency": latency,
        "htm": htm,
        "params": parameters,
        "options": given,
        "bytes": bytes_,
        "seed": seed,
        "check": check,
    }
    directory = directory or _roomier_folder(domain, len(spec["engines"]) * len(spec["threads"]))
    if directory is not None:
        spec["dir"] = str(directory)
    console = output.people(json_file)
    reports = []
    for entry in entries:
        name = entry["name"]
        with output.progress(console, f"bench {name}") as progress:
            reports.append(core.bench(spec | {"workload": name}, progress))
        if len(reports) == 1:
            result_table.print_environment(console, reports[0])
        result_table.print_report(console, reports[-1], f"{name}: {seconds:g} s per configuration")
    report = reports[0] | {"benchmarks": [one for each in reports for one in each["benchmarks"]]}
    output.write_json(json_file, report)
    finish(report)


def _roomier_folder(domain: str, configurations: int) -> Path | None:
    """None where the core's own choice, memory, has room for all the heaps; else a folder on a disk, whose
    page cache serves as well for domains that flush no file."""
    if domain == "file" or places.memory_backed(BYTES_PER_HEAP * configurations):
        return None
    return Path(tempfile.gettempdir())


def finish(report: dict[str, Any]) -> None:
    """A configuration that failed makes the verb fail: 1 when a check did, 2 when it could not be run."""
    failed = results.failures(report)
    if failed:
        kind = type(errors.from_text(failed[0]["error_message"]))
        raise kind(f"{len(failed)} of the configurations did not finish: {failed[0]['error_message']}")
