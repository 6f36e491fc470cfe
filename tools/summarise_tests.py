# SPDX-License-Identifier: Apache-2.0
"""Adds up what ctest and pytest said in a log and prints one line, as they do. Exit status 1 if any test failed."""

import re
import sys
from pathlib import Path

CTEST = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)", re.MULTILINE)
PYTEST_LINE = re.compile(r"^=*\s*((?:\d+ \w+,? ?)+) in [\d.]+s", re.MULTILINE)
PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|error|errors)\b")


def count(text: str) -> tuple[int, int]:
    """(passed, failed) over every summary line in the text."""
    passed = failed = 0
    for match in CTEST.finditer(text):
        failures, total = int(match[1]), int(match[2])
        passed, failed = passed + total - failures, failed + failures
    for line in PYTEST_LINE.finditer(text):
        for number, word in PYTEST_COUNT.findall(line[1]):
            if word == "passed":
                passed += int(number)
            else:
                failed += int(number)
    return passed, failed


if __name__ == "__main__":
    passed, failed = count(Path(sys.argv[1]).read_text(errors="replace"))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
