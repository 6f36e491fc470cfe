# SPDX-License-Identifier: Apache-2.0
"""A crash search's findings for people, and the command that shows a violation again."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from holdfast.cli import output
from holdfast.findings import CrashReport, Mutants, Violation
from holdfast.specs import CrashSpec


@dataclass(frozen=True)
class Usual:
    """Defaults of the command line. The options have the names of the spec's fields."""

    machine: str = "sim"
    design: str = ""
    schedule: str = ""
    program: str = ""
    program_seed: int = 0
    points: int = 0
    images: int = 16
    crash_recovery: int = 64
    go_on: int = 64
    domain: str = ""
    preemptions: int = 2
    drains: int = 2
    switch_probability: float | None = None
    drain_probability: float | None = None


USUAL = Usual()


def command(spec: CrashSpec) -> str:
    """The command line of a spec, without options that have their default."""
    words = ["holdfast", "crash", spec.workload, "--engine", spec.engine or ""]
    given = spec.json()
    for name, usual in vars(USUAL).items():
        if given.get(name, usual) != usual:
            words += [f"--{name.replace('_', '-')}", str(given[name])]
    for text in spec.mutations:
        words += ["--mutate", text]
    for values, flag in (
        (spec.design_options, "--design-option"),
        (spec.params, "--param"),
        (spec.options, "--option"),
    ):
        for key, value in values.items():
            words += [flag, f"{key}={value}"]
    if spec.journal:
        words.append("--journal")
    if spec.rmw_orders_pwb is False:
        words.append("--weak-rmw")
    if spec.point is not None:
        words += ["--point", str(spec.point)]
    words += ["--seed", str(spec.seed), "--schedules", str(spec.schedules), "--no-minimise"]
    return shlex.join(words)


def print_coverage(console: Console, reports: Sequence[CrashReport]) -> None:
    rows = [
        (
            report.engine,
            report.schedules,
            report.points,
            f"{report.coverage['explored']:,} / {_about(report.coverage['legal'])}",
            report.images,
            report.coverage["recovery_points"],
            report.coverage["continued"],
            report.lost_max,
            len(report.violations),
        )
        for report in reports
    ]
    first = reports[0]
    title = f"{first.workload}: power failures on {first.machine}, domain {first.domain}"
    columns = (
        "engine",
        "schedules",
        "points",
        "explored / legal",
        "recovered",
        "in recovery",
        "run on",
        "lost",
        "violations",
    )
    output.print_table(console, output.table(title, columns, rows))
    console.print(
        "[dim]points: persist events before which the power failed; explored / legal: surviving "
        "images looked at, of those possible; recovered: different ones; in recovery: failures "
        "while they recovered; run on: the program ran once more; lost: the most acknowledged "
        "updates that a failure took, within the engine's promise[/]"
    )


def print_probes(console: Console, reports: Sequence[CrashReport]) -> None:
    """The rare paths of each engine that its search has taken, and how often."""
    for report in reports:
        if report.probes:
            counts = ", ".join(f"{name} {report.probes[name]:,}" for name in sorted(report.probes))
            console.print(
                f"[dim]{escape(report.engine)}: rare paths taken: {escape(counts)}[/]",
                soft_wrap=True,
            )


def _about(count: float) -> str:
    """A number that may be astronomical."""
    return f"{count:,.0f}" if count < 1e6 else f"{count:.2g}"


def print_violations(console: Console, reports: Sequence[CrashReport]) -> None:
    for report in reports:
        for violation in report.violations:
            name = f"{escape(report.engine)}: {escape(violation.name)}"
            console.print(f"\n[bold red]{name}[/]{_where(violation)}")
            console.print(escape(violation.text.rstrip()), soft_wrap=True)
            if violation.program:
                console.print(f"program: {escape(violation.program)}", soft_wrap=True)
            console.print(escape(violation.story.rstrip()), soft_wrap=True)
            console.print(f"again: {escape(command(violation.replay))}", soft_wrap=True)


def print_design(console: Console, reports: Sequence[CrashReport], table: bool) -> None:
    for report in reports:
        if table and report.design_coverage:
            rows = [(row.name, row.met, row.behind) for row in report.design_coverage]
            title = f"{report.engine}: the hardware design"
            output.print_table(
                console, output.table(title, ("part", "met", "crash points behind"), rows)
            )
        if report.uncovered:
            names = escape(", ".join(report.uncovered))
            console.print(f"[red]no crash point behind: {names}[/]", soft_wrap=True)
        if report.mutants and not report.violations:
            _print_mutants(console, report.mutants)


def _print_mutants(console: Console, mutants: Mutants) -> None:
    console.print(
        f"mutants: {mutants.planted} planted, {mutants.caught} of {mutants.counted} caught; "
        f"{mutants.equivalent} show the images of the sound design, and {mutants.masked} recover "
        "what it recovers",
        soft_wrap=True,
    )
    if mutants.are_few:
        console.print("[red]fewer than 30 mutants count: the search is too small[/]")
    if not mutants.are_caught:
        for mutant in mutants.survivors[:_MOST_SURVIVORS]:
            console.print(f"[red]survivor: {mutant.change} {mutant.number}, {mutant.kind}[/]")


_MOST_SURVIVORS = 20

_PHASES = {
    "creation": "in a new heap",
    "run": "while it ran",
    "crash": "after a power failure",
    "recovery": "after a second power failure, during recovery",
    "continued": "when the program ran once more after recovery",
}


def _where(violation: Violation) -> str:
    text = ", " + _PHASES.get(violation.phase, violation.phase)
    if violation.point is None:
        return text
    return f"{text}, before persist event {violation.point}"
