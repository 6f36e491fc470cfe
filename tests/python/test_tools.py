# SPDX-License-Identifier: Apache-2.0
"""Do the scripts around the build do what the Makefile relies on?"""

import runpy
import subprocess
import sys
import zipfile

import pytest

import sample


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
