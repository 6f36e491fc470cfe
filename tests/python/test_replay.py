# SPDX-License-Identifier: Apache-2.0
"""Does `bench replay` ask the core for the right replays, and does the real core make them?"""

import json
from pathlib import Path

import sample
from holdfast.lab import figures


def test_bench_replay_is_a_verb_of_two_words(fake, invoke):
    line = "bench replay bank --engine swift --threads 1,8 --replayers 1,2 --filter"
    line += " --transactions 50 --seed 9"
    result = invoke(
        *line.split(), "--param", "accounts=7", "--option", "swift.log_entries=64", "--json", "-"
    )
    assert result.exit_code == 0, result.stderr
    ((verb, (spec,)),) = fake.calls
    assert verb == "replay"
    assert (spec["workload"], spec["engines"], spec["params"]) == (
        "bank",
        ["swift"],
        {"accounts": "7"},
    )
    assert (spec["threads"], spec["replayers"], spec["filter"]) == ([1, 8], [1, 2], True)
    assert (spec["transactions"], spec["seed"]) == (50, 9)
    assert len(json.loads(result.stdout)["benchmarks"]) == 4
    for text in ("replayers", "4,200", "500 ms", "32.8 KiB"):
        assert text in result.stderr


def test_on_a_simulated_machine_it_is_a_simulated_run(fake, invoke):
    result = invoke("bench", "replay", "bank", "--machine", "abacus", "--replayers", "3")
    assert result.exit_code == 0, result.stderr
    ((verb, (spec,)),) = fake.calls
    assert (verb, spec["machine"], spec["engines"], spec["replayers"]) == (
        "sim",
        "abacus",
        ["swift"],
        [3],
    )
    assert "100 us" in result.stdout


def test_bench_goes_on_as_a_verb_of_one_word(fake, invoke):
    assert invoke("bench", "bank", "--engine", "swift").exit_code == 0
    assert fake.calls[0][0] == "bench"
    assert "--replayers" in invoke("bench", "replay", "--help").stdout
    assert "--replayers" not in invoke("bench", "--help").stdout


def test_an_engine_without_such_a_log_is_refused(fake, invoke):
    result = invoke("bench", "replay", "bank", "--engine", "swift,steady")
    assert result.exit_code == 2
    assert "engine steady keeps no redo log" in result.stderr and "swift" in result.stderr
    assert not fake.calls


def test_cells_of_figure_10_ask_for_one_replayer():
    figure = figures.load(Path(__file__).parents[2] / "experiments/figures/fur-10.toml")
    specs = [cell.spec for cell in figure.cells()]
    assert {cell.kind for cell in figure.cells()} == {"replay"}
    assert all(spec.replayers == [1] and spec.filter is False for spec in specs)
    assert all(spec.params["stores"] == "20" for spec in specs), "1 to 20 stores (FUR 4.5)"


_ONE, _OTHER = sample.REPLAYED, sample.OTHER_REPLAYED
_SMALL = ("--threads", 2, "--transactions", 60, "--param", "entries=3000", "--param", "stores=20")


def test_the_real_core_replays_and_checks_the_workload(command_json):
    for machine in ("native", "tiny"):
        report = command_json(
            "bench", "replay", "sps", "--engine", f"{_ONE},{_OTHER}", "--machine", machine,
            "--replayers", "1,2", "--repetitions", 1, *_SMALL,
        )  # fmt: skip
        entries = report["benchmarks"]
        assert [(e["engine"], e["replayers"]) for e in entries] == [
            (_ONE, 1), (_ONE, 2), (_OTHER, 1), (_OTHER, 2)
        ]  # fmt: skip
        for entry in entries:
            assert (entry["iterations"], entry["check"]) == (120, "ok")
            assert entry["bytes_written"] == 8 * entry["words"] and entry["items_per_second"] > 0
        assert len({entry["words"] for entry in entries}) == 1, "the same transactions"


def test_filtering_leaves_out_overwritten_values(command_json):
    def run(*more):
        return command_json(
            "bench", "replay", "sps", "--engine", _OTHER, "--machine", "tiny", *_SMALL, *more
        )["benchmarks"][0]

    plain, filtered, again = run(), run("--filter"), run("--filter")
    assert (
        filtered["words"] == plain["words"] and filtered["bytes_written"] < plain["bytes_written"]
    )
    assert filtered["simulated_seconds"] == again["simulated_seconds"], (
        "simulated time repeats itself"
    )


def test_a_log_that_is_too_small_is_an_error_with_a_remedy(command):
    done = command(
        "bench", "replay", "sps", "--engine", _ONE, "--option", "log_bytes=65536",
        "--threads", 2, "--transactions", 3000, "--param", "entries=3000", "--param", "stores=20",
        status=3,
    )  # fmt: skip
    assert "log_bytes" in done.stderr and "fewer transactions" in done.stderr
