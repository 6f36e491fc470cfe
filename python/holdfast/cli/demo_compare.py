# SPDX-License-Identifier: Apache-2.0
"""The second half of the demo: the same workload on every engine, as a table and a chart."""

from typing import Any

from rich.console import Console

from holdfast import chart, core, environment, places, results
from holdfast.cli import bench, demo_kill, output, result_table

_CHART = "demo.png"


def run(console: Console, plan: demo_kill.Plan, seconds: float) -> dict[str, Any]:
    """Measures each engine for `seconds`, prints, draws; returns the benchmark's report."""
    threads = plan.threads
    engines = [entry["name"] for entry in core.engines() if entry["supported"] and core.is_durable(entry)]
    folder = places.memory_backed(bench.BYTES_PER_HEAP * len(engines)) or plan.folder
    console.print("\n[bold]2. The same on every engine[/]")
    console.print(
        f"Domain pmem on {environment.file_system(folder)} (emulated: write-backs and fences are executed, but the "
        "memory is not persistent), so that the engines' own costs show."
    )
    spec = {
        "workload": "tpcc",
        "engines": engines,
        "threads": [threads],
        "seconds": seconds,
        "repetitions": 3,
        "domain": "pmem",
        "force": True,
        "htm": plan.htm,
        "params": plan.population,
        "dir": str(folder),
        "seed": plan.seed,
    }
    with output.progress(console, "comparing") as progress:
        report = core.bench(spec, progress)
    results.add_environment(report)
    result_table.print_setting(console, report)
    result_table.print_report(
        console, report, f"TPC-C, one warehouse, {threads} threads, {seconds:g} s per engine"
    )
    console.print("Derived from TPC-C; not a TPC result.")
    chart.draw(
        plan.folder / _CHART,
        _bars(report),
        "TPC-C, one warehouse, on every engine",
        _notes(report, seconds, threads),
    )
    return report


def _bars(report: dict[str, Any]) -> list[chart.EngineBar]:
    return [
        chart.EngineBar(
            entry["engine"],
            entry["items_per_second"],
            {o["operation"]: o["items_per_second"] for o in entry["operations"]},
            entry["fences_per_update"],
            entry["pwb_per_update"],
            entry["bytes_written_per_byte_stored"],
        )
        for entry in results.medians(report)
    ]


def _notes(report: dict[str, Any], seconds: float, threads: int) -> list[str]:
    context = report["context"]
    domain = context.get("domain_text", context["domain"])
    computer = f"{context['cpu']}, {context['cores']} cores, {context['kernel']}"
    return [
        f"{threads} threads, standard mix, median of {context['turns']} turns, {seconds:g} s per engine; {domain}.",
        f"{computer}, commit {context['commit']}, {context['date']}.",
        "Derived from TPC-C; not a TPC result. An update is a committed transaction that stores.",
    ]
