#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants small bugs in the sources, one at a time, and tells which of them no test finds.

    make mutation MUTATION="--folders heap,db --count 50"
    .venv/bin/python tools/mutate.py [--folders F,...] [--count N] [--seed S] [--out FOLDER]

tools/mutation/operators.rules has the operators, tools/mutation/plan.toml the folders, their
weights and the suites. Both, and the seed, determine the sample. Without --seed it is the id of the
last commit that changed a test, so that the sample is a fresh one after tests were written.

All bugs (mutants) are compiled together in a clone of HEAD below FOLDER, and each process is told
which one acts (mutation/together.py). Those for which that is impossible are built one by one.
Tests judge a mutant until one fails: only those that reach it, quick ones about few mutants first.
A run that was stopped goes on where it was: results stand in FOLDER/results.jsonl, a line each.
Mutants that do not compile are replaced by further ones.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from itertools import chain, islice, pairwise
from pathlib import Path

from mutation.parts import CAUGHT, INVALID, SURVIVED, TIMEOUT, Part, Runner, parts_of
from mutation.together import Combined

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "tools/mutation/operators.rules"
PLAN = ROOT / "tools/mutation/plan.toml"
SWAP = "two statements change places"
# Two neighbours of the same depth change places if one is a call or an assignment, and the other
# one, too, or keeps the result of a call. The order of declarations alone means nothing.
ACTION = re.compile(r"^(\s+)[\w.\->:\[\]*]+(\(.*\)| [+\-|&]?= .*);$")
RESULT = re.compile(r"^(\s+)(const )?auto&? \w+ = .*\(.*;$")
# Tests that miss an engine which is not built fail without a mutant; they are left out.
MOST_UNABLE = 25
RESERVE = 6  # one more mutant than wanted for so many: some do not compile
ERROR = re.compile(r"^(/.*?):(\d+):\d+: (?:fatal )?error:", re.MULTILINE)
PLACE = re.compile(r"^ *(?:In file included from |from )?(/.*?):(\d+)[:,]", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A changed source: `line` (from 1) becomes `text`, which may take the place of two lines."""

    folder: str
    path: str
    line: int
    taken: int  # lines that `text` takes the place of
    text: str
    operator: str

    def applied(self, source: str) -> str:
        lines = source.splitlines(keepends=True)
        return "".join([*lines[: self.line - 1], self.text, *lines[self.line - 1 + self.taken :]])


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

    def __init__(self, plan: dict, names: list[str], out: Path, jobs: int) -> None:
        self.suites: list[str] = plan["suites"]
        self.engines = {name: plan["folders"][name]["engines"] for name in names}
        self.built = sorted({e for some in self.engines.values() for e in some} | {*plan["always"]})
        self.inlined = plan["always"][0]  # one is enough; none would mean all
        self.jobs = jobs
        self.tree = out / "tree"
        self.folder = self.tree / "build/mutants"
        self.state = out / "base_line.json"
        self.known: dict = {}  # what stands there
        self.runner = Runner(self.folder, jobs)
        self.sources: dict[str, Combined] = {}
        self.times: dict[str, int] = {}  # of the sources with mutants, for the build
        self.numbers: dict[Mutant, int] = {}  # of those that were compiled together
        self.parts: list[Part] = []
        self.holds_another = False  # the programs hold a mutant that was built alone

    def prepare(self) -> None:
        """Makes the clone at HEAD. A clone of another commit is brought there."""
        if not self.tree.exists():
            run(["git", "clone", "--quiet", str(ROOT), str(self.tree)], ROOT)
        head = output(["git", "rev-parse", "HEAD"], ROOT)
        if output(["git", "rev-parse", "HEAD"], self.tree) != head:
            run(["git", "fetch", "--quiet", "origin"], self.tree)
            run(["git", "checkout", "--quiet", "--force", "--detach", head], self.tree)
        run(["git", "checkout", "--quiet", "--", "."], self.tree)  # without a mutant

    def combine(self, mutants: list[Mutant]) -> None:
        """Builds the mutants together and judges the tree without one."""
        head = output(["git", "rev-parse", "HEAD"], self.tree)
        setting = [head, self.built, [asdict(mutant) for mutant in mutants]]
        known = json.loads(self.state.read_text()) if self.state.exists() else {}
        if known.get("setting") != setting:
            known = {"alone": [], "times": {}, "parts": {}, "left_out": []}
        self.sources = {mutant.path: Combined(self.usual(mutant.path)) for mutant in mutants}
        for number, mutant in enumerate(mutants, start=1):
            place = (mutant.line, mutant.taken, mutant.text)
            if number not in known["alone"] and self.sources[mutant.path].add(number, *place):
                self.numbers[mutant] = number
        self.times = known["times"]
        print(f"{len(self.numbers)} of {len(mutants)} mutants are built together", flush=True)
        run(["cmake", "--preset", "release", "-B", str(self.folder), "-DHOLDFAST_PYTHON=OFF",
             "-DHOLDFAST_BENCH=OFF", f"-DHOLDFAST_ONLY_ENGINES={';'.join(self.built)}",
             f"-DHOLDFAST_INLINED_ENGINES={self.inlined}", "-DHOLDFAST_WERROR=OFF",
             "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DHOLDFAST_UNITY_TESTS=ON"], self.tree)  # fmt: skip
        self.build_together()
        self.hide_mutants()
        alone = sorted({*range(1, len(mutants) + 1)} - {*self.numbers.values()})
        self.known = known | {"setting": setting, "alone": alone, "times": self.times}
        self.save()
        for suite in self.suites:
            if suite not in self.known["parts"]:
                parts, left_out = self.base_line(suite, len(mutants))
                self.known["parts"][suite] = [asdict(part) for part in parts]
                self.known["left_out"] += left_out
                self.save()
            self.parts += [Part(**part) for part in self.known["parts"][suite]]
        reached = {number for part in self.parts for number in part.reached}
        unreached = len({*self.numbers.values()} - reached)
        print(f"no test reaches {unreached} of them", flush=True)

    def save(self) -> None:
        """Keeps what a run that goes on need not find out again."""
        self.state.write_text(json.dumps(self.known))

    def build_together(self) -> None:
        """Builds all suites. Mutants that do not compile in this form are taken out."""
        while True:
            self.show_mutants()
            if self.compiled(*self.suites):
                return
            log = (self.folder / "build.log").read_text(errors="replace")
            if not (wrong := self.named(ERROR.findall(log)) or self.named(PLACE.findall(log))):
                raise SystemExit(f"the tree does not build; see {self.folder / 'build.log'}")
            for path, number in wrong:
                self.sources[path].drop(number)
                self.times.pop(path, None)
            gone = {number for _, number in wrong}
            self.numbers = {m: n for m, n in self.numbers.items() if n not in gone}
            print(f"{len(gone)} of them do not compile in this form", flush=True)

    def named(self, places: list[tuple[str, str]]) -> set[tuple[str, int]]:
        """Returns the mutants at some places of sources, as the compiler names them."""
        found = set()
        for path, line in places:
            name = os.path.relpath(os.path.realpath(path), self.tree)
            if name in self.sources and (number := self.sources[name].mutant_at(int(line))):
                found.add((name, number))
        return found

    def base_line(self, suite: str, mutants: int) -> tuple[list[Part], list[str]]:
        """Runs a suite without a mutant. Tests that fail are left out."""
        print(f"runs {suite} without a mutant", flush=True)
        parts = parts_of(suite, self.runner.listing(suite), self.built)
        left_out: list[str] = []
        again = parts
        while failed := self.runner.base_line(again, mutants):
            left_out += failed
            if len(left_out) > MOST_UNABLE or any(" " in test for test in failed):
                raise SystemExit(f"{suite} fails without a mutant: {', '.join(failed)}")
            print(f"without a mutant these fail and are left out: {', '.join(failed)}", flush=True)
            again = [part for part in again if {*part.tests} & {*failed}]
            for part in again:
                part.tests = [test for test in part.tests if test not in failed]
            again = [part for part in again if part.tests]
        return [part for part in parts if part.tests], left_out

    def show_mutants(self, but: str = "") -> None:
        """Writes the sources as they are built, with the time at which they last changed."""
        for path, source in self.sources.items():
            if path == but:
                continue
            file = self.tree / path
            if file.read_text() != source.text():
                file.write_text(source.text())
            if path not in self.times:
                self.times[path] = time.time_ns()
            os.utime(file, ns=(self.times[path], self.times[path]))

    def hide_mutants(self, but: str = "") -> None:
        """Writes the sources as they are in the repository: some tests read them."""
        for path, source in self.sources.items():
            if path != but:
                (self.tree / path).write_text("".join(source.usual))

    def usual(self, path: str) -> str:
        """Returns a source as it is in the repository."""
        return output(["git", "show", f"HEAD:{path}"], self.tree) + "\n"

    def compiled(self, *suites: str) -> bool:
        """Builds suites; the messages stand in build.log of the folder."""
        with (self.folder / "build.log").open("w") as log:
            command = ["cmake", "--build", str(self.folder), "--parallel", str(self.jobs)]
            command += ["--target", *[f"{suite}_test" for suite in suites], "--", "-k", "0"]
            return subprocess.run(command, stdout=log, stderr=log, check=False).returncode == 0

    def order(self, mutant: Mutant) -> tuple[bool, str]:
        """Those that need a build of their own come last, and by source, to build less."""
        alone = mutant not in self.numbers
        return (alone, mutant.path if alone else "")

    def verdict(self, mutant: Mutant) -> tuple[str, str]:
        """Judges a mutant. Returns the verdict and its cause."""
        number = self.numbers.get(mutant)
        engines = {"", *self.engines[mutant.folder]}
        parts = [part for part in self.parts if part.engine in engines]
        if number is None:
            self.holds_another = True
            return self.verdict_alone(mutant, parts)
        if self.holds_another:
            self.build_together()
            self.holds_another = False
        self.hide_mutants()
        parts = [part for part in parts if number in part.reached]
        return self.runner.judged(parts, number) if parts else (SURVIVED, "no test reaches it")

    def verdict_alone(self, mutant: Mutant, parts: list[Part]) -> tuple[str, str]:
        """Builds a mutant, judges it and takes it out again."""
        file, usual = self.tree / mutant.path, self.usual(mutant.path)
        self.times.pop(mutant.path, None)  # so that it is built again afterwards
        self.save()
        now = time.time_ns()
        try:
            for suite in self.suites:
                self.show_mutants(but=mutant.path)
                file.write_text(mutant.applied(usual))
                os.utime(file, ns=(now, now))
                if not self.compiled(suite):
                    return INVALID, suite
                self.hide_mutants(but=mutant.path)
                of_suite = [part for part in parts if part.suite == suite]
                verdict, cause = self.runner.judged(of_suite, 0)
                if verdict != SURVIVED:
                    return verdict, cause
            return SURVIVED, ""
        finally:
            file.write_text(usual)


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

    campaign = Campaign(plan, names, out, chosen.jobs)
    campaign.prepare()
    drawn = sample(folders, chosen.seed, campaign.tree)  # HEAD, whatever is being edited
    mutants = list(islice(drawn, chosen.count + chosen.count // RESERVE))
    campaign.combine(mutants)
    results: list[dict] = []
    waiting = chain(mutants, drawn)
    while len(results) < chosen.count:
        some = list(islice(waiting, chosen.count - len(results)))
        for mutant in sorted(some, key=campaign.order):
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
                text = f"{result['path']}:{result['line']}: {result['verdict']} {result['cause']}"
                print(f"{len(results):4} {text}", flush=True)
    print(report(results))
    return 0


def key(mutant: dict) -> tuple:
    return tuple(mutant[name] for name in ("folder", "path", "line", "taken", "text"))


if __name__ == "__main__":
    sys.exit(main())
