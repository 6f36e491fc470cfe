# SPDX-License-Identifier: Apache-2.0
"""Do the programs of the README run, and on one file together?"""

import subprocess
import sys
from pathlib import Path

from holdfast import _db


def test_the_readme_counts_visits_in_both_languages(repository, tmp_path):
    build = Path(_db.__file__).parents[2]
    in_cpp = [str(build / "examples/example_visits")]
    in_python = [sys.executable, str(repository / "examples/visits.py")]
    printed = [
        subprocess.run(program, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
        for program in (in_cpp, in_python, in_cpp, in_python)
    ]
    assert printed == ["visit 1: OK\n", "visit 2\n", "visit 3: OK\n", "visit 4\n"]
