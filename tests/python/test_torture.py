# SPDX-License-Identifier: Apache-2.0
"""Does every engine keep its acknowledgements when its process is killed over and over?"""

import os
import shutil
from dataclasses import replace

import pytest

import sample
from holdfast import catalog, errors, kill, torture

_WORKLOADS = ("bank", "ring", "map", "registers")


def _seed() -> int:
    """A new seed each time. Pytest prints it when a test fails; HOLDFAST_SEED replays it."""
    seed = int(os.environ.get("HOLDFAST_SEED") or int.from_bytes(os.urandom(4)))
    print(f"HOLDFAST_SEED={seed}")
    return seed


def _torture(folder, engine: str, workload: str, kills: int) -> torture.Tally:
    spec = torture.specification(engine, workload, folder / "heap", 2, "process")
    tally = torture.torture(spec, kills, _seed())
    print(engine, workload, tally)
    assert tally.kills == kills
    assert tally.acknowledged > 0 and tally.verified == tally.acknowledged
    return tally


def test_an_engine_that_keeps_nothing_is_refused(tmp_path, capsys):
    name = sample.VOLATILE
    with pytest.raises(errors.BadUsage, match=f"{name} keeps nothing over a crash"):
        torture.specification(name, "bank", tmp_path / "heap", 2, "process")
    assert torture.main(["--engine", name, "--kills", "1"]) == errors.EXIT_BAD_USAGE
    assert "keeps nothing over a crash" in capsys.readouterr().err


def test_wrong_names_are_refused(tmp_path, capsys):
    for option in ("--engine", "--workload"):
        arguments = ["--engine", sample.FIRST, "--kills", "1", option, "nonsense"]
        assert torture.main(arguments) == errors.EXIT_BAD_USAGE
        assert f"no {option[2:]} 'nonsense'; there are " in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        torture.main(["--dir", str(tmp_path / "none")])
    assert end.value.code == errors.EXIT_BAD_USAGE
    assert "none is no folder" in capsys.readouterr().err


def test_transactions_that_are_not_here_are_refused(tmp_path, capsys):
    (native,) = (machine for machine in catalog.machines() if machine.native)
    # No processor has the transactions of both Intel and POWER.
    absent = next(one for one in native.htm_backends if not one.supported)
    heap = tmp_path / "heap"
    with pytest.raises(errors.BadUsage, match="use --htm soft") as caught:
        torture.specification(sample.REPLAYED, "bank", heap, 2, "process", absent.name)
    assert absent.reason in str(caught.value)
    arguments = ["--engine", sample.REPLAYED, "--kills", "1", "--htm", "tsx"]
    assert torture.main(arguments) == errors.EXIT_BAD_USAGE
    assert "there are soft, rtm, power" in capsys.readouterr().err


@pytest.mark.parametrize("engine", sample.DURABLE)
def test_twelve_kills(tmp_path, engine):
    """Spreads the kills over the workloads, so that each engine meets each of them."""
    for workload in _WORKLOADS:
        folder = tmp_path / workload
        folder.mkdir()
        _torture(folder, engine, workload, 12 // len(_WORKLOADS))


@pytest.mark.long
@pytest.mark.parametrize("engine", sample.DURABLE)
@pytest.mark.parametrize("workload", _WORKLOADS)
def test_two_hundred_kills(tmp_path, engine, workload):
    _torture(tmp_path, engine, workload, 200 // len(_WORKLOADS))


@pytest.mark.long
@pytest.mark.parametrize("engine", sample.DURABLE)
def test_kills_with_flushes_to_the_file(tmp_path, engine):
    spec = torture.specification(engine, "bank", tmp_path / "heap", 2, "file")
    assert torture.torture(spec, 20, _seed()).kills == 20


def _lagging(folder, engine: str, workers: int, kills: int, **options: str) -> torture.Tally:
    spec = torture.specification(
        engine, "bank", folder / "heap", workers, "process", options=options
    )
    tally = torture.torture(spec, kills, _seed())
    print(engine, options, tally)
    assert tally.acknowledged == tally.verified + tally.lost > 0
    return tally


@pytest.mark.parametrize("engine", sample.LAGGING)
def test_kills_with_a_lag_lose_no_more_than_it_says(tmp_path, engine):
    assert _lagging(tmp_path, engine, 2, 10, lag="20").most_lost <= 20


@pytest.mark.long
@pytest.mark.parametrize("engine", sample.LAGGING)
@pytest.mark.parametrize(
    ("options", "most"), [({"lag": "0"}, 0), ({"lag": "100"}, 100), ({"lag_ms": "10"}, 1024)]
)
def test_fifty_kills_with_each_lag(tmp_path, engine, options, most):
    assert _lagging(tmp_path, engine, 8, 50, **options).most_lost <= most


# ---- the harness itself: it must notice a heap that lost something


@pytest.mark.parametrize(
    ("engine", "options"), [(sample.FIRST, {}), (sample.LAGGING[0], {"lag": "50"})]
)
def test_a_heap_that_went_back_in_time_is_noticed(tmp_path, engine, options):
    path = tmp_path / "heap"
    spec = torture.specification(engine, "registers", path, 1, "process", options=options)
    reopened = replace(spec, open="open")
    with kill.Worker(spec) as worker:
        assert worker.wait_for(100, 60), worker.failure()
        assert worker.kill()
    assert kill.verify(reopened, worker.records).ok
    shutil.copyfile(path, tmp_path / "old")
    with kill.Worker(replace(spec, seed=2)) as later:
        assert later.wait_for(400, 60), later.failure()  # more updates than may be lost
        assert later.kill()
    assert kill.verify(reopened, later.records).ok
    shutil.copyfile(tmp_path / "old", path)
    result = kill.verify(reopened, later.records)
    assert not result.ok and result.failure_count > 0


def test_a_lost_operation_that_a_fence_covered_is_noticed(tmp_path):
    path = tmp_path / "heap"
    spec = torture.specification(
        sample.LAGGING[0], "registers", path, 1, "process", options={"lag": "1000000"}
    )
    with kill.Worker(spec) as worker:
        assert worker.wait_for(100, 60), worker.failure()
        assert worker.kill()
    shutil.copyfile(path, tmp_path / "old")
    with kill.Worker(replace(spec, seed=2, open="open")) as later:
        assert later.wait_for(5000, 60), later.failure()
        assert later.kill()
    shutil.copyfile(tmp_path / "old", path)
    result = kill.verify(replace(spec, open="open"), later.records)
    assert not result.ok and result.failure_count > 0


def test_a_worker_that_cannot_run_is_reported(tmp_path):
    spec = torture.specification(
        sample.FIRST, "bank", tmp_path / "no" / "such" / "folder", 1, "process"
    )
    with pytest.raises(errors.CheckFailed, match="ended or hung by itself"):
        torture.torture(spec, 1, seed=1)


def test_acknowledgements_outlive_the_worker_and_are_whole(tmp_path):
    spec = torture.specification(sample.FIRST, "bank", tmp_path / "heap", 2, "process")
    with kill.Worker(spec) as worker:
        assert worker.wait_for(1000, 60), worker.failure()
        assert worker.kill()
    assert len(worker.records) % kill.RECORD.size == 0
    assert sum(kill.by_kind(worker.records).values()) == worker.acknowledged >= 1000
    assert worker.ready and worker.ready[0]
