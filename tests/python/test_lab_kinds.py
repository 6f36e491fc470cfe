# SPDX-License-Identifier: Apache-2.0
"""Are recoveries and key-value stores measured as docs/reference/reproduce.md says?"""

import json

import pytest

import sample
from holdfast import core, errors, fleet
from holdfast.lab import cells, claims, figures, kinds, metrics, runs
from holdfast.lab.cache import Cache
from holdfast.results import Entry

_STORES = """
id = "figure"
paper = "toy"
title = "stores"
reference = "nowhere"

[common]
kind = "db"
machine = "native"
engines = ["ONE", "OTHER"]
values = [1, 4096]
params = { num = 300 }

[[panel]]
id = "read"
title = "reads"
workload = "readseq"
"""

_ONE, _OTHER = sample.BOTH
_STORES = _STORES.replace("ONE", _ONE).replace("OTHER", _OTHER)

_BENCH = """
id = "figure"
paper = "toy"
title = "swaps"
reference = "nowhere"

[common]
kind = "bench"
workload = "sps"
machine = "native"
engines = ["romulus-log", "pmdk-like"]
axis = "params.swaps"
values = [1, 50]
threads = 1
duration_us = 20_000
warm_up_us = 0
params = { entries = 100 }
options = { "pmdk-like.readers_first" = 1 }

[[panel]]
id = "swaps"
title = "swaps"
"""

_RECOVERY = """
id = "figure"
paper = "toy"
title = "recovery"
reference = "nowhere"

[common]
kind = "recovery"
workload = "map"
machine = "tiny"
engines = ["romulus-log", "undo"]
axis = "params.size"
values = [50, 30_000]
duration_us = 5
warm_up_us = 0
params = { update = 100 }
metric = "recovery_us"

[[panel]]
id = "time"
title = "time"
"""


def _figure(tmp_path, text: str) -> figures.Figure:
    path = tmp_path / "figure.toml"
    path.write_text(text)
    return figures.load(path)


def test_stores_of_a_panel_run_side_by_side_and_once(tmp_path):
    panel = _figure(tmp_path, _STORES).panel("read")
    wanted = list(panel.cells())
    outcomes = dict(
        zip(
            ((c.series, c.x) for c in wanted),
            runs.run_all(wanted, 2, Cache(tmp_path / "kept")),
            strict=True,
        )
    )
    assert len(list((tmp_path / "kept").glob("*.json"))) == 1, "one run for both stores"
    for engine in panel.engines:
        entry = outcomes[engine, 1].entry
        assert entry.benchmark == "readseq" and f"/{engine}/" in entry.store
        assert entry.items_per_second > 0 and entry.json["repetitions"] == 3
        assert (
            outcomes[engine, 4096].reason
            == f"takes 4096 cores of this computer, which has {fleet.cores()}"
        )


def test_stores_that_are_not_there_are_not_run(tmp_path):
    panel = _figure(tmp_path, _STORES.replace(f'"{_OTHER}"', '"berkeley"')).panel("read")
    outcomes = _of_one_thread(panel, tmp_path)
    assert (
        outcomes["berkeley"].state == "not run"
        and "berkeley was not there" in outcomes["berkeley"].reason
    )
    assert outcomes[_ONE].entry.items_per_second > 0


def test_a_peer_that_is_not_built_takes_no_run_away(tmp_path, monkeypatch):
    catalog = core.db_bench_catalog()
    for peer in catalog["peers"]:
        peer["missing"] = "not built: install it" if peer["name"] == "lmdb" else ""
    monkeypatch.setattr(core, "db_bench_catalog", lambda: catalog)
    panel = _figure(tmp_path, _STORES.replace(f'"{_OTHER}"', '"lmdb"')).panel("read")
    outcomes = _of_one_thread(panel, tmp_path)
    assert (
        outcomes["lmdb"].state == "not run"
        and outcomes["lmdb"].reason == "lmdb is not built: install it"
    )
    assert outcomes[_ONE].entry.items_per_second > 0
    (cell,) = (cell for cell in panel.cells() if cell.series == _ONE and cell.x == 1)
    assert cell.spec.engines == [_ONE], "with lmdb it is another run"


def _of_one_thread(panel: figures.Panel, tmp_path) -> dict[str, cells.Outcome]:
    wanted = [cell for cell in panel.cells() if cell.x == 1]
    outcomes = runs.run_all(wanted, 1, Cache(tmp_path / "kept"))
    return {cell.series: outcome for cell, outcome in zip(wanted, outcomes, strict=True)}


def test_the_axis_of_stores_is_threads(tmp_path):
    with pytest.raises(errors.BadUsage, match="kind db it must be threads"):
        _figure(
            tmp_path,
            _STORES.replace('machine = "native"', 'machine = "native"\naxis = "params.num"'),
        )


def test_engines_are_measured_in_turns_on_this_computer(tmp_path):
    wanted = list(_figure(tmp_path, _BENCH).panel("swaps").cells())
    outcomes = runs.run_all(wanted, 2, Cache(tmp_path / "kept"))
    assert len(list((tmp_path / "kept").glob("*.json"))) == 2, "one run for each number of swaps"
    rates = {(c.series, c.x): outcome.entry for c, outcome in zip(wanted, outcomes, strict=True)}
    for (engine, swaps), entry in rates.items():
        assert entry.engine == engine and entry.json["repetitions"] >= 5
        assert entry.json["domain"].startswith("pmem"), "the domain asked for, emulated or not"
        assert entry.fences_per_update >= (2 * swaps if engine == "pmdk-like" else 1)
        for column in kinds.KINDS["bench"].columns:
            assert metrics.if_measured(entry, column) is not None, column


def test_attempts_of_this_computer_are_commits_and_aborts():
    entry = Entry(
        json={},
        update_commits=60,
        aborts={"conflict": 10, "explicit": 30},
        explicit_aborts={"alias": 20, "lock": 10},
    )
    assert metrics.value(entry, "attempts") == 100
    assert metrics.value(entry, "abort_share") == 0.4
    assert metrics.value(entry, "abort_share_conflict") == 0.1
    assert metrics.value(entry, "abort_share_alias") == 0.2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('"pmdk-like"]', '"perpetuum"]'), "engine perpetuum does not exist yet"),
        (
            ("threads = 1", "threads = 4096"),
            f"takes 4096 cores of this computer, which has {fleet.cores()}",
        ),
    ],
)
def test_a_cell_that_this_computer_cannot_measure_is_not_run(tmp_path, change, reason):
    panel = _figure(tmp_path, _BENCH.replace(*change)).panel("swaps")
    outcomes = runs.run_all(list(panel.cells()), 1, Cache(tmp_path / "kept"))
    assert {(outcome.state, outcome.reason) for outcome in outcomes} == {("not run", reason)}


def test_this_computer_has_no_values_to_set(tmp_path):
    with pytest.raises(errors.BadUsage, match="kind bench it must be threads or params"):
        _figure(tmp_path, _BENCH.replace("params.swaps", "set.htm.load_lines"))


def test_recovery_takes_longer_where_there_is_more_to_copy(tmp_path):
    panel = _figure(tmp_path, _RECOVERY).panel("time")
    entries = {(c.series, c.x): cells.run(c.job) for c in panel.cells()}
    for engine in panel.engines:
        assert entries[engine, 50]["recovery"]["needed"]
        assert entries[engine, 50]["recovery"]["seconds"] > 0
    small, large = (entries["romulus-log", size]["recovery"] for size in (50, 30_000))
    assert large["bytes"] > small["bytes"] and large["seconds"] > small["seconds"]
    undone = entries["undo", 30_000]["recovery"]
    assert undone["transactions"] == 1 and undone["bytes"] < large["bytes"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"params": {"update": "0"}}, "does not update"),
        ({"engines": [sample.VOLATILE]}, "not durable"),
        ({"replayers": [1], "engines": [sample.REPLAYED]}, "not after log replay"),
    ],
)
def test_where_there_is_nothing_to_recover_it_says_so(change, said):
    spec = {
        "workload": "map",
        "engines": [_ONE],
        "threads": [1],
        "transactions": 5,
        "recovery": True,
    }
    try:
        report = core.sim(spec | change)
        text = report["benchmarks"][0]["error_message"]
    except errors.Failure as failure:
        text = str(failure)
    assert said in text


def test_the_command_shows_recoveries(tmp_path, invoke):
    out = tmp_path / "out.json"
    result = invoke(
        "sim", "map", "--engine", _ONE, "--transactions", "20", "--param", "size=50",
        "--recovery", "--json", str(out),
    )  # fmt: skip
    assert result.exit_code == 0 and "recovery" in result.output
    assert json.loads(out.read_text())["benchmarks"][0]["check"] == "ok"


@pytest.mark.parametrize(("paper", "letter", "count"), [("romulus", "R", 10), ("cc-htm", "C", 8)])
def test_the_claims_of_a_paper_are_all_there(paper, letter, count):
    groups = {claim.group for claim in claims.load(figures.load_all()) if claim.paper == paper}
    simulated = {f"{letter}{number}" for number in range(1, count + 1)}
    # Those that this computer judges again have the same numbers.
    silicon = {group for group in groups if group.startswith(f"{letter}S")}
    assert groups - silicon == simulated
    assert {group.replace("S", "", 1) for group in silicon} <= simulated
