# SPDX-License-Identifier: Apache-2.0
"""Does the cache folder keep its limit, and delete nothing that is not its own?"""

import fcntl
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sample
from holdfast import cache_folder, errors
from holdfast.cache_folder import IMAGES, RESULTS

_DAY = 86400


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path))
    (tmp_path / "cells").mkdir()
    return tmp_path


def _image(folder: Path, name: str, days: float, kib: int = 64) -> Path:
    """A file that ends as an image does, last used so many days ago."""
    path = folder / f"{name}.heap"
    path.write_bytes(b"x" * (kib - 4) * 1024 + b"holdfast image 1\n".ljust(4096, b"\0"))
    Path(f"{path}.lock").touch()
    _used(path, days)
    return path


def _result(folder: Path, number: int, days: float) -> Path:
    path = folder / "cells" / f"{number:032x}.json"
    path.write_text('{"x": 1}' * 512)  # a block of 4 KiB
    _used(path, days)
    return path


def _used(path: Path, days: float) -> None:
    then = time.time() - days * _DAY
    os.utime(path, (then, then))


def _limit(monkeypatch, kib: int) -> None:
    monkeypatch.setenv("HOLDFAST_CACHE_LIMIT", f"{kib}KiB")


def test_the_least_recently_used_goes_first_whatever_its_kind(folder, monkeypatch):
    oldest, middle, newest = (
        _image(folder, name, days) for name, days in zip("abc", (9, 5, 1), strict=True)
    )
    old_result, new_result = _result(folder, 1, 7), _result(folder, 2, 2)
    _limit(monkeypatch, 135)
    assert [item.path for item in cache_folder.trim()] == [oldest, old_result]
    assert cache_folder.trim() == []
    _limit(monkeypatch, 70)
    assert [item.path for item in cache_folder.trim()] == [middle]
    assert {item.path for item in cache_folder.items()} == {newest, new_result}
    _limit(monkeypatch, 0)
    cache_folder.trim()
    assert cache_folder.items() == []


def test_use_counts_and_leaves_the_seal(folder, monkeypatch):
    old, new = _image(folder, "a", 9), _image(folder, "b", 5)
    sealed = old.stat().st_mtime_ns
    cache_folder.mark_used(old)
    assert old.stat().st_mtime_ns == sealed
    _limit(monkeypatch, 64)
    assert [item.path for item in cache_folder.trim()] == [new]


def test_files_of_others_stay(folder, monkeypatch):
    others = [folder / name for name in ("my.heap", "small.heap", "notes.txt", "my.heap.new")]
    others.append(folder / "cells" / "list.json")
    for path in others:
        path.write_bytes(b"data" * (1 if path.name == "small.heap" else 4096))
    _limit(monkeypatch, 0)
    assert cache_folder.items() == [] == cache_folder.trim() == cache_folder.clear()
    assert all(path.exists() for path in others)


def test_an_image_under_construction_stays(folder, monkeypatch):
    image = _image(folder, "a", 9)
    unfinished = folder / "a.heap.new"
    unfinished.touch()
    _limit(monkeypatch, 0)
    with Path(f"{image}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert cache_folder.trim() == []
        assert image.exists() and unfinished.exists()
    assert [item.path for item in cache_folder.trim()] == [image]
    assert not unfinished.exists(), "its maker is dead"


def test_half_a_result_of_a_dead_process_goes(folder):
    dead = folder / "cells" / f"{1:032x}.{2**22 + 1}.new"
    alive = folder / "cells" / f"{1:032x}.{os.getpid()}.new"
    dead.touch()
    alive.touch()
    cache_folder.trim()
    assert not dead.exists() and alive.exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", cache_folder.DEFAULT_LIMIT),
        ("none", None),
        ("0", 0),
        ("1000", 1000),
        ("10GiB", 10 << 30),
        ("1.5m", 3 << 19),
    ],
)
def test_the_limit_is_a_size(monkeypatch, text, expected):
    monkeypatch.setenv("HOLDFAST_CACHE_LIMIT", text)
    assert cache_folder.limit() == expected


def test_a_limit_that_is_no_size_is_bad_usage(monkeypatch, invoke):
    monkeypatch.setenv("HOLDFAST_CACHE_LIMIT", "plenty")
    with pytest.raises(errors.BadUsage, match="HOLDFAST_CACHE_LIMIT 'plenty' is no size"):
        cache_folder.limit()
    assert invoke("cache").exit_code == 2


def test_the_command_shows_each_kind(folder, monkeypatch, invoke):
    _image(folder, "tpcc-1", 3, kib=2048)
    _result(folder, 1, 2)
    _result(folder, 2, 1)
    monkeypatch.setenv("HOLDFAST_CACHE_LIMIT", "3GiB")
    result = invoke("cache")
    assert result.exit_code == 0
    for text in ("images", "results", "2.0 MiB", "8.0 KiB", "the limit is 3.0 GiB", "tpcc-1.heap"):
        assert text in result.stdout
    told = json.loads(invoke("cache", "--json", "-").stdout)
    assert (told["folder"], told["limit_bytes"]) == (str(folder), 3 << 30)
    images, results = told["kinds"]
    assert (images["kind"], images["files"], images["bytes"]) == (IMAGES, 1, 2 << 20)
    assert (results["kind"], results["files"]) == (RESULTS, 2)
    assert results["oldest"] < results["newest"] and images["oldest"] == images["newest"]


def test_the_command_shows_an_empty_folder(folder, invoke):
    result = invoke("cache")
    assert result.exit_code == 0 and "0 B in 0 files" in result.stdout


def test_clear_takes_an_age_and_a_kind(folder, invoke):
    old, new = _image(folder, "a", 9), _image(folder, "b", 1)
    old_result, new_result = _result(folder, 1, 9), _result(folder, 2, 1)
    assert "1 files" in invoke("cache", "clear", "--older-than", 5, "--kind", "images").stdout
    assert not old.exists() and new.exists() and old_result.exists()
    assert invoke("cache", "clear", "--kind", "results").exit_code == 0
    assert new.exists() and not old_result.exists() and not new_result.exists()
    told = json.loads(invoke("cache", "clear", "--json", "-").stdout)
    assert told == {"files": 1, "bytes": 64 << 10}
    assert cache_folder.items() == []


def test_clear_refuses_an_unknown_kind(folder, invoke):
    image = _image(folder, "a", 9)
    result = invoke("cache", "clear", "--kind", "imagse")
    assert result.exit_code == 2 and "images, results" in result.stderr and image.exists()


def _simulate(command, workload: str, limit: str, *more: object) -> str:
    line = ("sim", workload, "--engine", sample.FIRST, "--transactions", 5, "--machine", "tiny")
    os.environ["HOLDFAST_CACHE_LIMIT"] = limit
    try:
        return command(*line, *more).stdout
    finally:
        del os.environ["HOLDFAST_CACHE_LIMIT"]


def test_a_simulated_run_leaves_no_more_than_the_limit(folder, command):
    said = _simulate(command, "bank", "2GiB")
    (bank,) = cache_folder.items()
    assert bank.kind == IMAGES and "HOLDFAST_CACHE_LIMIT" not in said
    _used(bank.path, 3)  # the seal is broken as well: it was made at another time
    said = _simulate(command, "ring", str(bank.bytes + 4096))
    assert "1 files" in said and "HOLDFAST_CACHE_LIMIT sets another one" in said
    (ring,) = cache_folder.items()
    assert ring.path.name.startswith("ring-")
    assert "1 files" in _simulate(command, "ring", "0")
    assert cache_folder.items() == []


def test_a_run_uses_an_image_it_finds(folder, command):
    _simulate(command, "bank", "2GiB")
    (made,) = cache_folder.items()
    then = time.time() - 3 * _DAY
    os.utime(made.path, (then, made.path.stat().st_mtime))
    _simulate(command, "bank", "2GiB", "--seed", 2)
    (found,) = cache_folder.items()
    assert found.path.stat().st_ino == made.path.stat().st_ino
    assert found.path.stat().st_atime > time.time() - _DAY


def test_runs_side_by_side_keep_the_limit(folder, command, monkeypatch):
    """Each of them deletes the images of others, while those are in use or being made."""
    monkeypatch.setenv("HOLDFAST_CACHE_LIMIT", "300KiB")
    line = ("--engine", sample.FIRST, "--transactions", 5, "--machine", "tiny", "--jobs", 1)
    workloads = ("bank", "ring", "list", "map") * 2
    with ThreadPoolExecutor(4) as threads:
        runs = [threads.submit(command, "sim", name, *line) for name in workloads]
        for run in runs:
            run.result()
    assert sum(item.bytes for item in cache_folder.items()) <= 300 << 10


def test_a_folder_named_by_the_command_has_the_limit_too(folder, command, tmp_path):
    own = tmp_path / "own"
    _simulate(command, "bank", "0", "--cache", own)
    assert cache_folder.items(own) == []
