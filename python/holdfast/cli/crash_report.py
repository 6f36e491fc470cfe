# SPDX-License-Identifier: Apache-2.0
"""What `crash` found: for people, as one JSON object, and as the command that shows a violation again."""

import shlex
from typing import Any

from rich.console import Console
from rich.markup import escape

from holdfast.cli import output

# One report of core.crash, or of fleet.crash; the fields are documented in holdfast/runner/crash/crash.h.
Report = dict[str, Any]

# Values a command line need not give, by field of the spec; the option is called the same.
USUAL = {
    "machine": "sim",
    "design": "",
    "schedule": "",
    "program": "",
    "program_seed": 0,
    "points": 0,
    "images": 16,
    "crash_recovery": 64,
    "go_on": 64,
    "domain": "",
    "preemptions": 2,
    "drains": 2,
}
_ASSIGNED = {"design_options": "--design-option", "params": "--param", "options": "--option"}


def command(spec: dict[str, Any]) -> str:
    """The command line of a spec, without what is the default anyway."""
    words = ["holdfast", "crash", spec["workload"], "--engine", spec["engine"]]
    for name, usual in USUAL.items():
        if spec.get(name, usual) != usual:
            words += [f"--{name.replace('_', '-')}", str(spec[name])]
    for text in spec.get("mutations", ()):
        words += ["--mutate", text]
    for name, flag in _ASSIGNED.items():
        for key, value in spec.get(name, {}).items():
            words += [flag, f"{key}={value}"]
    if not spec.get("rmw_orders_pwb", True):
        words.append("--weak-rmw")
    if "point" in spec:
        words += ["--point", str(spec["point"])]
    words += ["--seed", str(spec["seed"]), "--schedules", str(spec["schedules"]), "--no-minimise"]
    return shlex.join(words)


def together(reports: list[Report]) -> Report:
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


def print_coverage(console: Console, reports: list[Report]) -> None:
    rows = [
        (
            report["engine"],
            report["schedules"],
            report["points"],
            f"{report['coverage']['explored']:,} / {_about(report['coverage']['legal'])}",
            report["images"],
            report["coverage"]["recovery_points"],
            report["coverage"]["continued"],
            len(report["violations"]),
        )
        for report in reports
    ]
    first = reports[0]
    title = f"{first['workload']}: power failures on {first['machine']}, domain {first['domain']}"
    columns = (
        "engine",
        "schedules",
        "points",
        "explored / legal",
        "recovered",
        "in recovery",
        "run on",
        "violations",
    )
    console.print(output.table(title, columns, rows))
    console.print(
        "[dim]points: persist events before which the power failed; explored / legal: surviving images looked at, "
        "of those possible; recovered: different ones; in recovery: failures while they recovered; run on: the "
        "program ran once more[/]"
    )


def _about(count: float) -> str:
    """Images may be more than any number is good for."""
    return f"{count:,.0f}" if count < 1e6 else f"{count:.2g}"


def print_violations(console: Console, reports: list[Report]) -> None:
    for report in reports:
        for violation in report["violations"]:
            console.print(
                f"\n[bold red]{escape(report['engine'])}: {escape(violation['name'])}[/]{_where(violation)}"
            )
            console.print(escape(violation["text"].rstrip()), soft_wrap=True)
            if violation["program"]:
                console.print(f"program: {escape(violation['program'])}", soft_wrap=True)
            console.print(escape(violation["story"].rstrip()), soft_wrap=True)
            console.print(f"again: {escape(violation['replay'])}", soft_wrap=True)


_PHASES = {
    "run": "while it ran",
    "crash": "after a power failure",
    "recovery": "after a second power failure, during recovery",
    "continued": "when the program ran once more after recovery",
}


def _where(violation: dict[str, Any]) -> str:
    text = ", " + _PHASES.get(violation["phase"], violation["phase"])
    if violation["point"] is None:
        return text
    return f"{text}, before persist event {violation['point']}"
