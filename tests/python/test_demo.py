# SPDX-License-Identifier: Apache-2.0
"""Does the main job run from end to end, on a small warehouse?"""

import errno
import json
from unittest.mock import Mock

import pytest

import sample
from holdfast import places


@pytest.mark.parametrize("engine", sample.BOTH)
def test_demo(command, tmp_path, engine):
    arguments = ["--engine", engine, "--domain", "process"]
    arguments += ["--out", "out", "--json", "out/all.json"]
    if engine != sample.BOTH[0]:
        arguments += ["--compare-seconds", "0.1"]
    text = command("demo", "--quick", *arguments).stdout
    for word in ("SIGKILL", "Recovered in", "3.3.2.12: ok", "not a power cut", "not a TPC result"):
        assert word in text
    assert "FAILED" not in text
    report = json.loads((tmp_path / "out/demo.json").read_text())
    assert json.loads((tmp_path / "out/all.json").read_text()) == report
    killed = report["kill"]
    assert killed["ok"] and killed["by_operation"]["new_order"] > 0
    assert killed["verified"] == killed["acknowledged"] > 0
    assert {entry["engine"] for entry in report["compare"]["benchmarks"]} == set(sample.DURABLE)
    assert (tmp_path / "out/demo.png").read_bytes().startswith(b"\x89PNG")


def test_one_engine_is_killed(invoke):
    result = invoke("demo", "--engine", ",".join(sample.BOTH))
    assert result.exit_code == 2 and "one engine" in result.stderr


def test_a_folder_without_room_is_named(invoke, tmp_path, monkeypatch):
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(places, "flush_seconds", Mock(side_effect=full))
    result = invoke("demo", "--out", tmp_path / "small")
    assert result.exit_code == 3
    assert f"{tmp_path}/small: No space" in result.stderr.replace("\n", "")


def test_the_demo_chooses_a_domain_says_why_and_leaves_a_sound_heap(
    command, command_json, tmp_path
):
    command("demo", "--quick", "--out", "out", "--compare-seconds", "0.1")
    killed = json.loads((tmp_path / "out/demo.json").read_text())["kill"]
    assert killed["domain"] in ("file", "process")
    assert "flush" in killed["domain_reason"]
    assert command_json("check", "out/demo.heap")["ok"]
