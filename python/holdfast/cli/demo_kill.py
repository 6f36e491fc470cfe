# SPDX-License-Identifier: Apache-2.0
"""The first half of the demo: run, kill, recover, verify."""

import time
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from holdfast import environment, errors, kill, places, units
from holdfast.cli import output
from holdfast.findings import Verification
from holdfast.shapes import Json
from holdfast.specs import SessionSpec

# Set-up commits some 700 transactions of two to four flushes each. With slower flushes the demo
# would not end within its three minutes.
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


@dataclass(frozen=True)
class Killed:
    """The run that was killed, and the verdict about its heap."""

    verification: Verification
    path: str
    domain: str
    domain_reason: str
    engine: str
    threads: int
    set_up_seconds: float
    seconds: float
    acknowledged_operations: int

    def as_json(self) -> Json:
        """One object: the verification's fields and the others."""
        others = {name: value for name, value in vars(self).items() if name != "verification"}
        return self.verification.json | others


def run(console: Console, plan: Plan) -> Killed:
    """Prints each step as it happens."""
    domain, why = _choose_domain(plan)
    path = plan.folder / _HEAP
    path.unlink(missing_ok=True)
    spec = SessionSpec(
        engine=plan.engine,
        workload="tpcc",
        params=plan.population,
        path=str(path),
        threads=plan.threads,
        domain=domain,
        htm=plan.htm,
        seed=plan.seed,
    )
    console.print(
        f"\n[bold]1. TPC-C on {escape(str(path))}, engine {plan.engine}, {plan.threads} threads, "
        "killed in mid-run[/]"
    )
    console.print(f"Domain {domain}: {escape(why)}")
    with kill.Worker(replace(spec, open="create")) as worker:
        set_up_seconds = _wait_until_ready(console, worker, path)
        size = units.bytes_text(path.stat().st_size)
        console.print(f"Set up one warehouse in {set_up_seconds:.1f} s ({size}).")
        ran = _run_for(console, worker, plan.seconds)
        if not worker.kill():
            raise errors.Failure(f"the worker ended by itself: {worker.failure()}")
    console.print(
        f"SIGKILL after {ran:.1f} s and {worker.acknowledged:,} acknowledged transactions"
        f" ({worker.acknowledged / ran:,.0f} per second, each acknowledged through a pipe)."
    )
    with console.status("another process recovers the heap and verifies it"):
        result = kill.verify(replace(spec, open="open"), worker.records)
    _print_verdict(console, result)
    _print_meaning(console, domain)
    return Killed(
        verification=result,
        path=str(path),
        domain=domain,
        domain_reason=why,
        engine=plan.engine,
        threads=plan.threads,
        set_up_seconds=set_up_seconds,
        seconds=ran,
        acknowledged_operations=worker.acknowledged,
    )


def _choose_domain(plan: Plan) -> tuple[str, str]:
    """The domain, and the reason for it."""
    try:
        flush = places.flush_seconds(plan.folder)
    except OSError as failure:  # it names no file, or one that is gone
        raise errors.of_system(failure, str(plan.folder)) from None
    kind = environment.file_system(plan.folder)
    measured = f"a flush to this {kind} file system takes {units.duration(flush)}"
    if plan.domain != "auto":
        return plan.domain, f"as asked for; {measured}"
    if flush <= _SLOWEST_FLUSH_SECONDS:
        return "file", f"every commit is on the disk before it is acknowledged; {measured}"
    return (
        "process",
        f"{measured}, too slow to write a power-cut safe warehouse in this demo's time",
    )


def _wait_until_ready(console: Console, worker: kill.Worker, path: Path) -> float:
    start = time.monotonic()
    with console.status("setting up") as status:
        while worker.ready is None and not worker.ended:
            worker.pump(0.2)
            size = units.bytes_text(path.stat().st_size if path.exists() else 0)
            elapsed = time.monotonic() - start
            status.update(f"setting up nine tables: {size}, {elapsed:.0f} s")
            if elapsed > _PATIENCE_SECONDS:
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


def _print_verdict(console: Console, result: Verification) -> None:
    recovery = result.recovery
    console.print(
        f"Recovered in {units.duration(result.open_seconds)}: "
        + escape(recovery.text or ("done" if recovery.needed else "nothing to do"))
        + f" ({recovery.transactions:,} transactions, {units.bytes_text(recovery.bytes)})."
    )
    counts = ", ".join(f"{count:,} {kind}" for kind, count in result.by_operation.items())
    console.print(f"Acknowledged: {escape(counts)}.")
    _line(
        console,
        not result.failure_count,
        f"{result.verified:,} of {result.acknowledged:,} promises made through the pipe are kept "
        "by the heap",
    )
    _line(
        console,
        result.check == "ok",
        f"consistency conditions 3.3.2.1 to 3.3.2.12: {result.check}",
    )
    walked = "; ".join(result.heap_check.problems) or "ok, nothing leaked"
    _line(console, result.heap_check.ok, f"allocator and structures: {walked}")
    for failure in result.failures:
        console.print(f"    [red]{escape(failure)}[/]")


def _line(console: Console, good: bool, text: str) -> None:
    console.print(f"  {'[green]ok[/]    ' if good else '[red]FAILED[/]'} {escape(text)}")


def _print_meaning(console: Console, domain: str) -> None:
    console.print(
        "This proves: a process that dies at any instruction loses nothing it acknowledged, and "
        "leaves no half-done transaction behind."
    )
    console.print(
        "It does not prove that a power cut loses nothing. A killed process is not a power cut: "
        "the page cache survives it."
    )
    if domain == "file":
        console.print(
            "Domain file is made for power cuts too (fdatasync before every acknowledgement). To "
            "show that takes pulling the plug, or a simulated machine: `holdfast sim`."
        )
    else:
        console.print(f"Domain {domain} survives a killed process and nothing more.")
