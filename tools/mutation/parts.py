# SPDX-License-Identifier: Apache-2.0
"""Runs the C++ suites in parts of a few tests, and knows which mutants each part reaches."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

# A part may take so many times as long as without a mutant before it counts as a timeout.
PATIENCE, LEAST_LIMIT_S = 5, 60
MOST_MEMORY = 6 << 30  # bytes of a process: a bug that allocates for ever is found, not waited for
# Tests of a part: few where they take seconds each, so that one that hangs is found soon.
MOST_TESTS = {"crash": 3, "canary": 8}
OF_OTHERS = 25
PAGE = os.sysconf("SC_PAGE_SIZE")
CAUGHT, SURVIVED, TIMEOUT, INVALID = "caught", "survived", "timeout", "does not compile"
MUTANT, REACHED = "HOLDFAST_MUTANT", "HOLDFAST_MUTANTS_REACHED"  # read by chosen.h


@dataclass
class Part:
    """Tests of a suite that all concern one engine, or none."""

    suite: str
    engine: str  # "" where the tests' names have none
    tests: list[str]
    seconds: float = 0.0
    reached: list[int] = field(default_factory=list)  # numbers of mutants


def engine_of(test: str, engines: Iterable[str]) -> str:
    """Returns the engine with which a test's parameter begins."""
    parameter = test.rsplit("/", 1)[-1]
    found = [e for e in engines if f"{parameter}_".startswith(e.replace("-", "_") + "_")]
    return max(found, key=len, default="")


def parts_of(suite: str, listing: str, engines: list[str]) -> list[Part]:
    """Divides the tests of a listing, as --gtest_list_tests prints it."""
    tests: dict[str, list[str]] = {}
    group = ""
    for line in listing.splitlines():
        name = line.split("#")[0].strip()
        if line.startswith(" ") and not name.startswith("Long"):
            engine = engine_of(name, engines) if "/" in name else ""
            tests.setdefault(engine, []).append(group + name)
        elif name.endswith("."):
            group = name
    most = MOST_TESTS.get(suite, OF_OTHERS)
    return [
        Part(suite, engine, names[i : i + most])
        for engine, names in sorted(tests.items())
        for i in range(0, len(names), most)
    ]


class Runner:
    """Starts parts in a build's folder, as many at once as there are cores."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.folder, self.jobs = folder, jobs

    def listing(self, suite: str) -> str:
        command = [str(self.folder / f"tests/{suite}_test"), "--gtest_list_tests"]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

    def start(self, part: Part, slot: int, *arguments: str, **variables: str) -> "Run":
        log = self.folder / f"part.{slot}.log"
        flags = self.folder / f"part.{slot}.flags"  # too many names for a command line
        flags.write_text(f"--gtest_filter={':'.join(part.tests)}\n")
        command = [str(self.folder / f"tests/{part.suite}_test"), f"--gtest_flagfile={flags}"]
        environment = os.environ | variables | {"HOLDFAST_CACHE": str(self.folder / "cache")}
        with log.open("w") as file:
            process = subprocess.Popen(
                [*command, *arguments], env=environment, stdout=file, stderr=file,
                cwd=self.folder, start_new_session=True,
            )  # fmt: skip
        return Run(part, process, log, time.monotonic())

    def each(self, parts: list[Part], begin: Callable[[Part, int], "Run"],
             ended: Callable[["Run"], bool], limit: Callable[[Part], float]) -> str:  # fmt: skip
        """Runs the parts until `ended` returns False. Returns the reason why it stopped early."""
        waiting, running = list(parts), dict[int, Run]()
        try:
            while waiting or running:
                for slot in range(self.jobs):
                    if waiting and slot not in running:
                        running[slot] = begin(waiting.pop(0), slot)
                time.sleep(0.02)
                for slot, run in list(running.items()):
                    if run.process.poll() is not None:
                        del running[slot]
                        if not ended(run):
                            return "failure"
                    elif run.resident() > MOST_MEMORY:
                        return "memory"
                    elif run.seconds() > limit(run.part):
                        return "time"
        finally:
            for run in running.values():
                run.kill()
        return ""

    def base_line(self, parts: list[Part], mutants: int) -> list[str]:
        """Notes how long each part takes and what it reaches. Returns the tests that fail."""
        failed: list[str] = []

        def begin(part: Part, slot: int) -> Run:
            reached = self.folder / f"part.{slot}.reached"
            reached.write_bytes(bytes(mutants + 1))
            return self.start(part, slot, **{REACHED: str(reached)})

        def ended(run: Run) -> bool:
            run.part.seconds = run.seconds()
            reached = run.log.with_suffix(".reached").read_bytes()
            run.part.reached = [number for number, byte in enumerate(reached) if byte]
            failed.extend(run.failures())
            return True

        self.each(parts, begin, ended, lambda _: float("inf"))
        return failed

    def judged(self, parts: list[Part], mutant: int) -> tuple[str, str]:
        """Runs parts up to the first failure. Returns the verdict and its cause."""
        failed: list[str] = []

        def cost(part: Part) -> float:  # those about few mutants probably find them
            return part.seconds * len(part.reached)

        def begin(part: Part, slot: int) -> Run:
            return self.start(part, slot, "--gtest_fail_fast", **{MUTANT: str(mutant)})

        def ended(run: Run) -> bool:
            failed.extend(f"{run.part.suite}: {test}" for test in run.failures())
            return not failed

        def limit(part: Part) -> float:
            return max(LEAST_LIMIT_S, PATIENCE * part.seconds)

        reason = self.each(sorted(parts, key=cost), begin, ended, limit)
        if reason == "time":
            return TIMEOUT, reason
        return (CAUGHT, failed[0] if failed else reason) if reason else (SURVIVED, "")


@dataclass
class Run:
    """A part that runs, and its output."""

    part: Part
    process: subprocess.Popen
    log: Path
    begun: float

    def seconds(self) -> float:
        return time.monotonic() - self.begun

    def resident(self) -> int:
        """Returns the bytes of memory that the process has; 0 if it has ended."""
        try:
            return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE
        except (OSError, IndexError):
            return 0

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def failures(self) -> list[str]:
        """Returns the tests that failed, or the one that ended the program."""
        if self.process.returncode == 0:
            return []
        text = self.log.read_text(errors="replace")
        failed = re.findall(r"^\[  FAILED  \] ([^\s,]+).* ms\)$", text, re.MULTILINE)
        begun = re.findall(r"^\[ RUN      \] (\S+)", text, re.MULTILINE)
        return failed or [f"{begun[-1] if begun else 'start'} (status {self.process.returncode})"]
