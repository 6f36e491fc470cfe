# SPDX-License-Identifier: Apache-2.0
"""Does every number of a machine description name its source, and is every machine listed?"""

import re
import tomllib
from pathlib import Path

import pytest

_DIRECTORY = Path(__file__).resolve().parents[2] / "experiments" / "machines"
_FILES = sorted(_DIRECTORY.glob("*.toml"))
_ASSIGNMENT = re.compile(r"^\s*[\w.\"-]+\s*=")
_TEXT = re.compile(r'"[^"]*"')


def without_source(text: str) -> list[str]:
    """The assignments that have a comment neither on their line nor on the line above."""
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines):
        above = lines[number - 1].strip() if number else ""
        # Letters, so that an empty comment does not count.
        commented = re.search(r"#.*[A-Za-z]", _TEXT.sub("", line)) or re.match(
            r"#.*[A-Za-z]", above
        )
        if _ASSIGNMENT.match(line) and not commented:
            found.append(f"{number + 1}: {line}")
    return found


def test_the_ten_machines_are_there():
    names = {path.stem for path in _FILES}
    assert names >= {
        "power9", "power9-pm", "haswell-e5-2699v3", "broadwell-e5-2683v4", "skylake-c5",
        "gem5-hercules", "champsim-ehou", "sapphire-rapids", "cxl-pm", "tiny",
    }  # fmt: skip


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_every_value_names_its_source(path):
    assert not without_source(path.read_text())


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_file_is_called_as_its_machine(path):
    assert tomllib.loads(path.read_text())["name"] == path.stem


def test_a_missing_source_is_seen():
    text = (
        "# Licence\n\n[l1]\nbytes = 1 # data sheet\n# paper\nways = 2\nhit_cycles = 3\n"
        'name = "a # b"\ncores = 4 #\n'
    )
    assert without_source(text) == ["7: hit_cycles = 3", '8: name = "a # b"', "9: cores = 4 #"]


def test_the_listing_shows_shape_and_support(fake, invoke):
    result = invoke("machines")
    assert result.exit_code == 0
    for text in ("native", "abacus", "two rods of ten beads", "12 x 3", "128", "ruin.toml:3"):
        assert text in result.stdout


def test_the_real_core_lists_every_file(command_json):
    listing = {entry["name"]: entry for entry in command_json("machines")}
    assert {"native", "sim"} <= set(listing)
    for path in _FILES:
        assert listing[path.stem]["supported"], listing[path.stem]["reason"]
    assert listing["power9"]["threads"] == 64
    assert listing["power9"]["line_bytes"] == 128
