# SPDX-License-Identifier: Apache-2.0
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from holdfast import catalog, environment, errors
from holdfast.cli import bench, demo_compare, demo_kill, options, output
from holdfast.cli.verb import verb
from holdfast.shapes import encode

# A population of one warehouse with everything the standard asks for; and one for tests.
_FULL = {"warehouses": "1"}
_SMALL = {"warehouses": "1", "items": "2000", "customers": "60", "orders": "60"}


@verb
def run(
    engine: Annotated[
        str, typer.Option("--engine", metavar="E", help="The engine whose process is killed.")
    ] = "fur-opa",
    domain: Annotated[
        str, typer.Option("--domain", metavar="D", help="auto, file or process.")
    ] = "auto",
    htm: bench.Htm = "auto",
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for heap file, chart and JSON.")
    ] = Path("out"),
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=0.1, callback=options.finite, help="Time before the kill."),
    ] = 15.0,
    compare_seconds: Annotated[
        float,
        typer.Option(
            "--compare-seconds", min=0.1, callback=options.finite, help="Time per engine."
        ),
    ] = 2.0,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small population and short runs.")
    ] = False,
    seed: options.Seed = 1,
    json_file: options.Json = None,
) -> None:
    """The main job: TPC-C on a durable heap file, killed, recovered, checked; then every engine."""
    chosen = options.engines(engine, {}, durable=True)
    if len(chosen) != 1:
        raise errors.BadUsage("--engine of demo is one engine, which is killed; then all run")
    if domain not in ("auto", "file", "process"):
        raise errors.BadUsage(f"no domain '{domain}' for the demo; there are auto, file, process")
    if reason := catalog.why_no_htm(htm):
        raise errors.BadUsage(reason)
    if quick:
        seconds, compare_seconds = min(seconds, 2.0), min(compare_seconds, 0.5)
    population = _SMALL if quick else _FULL
    out.mkdir(parents=True, exist_ok=True)
    output.check_target(out / "demo.json")
    console = output.people(json_file)
    described = environment.describe()
    output.print_environment(console, described)

    plan = demo_kill.Plan(chosen[0], domain, htm, out, seconds, population, described.cores, seed)
    killed = demo_kill.run(console, plan)
    compared = demo_compare.run(console, plan, compare_seconds)
    report = {
        "environment": encode(described),
        "kill": killed.as_json(),
        "compare": compared.report.json,
    }
    output.write_json(str(out / "demo.json"), report)
    output.write_json(json_file, report)
    chart = f"The chart is {compared.chart}"
    if compared.chart is None:
        chart = f"There is no chart: {compared.advice}"
    text = f"{chart}; the figures are {out / 'demo.json'}, the heap is {killed.path}."
    console.print("\n" + escape(text))
    if not killed.verification.ok:
        raise errors.CheckFailed(
            "the recovered heap does not hold everything that was acknowledged"
        )
    bench.finish(compared.report, may_refuse=True)
