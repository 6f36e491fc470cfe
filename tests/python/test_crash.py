# SPDX-License-Identifier: Apache-2.0
"""Does `crash` pass on its arguments, merge reports, and print commands that repeat a finding?"""

import json
import shlex

import pytest

import fake_core
from holdfast import fleet
from holdfast.specs import CrashSpec

_EVERYTHING = (
    "crash registers --engine swift --machine abacus --design moat --design-option depth=4 "
    "--schedule timed --schedules 7 --points 30 --images 5 --crash-recovery 2 --go-on 3 "
    "--program-seed 8 --mutate swift.log.fence=drop --mutate swift.log.fence=swap --weak-rmw "
    "--preemptions 4 --drains 1 --switch-probability 0.05 --drain-probability 0.5 "
    "--domain eadr --param reads=60 --param prelude=0 "
    "--option swift.log_entries=8 --seed 11 --no-minimise"
)


def _specs(fake):
    assert {verb for verb, _ in fake.calls} == {"crash"}
    return [spec for _, (spec,) in fake.calls]


def test_everything_said_reaches_the_core(fake, invoke):
    result = invoke(*shlex.split(_EVERYTHING), "--program", "w0; s | x w1")
    assert result.exit_code == 0, result.stderr
    assert _specs(fake) == [
        {
            "workload": "registers",
            "engine": "swift",
            "machine": "abacus",
            "design": "moat",
            "design_options": {"depth": "4"},
            "schedule": "timed",
            "schedules": 7,
            "points": 30,
            "images": 5,
            "crash_recovery": 2,
            "go_on": 3,
            "program": "w0; s | x w1",
            "program_seed": 8,
            "mutations": ["swift.log.fence=drop", "swift.log.fence=swap"],
            "rmw_orders_pwb": False,
            "preemptions": 4,
            "drains": 1,
            "switch_probability": 0.05,
            "drain_probability": 0.5,
            "domain": "eadr",
            "params": {"reads": "60", "prelude": "0"},
            "options": {"swift.log_entries": "8"},
            "seed": 11,
            "minimise": False,
        }
    ]


def test_by_itself_it_searches_registers_on_every_engine(fake, invoke):
    assert invoke("crash").exit_code == 0
    specs = _specs(fake)
    assert {spec["engine"] for spec in specs} == {"steady", "swift", "odd"}
    first = specs[0]
    assert (first["workload"], first["machine"], first["points"], first["minimise"]) == (
        "registers",
        "sim",
        0,
        True,
    )
    assert "domain" not in first and "point" not in first, "the core's own choice"


def test_seeds_are_divided_and_each_is_searched_once(fake, invoke):
    result = invoke(
        "crash",
        "--engine",
        "steady,swift",
        "--schedules",
        "25",
        "--seed",
        "3",
        "--json",
        "-",
    )
    assert result.exit_code == 0, result.stderr
    for engine in ("steady", "swift"):
        parts = [spec for spec in _specs(fake) if spec["engine"] == engine]
        assert len(parts) > 1
        seeds = [
            seed for part in parts for seed in range(part["seed"], part["seed"] + part["schedules"])
        ]
        assert seeds == list(range(3, 28))
    report = json.loads(result.stdout)
    assert report["engine"] == "steady,swift"
    assert (report["points"], report["schedules"], report["images"]) == (500, 50, 1000)
    assert report["violations"] == []
    steady, swift = report["engines"]
    assert steady["coverage"]["explored"] == swift["coverage"]["explored"] == 750
    assert steady["sites"][0]["count"] == 3 * len(parts)
    assert "1,500 / 42" not in result.stderr and "750 / 21" in result.stderr, "a line per engine"


def test_rare_paths_are_counted_over_all_parts(fake, invoke):
    result = invoke("crash", "--engine", "steady", "--schedules", "25", "--json", "-")
    assert len(_specs(fake)) > 1
    assert json.loads(result.stdout)["probes"] == {"steady.log_full": 50}
    assert "steady: rare paths taken: steady.log_full 50" in result.stderr


def test_numbers_of_parts_become_those_of_the_search(fake, invoke):
    result = invoke("crash", "--engine", "steady", "--schedules", "25", "--json", "-")
    parts, report = _specs(fake), json.loads(result.stdout)
    assert len(parts) > 1
    assert report["coverage"]["epochs"] == max(part["seed"] for part in parts), "a maximum"
    assert report["mutated"] == len(parts) and report["mutated_in_creation"] == 2 * len(parts)
    assert {site["name"]: site["only_in_creation"] for site in report["sites"]} == {
        "steady.log.fence": False,  # in the first part alone
        "steady.head.fence": True,
    }


def test_a_long_search_has_few_parts():
    for schedules in (1, 25, 10_000, 123_456, 10**6):
        parts = fleet._parts(CrashSpec(workload="registers", seed=7, schedules=schedules))
        assert len(parts) <= 1000
        ends = [part.seed + part.schedules for part in parts]
        assert [part.seed for part in parts] == [7, *ends[:-1]] and ends[-1] == 7 + schedules


def test_an_exhaustive_search_stays_whole(fake, invoke):
    arguments = ("--engine", "steady", "--schedule", "exhaustive", "--schedules", "500")
    assert invoke("crash", *arguments).exit_code == 0
    assert [spec["schedules"] for spec in _specs(fake)] == [500]


def test_a_violation_is_exit_status_1_and_ends_the_search_of_its_engine(fake, invoke):
    fake.bad_seeds = {("steady", 5), ("steady", 77), ("swift", 100)}
    result = invoke("crash", "--engine", "steady,swift", "--json", "-")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert [(v["engine"], v["seed"]) for v in report["violations"]] == [
        ("steady", 5),
        ("swift", 100),
    ]
    assert [one["schedules"] for one in report["engines"]] == [5, 100]
    assert max(spec["seed"] for spec in _specs(fake) if spec["engine"] == "steady") < 77
    for text in (
        "lost update",
        "T1 was answered and is gone",
        "w0 w1 | s",
        "before persist event 12",
    ):
        assert text in result.stderr
    for found in report["violations"]:
        assert f"again: {found['replay']}" in result.stderr
    assert "2 violations" in result.stderr


@pytest.mark.parametrize(
    "line",
    [
        _EVERYTHING,
        "crash --engine steady",
        "crash bank --engine steady --param accounts=3",
        "crash --engine steady --schedule exhaustive --program 'w0; x w1 | s' --schedules 9",
    ],
)
def test_the_command_of_a_violation_repeats_the_spec_of_the_core(fake, invoke, line):
    words = shlex.split(line)
    engine = words[words.index("--engine") + 1]
    fake.bad_seeds = {(engine, 13 if "--seed" in words else 6)}
    shown = invoke(*words, "--json", "-")
    assert shown.exit_code == 1
    (found,) = json.loads(shown.stdout)["violations"]
    wanted = fake_core.violation(_specs(fake)[-1], found["seed"])["replay"]
    fake.calls.clear()
    command = shlex.split(found["replay"])
    assert command[0] == "holdfast"
    again = invoke(*command[1:])
    assert again.exit_code == 1
    assert _specs(fake) == [wanted]
    assert f"again: {found['replay']}" in again.stdout, "and it says so again"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("nonsense",), ("bank", "ring")),
        (("--engine", "nonsense"), ("steady", "swift")),
        (("--machine", "native"), ("sim", "abacus")),
        (("--option", "nonsense=1"), ("log_entries",)),
        (("--param", "nonsense"), ("name=value",)),
        (("--points", "some"), ("all", "number")),
        (("--points", "0"), ("all", "number")),
        (("--points", "3", "--point", "3"), ("give one",)),
        (("--schedules", "0"), ("--schedules",)),
    ],
)
def test_bad_usage_is_exit_status_2_before_anything_runs(fake, invoke, arguments, expected):
    result = invoke("crash", *arguments)
    assert result.exit_code == 2
    assert all(text in result.stderr for text in expected)
    assert not fake.calls


def test_a_site_that_no_run_met_is_bad_usage(fake, invoke):
    result = invoke("crash", "--engine", "steady,swift", "--mutate", "swift.lgo.fence=drop")
    assert result.exit_code == 2
    assert "did you mean swift.log.fence?" in result.stderr and "steady.log.fence" in result.stderr


@pytest.mark.parametrize(
    ("code", "status"), [("invalid argument", 2), ("out of space", 2), ("i/o error", 3)]
)
def test_failures_of_the_core_have_their_exit_status(fake, invoke, code, status):
    fake.failing = fake_core.Error(code, "what was found")
    result = invoke("crash", "--engine", "steady")
    assert result.exit_code == status
    assert "what was found" in result.stderr
    assert ("log_bytes" in result.stderr) == (code == "out of space")


def test_engines_that_keep_nothing_are_refused_by_name_and_left_out_of_all(command):
    for verb in (("crash", "bank"), ("demo", "--quick")):
        said = command(*verb, "--engine", "htm", status=2).stderr
        assert "engine htm keeps nothing over a crash" in said
    searched = command("crash", "bank", "--schedules", "1", "--points", "1").stdout
    assert "spht" in searched and "romulus" in searched
    assert " htm " not in searched and " si-htm " not in searched


_MOAT = ("crash", "--engine", "steady", "--design", "moat", "--machine", "abacus")


def test_coverage_of_a_design_is_summed_over_parts(fake, invoke):
    result = invoke(*_MOAT, "--schedules", "25", "--coverage", "--json", "-")
    assert result.exit_code == 0, result.stderr
    assert len(_specs(fake)) > 1
    report = json.loads(result.stdout)
    assert report["design_coverage"] == [
        {"name": "digs", "met": 125, "behind": 100},
        {"name": "drains", "met": 3, "behind": 3},
        {"name": "overflows", "met": 0, "behind": 0},
    ]
    assert report["uncovered"] == ["overflows"], "covered by one part is covered"
    assert "no crash point behind: overflows" in result.stderr
    assert "crash points behind" in result.stderr and "125" in result.stderr


def test_without_the_flag_only_the_uncovered_parts_of_a_design_are_shown(fake, invoke):
    result = invoke(*_MOAT, "--schedules", "10")
    assert "no crash point behind: overflows" in result.stdout
    assert "digs" not in result.stdout


def test_mutants_are_one_search_with_fewer_schedules(fake, invoke):
    result = invoke(*_MOAT, "--mutants", "--json", "-")
    assert result.exit_code == 0, result.stderr
    (spec,) = _specs(fake)
    assert (spec["mutants"], spec["schedules"]) == (200, 20)
    assert json.loads(result.stdout)["mutants"] == fake.mutants
    assert "100 planted, 54 of 60 caught" in result.stderr
    assert "survivor" not in result.stderr
    fake.calls.clear()
    invoke(*_MOAT, "--mutants", "--mutants-per-kind", "7", "--schedules", "3")
    (spec,) = _specs(fake)
    assert (spec["mutants"], spec["schedules"]) == (7, 3)


def test_mutants_that_survive_are_exit_status_1(fake, invoke):
    fake.mutants |= {"caught": 53}  # one more is enough
    result = invoke(*_MOAT, "--mutants")
    assert result.exit_code == 1, "53 of 60"
    assert "fewer than 90 %" in result.stderr
    assert "survivor: flags 5, drop" in result.stdout


def test_few_mutants_are_said_to_be_few(fake, invoke):
    fake.mutants |= {"planted": 70, "caught": 30, "survivors": []}
    assert "fewer than 30" not in invoke(*_MOAT, "--mutants").stdout
    fake.mutants |= {"planted": 69, "caught": 29}
    result = invoke(*_MOAT, "--mutants")
    assert "fewer than 30 mutants count" in result.stdout and result.exit_code == 0


def test_a_violation_of_the_sound_design_comes_before_its_mutants(fake, invoke):
    fake.bad_seeds = {("steady", 4)}
    fake.mutants = dict.fromkeys(("planted", "caught", "equivalent", "masked"), 0)
    fake.mutants["survivors"] = []
    result = invoke(*_MOAT, "--mutants")
    assert result.exit_code == 1
    assert "1 violation" in result.stderr and "mutants:" not in result.stdout


@pytest.mark.parametrize("flag", ["--mutants", "--coverage"])
def test_without_a_design_there_is_nothing_to_mutate_or_cover(fake, invoke, flag):
    result = invoke("crash", "--engine", "steady", flag)
    assert result.exit_code == 2 and "--design" in result.stderr
    assert not fake.calls
