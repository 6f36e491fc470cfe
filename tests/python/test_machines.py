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


# The lines of the papers' tables of machines. Their cache latencies are those of a level alone; a
# description counts from the core's request.
_TABLES = {
    "gem5-hercules": {  # Hercules table 2
        "core.ghz": 3, "core.window": 192, "l1.bytes": 32 << 10, "l1.ways": 4, "l1.hit_cycles": 2,
        "l2.bytes": 256 << 10, "l2.ways": 8, "l2.hit_cycles": 2 + 8, "l2.inclusive": True,
        "llc.bytes": 16 << 20, "llc.ways": 16, "llc.hit_cycles": 2 + 8 + 30, "llc.inclusive": True,
        "medium.read_ns": 150, "medium.write_ns": 100, "medium.channels": 1,
        "medium.read_queue": 64, "medium.write_queue": 64, "persistence.eadr": True,
    },
    "champsim-ehou": {  # EHOU table I
        "cores": 4, "core.ghz": 2, "core.window": 192, "core.store_buffer": 48,
        "l1.bytes": 32 << 10, "l1.ways": 8, "l1.hit_cycles": 2,
        "l2.bytes": 256 << 10, "l2.ways": 8, "l2.hit_cycles": 2 + 8,
        "llc.bytes": 8 << 20, "llc.ways": 16, "llc.hit_cycles": 2 + 8 + 25,
        "medium.channels": 1, "medium.banks": 8, "medium.read_ns": 48, "medium.write_ns": 300,
        "medium.read_queue": 32, "medium.write_queue": 32, "persistence.eadr": False,
        "ait.sets": 8192, "ait.ways": 16, "ait.hit_cycles": 100,
    },
}  # fmt: skip
# Lines that a description departs from: the papers' value and ours. Idle cores change nothing, and
# Hercules' figure 16 has 16 threads.
_DEPARTURES = {"gem5-hercules": {"cores": (8, 16)}}
_WIDTHS = {"gem5-hercules": 8}  # instructions per cycle, at most


def _value(machine: str, key: str):
    value = tomllib.loads((_DIRECTORY / f"{machine}.toml").read_text())
    for name in key.split("."):
        value = value[name]
    return value


@pytest.mark.parametrize("machine", _TABLES)
def test_a_description_agrees_with_its_papers_table(machine):
    assert {key: _value(machine, key) for key in _TABLES[machine]} == _TABLES[machine]
    for key, (_, here) in _DEPARTURES.get(machine, {}).items():
        assert _value(machine, key) == here


@pytest.mark.parametrize("machine", _WIDTHS)
def test_a_core_sustains_half_of_its_width(machine):
    per_cycle = _value(machine, "core.instructions_per_operation") / _value(
        machine, "core.cycles_per_operation"
    )
    assert per_cycle == _WIDTHS[machine] / 2


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
