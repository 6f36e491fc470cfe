# SPDX-License-Identifier: Apache-2.0
"""Does `holdfast sim` compare hardware designs?"""

import json

import pytest

import fake_core


@pytest.fixture(autouse=True)
def carried(fake):
    """An engine that runs with a hardware design."""
    fake.engines = lambda: [fake_core.engine("carried", needs_design=True)]


def test_several_designs_run_one_by_one_each_with_its_own_options(fake, invoke):
    result = invoke(
        *("sim", "bank", "--machine", "abacus", "--design", "moat,ditch"),
        *("--design-option", "depth=3", "--jobs", "1", "--json", "-"),
    )
    assert result.exit_code == 0, result.stdout
    specs = [arguments[0] for verb, arguments in fake.calls if verb == "sim"]
    assert [(spec["design"], spec["design_options"]) for spec in specs] == [
        ("moat", {"depth": "3"}),
        ("ditch", {}),
    ]
    entries = json.loads(result.stdout)["benchmarks"]
    assert [entry["design"] for entry in entries] == ["moat", "ditch"]


@pytest.mark.parametrize("designs", ["moat", "moat,ditch"])
def test_an_option_may_name_its_design(fake, invoke, designs):
    options = ("--design-option", "moat.depth=3")
    result = invoke("sim", "bank", "--machine", "abacus", "--design", designs, *options)
    assert result.exit_code == 0, result.stdout
    specs = [arguments[0] for verb, arguments in fake.calls if verb == "sim"]
    assert specs[0]["design_options"] == {"depth": "3"}


def test_the_table_has_traffic_by_cause_per_transaction(fake, invoke):
    result = invoke("sim", "bank", "--machine", "abacus", "--design", "moat", "--jobs", "1")
    assert result.exit_code == 0, result.stdout
    words = " ".join(result.stdout.replace("│", " ").replace("┃", " ").split())
    for text in ("reads writes data log wear", "0.25 2.50 2.25 0.50 -", "4.0 KiB"):
        assert text in words, text
    assert "table" not in words, "a cause without writes"


def test_names_of_designs_stay_readable_where_numbers_need_much_room(fake, invoke):
    result = invoke(
        *("sim", "bank", "--machine", "abacus", "--design", "moat,ditch", "--seed", "1,2"),
        *("--recovery", "--jobs", "1", "--transactions", "123456789"),
    )
    assert result.exit_code == 0, result.stdout
    rows = [line.split("│")[1].strip() for line in result.stdout.splitlines() if "│" in line]
    assert rows.count("moat") == rows.count("ditch") == 4, result.stdout
