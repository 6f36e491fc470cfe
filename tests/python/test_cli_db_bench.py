# SPDX-License-Identifier: Apache-2.0
"""Does `holdfast db bench` take db_bench's flags and YCSB's files, and name the winners?"""

import json
import re

import pytest

from holdfast import errors
from holdfast.cli.db import ycsb

# The pattern that programs look for in db_bench's output.
_LINE = re.compile(
    r"^(\S+) +: +([0-9.]+) micros/op;(?: +([0-9.]+) MB/s)?(?: \((\d+) of (\d+) found\))?"
)


def told(result):
    return " ".join(result.output.split())


def asked(fake):
    return next(arguments[0] for name, arguments in fake.calls if name == "db_bench")


def test_flags_reach_the_core(invoke, fake):
    line = "--benchmarks=fillseq,readrandom --num=5000 --reads 100 --value_size=32 --threads 2"
    ours = "--db /somewhere --engine steady,swift --domain process,file --rounds 4 --seed 9 --sync"
    option = "--option swift.log_entries=8"
    result = invoke("db", "bench", *line.split(), *ours.split(), *option.split())
    assert result.exit_code == 0, result.output
    spec = asked(fake)
    assert spec["benchmarks"] == ["fillseq", "readrandom"]
    assert (spec["num"], spec["reads"], spec["value_size"], spec["threads"]) == (5000, 100, 32, 2)
    assert (spec["engines"], spec["domains"]) == (["steady", "swift"], ["process", "file"])
    assert (spec["options"], spec["rounds"], spec["seed"]) == ({"swift.log_entries": "8"}, 4, 9)
    assert (spec["dir"], spec["sync"], spec["each"], spec["peers"]) == (
        "/somewhere",
        "always",
        False,
        [],
    )


def test_a_journal_reaches_the_core_if_one_is_given(invoke, fake):
    line = ("db", "bench", "--benchmarks", "fillseq", "--engine", "steady")
    assert invoke(*line).exit_code == 0
    assert "journal_bytes" not in asked(fake)
    for given in 65536, 0:
        fake.calls.clear()
        assert invoke(*line, "--journal-bytes", given).exit_code == 0
        assert asked(fake)["journal_bytes"] == given


def test_lines_look_like_db_bench(invoke, fake):
    result = invoke(
        "db", "bench", "--benchmarks", "fillseq,readrandom", "--engine", "steady", "--histogram"
    )
    lines = [found.groups() for text in result.stdout.splitlines() if (found := _LINE.match(text))]
    assert lines == [
        ("fillseq", "1.000", "47.2", None, None),
        ("readrandom", "1.000", None, "63", "100"),
    ]
    assert (
        "fillseq      :       1.000 micros/op;   47.2 MB/s [holdfast/steady/file, writes survive"
        in result.stdout
    )
    assert "P99.9: 9.000" in result.stdout and asked(fake)["each"]


def test_peers_run_beside_it_and_where_one_wins_is_said(invoke, fake):
    result = invoke(
        "db",
        "bench",
        "--benchmarks",
        "fillseq,readseq",
        "--engine",
        "steady",
        "--peers",
        "--json",
        "-",
    )
    assert result.exit_code == 0, result.output
    assert asked(fake)["peers"] == ["leveldb", "lmdb"] and asked(fake)["rounds"] == 3
    assert re.search(
        r"readseq +a peer wins: leveldb .* at 2 times the rate of holdfast/steady/file",
        result.stderr,
    )
    assert re.search(
        r"fillseq +HoldfastDB wins: .* at 2 times the rate of the best peer, leveldb", result.stderr
    )
    assert "lmdb: not built: install liblmdb-dev" in result.stderr
    found = json.loads(result.stdout)["comparison"]
    assert [(one["benchmark"], one["ratio"], one["overlap"]) for one in found] == [
        ("fillseq", 0.5, False),
        ("readseq", 2.0, False),
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("--benchmarks fillsec", ("no benchmark 'fillsec'", "did you mean fillseq?", "readrandom")),
        ("--engine redo", ("no engine 'redo'",)),
        ("--domain fiel", ("no domain 'fiel'", "did you mean file?")),
        ("--num 0", ("--num",)),
        ("--value_size many", ("--value_size",)),
        ("--ycsb none.properties", ("none.properties", "cannot be read")),
        ("--ycsb g", ("a, b, c, d, e, f",)),
        ("--option x=1", ("no option 'x'",)),
    ],
)
def test_bad_input_is_reported(invoke, fake, arguments, expected):
    result = invoke(
        "db", "bench", "--benchmarks", "fillseq", "--engine", "steady", *arguments.split()
    )
    assert result.exit_code == 2
    for words in expected:
        assert words in told(result)


def test_a_store_that_failed_makes_the_verb_fail(invoke, fake):
    fake.extra_entries = [
        {
            "name": "x",
            "run_type": "iteration",
            "error_occurred": True,
            "error_message": "corrupt: bad",
        }
    ]
    result = invoke("db", "bench", "--benchmarks", "fillseq", "--engine", "steady")
    assert result.exit_code == 1 and "bad" in result.output


@pytest.mark.parametrize(
    ("letter", "shares", "request_"),
    [
        ("a", {"read": 0.5, "update": 0.5}, "zipfian"),
        ("b", {"read": 0.95, "update": 0.05}, "zipfian"),
        ("c", {"read": 1}, "zipfian"),
        ("d", {"read": 0.95, "insert": 0.05}, "latest"),
        ("e", {"scan": 0.95, "insert": 0.05}, "zipfian"),
        ("f", {"read": 0.5, "readmodifywrite": 0.5}, "zipfian"),
    ],
)
def test_the_six_workloads_are_there(letter, shares, request_):
    found = ycsb.read(letter)
    assert found.name == f"ycsb-{letter}" and found.requestdistribution == request_
    kinds = {
        name.removesuffix("proportion"): share
        for name, share in found.json().items()
        if name.endswith("proportion")
    }
    assert {kind: share for kind, share in kinds.items() if share} == shares


def test_property_files_are_read_as_java_reads_them():
    text = """
        # a comment = 1
        ! another
        recordcount = 20
        readproportion:0.25
        updateproportion .75
        requestdistribution=\\
           latest
        measurement.type=histogram
        workload=site.ycsb.workloads.CoreWorkload
    """
    assert ycsb.parse(text, "x", "mine") == ycsb.Workload(
        name="mine",
        recordcount=20,
        readproportion=0.25,
        updateproportion=0.75,
        requestdistribution="latest",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "recordcount=ten",
            "x: line 1: recordcount is a whole number from 1 to 1,099,511,627,776, not 'ten'",
        ),
        ("\nreadproportion=-1", "x: line 2: readproportion is a number"),
        ("requestdistribution=hotspot", "uniform or zipfian or latest, not 'hotspot'"),
        ("recordcuont=1", "no property 'recordcuont'; did you mean recordcount?"),
        ("qqq=1", "no property 'qqq'; there are recordcount"),
        ("readproportion=0\nscanproportion=0", "all proportions are zero"),
    ],
)
def test_property_files_that_are_wrong(text, expected):
    with pytest.raises(errors.BadUsage) as caught:
        ycsb.parse(text, "x", "mine")
    assert expected in str(caught.value)


def test_the_command_line_goes_before_the_file(invoke, fake):
    assert (
        invoke(
            "db", "bench", "--ycsb", "a", "--num", "30", "--reads", "40", "--engine", "steady"
        ).exit_code
        == 0
    )
    (workload,) = asked(fake)["benchmarks"]
    assert (workload["recordcount"], workload["operationcount"]) == (30, 40)


def test_all_workloads_of_ycsb_run(invoke, tmp_path):
    letters = [part for letter in ycsb.LETTERS for part in ("--ycsb", letter)]
    sizes = (
        "--num",
        "50",
        "--reads",
        "100",
        "--db",
        tmp_path,
        "--domain",
        "process",
        "--peers",
        "--rounds",
        "1",
    )
    result = invoke("db", "bench", *letters, *sizes, "--json", "-")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    medians = [entry for entry in report["benchmarks"] if entry["run_type"] == "aggregate"]
    assert len(medians) == 12 * len(report["context"]["stores"])
    for entry in medians:
        assert entry["operations_done"] == (50 if entry["benchmark"].endswith("-load") else 100)
        assert entry.get("found") == entry.get("looked")
    assert list(tmp_path.iterdir()) == []


def test_the_real_command(command):
    done = command(
        "db", "bench", "--benchmarks", "fillseq,readseq", "--num", "100", "--domain", "process"
    )
    assert len([text for text in done.stdout.splitlines() if _LINE.match(text)]) == 2
