# SPDX-License-Identifier: Apache-2.0
"""Does `sim --timeline` draw one run, and say clearly when it cannot?"""

import json

import pytest

import holdfast
import sample

_ONE = ("sim", "bank", "--engine", sample.FIRST, "--threads", "2", "--transactions", "20")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--engine", "steady,swift", "--threads", "2"), ("one engine", "steady, swift")),
        (("--threads", "2"), ("one engine",)),  # all engines
        (("--engine", "steady", "--threads", "1,2"), ("one number of threads", "1, 2")),
    ],
)
def test_a_timeline_is_of_one_run(fake, invoke, tmp_path, arguments, expected):
    result = invoke("sim", "bank", *arguments, "--timeline", tmp_path / "t.json")
    assert result.exit_code == 2
    for text in expected:
        assert text in result.stderr
    assert not fake.calls


def test_the_path_is_handed_down(fake, invoke):
    invoke("sim", "bank", "--engine", "steady", "--threads", "1", "--timeline", "t.json")
    ((_, (spec,)),) = fake.calls
    assert spec["timeline"] == "t.json"


def test_without_the_option_nothing_is_asked_for(fake, invoke):
    invoke("sim", "bank", "--engine", "steady", "--threads", "1")
    ((_, (spec,)),) = fake.calls
    assert "timeline" not in spec


def test_a_file_that_cannot_be_written_is_refused_before_the_run(command, tmp_path):
    done = command(*_ONE, "--timeline", tmp_path / "nowhere" / "t.json", status=2)
    assert "nowhere/t.json" in done.stderr.replace("\n", "")
    assert "No such file" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize("machine", ["sim", "power9"])
def test_a_run_is_drawn(command, tmp_path, machine):
    file = tmp_path / "t.json"
    done = command(*_ONE, "--machine", machine, "--timeline", file)
    assert "perfetto" in done.stdout
    trace = json.loads(file.read_text())
    names = {
        event["tid"]: event["args"]["name"]
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    }
    assert {"worker 0", "worker 1"} <= set(names.values())
    (process,) = [
        event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"
    ]
    assert process == f"{machine} / {sample.FIRST} / bank / 2 threads"
    outer = [event for event in trace["traceEvents"] if event.get("cat") == "transaction"]
    # The measured part alone: no warm-up, no check afterwards.
    assert sum(event["args"]["outcome"] in ("committed", "read-only") for event in outer) == 40


def test_a_timeline_replaces_no_heap_file(command, tmp_path):
    path = tmp_path / "towns.db"
    with holdfast.open(path, domain="process") as database:
        database["a"] = b"1"
    for verb in (_ONE, ("crash", "--engine", sample.FIRST, "--schedules", "1")):
        assert "heap file" in command(*verb, "--timeline", path, status=2).stderr
    with holdfast.open(path, read_only=True) as database:
        assert dict(database) == {b"a": b"1"}
