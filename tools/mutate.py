#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants small bugs in the sources, one at a time, and tells which of them no test finds.

    make mutation MUTATION="--folders heap,db --count 50"
    .venv/bin/python tools/mutate.py [--folders F,...] [--count N] [--seed S] [--out FOLDER]

tools/mutation/operators.rules has the operators, tools/mutation/plan.toml the folders, their
weights and the suites. Both, and the seed, determine the sample. Without --seed it is the id of the
last commit that changed a test, so that the sample is a fresh one after tests were written.

Each bug (mutant) is built in a clone of HEAD below FOLDER with a few engines, and judged by one
suite after the other until a test fails. A run that was stopped goes on where it was: results stand
in FOLDER/results.jsonl, a line each. Mutants that do not compile are replaced by further ones.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "tools/mutation/operators.rules"
PLAN = ROOT / "tools/mutation/plan.toml"
SWAP = "two statements change places"
# Two neighbours of the same depth change places if one is a call or an assignment, and the other
# one, too, or keeps the result of a call. The order of declarations alone means nothing.
ACTION = re.compile(r"^(\s+)[\w.\->:\[\]*]+(\(.*\)| [+\-|&]?= .*);$")
RESULT = re.compile(r"^(\s+)(const )?auto&? \w+ = .*\(.*;$")
# A suite may take so many times as long as without a mutant before it counts as a timeout.
PATIENCE, LEAST_LIMIT_S = 5, 120
# Tests that miss an engine which is not built fail without a mutant; they are left out.
MOST_UNABLE = 25
MOST_MEMORY = 6 << 30  # bytes of a process: a bug that allocates for ever is found, not waited for
PAGE = os.sysconf("SC_PAGE_SIZE")
CAUGHT, SURVIVED, TIMEOUT, INVALID = "caught", "survived", "timeout", "does not compile"


@dataclass(frozen=True)
class Mutant:
    """A changed source: `line` (from 1) becomes `text`, which may take the place of two lines."""

    folder: str
    path: str
    line: int
    taken: int  # lines that `text` takes the place of
    text: str
    operator: str

    def applied(self, source: list[str]) -> list[str]:
        return [*source[: self.line - 1], self.text, *source[self.line - 1 + self.taken :]]


# The processes of a suite's parts, with their output.
Parts = list[tuple[subprocess.Popen, Path]]


@dataclass
class Build:
    """A configured tree with the engines of a folder, and how long its suites take."""

    tree: Path
    folder: Path
    filter: str
    seconds: dict[str, float]


def mutants_of(folder: str, tree: Path, path: Path) -> dict[int, list[Mutant]]:
    """Returns the mutants of a source by their line."""
    from universalmutator import mutator  # only `make mutation` installs it

    source = path.read_text().splitlines(keepends=True)
    name = str(path.relative_to(tree))
    found: dict[int, list[Mutant]] = defaultdict(list)
    with open(os.devnull, "w") as silent, redirect_stdout(silent):
        changed = mutator.mutants_regexp(
            source, ruleFiles=[str(RULES)], ignorePatterns=[], ignoreStringOnly=True
        )
    for line, text, (rule, _), _ in changed:
        found[line].append(Mutant(folder, name, line, 1, text, rule))
    for line, (first, second) in enumerate(pairwise(source), start=1):
        acts = [ACTION.match(first), ACTION.match(second)]
        one, two = acts[0] or RESULT.match(first), acts[1] or RESULT.match(second)
        if any(acts) and one and two and one[1] == two[1] and first != second:
            found[line].append(Mutant(folder, name, line, 2, second + first, SWAP))
    return found


def sample(folders: dict[str, dict], seed: str, tree: Path) -> Iterator[Mutant]:
    """Yields mutants of a tree, without end: a folder by its weight, a line, one of its mutants.

    Lines are drawn, not mutants, so that a line with many operators does not stand for many.
    """
    drawn = random.Random(seed)
    lines: dict[str, list[list[Mutant]]] = {}
    for name, folder in folders.items():
        paths = [path for top in folder["sources"] for path in sorted((tree / top).rglob("*"))]
        lines[name] = [
            mutants
            for path in paths
            if path.suffix in (".h", ".cc")
            for _, mutants in sorted(mutants_of(name, tree, path).items())
        ]
    names = list(folders)
    weights = [folders[name]["weight"] for name in names]
    seen = set()
    while True:
        (name,) = drawn.choices(names, weights)
        mutant = drawn.choice(drawn.choice(lines[name]))
        if mutant not in seen:
            seen.add(mutant)
            yield mutant


class Campaign:
    """Builds and judges mutants in a clone of the repository."""

    def __init__(self, plan: dict, out: Path, jobs: int) -> None:
        self.plan, self.out, self.jobs = plan, out, jobs
        self.tree = out / "tree"
        self.builds: dict[str, Build] = {}

    def prepare(self) -> None:
        """Makes the clone at HEAD. A clone of another commit is brought there."""
        if not self.tree.exists():
            run(["git", "clone", "--quiet", str(ROOT), str(self.tree)], ROOT)
        head = output(["git", "rev-parse", "HEAD"], ROOT)
        if output(["git", "rev-parse", "HEAD"], self.tree) != head:
            run(["git", "fetch", "--quiet", "origin"], self.tree)
        run(["git", "checkout", "--quiet", "--force", "--detach", head], self.tree)

    def build_of(self, name: str) -> Build:
        """Returns the build for a folder, and judges the tree without a mutant first."""
        if name in self.builds:
            return self.builds[name]
        named = self.plan["folders"][name]["engines"]
        others = [engine for engine in self.plan["always"] if engine not in named]
        left_out = [f"*/{e.replace('-', '_')}{end}" for e in others for end in ("", "_*")]
        folder = self.tree / "build" / name
        arguments = [
            "cmake", "--preset", "release", "-B", str(folder), "-DHOLDFAST_PYTHON=OFF",
            "-DHOLDFAST_BENCH=OFF", f"-DHOLDFAST_ONLY_ENGINES={';'.join(named + others)}",
            "-DHOLDFAST_WERROR=OFF", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
            "-DHOLDFAST_UNITY_TESTS=ON",
        ]  # fmt: skip
        run(arguments, self.tree)
        build = Build(self.tree, folder, "-" + ":".join(["*.Long*", *left_out]), {})
        known = folder / "base_line.json"  # a run that goes on need not judge it again
        head = output(["git", "rev-parse", "HEAD"], self.tree)
        if known.exists() and (stored := json.loads(known.read_text()))["head"] == head:
            build.filter, build.seconds = stored["filter"], stored["seconds"]
        for suite in self.plan["suites"]:
            if suite not in build.seconds:
                print(f"{name}: builds and runs {suite} without a mutant", flush=True)
                if not self.compiled(build, suite):
                    raise SystemExit(f"{name}: {suite} does not build; see {folder / 'build.log'}")
                self.judge_base_line(build, suite)
                known.write_text(
                    json.dumps({"head": head, "filter": build.filter, "seconds": build.seconds})
                )
        self.builds[name] = build
        return build

    def judge_base_line(self, build: Build, suite: str) -> None:
        """Leaves out the tests that fail without a mutant, until a whole run has no failure."""
        left_out = 0
        while True:
            begin = time.monotonic()
            failed = self.unable(build, suite)
            if not failed:
                build.seconds[suite] = time.monotonic() - begin
                return
            left_out += len(failed)
            if left_out > MOST_UNABLE or any(" " in test for test in failed):
                raise SystemExit(f"{suite} fails without a mutant: {', '.join(failed)}")
            for test in failed:
                print(f"{test} fails without a mutant and is left out", flush=True)
                build.filter += f":{test}"

    def compiled(self, build: Build, suite: str) -> bool:
        """Builds a suite; its messages stand in build.log of the folder."""
        with (build.folder / "build.log").open("w") as log:
            command = ["cmake", "--build", str(build.folder), "--parallel", str(self.jobs)]
            command += ["--target", f"{suite}_test"]
            return subprocess.run(command, stdout=log, stderr=log, check=False).returncode == 0

    def started(self, build: Build, suite: str, *arguments: str) -> Parts:
        """Starts a suite in as many parts as there are cores."""
        parts = []
        for part in range(self.jobs):
            log = build.folder / f"{suite}.{part}.log"
            environment = os.environ | {
                "GTEST_TOTAL_SHARDS": str(self.jobs), "GTEST_SHARD_INDEX": str(part),
                "HOLDFAST_CACHE": str(build.folder / "cache"),
            }  # fmt: skip
            with log.open("w") as file:
                command = [str(build.folder / f"tests/{suite}_test"), *arguments]
                command.append(f"--gtest_filter={build.filter}")
                process = subprocess.Popen(
                    command, env=environment, stdout=file, stderr=file,
                    cwd=build.folder, start_new_session=True,
                )  # fmt: skip
            parts.append((process, log))
        return parts

    def unable(self, build: Build, suite: str) -> list[str]:
        """Runs a suite to its end, and returns the tests that fail."""
        parts = self.started(build, suite)
        try:
            ends = [(log, process.wait()) for process, log in parts]
        finally:
            killed(parts)
        return [test for log, status in ends if status != 0 for test in failures(log, status)]

    def judged(self, build: Build, suite: str, limit_s: float) -> tuple[str, str]:
        """Runs a suite up to the first failure. Returns the verdict and its cause."""
        parts = self.started(build, suite, "--gtest_fail_fast")
        try:
            return watched(parts, time.monotonic() + limit_s)
        finally:
            killed(parts)

    def verdict(self, mutant: Mutant) -> tuple[str, str]:
        """Plants a mutant, judges it and takes it out again."""
        build = self.build_of(mutant.folder)
        path = self.tree / mutant.path
        source = path.read_text()
        try:
            path.write_text("".join(mutant.applied(source.splitlines(keepends=True))))
            for suite in self.plan["suites"]:
                if not self.compiled(build, suite):
                    return INVALID, suite
                limit = max(LEAST_LIMIT_S, PATIENCE * build.seconds[suite])
                verdict, cause = self.judged(build, suite, limit)
                if verdict != SURVIVED:
                    return verdict, f"{suite}: {cause}"
            return SURVIVED, ""
        finally:
            path.write_text(source)


def killed(parts: Parts) -> None:
    """Ends what still runs."""
    for process, _ in parts:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def watched(parts: Parts, end: float) -> tuple[str, str]:
    """Waits for all parts of a suite, or for the first failure."""
    while True:
        running = False
        for process, log in parts:
            status = process.poll()
            if status is None:
                running = True
                if resident(process.pid) > MOST_MEMORY:
                    return CAUGHT, "memory"
            elif status != 0:
                return CAUGHT, failures(log, status)[0]
        if not running:
            return SURVIVED, ""
        if time.monotonic() > end:
            return TIMEOUT, "time"
        time.sleep(0.2)


def resident(pid: int) -> int:
    """Returns the bytes of memory that a process has; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def failures(log: Path, status: int) -> list[str]:
    """Returns the names of the tests that failed, or of the one that ended the program."""
    text = log.read_text(errors="replace")
    failed = re.findall(r"^\[  FAILED  \] ([^\s,]+).* ms\)$", text, re.MULTILINE)
    begun = re.findall(r"^\[ RUN      \] (\S+)", text, re.MULTILINE)
    return failed or [f"{begun[-1] if begun else 'start'} (status {status})"]


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise SystemExit(f"failed: {' '.join(command)}")


def output(command: list[str], folder: Path) -> str:
    return subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def report(results: list[dict]) -> str:
    """Returns the score of each folder and the survivors."""
    lines = ["folder            mutants  caught  timeout  survived  score"]
    by_folder: dict[str, Counter] = defaultdict(Counter)
    for result in results:
        for name in (result["folder"], "all"):
            by_folder[name][result["verdict"]] += 1
    for name in [*sorted(set(by_folder) - {"all"}), "all"]:
        c = by_folder[name]
        judged = c[CAUGHT] + c[SURVIVED]
        score = f"{c[CAUGHT] / judged:6.1%}" if judged else "     -"
        counts = f"{judged + c[TIMEOUT]:8} {c[CAUGHT]:7} {c[TIMEOUT]:8} {c[SURVIVED]:9}"
        lines.append(f"{name:16} {counts}  {score}")
    for result in results:
        if result["verdict"] == SURVIVED:
            place = f"{result['path']}:{result['line']}"
            lines.append(f"\n{place} ({result['operator'].strip()})\n{result['text'].rstrip()}")
    return "\n".join(lines)


def main() -> int:
    plan = tomllib.loads(PLAN.read_text())
    last_test = output(["git", "log", "-1", "--format=%H", "--", "tests"], ROOT)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folders", default=",".join(plan["folders"]), help="names of plan.toml")
    parser.add_argument("--count", type=int, default=300, help="mutants that compile")
    parser.add_argument("--seed", default=last_test, help="default: the last commit of tests")
    parser.add_argument("--out", type=Path, default=ROOT / "out/mutation")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="only list the sample")
    chosen = parser.parse_args()
    names = chosen.folders.split(",")
    if unknown := [name for name in names if name not in plan["folders"]]:
        parser.error(f"no folder {unknown[0]}; there are {', '.join(plan['folders'])}")
    if chosen.count < 1 or chosen.jobs < 1:
        parser.error("--count and --jobs are at least 1")
    folders = {name: plan["folders"][name] for name in names}
    if chosen.list:
        drawn = sample(folders, chosen.seed, ROOT)
        for _ in range(chosen.count):
            mutant = next(drawn)
            print(f"{mutant.path}:{mutant.line} ({mutant.operator.strip()})\n{mutant.text}", end="")
        return 0

    out = chosen.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    journal = out / "results.jsonl"
    head = output(["git", "rev-parse", "HEAD"], ROOT)
    setting = {"seed": chosen.seed, "folders": names, "head": head}
    known: dict[tuple, dict] = {}
    if journal.exists():
        first, *rest = [json.loads(line) for line in journal.read_text().splitlines()]
        if first != setting:
            raise SystemExit(
                f"{journal} is of another campaign ({first}): choose another folder with --out, "
                "or remove that one."
            )
        known = {key(result): result for result in rest}
    else:
        journal.write_text(json.dumps(setting) + "\n")

    campaign = Campaign(plan, out, chosen.jobs)
    campaign.prepare()
    drawn = sample(folders, chosen.seed, campaign.tree)  # HEAD, whatever is being edited
    results: list[dict] = []
    while len(results) < chosen.count:
        mutant = next(drawn)
        result = known.get(key(asdict(mutant)))
        if result is None:
            begin = time.monotonic()
            verdict, cause = campaign.verdict(mutant)
            seconds = round(time.monotonic() - begin, 1)
            result = asdict(mutant) | {"verdict": verdict, "cause": cause, "seconds": seconds}
            with journal.open("a") as file:
                file.write(json.dumps(result) + "\n")
        if result["verdict"] != INVALID:
            results.append(result)
            place = f"{result['path']}:{result['line']}"
            print(f"{len(results):4} {place}: {result['verdict']} {result['cause']}", flush=True)
    print(report(results))
    return 0


def key(mutant: dict) -> tuple:
    return tuple(mutant[name] for name in ("folder", "path", "line", "taken", "text"))


if __name__ == "__main__":
    sys.exit(main())
