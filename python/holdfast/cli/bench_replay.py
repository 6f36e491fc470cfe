# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from typing import Annotated

import typer

from holdfast import catalog, errors, fleet
from holdfast.cli import bench, options, output, result_table
from holdfast.cli.verb import verb
from holdfast.specs import ReplaySpec

# FUR 4.5 and SPHT: transactions of 1 to 20 stores to random places.
_WORKLOAD = "sps"
_PARAMETERS = {"entries": "1000000", "stores": "20"}


@verb
def run(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="[WORKLOAD]",
            help="The transactions that fill the logs; default: random stores, sps.",
        ),
    ] = "",
    engine: options.Engines = "all",
    threads: Annotated[
        str,
        typer.Option("--threads", metavar="N,...", help="Numbers of threads that fill the logs."),
    ] = "1",
    replayers: Annotated[
        str,
        typer.Option("--replayers", metavar="N,...", help="Numbers of threads that replay them."),
    ] = "1",
    filter_: Annotated[
        bool,
        typer.Option("--filter", help="Replay backwards, and only the newest value of each word."),
    ] = False,
    machine: Annotated[
        str,
        typer.Option("--machine", metavar="M", help="native, or a name `holdfast machines` lists."),
    ] = "native",
    transactions: Annotated[
        int, typer.Option("--transactions", min=1, help="Per thread that fills the logs.")
    ] = 1000,
    repetitions: Annotated[
        int, typer.Option("--repetitions", min=1, help="Turns of filling and replaying, natively.")
    ] = 5,
    domain: bench.Domain = "",
    force: bench.Force = False,
    latency: bench.Latency = "none",
    htm: bench.Htm = "auto",
    directory: bench.HeapFolder = None,
    bytes_: bench.HeapBytes = 0,
    param: options.Params = None,
    option: options.EngineOptions = None,
    seed: options.Seed = 1,
    check: Annotated[
        bool,
        typer.Option(
            "--check/--no-check", help="Open the heap anew at the end and check the workload."
        ),
    ] = True,
    json_file: options.Json = None,
) -> None:
    """Fill logs with transactions, then measure how fast they are replayed.

    Replay is switched off while the logs are filled.
    """
    given = options.assignments(option, "option")
    entry = options.workload(workload or _WORKLOAD)
    parameters = options.assignments(param, "parameter")
    options.check_names(parameters, entry.parameter_names, "parameter")
    native = machine == "native"
    if not native:
        options.check_machine(machine, extra=("native",))
    spec = ReplaySpec(
        workload=entry.name,
        engines=options.engines(_with_logs(engine), given),
        threads=options.whole_numbers(threads, "--threads"),
        replayers=options.whole_numbers(replayers, "--replayers"),
        filter=filter_,
        transactions=transactions,
        params=parameters if workload else _PARAMETERS | parameters,
        options=given,
        bytes=bytes_,
        seed=seed,
        check=check,
        domain=domain or None,
    )
    console = output.people(json_file)
    with output.progress(console, "bench replay") as progress:
        if native:
            spec = replace(
                spec,
                repetitions=repetitions,
                force=force,
                latency=latency,
                htm=htm,
                dir=directory and str(directory),
            )
            report = fleet.alone("replay", spec, progress)
        else:
            spec = replace(spec, machine=machine)
            report = fleet.sim(spec, [seed], fleet.cores(), progress, console.print)
    result_table.print_environment(console, report)
    title = f"{entry.name}: {transactions} transactions per thread"
    result_table.print_replays(console, report, title)
    output.write_json(json_file, report.json)
    bench.finish(report)


def _with_logs(given: str) -> str:
    """The engines whose logs can be replayed on their own. Raises BadUsage for another one."""
    entries = catalog.engines()
    able = [entry.name for entry in entries if entry.replays]
    if given == "all":
        return ",".join(able)
    for entry in entries:
        if entry.name in given.split(",") and entry.name not in able:
            raise errors.BadUsage(
                f"engine {entry.name} keeps no redo log that could be replayed by itself; "
                f"those that do are {', '.join(able)}"
            )
    return given
