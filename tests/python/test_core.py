# SPDX-License-Identifier: Apache-2.0
"""Does the command keep its word on real heaps? One process per call, as for a user."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

import sample
from holdfast import kill, torture

_BANK = ("--param", "accounts=64")
_BOTH = ",".join(sample.BOTH)


@pytest.fixture
def heap(tmp_path):
    """A closed heap with a bank in it, made by a worker that stopped by itself."""
    path = tmp_path / "bank.heap"
    spec = torture.specification(sample.FIRST, "bank", path, 1, "process")
    with kill.Worker(replace(spec, transactions=50)) as worker:
        while not worker.ended:
            worker.pump(None)
        assert worker.acknowledged == 50, worker.failure()
    return path


@pytest.mark.parametrize("verb", ["engines", "workloads", "machines", "designs"])
def test_listings(command_json, command, verb):
    listing = command_json(verb)
    assert listing and all({"name", "supported"} <= set(entry) for entry in listing)
    text = command(verb).stdout
    assert all(entry["name"] in text for entry in listing)


def test_every_workload_of_the_first_release_is_there(command_json):
    names = {entry["name"] for entry in command_json("workloads")}
    assert {"tpcc", "intset", "sps", "map", "list", "bank", "ring", "registers"} <= names


def test_bench_measures_every_engine(command_json):
    report = command_json(
        "bench", "bank", *_BANK, "--threads", "1,2", "--seconds", "0.05", "--repetitions", "2"
    )
    medians = [entry for entry in report["benchmarks"] if entry["run_type"] == "aggregate"]
    assert {(entry["engine"], entry["threads"]) for entry in medians} == {
        (e, n) for e in sample.NATIVE for n in (1, 2)
    }
    assert all(entry["items_per_second"] > 0 and entry["check"] == "ok" for entry in medians)
    assert {"date", "num_cpus", "cpu", "kernel", "commit", "domain", "options"} <= set(
        report["context"]
    )


@pytest.mark.parametrize(
    ("preset", "sizes"),
    [
        ("hash-map", ("size=50",)),
        ("btree-zipf", ("size=50",)),
        ("rbtree-zipf", ("size=50",)),
        ("tpcc-neworder", ("items=100", "customers=10", "orders=10", "districts=2")),
    ],
)
def test_presets_run_natively_and_simulated(command_json, preset, sizes):
    arguments = [preset, "--engine", sample.FIRST, "--threads", "2"]
    arguments += [word for size in sizes for word in ("--param", size)]
    native = command_json("bench", *arguments, "--seconds", "0.05", "--repetitions", "1")
    simulated = command_json("sim", *arguments, "--transactions", "20")
    for report in (native, simulated):
        entry = report["benchmarks"][-1]
        assert entry["workload"] == preset and entry["check"] == "ok"
        assert entry["update_commits"] > 0


def test_bench_on_emulated_persistent_memory_says_so(command):
    arguments = ("bench", "sps", "--engine", sample.FIRST, "--seconds", "0.05", "--domain", "pmem")
    assert "force" in command(*arguments, status=2).stderr
    assert "emulated" in command(*arguments, "--force").stdout


def test_simulated_runs_at_once_are_the_runs_one_by_one(command_json):
    arguments = ("sim", "bank", *_BANK, "--engine", _BOTH, "--machine", "tiny", "--threads", "1,2")
    arguments += ("--transactions", "20", "--seed", "1,2")
    reports = [command_json(*arguments, "--jobs", jobs)["benchmarks"] for jobs in ("1", "2")]
    reports = [
        [
            {key: value for key, value in entry.items() if not key.startswith("host_")}
            for entry in report
        ]
        for report in reports
    ]
    assert len(reports[0]) == 8
    assert reports[0] == reports[1]


def test_sim_is_deterministic(command_json):
    arguments = (
        "sim",
        "bank",
        *_BANK,
        "--engine",
        _BOTH,
        "--threads",
        "3",
        "--transactions",
        "40",
        "--seed",
        "5",
    )
    reports = [command_json(*arguments)["benchmarks"] for _ in range(2)]
    built = [entry["host_image"]["built"] != "" for report in reports for entry in report]
    assert not any(built[1:])  # an earlier test may have built the first one
    reports = [
        [
            {name: value for name, value in entry.items() if not name.startswith("host_")}
            for entry in report
        ]
        for report in reports
    ]
    assert reports[0] == reports[1]
    assert len(reports[0]) == 2 and all(entry["check"] == "ok" for entry in reports[0])


def test_names_of_files_need_not_be_text(heap, invoke):
    named, copy = (heap.with_name(f"{name}\udcff.heap") for name in "ab")
    heap.rename(named)
    for verb in (("info", named), ("check", named), ("dump", named), ("convert", named, copy)):
        result = invoke(*verb)
        assert result.exit_code == 0, result.stderr
    assert copy.exists()
    os.truncate(named, 500)
    result = invoke("check", named)
    assert result.exit_code == 1 and "cut short" in result.stderr


def test_wrong_values_are_refused_by_the_core(command):
    assert "accounts" in command("bench", "bank", "--param", "accounts=many", status=2).stderr
    assert "domain" in command("bench", "bank", "--domain", "nonsense", status=2).stderr
    wrong = command("bench", "bank", "--htm", "tsx", status=2).stderr
    assert "soft, rtm, power" in wrong and "auto chooses one" in " ".join(wrong.split())


def test_transactional_memory_that_is_not_here_is_refused_with_a_way_out(
    command, command_json, tmp_path
):
    (native,) = (entry for entry in command_json("machines") if entry["name"] == "native")
    backends = {entry["name"]: entry for entry in native["htm_backends"]}
    assert backends["soft"]["supported"]
    absent = [name for name, entry in backends.items() if not entry["supported"]]
    assert absent  # no processor has the transactions of both Intel and POWER
    for name in absent:
        for verb in (
            ["bench", "bank"],
            ["bench", "replay"],
            ["demo", "--quick", "--out", str(tmp_path)],
        ):
            text = " ".join(command(*verb, "--htm", name, status=2).stderr.split())
            assert backends[name]["reason"] in text
            assert "htm soft" in text and "holdfast sim" in text


def test_each_engine_gets_transactions_that_serve_it(command_json):
    """`auto` takes the processor's own where they commit and the engine can use them."""
    (native,) = (entry for entry in command_json("machines") if entry["name"] == "native")
    present = {entry["name"] for entry in native["htm_backends"] if entry["supported"]}
    engines = "spht,si-htm,quadra"
    flags = ("--engine", engines, "--seconds", "0.05", "--repetitions", "1")
    context = command_json("bench", "bank", *flags)["context"]
    if "rtm" in present:  # it cannot leave loads untracked, as si-htm needs
        assert context["htm"] == "auto: rtm for spht; soft for si-htm"
    elif "power" in present:
        assert context["htm"] == "auto: power for si-htm, spht"
    else:
        assert context["htm"] == "auto: soft for si-htm, spht"
    chosen = command_json("bench", "bank", *flags, "--htm", "soft")["context"]
    assert chosen["htm"] == "soft"


def test_info_check_and_dump_of_a_heap(command_json, heap):
    facts = command_json("info", heap)
    assert facts["engine"] == sample.FIRST
    report = command_json("check", heap)
    assert report["ok"] and not report["problems"]
    assert command_json("dump", heap)


def test_info_of_a_heap_in_use(command_json, command, tmp_path):
    path = tmp_path / "busy.heap"
    spec = torture.specification(sample.FIRST, "bank", path, 1, "process")
    with kill.Worker(spec) as worker:
        assert worker.wait_for(1, 60), worker.failure()
        assert command_json("info", path)["engine"] == sample.FIRST
        assert command_json("info", path)["in_use"]
        for verb in (
            ["check", path],
            ["dump", path],
            ["convert", path, tmp_path / "copy", "--engine", sample.REPLAYED],
        ):
            message = command(*verb, status=2).stderr
            assert "in use by process" in " ".join(message.split())


def test_convert_keeps_the_bank(command, command_json, heap, tmp_path):
    target = tmp_path / "converted.heap"
    told = command("convert", heap, target, "--engine", sample.VOLATILE, status=2).stderr
    assert "keeps nothing over a crash" in told and not target.exists()
    command("convert", heap, target, "--engine", sample.REPLAYED)
    assert command_json("info", target)["engine"] == sample.REPLAYED
    assert command_json("check", target)["ok"]
    spec = torture.specification(sample.REPLAYED, "bank", target, 1, "process")
    assert kill.verify(replace(spec, open="open"), b"").ok


def test_convert_makes_room_for_more_threads(command, command_json, heap, tmp_path):
    slots = command_json("info", heap)["thread_slots"]
    more, same = tmp_path / "more.heap", tmp_path / "same.heap"
    command("convert", heap, more, "--max-threads", slots + 10)
    command("convert", heap, same, "--max-threads", 1)
    assert command_json("info", more)["thread_slots"] == slots + 11  # the machine has one
    assert command_json("info", same)["thread_slots"] == slots
    assert command_json("check", more)["ok"]


@pytest.mark.parametrize(
    "content", [b"", b"not a heap at all", bytes(1 << 16), b"\x7fELF" + bytes(8192)]
)
def test_other_files_are_refused_and_left_alone(command, tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    for verb in ("info", "check", "dump"):
        message = command(verb, path, status=1).stderr
        assert "Traceback" not in message and "other" in message
    assert path.read_bytes() == content


def test_a_truncated_heap_is_refused_and_left_alone(command, heap, tmp_path):
    short = tmp_path / "short.heap"
    shutil.copyfile(heap, short)
    with short.open("r+b") as file:
        file.truncate(heap.stat().st_size // 2)
    before = short.read_bytes()
    assert "short" in command("check", short, status=1).stderr
    assert short.read_bytes() == before


def test_an_interrupt_ends_a_benchmark_without_leftovers(tmp_path):
    line = [
        sys.executable,
        "-m",
        "holdfast",
        "bench",
        "bank",
        "--engine",
        sample.FIRST,
        "--seconds",
        "600",
        "--dir",
        str(tmp_path),
    ]
    # A shell makes its background commands ignore interrupts, and they would pass that on.
    start = ["env", "--default-signal=INT", *line]
    with subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while not list(tmp_path.iterdir()):
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()
    assert not list(tmp_path.iterdir())


def test_json_on_standard_output_is_json_alone(command):
    json.loads(
        command(
            "bench", "bank", *_BANK, "--engine", sample.FIRST, "--seconds", "0.05", "--json", "-"
        ).stdout
    )


_RACE = (
    "--param",
    "prelude=0",
    "--program",
    "r1 | w1 w0 w4",
    "--crash-recovery",
    "0",
    "--go-on",
    "0",
)


def test_crash_finds_nothing_in_sound_engines(command_json):
    report = command_json("crash", "--engine", _BOTH, "--schedules", "12", "--points", "30")
    assert report["violations"] == []
    assert [one["engine"] for one in report["engines"]] == list(sample.BOTH)
    assert all(one["schedules"] == 12 and one["images"] > 100 for one in report["engines"])


def test_crash_finds_a_planted_bug_and_its_command_finds_it_again(command_json):
    report = command_json("crash", "--engine", "undo", "--mutate", "undo.log.fence=drop", status=1)
    (found,) = report["violations"]
    line = shlex.split(found["replay"])
    assert line[:2] == ["holdfast", "crash"]
    (again,) = command_json(*line[1:], status=1)["violations"]
    assert again == found


def test_crash_finds_the_race_of_fur_as_printed_with_any_number_of_jobs(command_json):
    printed = ("--option", "timestamps=as_printed", "--schedules", "2000", "--no-minimise")
    one, two = (
        command_json("crash", "--engine", "fur-opa", *_RACE, *printed, "--jobs", jobs, status=1)
        for jobs in ("1", "2")
    )
    assert one == two
    assert one["violations"][0]["name"] == "lost observation"
    seed = str(one["violations"][0]["seed"])
    fixed = command_json(
        "crash", "--engine", "fur-opa", *_RACE, "--seed", seed, "--schedules", "40"
    )
    assert fixed["violations"] == []


def test_crash_draws_a_violation(command_json, tmp_path):
    drawing = tmp_path / "crash.json"
    planted = ("--mutate", "undo.epoch.sync=drop", "--schedules", "20")
    command_json(
        "crash", "--engine", "undo", *planted, "--no-minimise", "--timeline", str(drawing), status=1
    )
    names = {event["name"] for event in json.loads(drawing.read_text())["traceEvents"]}
    assert {"update", "power failure"} <= names


def test_crash_explains_a_wrong_request(command):
    for arguments, expected in (
        (("--program", "w0 z1"), "character 4"),
        (("--param", "nonsense=1"), "prelude"),
        (("--schedule", "nonsense"), "exhaustive"),
        (("--delays", "1"), "delays are for"),
        (("--engine", "undo", "--mutate", "undo.log.fence=nonsense"), "swap"),
        (
            ("--engine", "undo", "--mutate", "undo.log.fnce=drop", "--schedules", "1"),
            "undo.log.fence?",
        ),
        (("sps",), "intset"),
    ):
        assert expected in command("crash", *arguments, status=2).stderr


def test_lint_shows_unwritten_lines_and_changes_nothing_else(command_json):
    line = ("sim", "bank", *_BANK, "--engine", "undo,fur-opa,romulus-log", "--transactions", "50")
    plain, linted = command_json(*line)["benchmarks"], command_json(*line, "--lint")["benchmarks"]
    lint = {entry["engine"]: entry.pop("lint") for entry in linted}
    for before, after in zip(plain, linted, strict=True):
        assert {k: v for k, v in before.items() if not k.startswith("host_")} == {
            k: v for k, v in after.items() if not k.startswith("host_")
        }
    gaps = {engine: [row for row in rows if "not" in row["what"]] for engine, rows in lint.items()}
    assert gaps["undo"] == gaps["fur-opa"] == []
    # The last store of a commit sets the state word. It need not last: without it, recovery
    # copies once more.
    assert gaps["romulus-log"][0]["where"] == "copy" and gaps["romulus-log"][0]["count"] > 0
    assert all(
        set(row) == {"what", "where", "count", "example"} for rows in lint.values() for row in rows
    )
