# SPDX-License-Identifier: Apache-2.0
"""Adds up the results of ctest and pytest. Exit status 1 if a test failed, or if none ran.

    summarise_tests.py LOG [CTEST_LOG ...]

LOG is their output. ctest runs C++ tests in parts and counts the parts; its own logs
(Testing/Temporary/LastTest.log) give the number of tests in each part.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

CTEST = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)", re.MULTILINE)
GTEST_PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.", re.MULTILINE)
GTEST_FAILED = re.compile(r"^\[  FAILED  \] (\d+) tests?, listed below", re.MULTILINE)
PYTEST_LINE = re.compile(r"^=*\s*((?:\d+ \w+,? ?)+) in [\d.]+s", re.MULTILINE)
PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|error|errors)\b")


def count(text: str, ctest_logs: Iterable[str] = ()) -> tuple[int, int]:
    """(passed, failed) over all summary lines; single C++ tests where a log of ctest has them."""
    passed = failed = 0
    for match in CTEST.finditer(text):
        failures, total = int(match[1]), int(match[2])
        passed, failed = passed + total - failures, failed + failures
    logs = list(ctest_logs)
    if logs:
        passed = sum(int(n) for log in logs for n in GTEST_PASSED.findall(log))
        # A part that crashed lists no failure; ctest counted it.
        failed = max(failed, sum(int(n) for log in logs for n in GTEST_FAILED.findall(log)))
    for line in PYTEST_LINE.finditer(text):
        for number, word in PYTEST_COUNT.findall(line[1]):
            if word == "passed":
                passed += int(number)
            else:
                failed += int(number)
    return passed, failed


if __name__ == "__main__":
    log, *ctest_logs = (Path(name).read_text(errors="replace") for name in sys.argv[1:])
    passed, failed = count(log, ctest_logs)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
