# SPDX-License-Identifier: Apache-2.0
"""Do the scripts around the build do what the Makefile relies on?"""

import importlib.util
import runpy
import subprocess
import sys
import time
import tomllib
import zipfile

import pytest

import sample
from holdfast import core


def test_summary_adds_up_ctest_and_pytest(repository, tmp_path):
    count = runpy.run_path(str(repository / "tools/summarise_tests.py"))["count"]
    log = (
        "100% tests passed, 0 tests failed out of 213\n"
        "97% tests passed, 2 tests failed out of 70\n"
        "===== 41 passed, 3 deselected in 12.31s =====\n"
        "1 failed, 4 passed in 0.10s\n"
        "12 passed in 75.00s (0:01:15)\n"
    )
    assert count(log) == (213 + 68 + 41 + 4 + 12, 2 + 1)
    assert count("nothing ran") == (0, 0)


def test_summary_counts_the_tests_in_each_part(repository):
    count = runpy.run_path(str(repository / "tools/summarise_tests.py"))["count"]
    good = (
        "[==========] 12 tests from 3 test suites ran. (5 ms total)\n"
        "[  PASSED  ] 12 tests.\n[  PASSED  ] 1 test.\n"
    )
    bad = "[  PASSED  ] 9 tests.\n[  FAILED  ] 3 tests, listed below:\n[  FAILED  ] Some.Test\n"
    assert count(
        "100% tests passed, 0 tests failed out of 3\n7 passed in 1.00s\n", [good, good]
    ) == (
        26 + 7,
        0,
    )
    assert count("50% tests passed, 1 tests failed out of 2\n", [good, bad]) == (13 + 9, 3)
    crashed = "[ RUN      ] Some.Test\n"
    assert count("50% tests passed, 1 tests failed out of 2\n", [good, crashed]) == (13, 1)


def test_summary_fails_when_a_test_failed_or_none_ran(repository, tmp_path):
    def summarise(text: str) -> subprocess.CompletedProcess:
        log = tmp_path / "log"
        log.write_text(text)
        line = [sys.executable, str(repository / "tools/summarise_tests.py"), str(log)]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    assert summarise("3 passed in 1.00s\n").stdout == "3 passed, 0 failed\n"
    assert summarise("3 passed in 1.00s\n").returncode == 0
    assert summarise("1 failed, 3 passed in 1.00s\n").returncode == 1
    assert summarise("").returncode == 1


def test_the_chosen_python_has_headers(repository):
    done = subprocess.run(
        [str(repository / "tools/choose_python.sh")], capture_output=True, text=True, check=True
    )
    script = (
        "import sysconfig, pathlib; "
        "print((pathlib.Path(sysconfig.get_path('include')) / 'Python.h').exists())"
    )
    found = subprocess.run(
        [done.stdout.strip(), "-c", script], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "True"


def test_the_command_of_a_checkout_may_start_processes(repository, tmp_path):
    """Its worker processes start although the command is a script of another folder."""
    text = runpy.run_path(str(repository / "tools/install_development.py"))["COMMAND"]
    command = tmp_path / "holdfast"
    command.write_text(text.format(python=sys.executable))
    line = [
        "sim",
        "bank",
        "--engine",
        ",".join(sample.BOTH),
        "--transactions",
        "5",
        "--cache",
        str(tmp_path),
        "--jobs",
        "2",
    ]
    done = subprocess.run(
        [sys.executable, str(command), *line], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_the_wheel_works_by_itself(repository, tmp_path):
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(repository)], check=True)
    (wheel,) = tmp_path.glob("holdfast-*.whl")
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    script = (
        "import holdfast, sys; from holdfast import core; "
        "assert holdfast.__file__.startswith(sys.path[0]); print(len(core.engines()))"
    )
    # -S keeps the checkout's .pth out; this needs none of the command line's dependencies.
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = [{str(unpacked)!r}]; {script}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


@pytest.fixture
def mutation(repository, monkeypatch):
    """tools/mutate.py as a module; its data classes look for it among the modules."""
    spec = importlib.util.spec_from_file_location("mutate", repository / "tools/mutate.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "mutate", module)
    spec.loader.exec_module(module)
    return module


def test_folders_of_the_mutation_plan_exist_and_name_engines(repository, mutation):
    plan = tomllib.loads(mutation.PLAN.read_text())
    names = {engine["name"] for engine in core.engines()}
    assert set(plan["always"]) <= names
    for folder in plan["folders"].values():
        assert set(folder["engines"]) <= names
        assert all((repository / source).is_dir() for source in folder["sources"])
    assert all((repository / "tests" / suite).is_dir() for suite in plan["suites"])


def test_a_mutant_takes_the_place_of_its_lines(mutation):
    source = ["a();\n", "b();\n", "c();\n"]
    swapped = mutation.Mutant("f", "p", 1, 2, "b();\na();\n", mutation.SWAP)
    assert "".join(swapped.applied(source)) == "b();\na();\nc();\n"
    assert mutation.Mutant("f", "p", 3, 1, "{}\n", "").applied(source)[2] == "{}\n"


@pytest.mark.parametrize(
    ("programs", "verdict", "cause"),
    [
        (["sleep 0", "sleep 0"], "survived", ""),
        (["sleep 60", "echo '[  FAILED  ] A.B (3 ms)'; false"], "caught", "A.B"),
        (["echo '[ RUN      ] A.C'; kill -9 $$", "sleep 60"], "caught", "A.C (status -9)"),
        (["sleep 60", "sleep 0"], "timeout", "time"),
    ],
)
def test_the_first_failure_of_a_suite_is_its_verdict(mutation, tmp_path, programs, verdict, cause):
    parts = []
    for number, program in enumerate(programs):
        log = tmp_path / str(number)
        with log.open("w") as file:
            parts.append((subprocess.Popen(["bash", "-c", program], stdout=file), log))
    try:
        limit = 0.5 if verdict == "timeout" else 50
        assert mutation.watched(parts, time.monotonic() + limit) == (verdict, cause)
    finally:
        for process, _ in parts:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("output", "status", "found"),
    [
        ("[  FAILED  ] A.B (3 ms)\n[  FAILED  ] A.C, where x = 1 (2 ms)\n[  FAILED  ] A.B\n", 1,
         ["A.B", "A.C"]),
        ("[ RUN      ] A.B\n", -11, ["A.B (status -11)"]),
        ("", 127, ["start (status 127)"]),
    ],
)  # fmt: skip
def test_all_failures_of_a_suite_are_found(mutation, tmp_path, output, status, found):
    log = tmp_path / "log"
    log.write_text(output)
    assert mutation.failures(log, status) == found


def base_line(mutation, monkeypatch, runs):
    """Judges a suite whose whole runs have these failures, one run after the other."""
    outcomes = iter(runs)
    monkeypatch.setattr(mutation.Campaign, "unable", lambda *_: next(outcomes))
    build = mutation.Build(None, None, "-*.Long*", {})
    mutation.Campaign({}, mutation.ROOT, 1).judge_base_line(build, "unit")
    assert list(build.seconds) == ["unit"] and next(outcomes, None) is None
    return build.filter


def test_the_base_line_ends_with_a_run_without_failures(mutation, monkeypatch):
    assert base_line(mutation, monkeypatch, [[]]) == "-*.Long*"
    assert base_line(mutation, monkeypatch, [["A.B"], ["A.C"], []]) == "-*.Long*:A.B:A.C"


@pytest.mark.parametrize("second", [["A.C (status -11)"], [f"A.C{n}" for n in range(25)]])
def test_the_base_line_takes_no_crash_and_not_many_failures(mutation, monkeypatch, second):
    with pytest.raises(SystemExit, match=r"unit fails without a mutant: A\.C"):
        base_line(mutation, monkeypatch, [["A.B"], second, []])


def test_the_score_leaves_timeouts_out(mutation):
    verdicts = ["caught"] * 3 + ["survived", "timeout"]
    results = [
        {"folder": "heap", "path": "a.h", "line": 3, "operator": "", "text": "x\n", "verdict": v}
        for v in verdicts
    ]
    heap, everything = mutation.report(results).splitlines()[1:3]
    assert heap.split() == ["heap", "5", "3", "1", "1", "75.0%"]
    assert everything.split()[1:] == heap.split()[1:]
