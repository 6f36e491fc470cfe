# SPDX-License-Identifier: Apache-2.0
"""Does the command line understand its arguments, and end with the right message and status?"""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import fake_core
from holdfast import cli, errors
from holdfast.cli import bench, heap_file
from holdfast.results import Report


def test_help_lists_every_verb(invoke):
    result = invoke("--help")
    assert result.exit_code == 0
    for verb in (
        "demo",
        "engines",
        "workloads",
        "machines",
        "designs",
        "bench",
        "sim",
        "crash",
        "reproduce",
        "info",
        "check",
        "dump",
        "convert",
        "db",
    ):
        assert verb in result.stdout


def test_a_verb_loads_no_other():
    code = """
import sys
from holdfast.cli import app
app(["engines", "--help"], standalone_mode=False)
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "holdfast.cli.engines" in loaded
    assert not {f"holdfast.cli.{verb}" for verb in ("demo", "sim", "reproduce", "db")} & set(loaded)


def test_a_verb_with_a_typing_error_is_guessed(invoke):
    result = invoke("bnech")
    assert result.exit_code == 2
    assert "Did you mean 'bench'?" in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("verb", ["engines", "workloads", "machines", "designs"])
def test_listings_are_lists_of_objects_with_name_and_supported(fake, invoke, verb):
    result = invoke(verb, "--json", "-")
    assert result.exit_code == 0
    listing = json.loads(result.stdout)
    assert listing and all({"name", "supported"} <= set(entry) for entry in listing)


def test_listing_says_why_an_engine_is_not_supported(fake, invoke):
    assert "no such chip" in invoke("engines").stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("nonsense",), ("demo", "convert")),
        (("bench", "nonsense"), ("bank", "ring")),
        (("bench", "bank", "--engine", "nonsense"), ("steady", "swift", "plain")),
        (("bench", "bank", "--param", "nonsense=1"), ("accounts",)),
        (("bench", "bank", "--option", "nonsense=1"), ("log_entries", "swift.log_entries")),
        (("bench", "bank", "--engine", "steady", "--option", "log_entries=1"), ("there are none",)),
        (("sim", "bank", "--machine", "nonsense"), ("sim",)),
        (("sim", "bank", "--machine", "native"), ("sim",)),
    ],
)
def test_a_wrong_name_lists_the_right_ones(fake, invoke, arguments, expected):
    result = invoke(*arguments)
    assert result.exit_code == 2
    for name in expected:
        assert name in result.stderr
    assert not fake.calls


@pytest.mark.parametrize(
    "arguments",
    [
        ("bench",),
        ("bench", "bank", "--threads", "two"),
        ("bench", "bank", "--threads", "0"),
        ("bench", "bank", "--seconds", "-1"),
        ("bench", "bank", "--param", "accounts"),
        ("bench", "bank", "--param", "accounts=1", "--param", "accounts=2"),
        ("info", "there-is-no-such-heap"),
        ("bench", "bank", "--no-such-option"),
    ],
)
def test_bad_usage_is_exit_status_2(fake, invoke, arguments):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stderr


def _numbers():
    """The words of every option that takes a number with a fraction, its verb first."""
    for verb in cli._VERBS:
        module = importlib.import_module(f"holdfast.cli.{verb.replace(' ', '_')}")
        if verb != "db":
            for name, kind in get_type_hints(module.run).items():
                if kind in (float, float | None):
                    yield *verb.split(), f"--{name.replace('_', '-')}"


@pytest.mark.parametrize("words", [*_numbers()], ids=" ".join)
@pytest.mark.parametrize("value", ["inf", "nan"])
def test_numbers_are_finite(fake, invoke, words, value):
    result = invoke(*words, value)
    assert result.exit_code == 2 and f"Invalid value for '{words[-1]}'" in result.stderr
    assert not fake.calls


@pytest.mark.parametrize("out", ["/proc/x", "/dev/null", "/dev/null/x"])
def test_an_output_folder_that_cannot_be_made_is_bad_usage(fake, invoke, out):
    result = invoke("demo", "--engine", "steady", "--out", out)
    assert result.exit_code == 2 and f"error: {out}: " in result.stderr
    assert "Traceback" not in result.stderr


def test_a_full_disk_is_exit_status_3(fake, invoke, tmp_path):
    result = invoke("engines", "--json", "/dev/full")
    assert result.exit_code == 3 and "cannot write /dev/full: No space" in result.stderr
    line = [sys.executable, "-m", "holdfast", "engines"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "error: No space left on device\n")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 1, "the reader has gone"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_a_closed_standard_stream_leads_nowhere(tmp_path, closed):
    def ended(words):
        done = subprocess.run(
            f"{sys.executable} -m holdfast {words} {closed}",
            shell=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        return done.returncode, done.stderr

    for words in ("engines", "db put a.db k -", "db get a.db k"):
        assert ended(words) == (0, "")
    status, told = ended("db get a.db none")
    assert status == 1 and "Traceback" not in told


def test_bench_passes_its_arguments_to_the_core(fake, invoke):
    line = "bench bank --engine swift,steady,swift --threads 1,2 --seconds 0.5 --domain pmem"
    more = (
        "--force --latency stt --htm rtm --param accounts=7 --option swift.log_entries=64 --seed 9"
    )
    result = invoke(*line.split(), *more.split())
    assert result.exit_code == 0, result.stderr
    ((verb, (spec,)),) = fake.calls
    assert verb == "bench"
    assert spec["engines"] == ["swift", "steady"]
    assert spec["threads"] == [1, 2]
    assert spec["params"] == {"accounts": "7"}
    assert spec["options"] == {"swift.log_entries": "64"}
    assert (spec["seconds"], spec["domain"], spec["force"]) == (0.5, "pmem", True)
    assert (spec["seed"], spec["latency"], spec["htm"]) == (9, "stt", "rtm")


def test_bench_prints_environment_and_a_row_per_configuration(fake, invoke):
    text = invoke("bench", "bank", "--engine", "plain,swift").stdout
    assert "cores" in text and "domain process" in text
    assert "50 %" in text  # swift, at half the speed of plain
    assert "transfer" in text and "audit" in text


def test_bench_json_is_google_benchmarks_schema(fake, invoke):
    result = invoke("bench", "bank", "--engine", "swift", "--json", "-")
    report = json.loads(result.stdout)
    assert set(report) == {"context", "benchmarks"}
    assert {"date", "num_cpus", "cpu", "kernel", "commit"} <= set(report["context"])
    for entry in report["benchmarks"]:
        assert {"name", "run_type", "real_time", "cpu_time", "time_unit", "threads"} <= set(entry)
    assert "swift" in result.stderr  # the table is still there, for people


def test_json_goes_to_a_file(fake, invoke, tmp_path):
    target = tmp_path / "report.json"
    assert invoke("bench", "bank", "--json", target).exit_code == 0
    assert json.loads(target.read_text())["benchmarks"]


def test_a_file_for_json_is_tried_before_the_run(fake, invoke, tmp_path):
    """A run may take hours, and a verb may change a database."""
    (tmp_path / "file").touch()
    for target in (tmp_path / "no/x.json", tmp_path / "file/x.json", tmp_path):
        result = invoke("bench", "bank", "--json", target)
        assert result.exit_code == 2 and "cannot write" in result.stderr
    assert "bench" not in [name for name, _ in fake.calls]


def test_options_of_no_design_are_an_error(fake, invoke):
    for verb in (("sim", "ring"), ("crash",)):
        result = invoke(*verb, "--design-option", "bytes=1")
        assert result.exit_code == 2 and "give --design" in result.stderr


def test_sim_prints_counts_and_passes_its_arguments_to_the_core(fake, invoke):
    result = invoke(
        "sim",
        "ring",
        "--engine",
        "swift",
        "--threads",
        "4",
        "--transactions",
        "50",
        "--seed",
        "3",
        "--json",
        "-",
    )
    assert result.exit_code == 0, result.stderr
    assert "9,000" in result.stderr
    ((_, (spec,)),) = fake.calls
    assert (spec["threads"], spec["transactions"], spec["seed"]) == ([4], 50, 3)
    assert "domain" not in spec, "the machine's own"
    assert (spec["warm_up"], spec["cache"], spec["check"]) == (5, "", True)
    assert json.loads(result.stdout)["context"]["machine"] == "sim"


def test_sim_passes_its_set_up_on(fake, invoke):
    result = invoke(
        "sim", "ring", "--engine", "swift", "--warm-up", "0", "--cache", "off", "--no-check"
    )
    assert result.exit_code == 0
    ((_, (spec,)),) = fake.calls
    assert (spec["warm_up"], spec["cache"], spec["check"]) == (0, "off", False)


def test_sim_runs_for_a_time_on_a_changed_machine(fake, invoke):
    result = invoke("sim", "ring", "--engine", "swift", "--duration", "250", "--set", "core.ghz=2")
    assert result.exit_code == 0 and "250 microseconds of simulated time" in result.stdout
    ((_, (spec,)),) = fake.calls
    assert spec["duration_us"] == 250 and spec["set"] == {"core.ghz": "2"}
    assert not {"transactions", "warm_up"} & set(spec)
    assert invoke("sim", "ring", "--duration", "5", "--transactions", "5").exit_code == 2
    assert "core.ghz" in invoke("sim", "ring", "--set", "core.ghz").stderr


def test_a_configuration_that_failed_fails_the_verb(fake, invoke):
    fake.extra_entries = [
        {
            "name": "bank/x",
            "run_type": "iteration",
            "error_occurred": True,
            "error_message": "corrupt: sum is off",
        }
    ]
    result = invoke("bench", "bank")
    assert result.exit_code == 1
    assert "sum is off" in result.stdout
    fake.extra_entries[0]["error_message"] = "unsupported: not here"
    assert invoke("bench", "bank").exit_code == 2


def test_an_engine_that_refuses_the_setting_does_not_fail_the_demo():
    refused, damaged = (
        {"name": "bank/x", "error_occurred": True, "error_message": message}
        for message in ("unsupported: not here", "corrupt: sum is off")
    )
    bench.finish(Report({"context": {}, "benchmarks": [refused]}), may_refuse=True)
    with pytest.raises(errors.CheckFailed, match=r"1 of the configurations.*sum is off"):
        bench.finish(Report({"context": {}, "benchmarks": [refused, damaged]}), may_refuse=True)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("corrupt", 1),
        ("wrong format", 1),
        ("invalid argument", 2),
        ("busy", 2),
        ("i/o error", 3),
        ("out of space", 3),
    ],
)
def test_failures_of_the_core_have_their_exit_status(fake, invoke, tmp_path, code, status):
    heap = tmp_path / "heap"
    heap.touch()
    fake.failing = fake_core.Error(code, "what was found")
    result = invoke("info", heap)
    assert result.exit_code == status
    assert "what was found" in result.stderr


def test_a_defect_is_exit_status_3_with_a_traceback(fake, invoke):
    fake.failing = ValueError("unthinkable")
    result = invoke("bench", "bank")
    assert result.exit_code == 3
    assert "unthinkable" in result.stderr and "Traceback" in result.stderr


def test_check_reports_problems_and_fails(fake, invoke, tmp_path):
    heap = tmp_path / "heap"
    heap.touch()
    assert invoke("check", heap).exit_code == 0
    fake.check_report = {"ok": False, "problems": ["block 7 leaked"], "blocks": 12}
    result = invoke("check", heap, "--json", "-")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["problems"] == ["block 7 leaked"]
    assert "block 7 leaked" in result.stderr


def test_info_and_dump_print_every_fact(fake, invoke, tmp_path):
    heap = tmp_path / "heap"
    heap.touch()
    text = invoke("info", heap).stdout
    assert "swift" in text and "0x550000000000" in text and "16.0 MiB" in text and "bank" in text
    assert "format" in invoke("dump", heap).stdout


def test_convert_strips_the_engine_from_options_and_keeps_existing_files(fake, invoke, tmp_path):
    heap, target = tmp_path / "heap", tmp_path / "new"
    heap.touch()
    assert (
        invoke(
            "convert", heap, target, "--engine", "swift", "--option", "swift.log_entries=8"
        ).exit_code
        == 0
    )
    assert fake.calls[-1] == (
        "convert",
        (
            bytes(heap),
            bytes(target),
            {
                "engine": "swift",
                "options": {"log_entries": "8"},
                "max_bytes": 0,
                "max_threads": 0,
            },
        ),
    )
    limits = ("--max-bytes", "4096", "--max-threads", "9")
    assert invoke("convert", heap, target, *limits).exit_code == 0
    assert fake.calls[-1][1][2] == {
        "engine": "swift",
        "options": {},
        "max_bytes": 4096,
        "max_threads": 9,
    }
    target.touch()
    assert invoke("convert", heap, target, "--engine", "swift").exit_code == 2
    assert invoke("convert", heap, tmp_path / "other", "--engine", "swift,steady").exit_code == 2


def test_sim_runs_each_seed_and_says_which(fake, invoke):
    result = invoke(
        "sim", "ring", "--engine", "swift", "--seed", "3,4", "--jobs", "1", "--json", "-"
    )
    assert result.exit_code == 0, result.stderr
    assert [spec["seed"] for _, (spec,) in fake.calls] == [3, 4]
    names = [entry["name"] for entry in json.loads(result.stdout)["benchmarks"]]
    assert [name.rpartition("/")[2] for name in names] == ["seed:3", "seed:4"]


def test_sim_prints_the_findings_of_the_lint(fake, invoke):
    assert "lint" not in invoke("sim", "ring", "--engine", "swift", "--jobs", "1").stdout
    assert "found nothing" in invoke("sim", "ring", "--engine", "swift", "--lint").stdout
    fake.lint = [
        {"what": "redundant write-back", "where": "swift.data", "count": 1234, "example": 4096},
        {
            "what": "fence with nothing to order",
            "where": "swift.fence",
            "count": 7,
            "example": None,
        },
    ]
    result = invoke("sim", "ring", "--engine", "swift", "--lint", "--json", "-")
    assert [spec["lint"] for _, (spec,) in fake.calls] == [False, True, True]
    for text in ("redundant write-back", "swift.data", "1,234", "0x1000", "swift.fence"):
        assert text in result.stderr
    assert json.loads(result.stdout)["benchmarks"][0]["lint"] == fake.lint


def test_a_database_that_could_not_be_verified_is_a_problem(monkeypatch, tmp_path):
    def found_by(told):
        def refuse(*_args, **_options):
            raise errors.database_error("misuse", told)

        monkeypatch.setattr("holdfast.open", refuse)
        facts = {"roots": [{"name": "holdfast.db"}], "problems": []}
        return heap_file.verified(tmp_path, facts)

    found = found_by("the database is ordered by comparator reverse")
    assert found["ok"] and found["roots"][0]["check"].startswith("ok, except for the order")
    found = found_by("the engine keeps nothing over a crash")
    assert not found["ok"] and found["problems"] == [found["roots"][0]["check"]]
