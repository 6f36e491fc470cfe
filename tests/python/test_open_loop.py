# SPDX-License-Identifier: Apache-2.0
"""Are response times and pending updates measured as docs/reference/figures-and-claims.md says?"""

import csv
import json

import pytest

import sample
from holdfast import errors
from holdfast.lab import cells, draw, figures, kinds, metrics, report, results

_FIGURE = """
id = "figure"
paper = "toy"
title = "arrivals"
reference = "nowhere"

[common]
workload = "sps"
machine = "tiny"
engines = ["LAGGING"]
params = { entries = 200 }
options = { lag = 4 }
threads = 2
duration_us = 300
warm_up_us = 30

[[panel]]
id = "response"
title = "response"
axis = "arrivals"
values = [20_000, 50_000_000]
metric = "response_mean"

[[panel]]
id = "pending"
title = "pending"
values = [2]
gauge_us = 5
metric = "pending_max"
rows = ["throughput", "pending"]

[[panel]]
id = "work"
title = "time for 400 transactions"
values = [1, 2]
work = 400
metric = "time_us"
"""
_ENGINE = sample.LAGGING[0]


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> results.Results:
    path = tmp_path_factory.mktemp("figure") / "figure.toml"
    path.write_text(_FIGURE.replace("LAGGING", _ENGINE))
    figure = figures.load(path)
    outcomes = [
        (cell, cells.Outcome("ok", cell.own(cells.run(cell.job)))) for cell in figure.cells()
    ]
    return results.Results({figure.id: figure}, outcomes)


def _series(measured: results.Results, metric: str, panel: str) -> dict:
    points = measured.points(measured.figures["figure"].panel(panel), _ENGINE, metric)
    return {point.x: point.mean for point in points}


def test_more_arrivals_than_the_threads_can_serve_wait(measured):
    response = _series(measured, "response_mean", "response")
    queued = _series(measured, "queued", "response")
    calm, busy = response
    assert queued[calm] == 0 and queued[busy] > 0
    assert response[busy] > 5 * response[calm]
    assert 20_000 * 300e-6 * 0.2 < _series(measured, "update_commits", "response")[calm] < 20


def test_the_percentiles_are_in_order(measured):
    names = ["p50", "p90", "p99", "p999", "max"]
    found = [_series(measured, f"response_{name}", "response")[20_000] for name in names]
    assert found == sorted(found) and found[0] > 0
    assert set(metrics.RESPONSE) == {"mean", *names}


def test_a_fixed_work_is_shared_by_the_threads(measured):
    panel = measured.figures["figure"].panel("work")
    assert [cell.spec.transactions for cell in panel.cells()] == [400, 200]
    assert set(_series(measured, "update_commits", "work").values()) == {400}
    time, rate = _series(measured, "time_us", "work"), _series(measured, "tput", "work")
    assert {x: round(time[x] * rate[x] / 1e6) for x in time} == {1: 400, 2: 400}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("work = 400", "work = 401", "401 transactions is no multiple of 2 threads"),
        ("work = 400", 'work = 400\nkind = "bench"', "work is for cells of kinds sim and recovery"),
    ],
)
def test_a_work_that_cannot_be_shared_is_refused(tmp_path, old, new, message):
    path = tmp_path / "figure.toml"
    path.write_text(_FIGURE.replace("LAGGING", _ENGINE).replace(old, new))
    with pytest.raises(errors.BadUsage, match=message):
        list(figures.load(path).cells())


def test_the_samples_are_drawn_over_time(measured, tmp_path):
    panel = measured.figures["figure"].panel("pending")
    samples = measured.outcome(panel, _ENGINE, 2, 1).entry.pending.samples
    assert len(samples) > 300 / 5 - 3 and samples[-1][0] > 250
    png, svg = draw.draw(tmp_path / "figure", measured.figures["figure"], measured, [])
    assert png.stat().st_size > 1000 and "microseconds of the run" in svg.read_text()


def test_the_gauge_sees_what_is_not_durable(measured):
    (most,) = _series(measured, "pending_max", "pending").values()
    (mean,) = _series(measured, "pending_mean", "pending").values()
    (age,) = _series(measured, "pending_age_us", "pending").values()
    assert 0 < mean < most
    assert 0 < age < 300


def test_cells_without_a_gauge_leave_its_columns_empty(measured, tmp_path):
    path = tmp_path / "cells.csv"
    report.write_csv(path, measured.figures["figure"], measured)
    rows = {row["panel"]: row for row in csv.DictReader(path.open())}
    assert rows["response"]["pending_max"] == "" and rows["response"]["queued"] != ""
    assert rows["pending"]["pending_max"] != "" and rows["pending"]["queued"] == ""


def test_a_metric_that_was_not_asked_for_is_an_error(measured):
    with pytest.raises(errors.BadUsage, match="none that cells of this kind measure"):
        _series(measured, "pending_max", "response")


def test_only_simulated_transactions_have_arrivals():
    assert [name for name, kind in kinds.KINDS.items() if "arrivals" in kind.axes] == ["sim"]


def test_the_command_shows_response_times(tmp_path, invoke):
    out = tmp_path / "out.json"
    result = invoke(
        "sim", "sps", "--engine", _ENGINE, "--machine", "tiny", "--duration", "100",
        "--arrivals", "100000", "--gauge", "10", "--param", "entries=100", "--json", str(out),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "response" in result.output and "queued" in result.output
    assert "pending, at most" in result.output
    entry = json.loads(out.read_text())["benchmarks"][0]
    assert entry["response"]["count"] == entry["iterations"]
    assert len(entry["pending"]["samples"]) == pytest.approx(10, abs=2)


def test_arrivals_need_a_time(invoke):
    result = invoke("sim", "sps", "--engine", _ENGINE, "--arrivals", "1000")
    assert result.exit_code == 2 and "duration_us" in result.output
