# SPDX-License-Identifier: Apache-2.0
"""How tools/mutate.py compiles many mutants at once, and divides the suites."""

import importlib
import subprocess
from pathlib import Path

import pytest

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
    """Imports a module of tools/mutation."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))
    return lambda name: importlib.import_module(f"mutation.{name}")


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
