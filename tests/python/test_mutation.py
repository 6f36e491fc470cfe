# SPDX-License-Identifier: Apache-2.0
"""How tools/mutate.py compiles many mutants at once, and divides and judges the suites."""

import importlib
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from holdfast import core

REPOSITORY = Path(__file__).resolve().parents[2]

SOURCE = """// the licence
constexpr int kFirst = 3;

constexpr int thrice(int x) {
  return 3 * x;
}

struct Sum {
  int value = 0;  ///< so far
  int doubled() const { return 2 * value; }
};

template <class T>
int sum(T begin, T end) {
  Sum found;
  bool any = false;
  for (T at = begin; at != end; ++at) {
    if (*at < 0 ||
        *at > 100) {
      continue;
    } else if (int half = *at / 2; half > 10) {
      found.value += half;
    }
    found.value += *at;
    any = true;
  }
  if (!any) {
    return -1;
  }
  return found.doubled() +
         kFirst;
}

int main() {
  const int few[] = {1, 2, 3, 40, 500};
  return sum(few, few + 5);
}
"""
USUAL = 2 * (1 + 2 + 3 + 20 + 40) + 3
# A line of the source, what it becomes, and what the program then returns.
TOGETHER = [
    ("  int value = 0;  ///< so far\n", "  int value = 1;  ///< so far\n", USUAL + 2),
    ("{ return 2 * value; }", "{ return 2 + value; }", 2 + 66 + 3),
    ("for (T at = begin; at != end; ++at) {", "for (T at = begin; at == end; ++at) {", 255),
    ("        *at > 100) {", "        *at > (100 - 1)) {", USUAL),
    ("      continue;", "      {}", (2 * (66 + 500) + 3) % 256),
    ("half > 10) {", "half <= 10) {", 2 * (0 + 1 + 1 + 46) + 3),
    ("    found.value += *at;", "    {}", 2 * 20 + 3),
    ("    any = true;", "    {}", 255),
    ("  if (!any) {", "  if (false) {", USUAL),
    ("    return -1;", "    return -(1 + 1);", USUAL),
    ("         kFirst;", "         kFirst + 1;", USUAL + 1),
]
# The compiler has to know these.
ALONE = [
    ("constexpr int kFirst = 3;", "constexpr int kFirst = (3 + 1);"),
    ("  return 3 * x;", "  return 3 + x;"),
    ("struct Sum {", "struct Sum final {"),
    ("template <class T>", "template <class T, int n = 1>"),
]


@pytest.fixture
def tool(monkeypatch):
    """Imports a module of tools/mutation; without a name mutate.py."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))
    return lambda name="": importlib.import_module(f"mutation.{name}" if name else "mutate")


def placed(number, old, new):
    """Returns a mutant as Combined.add() takes it."""
    before = SOURCE[: SOURCE.index(old)]
    line = SOURCE.splitlines(keepends=True)[before.count("\n")]
    return number, before.count("\n") + 1, 1, line.replace(old.rstrip("\n"), new.rstrip("\n"))


def test_mutants_that_are_compiled_together_act_when_they_are_chosen(tool, tmp_path):
    source = tool("together").Combined(SOURCE)
    for number, (old, new, _) in enumerate(TOGETHER, start=1):
        assert source.add(*placed(number, old, new)), old
    assert source.text().count("\n") == SOURCE.count("\n"), "lines keep their numbers"
    for number, (old, _, _) in enumerate(TOGETHER, start=1):
        assert source.mutant_at(placed(number, old, "")[1]) == number
    program, reached = tmp_path / "program", tmp_path / "reached"
    (tmp_path / "program.cc").write_text(source.text())
    subprocess.run(["g++", "-std=c++20", "-o", program, tmp_path / "program.cc"], check=True)
    reached.write_bytes(bytes(len(TOGETHER) + 1))
    environment = {"HOLDFAST_MUTANTS_REACHED": str(reached)}
    assert subprocess.run([program], env=environment, check=False).returncode == USUAL
    unreached = [n for n, byte in enumerate(reached.read_bytes()) if not byte]
    assert [TOGETHER[n - 1][0] for n in unreached[1:]] == ["    return -1;"]
    for number, (old, _, result) in enumerate(TOGETHER, start=1):
        environment = {"HOLDFAST_MUTANT": str(number)}
        assert subprocess.run([program], env=environment, check=False).returncode == result, old


def test_statements_change_places(tool, tmp_path):
    source = tool("together").Combined(SOURCE)
    first = SOURCE[: SOURCE.index("    found.value += *at;")].count("\n") + 1
    assert source.add(1, first, 2, "    any = true;\n    found.value += *at;\n")
    assert "{ any = true; found.value += *at; } else { found.value += *at; any = true; }" in (
        source.text()
    )
    assert not source.add(2, first + 1, 1, "    any = false;\n"), "the line has one already"
    source.drop(1)
    assert source.text() == SOURCE
    assert source.add(2, first + 1, 1, "    any = false;\n")


@pytest.mark.parametrize(("old", "new"), ALONE)
def test_what_the_compiler_has_to_know_needs_a_build_of_its_own(tool, old, new):
    assert not tool("together").Combined(SOURCE).add(*placed(1, old, new))


def test_a_part_has_tests_of_one_engine(tool):
    listing = """Heap.
  Grows
  LongGrows
Engines/Crash.
  Structures/swift_file  # GetParam() = swift file
  Structures/swift_log_file  # GetParam() = swift-log file
  LongSearch/swift_file  # GetParam() = swift file
Typed/0.  # TypeParam = int
  swift
"""
    parts = tool("parts").parts_of("crash", listing, ["swift", "swift-log"])
    assert [(part.engine, part.tests) for part in parts] == [
        ("", ["Heap.Grows", "Typed/0.swift"]),
        ("swift", ["Engines/Crash.Structures/swift_file"]),
        ("swift-log", ["Engines/Crash.Structures/swift_log_file"]),
    ]


def test_folders_of_the_mutation_plan_exist_and_name_engines(tool):
    plan = tomllib.loads(tool().PLAN.read_text())
    names = {engine["name"] for engine in core.engines()}
    assert set(plan["always"]) <= names
    for folder in plan["folders"].values():
        assert set(folder["engines"]) <= names
        assert all((REPOSITORY / source).is_dir() for source in folder["sources"])
    assert all((REPOSITORY / "tests" / suite).is_dir() for suite in plan["suites"])


def test_a_mutant_takes_the_place_of_its_lines(tool):
    mutate, source = tool(), "a();\nb();\nc();\n"
    swapped = mutate.Mutant("f", "p", 1, 2, "b();\na();\n", mutate.SWAP)
    assert swapped.applied(source) == "b();\na();\nc();\n"
    assert mutate.Mutant("f", "p", 3, 1, "{}\n", "").applied(source) == "a();\nb();\n{}\n"


@pytest.fixture
def runner(tool, tmp_path):
    """Runs parts of a suite whose tests are shell commands."""
    (tmp_path / "tests").mkdir()
    suite = tmp_path / "tests/unit_test"
    suite.write_text(
        '#!/bin/bash\nflags=$(cat "${1#--gtest_flagfile=}")\neval "${flags#--gtest_filter=}"\n'
    )
    suite.chmod(0o755)
    return tool("parts").Runner(tmp_path, 2)


FAILS = "echo '[  FAILED  ] A.B (3 ms)'; false"


@pytest.mark.parametrize(
    ("programs", "verdict", "cause"),
    [
        (["sleep 0", "test $HOLDFAST_MUTANT = 7"], "survived", ""),
        (["sleep 60", FAILS], "caught", "unit: A.B"),
        (["echo '[ RUN      ] A.C'; kill -9 $$", "sleep 60"], "caught", "unit: A.C (status -9)"),
        (["sleep 60", "sleep 0"], "timeout", "time"),
    ],
)
def test_the_first_failure_is_the_verdict(tool, runner, monkeypatch, programs, verdict, cause):
    if verdict == "timeout":
        monkeypatch.setattr(tool("parts"), "LEAST_LIMIT_S", 0.5)
    parts = [tool("parts").Part("unit", "", [program]) for program in programs]
    assert runner.judged(parts, 7) == (verdict, cause)


def test_quick_parts_about_few_mutants_judge_first(tool, tmp_path, monkeypatch):
    parts = tool("parts")
    order, one_at_a_time = [], parts.Runner(tmp_path, 1)
    monkeypatch.setattr(one_at_a_time, "each", lambda some, *_: order.extend(some) or "")
    broad, quick, slow = (
        parts.Part("unit", "", [], seconds, reached)
        for seconds, reached in [(2.0, [1, 2, 3]), (1.0, [1, 2]), (5.0, [1])]
    )
    assert one_at_a_time.judged([broad, slow, quick], 1) == (parts.SURVIVED, "")
    assert order == [quick, slow, broad]


def test_a_run_without_a_mutant_notes_what_is_reached(tool, runner):
    reach = "printf '\\x00\\x00\\x01' > $HOLDFAST_MUTANTS_REACHED; test ! $HOLDFAST_MUTANT"
    parts = [tool("parts").Part("unit", "", [program]) for program in (reach, FAILS)]
    assert runner.base_line(parts, 2) == ["A.B"]
    assert [part.reached for part in parts] == [[2], []]
    assert parts[0].seconds > 0


@pytest.mark.parametrize(
    ("output", "status", "found"),
    [
        ("[  FAILED  ] A.B (3 ms)\n[  FAILED  ] A.C, where x = 1 (2 ms)\n[  FAILED  ] A.B\n", 1,
         ["A.B", "A.C"]),
        ("[ RUN      ] A.B\n", -11, ["A.B (status -11)"]),
        ("", 127, ["start (status 127)"]),
        ("[  FAILED  ] A.B (3 ms)\n", 0, []),
    ],
)  # fmt: skip
def test_all_failures_of_a_suite_are_found(tool, tmp_path, output, status, found):
    log = tmp_path / "log"
    log.write_text(output)
    run = tool("parts").Run(None, SimpleNamespace(returncode=status), log, 0.0)
    assert run.failures() == found


def base_line(tool, tmp_path, failures):
    """Judges a suite whose runs have these failures. Returns the tests of each run."""
    plan = {"suites": ["unit"], "folders": {}, "always": ["swift"]}
    campaign, runs, left = tool().Campaign(plan, [], tmp_path, 1), [], iter(failures)

    def run(parts, _):
        runs.append([test for part in parts for test in part.tests])
        return next(left)

    campaign.runner = SimpleNamespace(listing=lambda _: "A.\n  B\n  C\n  D\n", base_line=run)
    parts, left_out = campaign.base_line("unit", 1)
    assert next(left, None) is None
    return runs, [test for part in parts for test in part.tests], left_out


def test_the_base_line_ends_with_a_run_without_failures(tool, tmp_path):
    assert base_line(tool, tmp_path, [[]]) == ([["A.B", "A.C", "A.D"]], ["A.B", "A.C", "A.D"], [])
    runs, kept, left_out = base_line(tool, tmp_path, [["A.B"], ["A.C"], []])
    assert runs == [["A.B", "A.C", "A.D"], ["A.C", "A.D"], ["A.D"]]
    assert (kept, left_out) == (["A.D"], ["A.B", "A.C"])


@pytest.mark.parametrize("second", [["A.C (status -11)"], [f"A.C{n}" for n in range(25)]])
def test_the_base_line_takes_no_crash_and_not_many_failures(tool, tmp_path, second):
    with pytest.raises(SystemExit, match=r"unit fails without a mutant: A\.C"):
        base_line(tool, tmp_path, [["A.B"], second, []])


def test_a_mutant_that_was_built_alone_is_gone_before_the_next_one(tool, tmp_path, monkeypatch):
    mutate, steps = tool(), []
    plan = {"suites": ["unit"], "folders": {"f": {"engines": []}}, "always": ["swift"]}
    campaign = mutate.Campaign(plan, ["f"], tmp_path, 1)
    alone, together = (mutate.Mutant("f", path, 1, 1, "", "") for path in ("a.h", "b.h"))
    campaign.numbers = {together: 1}
    campaign.parts = [tool("parts").Part("unit", "", [], 1.0, [1])]
    places = [
        (campaign, "build_together"),
        (campaign, "verdict_alone"),
        (campaign.runner, "judged"),
    ]
    for place, name in places:
        monkeypatch.setattr(
            place, name, lambda *_, name=name: steps.append(name) or (mutate.SURVIVED, "")
        )
    for mutant in (together, alone, together, together):
        campaign.verdict(mutant)
    assert steps == ["judged", "verdict_alone", "build_together", "judged", "judged"]


def test_the_score_leaves_timeouts_out(tool):
    verdicts = ["caught"] * 3 + ["survived", "timeout"]
    results = [
        {"folder": "heap", "path": "a.h", "line": 3, "operator": "", "text": "x\n", "verdict": v}
        for v in verdicts
    ]
    heap, everything = tool().report(results).splitlines()[1:3]
    assert heap.split() == ["heap", "5", "3", "1", "1", "75.0%"]
    assert everything.split()[1:] == heap.split()[1:]
