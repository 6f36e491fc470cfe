# SPDX-License-Identifier: Apache-2.0
import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer
from rich.markup import escape

from holdfast import catalog, core, errors, findings, fleet
from holdfast.cli import bench, crash_report, options, output
from holdfast.cli.verb import verb
from holdfast.findings import CrashReport
from holdfast.shapes import decode
from holdfast.specs import CrashSpec

_USUAL = crash_report.USUAL


@verb
def run(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="[WORKLOAD]",
            help="`registers` (random programs), or a workload with a sequential model.",
        ),
    ] = "registers",
    engine: options.Engines = "all",
    machine: options.Machine = _USUAL.machine,
    design: options.Design = _USUAL.design,
    design_option: options.DesignOptions = None,
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule",
            metavar="S",
            help="`random`; `timed`, with a described --machine; or `exhaustive`, within "
            "--preemptions and --drains, or --delays. Default: random, with a design timed.",
        ),
    ] = _USUAL.schedule,
    schedules: Annotated[
        int | None,
        typer.Option(
            "--schedules",
            metavar="N",
            min=1,
            help="Most schedules for each engine. Default: 100, with --mutants 20.",
        ),
    ] = None,
    points: Annotated[
        str,
        typer.Option(
            "--points",
            metavar="all|N",
            help="Crash points of each schedule: all, or about N.",
        ),
    ] = "all",
    point: Annotated[
        int | None,
        typer.Option("--point", metavar="N", min=0, help="Crash only before this persist event."),
    ] = None,
    images: Annotated[
        int,
        typer.Option(
            "--images", metavar="N", min=1, help="Most surviving images looked at for each point."
        ),
    ] = _USUAL.images,
    crash_recovery: Annotated[
        int,
        typer.Option(
            "--crash-recovery",
            metavar="N",
            min=0,
            help="One image in N loses power again as it recovers; 0: none.",
        ),
    ] = _USUAL.crash_recovery,
    go_on: Annotated[
        int,
        typer.Option(
            "--go-on",
            metavar="N",
            min=0,
            help="On one image in N the program runs once more; 0: none.",
        ),
    ] = _USUAL.go_on,
    program: Annotated[
        str,
        typer.Option(
            "--program",
            metavar="TEXT",
            help="For `registers`, this program, such as 'r0 w1; s | b2': | separates threads and "
            "; transactions. Steps: r0 reads word 0, w0 reads and writes it, b0 only writes it, s "
            "scans all words. After an x the transaction throws at its end.",
        ),
    ] = _USUAL.program,
    program_seed: Annotated[
        int,
        typer.Option(
            "--program-seed",
            metavar="N",
            min=0,
            help="Draw one random program from N for all seeds; 0: one per seed.",
        ),
    ] = _USUAL.program_seed,
    mutate: Annotated[
        list[str] | None,
        typer.Option(
            "--mutate",
            metavar="SITE=KIND",
            help="Plant a bug at a labelled site, such as ENGINE.log.fence=drop: drop, delay, "
            "swap, first or last. May be repeated; a wrong site lists the right ones.",
        ),
    ] = None,
    mutants: Annotated[
        bool,
        typer.Option(
            "--mutants",
            help="Plant bugs in the hardware design: changes of its surviving state that are lost "
            "or late. Exit status 1 if the search finds fewer than 90 % of them.",
        ),
    ] = False,
    mutants_per_kind: Annotated[
        int,
        typer.Option(
            "--mutants-per-kind",
            metavar="N",
            min=1,
            help="Most for each kind of change and of bug; beyond, the seed draws.",
        ),
    ] = 200,
    coverage: Annotated[
        bool,
        typer.Option(
            "--coverage",
            help="Show how often the power failed behind each hook, structure and state "
            "transition of the hardware design.",
        ),
    ] = False,
    journal: Annotated[
        bool,
        typer.Option(
            "--journal",
            help="The heap has a journal: only a psync makes stores durable. With --domain file.",
        ),
    ] = False,
    weak_rmw: Annotated[
        bool,
        typer.Option(
            "--weak-rmw", help="Atomic read-modify-writes order no write-backs (on x86 they do)."
        ),
    ] = False,
    preemptions: Annotated[
        int,
        typer.Option(
            "--preemptions",
            metavar="N",
            min=0,
            help="Most in a schedule of an exhaustive search.",
        ),
    ] = _USUAL.preemptions,
    drains: Annotated[
        int,
        typer.Option(
            "--drains",
            metavar="N",
            min=0,
            help="Most early stores in a schedule of an exhaustive search.",
        ),
    ] = _USUAL.drains,
    delays: Annotated[
        int | None,
        typer.Option(
            "--delays",
            metavar="N",
            min=0,
            help="In an exhaustive search, instead: threads take turns, and a schedule delays the "
            "running one at most so often.",
        ),
    ] = None,
    switch_probability: Annotated[
        float | None,
        typer.Option(
            "--switch-probability",
            callback=options.finite,
            metavar="P",
            min=0,
            max=1,
            help="Probability that another thread runs before an operation, in a random "
            "schedule. Default: the seed varies it.",
        ),
    ] = None,
    drain_probability: Annotated[
        float | None,
        typer.Option(
            "--drain-probability",
            callback=options.finite,
            metavar="P",
            min=0,
            max=1,
            help="Probability that a buffered store becomes visible before an operation, in a "
            "random schedule. Default: the seed varies it.",
        ),
    ] = None,
    domain: bench.Domain = _USUAL.domain,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="NAME=VALUE",
            help="A parameter of the workload, `threads`, or `transactions` of each thread; may be "
            "repeated; a wrong name lists the right ones.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, help="Threads of the program: --param threads=N."),
    ] = None,
    option: options.EngineOptions = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", min=0, help="Seed of the first schedule; the next has N + 1."
        ),
    ] = 1,
    minimise: Annotated[
        bool,
        typer.Option("--minimise/--no-minimise", help="Make the program of a violation smaller."),
    ] = True,
    timeline: Annotated[
        str,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Draw the first violation, thread by thread, as trace-event JSON for "
            "ui.perfetto.dev.",
        ),
    ] = "",
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            min=1,
            help="Processes; default: one per core of this computer. The findings do not depend "
            "on it.",
        ),
    ] = None,
    json_file: options.Json = None,
) -> None:
    """Cut the power at every persist event of small concurrent runs, and judge the recovery.

    An engine's search ends at its first violation: an acknowledged update lost, half a
    transaction, an impossible read.

    Exit status 1 then; the command that shows it again is printed. With --mutants also exit status
    1 if too few planted bugs of the hardware design are caught.
    """
    given = options.assignments(option, "option")
    if workload != "registers":
        options.workload(workload)
    options.check_machine(machine)
    if points != "all" and not (points.isdecimal() and int(points) > 0):
        raise errors.BadUsage(f"--points {points}: `all`, or a number from 1")
    if point is not None and points != "all":
        raise errors.BadUsage("--point is one crash point, --points a number of them: give one")
    if (mutants or coverage) and not design:
        raise errors.BadUsage("--mutants and --coverage concern a hardware design: give --design")
    params = options.assignments(param, "parameter")
    if threads is not None and params.setdefault("threads", str(threads)) != str(threads):
        raise errors.BadUsage("--threads and --param threads=N differ: give one")
    chosen = catalog.design_engine() if design and engine == "all" else engine
    engines = options.engines(chosen, given, simulated=True, durable=True)
    spec = CrashSpec(
        workload=workload,
        machine=machine,
        design=design,
        design_options=options.design_options(design_option, design),
        schedule=schedule,
        schedules=schedules or (20 if mutants else 100),
        points=0 if points == "all" else int(points),
        point=point,
        images=images,
        crash_recovery=crash_recovery,
        go_on=go_on,
        program=program,
        program_seed=program_seed,
        mutations=list(mutate or ()),
        rmw_orders_pwb=not weak_rmw,
        journal=journal or None,
        preemptions=preemptions,
        drains=drains,
        delays=delays,
        switch_probability=switch_probability,
        drain_probability=drain_probability,
        domain=domain or None,
        params=params,
        options=given,
        seed=seed,
        minimise=minimise,
        mutants=mutants_per_kind if mutants else None,
    )
    console = output.people(json_file)
    with output.progress(console, f"crash {workload}") as progress:
        reports = _search(spec, engines, jobs or fleet.cores(), progress)
    crash_report.print_coverage(console, reports)
    crash_report.print_probes(console, reports)
    crash_report.print_violations(console, reports)
    crash_report.print_design(console, reports, table=coverage)
    if timeline:
        console.print(_draw(reports, timeline))
    output.write_json(json_file, findings.together([_with_commands(one) for one in reports]))
    found = sum(len(report.violations) for report in reports)
    if found:
        some = "violation" if found == 1 else "violations"
        raise errors.CheckFailed(f"{found} {some} of the engines' promises")
    if any(report.mutants and not report.mutants.are_caught for report in reports):
        raise errors.CheckFailed("fewer than 90 % of the design's mutants were caught")


def _with_commands(report: CrashReport) -> CrashReport:
    """The report for --json, where `replay` is a command line."""
    commands = [crash_report.command(violation.replay) for violation in report.violations]
    return findings.replayed(report, commands)


def _draw(reports: Sequence[CrashReport], path: str) -> str:
    """Runs the first violation once more and draws it. Returns the file, or why there is none."""
    for violation in [violation for report in reports for violation in report.violations]:
        spec = replace(violation.replay, timeline=path)
        drawn = decode(findings.Picture, core.crash(spec.json())["timeline"])
        if drawn.missing:
            return f"no timeline: {drawn.missing}"
        return f"timeline: {escape(drawn.path)}"
    return "no timeline: there is no violation to draw"


def _search(
    spec: CrashSpec, engines: Sequence[str], jobs: int, progress: core.Progress
) -> list[CrashReport]:
    try:
        reports = fleet.crash(spec, engines, jobs, progress)
    except errors.OutOfSpace as failure:
        raise errors.BadUsage(
            f"{failure}; logs are tiny here, so that they wrap around: give --option "
            "log_bytes=N, or a smaller --param"
        ) from None
    _check_mutations(spec.mutations, reports)
    return reports


def _check_mutations(mutations: Sequence[str], reports: Sequence[CrashReport]) -> None:
    """Raises BadUsage for a site that no run met: it proves nothing, and is likely misspelt."""
    sites = sorted({site.name for report in reports for site in report.sites})
    for mutation in mutations:
        name = mutation.partition("=")[0]
        if name not in sites:
            near = difflib.get_close_matches(name, sites, 1)
            there = f"did you mean {near[0]}? They" if near else "they"
            raise errors.BadUsage(
                f"the runs never came to site {name}; {there} came to {', '.join(sites)}"
            )
