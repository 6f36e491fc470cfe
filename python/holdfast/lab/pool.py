# SPDX-License-Identifier: Apache-2.0
"""Runs cells in processes, as many at a time as there are cores, and keeps their results."""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from holdfast.lab.cache import Cache
from holdfast.lab.cells import Cell, Outcome

# A cell that takes the host longer than this is stuck, or too big for a figure.
LIMIT_S = 1200
_COMMAND = (sys.executable, "-m", "holdfast.lab.worker")
Tell = Callable[[int, int, str], None]


class Worker:
    """One process; a new one when it died."""

    def __init__(self, command: Sequence[str] = _COMMAND, limit_s: float = LIMIT_S) -> None:
        self._command, self._limit_s = command, limit_s
        self._process: subprocess.Popen | None = None
        self._errors: Any = None

    def run(self, job: dict[str, Any]) -> Outcome:
        if self._process is None or self._process.poll() is not None:
            self._start()
        timer = threading.Timer(self._limit_s, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        finally:
            late = not timer.is_alive()
            timer.cancel()
        if not line:
            return Outcome("failed", reason=self._obituary(late))
        answer = json.loads(line)
        if "entry" in answer:
            return Outcome("ok", answer["entry"])
        return Outcome("failed", reason=answer["failed"])

    def kill(self) -> None:
        """From another thread, while it runs: then run() says that the process ended."""
        if (process := self._process) is not None:
            process.kill()

    def stop(self) -> None:
        """At once: a worker holds nothing that could be left half done."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _start(self) -> None:
        self.stop()
        self._errors = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115 (lives as long as the process)
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )

    def _obituary(self, late: bool) -> str:
        status = self._process.wait()
        self._errors.seek(0)
        last = self._errors.read().strip().splitlines()[-1:]
        why = f"took longer than {self._limit_s:.0f} s" if late else f"the process ended with status {status}"
        return ": ".join([why, *last])


def run_all(
    cells: Sequence[Cell],
    jobs: int,
    cache: Cache,
    tell: Tell = lambda done, of, name: None,
    command: Sequence[str] = _COMMAND,
) -> list[Outcome]:
    """What became of every cell, in their order. Cells that ask for the same run share it."""
    keys = [cache.key(cell) for cell in cells]
    refused = [cell.cannot_run() for cell in cells]  # one of those that share a run may be
    known: dict[str, Outcome] = {}
    to_run: dict[str, Cell] = {}
    for key, cell, reason in zip(keys, cells, refused, strict=True):
        if reason or key in known or key in to_run:
            continue
        if (entry := cache.get(key)) is not None:
            known[key] = Outcome("ok", entry, cached=True)
        else:
            to_run[key] = cell
    simulated = {key: cell for key, cell in to_run.items() if not cell.native}
    native = {key: cell for key, cell in to_run.items() if cell.native}
    for part, at_once in ((simulated, jobs), (native, 1)):
        if part:
            known |= _run(part, min(at_once, len(part)), cache, tell, command)
    return [
        Outcome("not run", reason=reason) if reason else _own(cell, known[key])
        for key, cell, reason in zip(keys, cells, refused, strict=True)
    ]


def _own(cell: Cell, outcome: Outcome) -> Outcome:
    return outcome if outcome.entry is None else replace(outcome, entry=cell.own(outcome.entry))


def _run(
    to_run: dict[str, Cell], jobs: int, cache: Cache, tell: Tell, command: Sequence[str]
) -> dict[str, Outcome]:
    groups = _by_population(to_run)
    known: dict[str, Outcome] = {}
    workers = _Workers(command)
    pool = ThreadPoolExecutor(jobs)
    futures: dict[Future, str] = {}

    def submit(key: str) -> None:
        futures[pool.submit(workers.run, to_run[key].job)] = key

    try:
        for group in groups.values():
            submit(group.pop())
        while futures:
            done, _ = wait(futures, timeout=0.5, return_when=FIRST_COMPLETED)  # so that ctrl-C is heard
            for future in done:
                key = futures.pop(future)
                known[key] = future.result()
                if known[key].state == "ok":
                    cache.put(key, known[key].entry)
                for other in groups.pop(to_run[key].population(), []):
                    submit(other)
                tell(len(known), len(to_run), to_run[key].name)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        workers.stop()
    return known


class _Workers:
    """One worker per thread."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._mine = threading.local()
        self._all: list[Worker] = []

    def run(self, job: dict[str, Any]) -> Outcome:
        if not hasattr(self._mine, "worker"):
            self._mine.worker = Worker(self._command)
            self._all.append(self._mine.worker)
        return self._mine.worker.run(job)

    def stop(self) -> None:
        for worker in self._all:
            worker.kill()


def _by_population(to_run: dict[str, Cell]) -> dict[tuple, list[str]]:
    """Keys by population, the longest first, so that none is left to the end alone. The last one, the smallest, goes
    before all others and builds the population, so that nobody waits for it on a core."""
    groups: dict[tuple, list[str]] = {}
    for key in sorted(to_run, key=lambda key: -to_run[key].cost()):
        groups.setdefault(to_run[key].population(), []).append(key)
    return groups
