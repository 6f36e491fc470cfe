# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from holdfast import catalog, errors, fleet
from holdfast.cli import bench, options, output, result_table
from holdfast.cli.verb import verb
from holdfast.specs import SimSpec


@verb
def run(
    workload: Annotated[
        str, typer.Argument(metavar="WORKLOAD", help="A name `holdfast workloads` lists.")
    ],
    engine: options.Engines = "",
    machine: options.Machine = "sim",
    design: options.Design = "",
    design_option: options.DesignOptions = None,
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule",
            metavar="S",
            help="`timed`, or `random` for finding bugs. Default: timed where the machine has a "
            "description.",
        ),
    ] = "",
    threads: options.Threads = "2",
    machine_set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A value in place of the machine description's, such as "
            "persistence.write_back_ns=600; may be repeated.",
        ),
    ] = None,
    transactions: Annotated[
        int | None,
        typer.Option("--transactions", min=1, help="Transactions per thread; default 1000."),
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option(
            "--duration",
            callback=options.finite,
            min=0.001,
            metavar="US",
            help="In their place, microseconds of simulated time.",
        ),
    ] = None,
    arrivals: Annotated[
        float | None,
        typer.Option(
            "--arrivals",
            callback=options.finite,
            min=0.001,
            metavar="RATE",
            help="Transactions that arrive per second of simulated time, for all threads together. "
            "Without it each thread begins the next one at once. With --duration.",
        ),
    ] = None,
    gauge: Annotated[
        float | None,
        typer.Option(
            "--gauge",
            callback=options.finite,
            min=0.001,
            metavar="US",
            help="Count the updates that are not durable yet, each time so many microseconds of "
            "simulated time have passed. With --duration.",
        ),
    ] = None,
    beside: Annotated[
        str,
        typer.Option(
            "--beside",
            metavar="S",
            help="One more thread, without transactions, which inserts into a `btree` or `rbtree` "
            "in volatile memory, and its cache misses. On a machine with a description.",
        ),
    ] = "",
    beside_size: Annotated[
        int | None,
        typer.Option("--beside-size", min=0, help="Elements there at the start; default 100000."),
    ] = None,
    warm_up: Annotated[
        int | None,
        typer.Option(
            "--warm-up",
            min=0,
            help="Transactions per thread before those; default a tenth of the run.",
        ),
    ] = None,
    cache: Annotated[
        str,
        typer.Option(
            "--cache",
            metavar="DIR",
            help="Folder for initial states; `off` populates on the simulated machine. "
            "Default: $HOLDFAST_CACHE, or ~/.cache/holdfast.",
        ),
    ] = "",
    check: Annotated[bool, typer.Option(help="Check the workload's conditions afterwards.")] = True,
    recovery: Annotated[
        bool,
        typer.Option(
            "--recovery",
            help="Afterwards let the power fail in the middle of an update, and open the heap on "
            "a fresh machine.",
        ),
    ] = False,
    timeline: Annotated[
        str,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Draw the measured part, thread by thread, as trace-event JSON for "
            "ui.perfetto.dev; with one engine and one number of threads.",
        ),
    ] = "",
    lint: Annotated[
        bool,
        typer.Option(
            "--lint",
            help="Show waste and gaps in the measured part's use of persistent memory: lines not "
            "written back or not fenced at commit, redundant write-backs, fences with nothing to "
            "order, stores outside a transaction.",
        ),
    ] = False,
    domain: bench.Domain = "",
    param: options.Params = None,
    option: options.EngineOptions = None,
    seed: Annotated[
        str,
        typer.Option(
            "--seed", metavar="N,...", help="Seeds; every random choice follows from one."
        ),
    ] = "1",
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", min=1, help="Runs at a time; default: one per core of this computer."
        ),
    ] = None,
    json_file: options.Json = None,
) -> None:
    """Run a workload on a simulated machine: deterministic, and in simulated time.

    The machine `sim` has no notion of time: it gives counts only.
    """
    given = options.assignments(option, "option")
    entry = options.workload(workload)
    parameters = options.assignments(param, "parameter")
    options.check_names(parameters, entry.parameter_names, "parameter")
    options.check_machine(machine)
    usual = catalog.design_engine() if design else "all"
    engines = options.engines(engine or usual, given, simulated=True)
    if recovery and engine in ("", "all"):
        engines = [e.name for e in catalog.engines() if e.name in engines and e.durable]
    counted, before = _length(transactions, duration, warm_up)
    spec = SimSpec(
        workload=workload,
        engines=engines,
        machine=machine,
        schedule=schedule,
        design=design,
        design_options=options.design_options(design_option, design),
        threads=options.whole_numbers(threads, "--threads"),
        set=options.assignments(machine_set, "machine value"),
        transactions=counted,
        warm_up=before,
        duration_us=duration,
        cache=cache,
        check=check,
        lint=lint,
        recovery=recovery,
        arrivals=arrivals,
        gauge_us=gauge,
        beside=beside or None,
        beside_size=beside_size,
        params=parameters,
        options=given,
        domain=domain or None,
        timeline=timeline or None,
    )
    seeds = options.whole_numbers(seed, "--seed")
    if timeline:
        _check_single(spec.engines, "engine", "--engine")
        _check_single(spec.threads, "number of threads", "--threads")
        _check_single(seeds, "seed", "--seed")
    console = output.people(json_file)
    with output.progress(console, f"sim {workload}") as progress:
        report = fleet.sim(spec, seeds, jobs or fleet.cores(), progress, console.print)
    result_table.print_environment(console, report)
    result_table.print_simulated(console, report, f"{workload}: {_length_text(spec)}")
    if lint:
        result_table.print_lint(console, report)
    for drawn in [entry.timeline for entry in report.medians() if entry.timeline]:
        missing = f"; full, {drawn.left_out} slices are left out" if drawn.left_out else ""
        console.print(
            f"timeline: {escape(drawn.path)}, to be opened with https://ui.perfetto.dev{missing}"
        )
    output.write_json(json_file, report.json)
    bench.finish(report)


def _length(
    transactions: int | None, duration: float | None, warm_up: int | None
) -> tuple[int | None, int | None]:
    """The transactions per thread, and those before them; with a duration as far as given."""
    if duration is None:
        transactions = transactions or 1000
        return transactions, transactions // 10 if warm_up is None else warm_up
    if transactions is not None:
        raise errors.BadUsage("choose --transactions or --duration, not both")
    return None, warm_up


def _length_text(spec: SimSpec) -> str:
    if spec.duration_us is not None:
        return f"{spec.duration_us:g} microseconds of simulated time"
    return f"{spec.transactions} transactions per thread"


def _check_single(given: Sequence[Any], what: str, option: str) -> None:
    if len(given) != 1:
        names = ", ".join(map(str, given))
        raise errors.BadUsage(
            f"--timeline shows one run: choose one {what} with {option}, not {names}"
        )
