# SPDX-License-Identifier: Apache-2.0
"""Runs jobs in worker processes, several at a time.

A process holds one simulated machine, so jobs that run side by side need processes of their own.
A job that ends its process, such as one that meets a broken invariant, ends no other job. The pool
may kill a worker at any instant, and removes the temporary heaps of a worker that is dead. Ctrl-C,
SIGTERM and SIGHUP therefore end a pool at once, while the core would hear them only between two
configurations.

    with Pool(2) as pool:
        pool.submit("first", Job("sim", spec))
        key, answer = pool.next()

One thread does everything: it hands out jobs and waits for the pipes of all workers.
"""

import contextlib
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from holdfast import errors, places, termination
from holdfast.shapes import Json

_COMMAND = (sys.executable, "-m", "holdfast.pool_worker")
# One read takes as much as a pipe holds by default.
_CHUNK = 1 << 16

K = TypeVar("K", bound=Hashable)

# Takes a job's key, the share it has done (0 to 1), and a text.
Tell = Callable[[Any, float, str], None]


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Job:
    """A task of pool_worker.py by name, and its argument."""

    task: str
    spec: Json

    def line(self) -> bytes:
        return json.dumps({"task": self.task, "spec": self.spec}).encode() + b"\n"


@dataclass(frozen=True)
class Answer:
    """The value that a task returned, or its failure."""

    value: Json | None = None
    failure: errors.Failure | None = None

    def result(self) -> Json:
        """The value. Raises the failure."""
        if self.failure is not None:
            raise self.failure
        assert self.value is not None
        return self.value


class Pool(Generic[K]):
    """Up to `processes` workers, started when there is work for them.

    `limit_s` bounds the time of a job; the worker of a longer one is killed. `tell` hears the
    progress of jobs. Use as a context manager: no worker outlives the block.
    """

    def __init__(
        self,
        processes: int,
        *,
        limit_s: float | None = None,
        tell: Tell = lambda key, share, text: None,
        command: Sequence[str] = _COMMAND,
    ) -> None:
        self._limit_s, self._tell = limit_s, tell
        self._workers = [_Worker(command) for _ in range(processes)]
        self._waiting: deque[tuple[K, Job]] = deque()
        self._signals = contextlib.ExitStack()

    def __enter__(self) -> "Pool[K]":
        self._signals.enter_context(termination.raised())
        return self

    def __exit__(self, *_: object) -> None:
        with self._signals:
            for worker in self._workers:
                worker.kill()
            for worker in self._workers:
                worker.bury()

    def submit(self, key: K, job: Job) -> None:
        self._waiting.append((key, job))

    def withdraw(self, unwanted: Callable[[K], bool]) -> None:
        """Drops the jobs whose keys are unwanted, except those that have begun."""
        self._waiting = deque(one for one in self._waiting if not unwanted(one[0]))

    @property
    def busy(self) -> bool:
        """True while there is an answer to come."""
        return bool(self._waiting) or any(worker.busy for worker in self._workers)

    def next(self) -> tuple[K, Answer]:
        """Waits for the next job to end; returns its key and answer."""
        while True:
            self._hand_out()
            with selectors.DefaultSelector() as selector:
                for worker in self._workers:
                    if worker.busy:
                        selector.register(worker.pipe, selectors.EVENT_READ, worker)
                ready = [key.data for key, _ in selector.select(self._patience())]
            for worker in ready:
                for share, text in worker.read():
                    self._tell(worker.key, share, text)
                if worker.answer is not None:
                    return worker.take()
            self._kill_late_ones()

    def _hand_out(self) -> None:
        for worker in self._workers:
            if self._waiting and not worker.busy:
                worker.begin(*self._waiting.popleft())

    def _patience(self) -> float | None:
        """Seconds until the first job is over its time; None without a limit."""
        if self._limit_s is None:
            return None
        begun = [worker.begun for worker in self._workers if worker.busy]
        return max(0.0, min(begun) + self._limit_s - time.monotonic())

    def _kill_late_ones(self) -> None:
        now = time.monotonic()
        for worker in self._workers:
            if self._limit_s is not None and worker.busy and now - worker.begun >= self._limit_s:
                worker.kill(f"took longer than {self._limit_s:g} s")


class _Worker:
    """One process, and the job it runs. A dead process is replaced when the next job begins."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: Any = None
        self._unread = bytearray()
        self._verdict = ""
        self._folder = ""  # for heaps of the job
        self.key: Any = None
        self.busy = False
        self.begun = 0.0
        self.answer: Answer | None = None

    @property
    def pipe(self) -> int:
        return self._process.stdout.fileno()

    def begin(self, key: Any, job: Job) -> None:
        if self._process is None or self._process.poll() is not None:
            self._start()
        self.key, self.busy, self.begun = key, True, time.monotonic()
        self._folder = job.spec.get("dir", "")
        with contextlib.suppress(OSError):  # the process has died: read() will find that
            self._process.stdin.write(job.line())
            self._process.stdin.flush()

    def read(self) -> list[tuple[float, str]]:
        """Takes the bytes that are there. Returns progress; `answer` is set when the job ended."""
        chunk = os.read(self.pipe, _CHUNK)
        if not chunk:
            self.answer = Answer(failure=errors.Failure(self._obituary()))
            return []
        self._unread += chunk
        *lines, rest = self._unread.split(b"\n") if b"\n" in chunk else [self._unread]
        self._unread = rest
        progress = []
        for message in map(json.loads, lines):
            if "progress" in message:
                progress.append((message["progress"], message["text"]))
            elif "failed" in message:
                failure = errors.from_name(message["failed"], message["text"])
                self.answer = Answer(failure=failure)
            else:
                self.answer = Answer(message["value"])
        return progress

    def take(self) -> tuple[Any, Answer]:
        """The job that ended. The worker is free then."""
        key, answer = self.key, self.answer
        assert answer is not None
        self.key, self.busy, self.answer = None, False, None
        return key, answer

    def kill(self, verdict: str = "") -> None:
        self._verdict = verdict
        if self._process is not None:
            self._process.kill()

    def bury(self) -> None:
        """Waits for the end of a killed or ended process, and frees its files and pipes."""
        if self._process is not None:
            self._process.wait()
            self._remove_heaps()
            with contextlib.suppress(OSError):  # unsent bytes
                self._process.stdin.close()
            self._process.stdout.close()
            self._errors.close()
            self._process = None

    def _start(self) -> None:
        self.bury()
        self._unread, self._verdict = bytearray(), ""
        self._errors = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115 (lives as the process does)
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )

    def _remove_heaps(self) -> None:
        for path in places.temporary_heaps(self._process.pid, self._folder):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def _obituary(self) -> str:
        status = self._process.wait()
        self._errors.seek(0)
        last = self._errors.read().strip().splitlines()[-1:]
        return ": ".join([self._verdict or f"the process ended with status {status}", *last])
