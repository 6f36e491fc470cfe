# SPDX-License-Identifier: Apache-2.0
"""The second half of the demo: the same workload on every engine, as a table and a chart."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from holdfast import catalog, chart, environment, fleet, places, plots
from holdfast.cli import bench, demo_kill, output, result_table
from holdfast.environment import Environment
from holdfast.results import Entry, Report
from holdfast.specs import BenchSpec

_CHART = "demo.png"


@dataclass(frozen=True)
class Comparison:
    """The measurements. `advice` says why there is no chart, or is empty."""

    report: Report
    chart: Path | None
    advice: str


def run(console: Console, plan: demo_kill.Plan, seconds: float) -> Comparison:
    """Measures each engine for `seconds`, prints and draws."""
    engines = [entry.name for entry in catalog.engines() if entry.supported and entry.durable]
    folder = places.memory_backed(bench.BYTES_PER_HEAP * len(engines)) or plan.folder
    console.print("\n[bold]2. The same workload on every engine[/]")
    console.print(
        f"Domain pmem on {environment.file_system(folder)} (emulated: write-backs and fences are "
        "executed, but the memory is not persistent), so that the engines' own costs show."
    )
    spec = BenchSpec(
        workload="tpcc",
        engines=engines,
        threads=[plan.threads],
        seconds=seconds,
        repetitions=3,
        domain="pmem",
        force=True,
        htm=plan.htm,
        params=plan.population,
        dir=str(folder),
        seed=plan.seed,
    )
    with output.progress(console, "comparing") as progress:
        report = fleet.alone("bench", spec, progress)
    described = report.add_environment()
    result_table.print_setting(console, report)
    title = f"TPC-C, one warehouse, {plan.threads} threads, {seconds:g} s per engine"
    result_table.print_report(console, report, title)
    console.print("Derived from TPC-C; not a TPC result.")
    medians = report.medians()
    if advice := plots.missing() if medians else "no engine finished":
        return Comparison(report, None, advice)
    path = plan.folder / _CHART
    notes = _notes(report, described, seconds, plan.threads)
    chart.draw(path, _bars(medians), "TPC-C, one warehouse, on every engine", notes)
    return Comparison(report, path, "")


def _bars(entries: list[Entry]) -> list[chart.EngineBar]:
    return [
        chart.EngineBar(
            entry.engine,
            entry.items_per_second,
            {o.operation: o.items_per_second for o in entry.operations},
            entry.fences_per_update,
            entry.pwb_per_update,
            entry.bytes_written_per_byte_stored,
        )
        for entry in entries
    ]


def _notes(report: Report, described: Environment, seconds: float, threads: int) -> list[str]:
    context = report.context
    domain = context.domain_text or context.domain
    computer = f"{described.cpu}, {described.cores} cores, {described.kernel}"
    return [
        f"{threads} threads, standard mix, median of {context.turns} turns, {seconds:g} s per "
        f"engine; {domain}.",
        f"{computer}, commit {described.commit}, {described.date}.",
        "Derived from TPC-C; not a TPC result. An update is a committed transaction that stores.",
    ]
