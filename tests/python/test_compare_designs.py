# SPDX-License-Identifier: Apache-2.0
"""Does the table that compares hardware designs list all of them, with current numbers?"""

import runpy
from pathlib import Path
from typing import Any

import pytest

from holdfast import core

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(REPOSITORY / "tools/compare_designs.py"))


def test_each_design_has_a_whole_row(tool: dict[str, Any]):
    rows = tool["rows"](tool["PAGE"].read_text())
    assert list(rows) == [design["name"] for design in core.designs()]
    for name, row in rows.items():
        assert len(row) == tool["WRITTEN"] + tool["MEASURED"], name
        assert "?" not in row and "" not in row, name


def test_the_measured_columns_are_current_and_a_wrong_number_is_mended(tool: dict[str, Any]):
    page = tool["PAGE"].read_text()
    row = next(iter(tool["rows"](page).values()))
    wrong = page.replace(" | ".join(row), " | ".join([*row[:-1], row[-1] + "0"]))
    assert wrong != page
    assert tool["updated"](wrong) == page, "run tools/compare_designs.py"
