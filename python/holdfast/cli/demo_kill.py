# SPDX-License-Identifier: Apache-2.0
"""The first half of the demo: run, kill, recover, verify."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from holdfast import environment, errors, kill, places
from holdfast.cli import output

# Set-up commits some 700 transactions of two to four flushes each. Slower than this per flush, and the
# demo would not end within its three minutes.
_SLOWEST_FLUSH_SECONDS = 12e-3
_PATIENCE_SECONDS = 600
_HEAP = "demo.heap"


@dataclass(frozen=True)
class Plan:
    engine: str
    domain: str  # or "auto"
    htm: str
    folder: Path
    seconds: float
    population: dict[str, str]
    threads: int
    seed: int


def run(console: Console, plan: Plan) -> dict[str, Any]:
    """Prints what happens; returns figures, with `ok`."""
    domain, why = _choose_domain(plan)
    path = plan.folder / _HEAP
    path.unlink(missing_ok=True)
    spec = {
        "engine": plan.engine,
        "workload": "tpcc",
        "params": plan.population,
        "path": str(path),
        "threads": plan.threads,
        "domain": domain,
        "htm": plan.htm,
        "seed": plan.seed,
    }
    console.print(
        f"\n[bold]1. TPC-C on {escape(str(path))}, engine {plan.engine}, {plan.threads} threads, killed in mid-run[/]"
    )
    console.print(f"Domain {domain}: {escape(why)}")
    with kill.Worker({**spec, "open": "create"}) as worker:
        set_up_seconds = _wait_until_ready(console, worker, path)
        console.print(
            f"Set up one warehouse in {set_up_seconds:.1f} s ({output.bytes_text(path.stat().st_size)})."
        )
        ran = _run_for(console, worker, plan.seconds)
        if not worker.kill():
            raise errors.Failure(f"the worker ended by itself: {worker.failure()}")
    console.print(
        f"SIGKILL after {ran:.1f} s and {worker.acknowledged:,} acknowledged transactions"
        f" ({worker.acknowledged / ran:,.0f} per second, each acknowledged through a pipe)."
    )
    with console.status("another process recovers the heap and verifies it"):
        result = kill.verify({**spec, "open": "open"}, worker.records)
    _print_verdict(console, result)
    _print_meaning(console, domain)
    figures = {
        "path": str(path),
        "domain": domain,
        "domain_reason": why,
        "engine": plan.engine,
        "threads": plan.threads,
    }
    figures |= {
        "set_up_seconds": set_up_seconds,
        "seconds": ran,
        "acknowledged_operations": worker.acknowledged,
    }
    return result | figures


def _choose_domain(plan: Plan) -> tuple[str, str]:
    flush = places.flush_seconds(plan.folder)
    kind = environment.file_system(plan.folder)
    measured = f"a flush to this {kind} file system takes {output.duration(flush)}"
    if plan.domain != "auto":
        return plan.domain, f"as asked for; {measured}"
    if flush <= _SLOWEST_FLUSH_SECONDS:
        return "file", f"every commit is on the disk before it is acknowledged; {measured}"
    return "process", f"{measured}, too slow to write a power-cut safe warehouse in this demo's time"


def _wait_until_ready(console: Console, worker: kill.Worker, path: Path) -> float:
    start = time.monotonic()
    with console.status("setting up") as status:
        while worker.ready is None and not worker.ended:
            worker.pump(0.2)
            size = path.stat().st_size if path.exists() else 0
            status.update(
                f"setting up nine tables: {output.bytes_text(size)}, {time.monotonic() - start:.0f} s"
            )
            if time.monotonic() - start > _PATIENCE_SECONDS:
                raise errors.Failure(f"setting up took more than {_PATIENCE_SECONDS} s")
    if worker.ready is None:
        worker.kill()
        raise errors.Failure(f"the worker could not set the heap up: {worker.failure()}")
    return time.monotonic() - start


def _run_for(console: Console, worker: kill.Worker, seconds: float) -> float:
    start = time.monotonic()
    with output.progress(console, "running") as progress:
        while not worker.ended and (ran := time.monotonic() - start) < seconds:
            worker.pump(min(0.1, seconds - ran))
            progress(ran / seconds, f"{worker.acknowledged:,} acknowledged")
    return time.monotonic() - start


def _print_verdict(console: Console, result: dict[str, Any]) -> None:
    recovery = result["recovery"]
    console.print(
        f"Recovered in {output.duration(result['open_seconds'])}: "
        + escape(recovery["text"] or ("nothing to do" if not recovery["needed"] else "done"))
        + f" ({recovery['transactions']:,} transactions, {output.bytes_text(recovery['bytes'])})."
    )
    counts = ", ".join(f"{count:,} {kind}" for kind, count in result["by_operation"].items())
    console.print(f"Acknowledged: {escape(counts)}.")
    _line(
        console,
        not result["failure_count"],
        f"{result['verified']:,} of {result['acknowledged']:,} promises made through the pipe are kept by the heap",
    )
    _line(console, result["check"] == "ok", f"consistency conditions 3.3.2.1 to 3.3.2.12: {result['check']}")
    problems = result["heap_check"].get("problems", [])
    _line(
        console,
        result["heap_check"]["ok"],
        f"allocator and structures: {'; '.join(problems) or 'ok, nothing leaked'}",
    )
    for failure in result["failures"]:
        console.print(f"    [red]{escape(failure)}[/]")


def _line(console: Console, good: bool, text: str) -> None:
    console.print(f"  {'[green]ok[/]    ' if good else '[red]FAILED[/]'} {escape(text)}")


def _print_meaning(console: Console, domain: str) -> None:
    console.print(
        "What this proves: a process that dies at any instruction loses nothing it acknowledged, and leaves "
        "no half-done transaction behind."
    )
    console.print(
        "What it does not prove: that a power cut loses nothing. A killed process is not a power cut; the page "
        "cache survives it."
    )
    if domain == "file":
        console.print(
            "Domain file is made for power cuts too (fdatasync before every acknowledgement); showing that takes "
            "pulling the plug, or a simulated machine: `holdfast sim`."
        )
    else:
        console.print(f"Domain {domain} survives a killed process and nothing more.")
