# SPDX-License-Identifier: Apache-2.0
import shlex
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from holdfast import core, errors, fleet
from holdfast.cli import bench, options, output
from holdfast.cli.verb import verb


@verb
def run(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="[WORKLOAD]", help="`registers` (random programs), or map, intset, list, bank, ring."
        ),
    ] = "registers",
    engine: options.Engines = "all",
    machine: Annotated[
        str, typer.Option("--machine", metavar="M", help="A name `holdfast machines` lists.")
    ] = "sim",
    design: Annotated[
        str, typer.Option("--design", metavar="D", help="A name `holdfast designs` lists, for engine `hw`.")
    ] = "",
    schedule: Annotated[
        str,
        typer.Option("--schedule", metavar="S", help="`random`, `timed`, or `exhaustive` within bounds."),
    ] = "",
    schedules: Annotated[
        int, typer.Option("--schedules", metavar="N", min=1, help="Schedules for each engine.")
    ] = 100,
    points: Annotated[
        str, typer.Option("--points", metavar="all|N", help="Crash points of each schedule: all, or so many.")
    ] = "all",
    point: Annotated[
        int | None, typer.Option("--point", metavar="N", min=0, help="Crash only before this persist event.")
    ] = None,
    images: Annotated[
        int, typer.Option("--images", metavar="N", min=1, help="Surviving images looked at for each point.")
    ] = 16,
    crash_recovery: Annotated[
        int,
        typer.Option(
            "--crash-recovery", metavar="N", min=0, help="One image in N also loses power while it recovers; 0: none."
        ),
    ] = 64,
    go_on: Annotated[
        int,
        typer.Option("--go-on", metavar="N", min=0, help="On one image in N the program runs again; 0: none."),
    ] = 64,
    program: Annotated[
        str,
        typer.Option(
            "--program",
            metavar="TEXT",
            help="For `registers`, instead of random ones: threads apart by |, transactions by ;, steps r0 w0 b0 s.",
        ),
    ] = "",
    program_seed: Annotated[
        int, typer.Option("--program-seed", metavar="N", min=0, help="The same random program everywhere.")
    ] = 0,
    mutate: Annotated[
        list[str] | None,
        typer.Option(
            "--mutate",
            metavar="SITE=KIND",
            help="Plant a bug at a labelled site: drop, delay or swap. May be repeated.",
        ),
    ] = None,
    weak_rmw: Annotated[
        bool, typer.Option("--weak-rmw", help="Atomic read-modify-writes order no write-backs (not as on x86).")
    ] = False,
    preemptions: Annotated[
        int, typer.Option("--preemptions", min=0, help="Bound of an exhaustive search.")
    ] = 2,
    drains: Annotated[int, typer.Option("--drains", min=0, help="Bound of an exhaustive search.")] = 2,
    domain: bench.Domain = "",
    param: options.Params = None,
    option: options.EngineOptions = None,
    seed: options.Seed = 1,
    minimise: Annotated[bool, typer.Option(help="Make the program of a violation smaller.")] = True,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", min=1, help="Searches at a time; default: one per core of this computer."),
    ] = None,
    json_file: options.Json = None,
) -> None:
    """Cut the power at every persist event of small concurrent runs, and judge what is recovered.

    Exit status 1 if anything was lost, torn or seen wrongly; the command that shows it again is printed.
    """
    given = options.assignments(option, "option")
    if workload != "registers":
        options.workload(workload)
    if not machine.endswith(".toml"):
        options.choose(machine, [m for m in core.machines() if m["name"] != "native"], "simulated machine")
    if points != "all" and not points.isdecimal():
        raise errors.BadUsage(f"--points {points}: `all`, or a number")
    spec: dict[str, Any] = {
        "workload": workload,
        "machine": machine,
        "design": design,
        "schedule": schedule,
        "schedules": schedules,
        "points": 0 if points == "all" else int(points),
        "images": images,
        "crash_recovery": crash_recovery,
        "go_on": go_on,
        "program": program,
        "program_seed": program_seed,
        "mutations": list(mutate or ()),
        "rmw_orders_pwb": not weak_rmw,
        "preemptions": preemptions,
        "drains": drains,
        "params": options.assignments(param, "parameter"),
        "options": given,
        "seed": seed,
        "minimise": minimise,
    }
    if domain:
        spec["domain"] = domain
    if point is not None:
        spec["point"] = point
    engines = options.engines(engine if not design or engine != "all" else "hw", given, simulated=True)
    console = output.people(json_file)
    with output.progress(console, f"crash {workload}") as progress:
        reports = fleet.crash(spec, engines, jobs or fleet.cores(), progress)
    _check_mutations(spec["mutations"], reports)
    for report in reports:
        for violation in report["violations"]:
            violation["replay"] = command(violation["replay"])
    _print_coverage(console, reports)
    _print_violations(console, reports)
    output.write_json(json_file, together(reports))
    found = sum(len(report["violations"]) for report in reports)
    if found:
        raise errors.CheckFailed(f"{found} violation{'s' if found > 1 else ''} of what the engines promise")


def _check_mutations(mutations: list[str], reports: list[dict[str, Any]]) -> None:
    """A mutation at a site that nobody came to proves nothing: most likely it is misspelt."""
    sites = sorted({site["name"] for report in reports for site in report["sites"]})
    for mutation in mutations:
        if mutation.partition("=")[0] not in sites:
            raise errors.BadUsage(f"the runs never came to the site of {mutation}; they came to {', '.join(sites)}")


def command(spec: dict[str, Any]) -> str:
    """The command line of a spec, without what is the default anyway."""
    words = ["holdfast", "crash", spec["workload"], "--engine", spec["engine"]]
    usual = {"machine": "sim", "design": "", "schedule": "", "points": 0, "images": 16, "crash_recovery": 64, "go_on": 64,
             "program": "",
             "program_seed": 0, "domain": "", "preemptions": 2, "drains": 2}  # fmt: skip
    for name, fallback in usual.items():
        if spec.get(name, fallback) != fallback:
            words += [f"--{name.replace('_', '-')}", str(spec[name])]
    for text in spec.get("mutations", ()):
        words += ["--mutate", text]
    for name, flag in (("params", "--param"), ("options", "--option")):
        for key, value in spec.get(name, {}).items():
            words += [flag, f"{key}={value}"]
    if not spec.get("rmw_orders_pwb", True):
        words.append("--weak-rmw")
    if "point" in spec:
        words += ["--point", str(spec["point"])]
    words += ["--seed", str(spec["seed"]), "--schedules", str(spec["schedules"]), "--no-minimise"]
    return shlex.join(words)


def together(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """One object for all engines; with one engine, its own."""
    if len(reports) == 1:
        return reports[0]
    total = {
        "engine": ",".join(report["engine"] for report in reports),
        "workload": reports[0]["workload"],
        "domain": reports[0]["domain"],
        "machine": reports[0]["machine"],
    }
    for name in ("points", "schedules", "images"):
        total[name] = sum(report[name] for report in reports)
    total["violations"] = [
        {"engine": report["engine"]} | violation for report in reports for violation in report["violations"]
    ]
    total["engines"] = reports
    return total


def _print_coverage(console: Console, reports: list[dict[str, Any]]) -> None:
    rows = [
        (
            report["engine"],
            report["domain"],
            report["schedules"],
            report["points"],
            f"{report['coverage']['explored']:,.0f} / {report['coverage']['legal']:,.3g}",
            report["images"],
            report["coverage"]["recovery_points"],
            report["coverage"]["continued"],
            len(report["violations"]),
        )
        for report in reports
    ]
    columns = ("engine", "domain", "schedules", "crash points", "images explored / legal", "recovered once each",
               "crashes in recovery", "run on", "violations")  # fmt: skip
    console.print(output.table("Power failures", columns, rows, left=2))


def _print_violations(console: Console, reports: list[dict[str, Any]]) -> None:
    for report in reports:
        for violation in report["violations"]:
            where = "" if violation["point"] is None else f", before persist event {violation['point']}"
            console.print(f"\n[bold red]{escape(report['engine'])}: {escape(violation['name'])}[/]{where}")
            console.print(escape(violation["text"].rstrip()))
            if violation["program"]:
                console.print(f"program: {escape(violation['program'])}")
            console.print(escape(violation["story"].rstrip()))
            console.print(f"again: {escape(violation['replay'])}", soft_wrap=True)
