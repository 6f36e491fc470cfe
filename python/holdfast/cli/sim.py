# SPDX-License-Identifier: Apache-2.0
from typing import Annotated, Any

import typer

from holdfast import core
from holdfast.cli import bench, options, output, result_table
from holdfast.cli.verb import verb


@verb
def run(
    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="A name `holdfast workloads` lists.")],
    engine: options.Engines = "all",
    machine: Annotated[
        str, typer.Option("--machine", metavar="M", help="A name `holdfast machines` lists.")
    ] = "sim",
    threads: options.Threads = "2",
    transactions: Annotated[
        int, typer.Option("--transactions", min=1, help="Transactions per thread.")
    ] = 1000,
    domain: bench.Domain = "pmem",
    param: options.Params = None,
    option: options.EngineOptions = None,
    seed: options.Seed = 1,
    json_file: options.Json = None,
) -> None:
    """Run a workload on the simulated machine. Functional: counts are exact, there is no time yet."""
    given = options.assignments(option, "option")
    entry = options.workload(workload)
    parameters = options.assignments(param, "parameter")
    options.check_names(parameters, (p["name"] for p in entry["parameters"]), "parameter")
    options.choose(machine, [m for m in core.machines() if m["name"] != "native"], "simulated machine")
    spec: dict[str, Any] = {
        "workload": workload,
        "engines": options.engines(engine, given),
        "machine": machine,
        "threads": options.whole_numbers(threads, "--threads"),
        "transactions": transactions,
        "domain": domain,
        "params": parameters,
        "options": given,
        "seed": seed,
    }
    console = output.people(json_file)
    with output.progress(console, f"sim {workload}") as progress:
        report = core.sim(spec, progress)
    result_table.print_environment(console, report)
    result_table.print_simulated(console, report, f"{workload}: {transactions} transactions per thread")
    output.write_json(json_file, report)
    bench.finish(report)
