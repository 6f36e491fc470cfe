# SPDX-License-Identifier: Apache-2.0
"""Do Ctrl-C and other signals end every long verb, with their status and nothing left behind?"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sample


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """Empty folders for the cache, for temporary files and for heaps."""
    made = {name: tmp_path / name for name in ("cache", "temporary", "heaps")}
    for folder in made.values():
        folder.mkdir()
    return made


@pytest.fixture
def interrupt(folders):
    """Starts the command, sends SIGINT or `by` when `ready` says so, and checks the end.

    Returns the command's standard error.
    """

    def run(
        *arguments: object, ready: Callable[[int], bool], by: signal.Signals = signal.SIGINT
    ) -> str:
        # A shell makes its background commands ignore interrupts, and they would pass that on.
        line = ["env", "--default-signal=INT,TERM,HUP", sys.executable, "-m", "holdfast"]
        places = {"HOLDFAST_CACHE": folders["cache"], "TMPDIR": folders["temporary"]}
        with subprocess.Popen(
            [*line, *map(str, arguments)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {name: str(folder) for name, folder in places.items()},
        ) as process:
            try:
                while not ready(process.pid):
                    assert process.poll() is None, process.stderr.read()
                children = _children(process.pid)
                process.send_signal(by)
                said = process.communicate(timeout=60)[1]
            finally:
                process.kill()
        assert process.returncode == 128 + by, said
        assert "Traceback" not in said
        assert not [child for child in children if Path(f"/proc/{child}").exists()]
        return said

    return run


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in tasks.read_text().split()]


def _busy(pid: int) -> bool:
    """True when a child has used the processor for longer than its start takes: it simulates."""
    for child in _children(pid):
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        if int(fields[11]) > 100:  # user time, in hundredths of a second
            return True
    return False


_FOR_EVER = ("--engine", sample.FIRST, "--transactions", 1_000_000_000, "--machine", "tiny")


@pytest.mark.parametrize("jobs", [1, 2])
def test_it_ends_a_simulated_run(interrupt, folders, jobs):
    interrupt("sim", "bank", *_FOR_EVER, "--seed", "1,2", "--jobs", jobs, ready=_busy)
    assert not list(folders["temporary"].iterdir())
    assert not list(folders["cache"].glob("*.new"))


def test_it_ends_the_making_of_an_image_and_removes_it(interrupt, folders):
    def populating(pid: int) -> bool:
        return any(path.stat().st_size for path in folders["cache"].glob("*.heap.new"))

    sizes = ("--param", "warehouses=64", "--machine", "power9")
    interrupt("sim", "tpcc", "--engine", sample.FIRST, *sizes, ready=populating)
    assert not list(folders["cache"].glob("*.new")) + list(folders["cache"].glob("*.heap"))


def test_it_ends_a_crash_search(interrupt, folders):
    interrupt("crash", "--engine", sample.FIRST, "--schedules", 20_000, ready=_busy)
    assert not list(folders["temporary"].iterdir())


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_a_benchmark(interrupt, folders, by):
    heaps = folders["heaps"]
    line = ("bench", "bank", "--engine", sample.FIRST, "--seconds", 600, "--dir", heaps)
    interrupt(*line, ready=lambda pid: any(heaps.iterdir()), by=by)
    assert not list(heaps.iterdir())


_UNFINISHED = """
import sys, time
from holdfast.cli import output
with output.new_file(sys.argv[1]):
    time.sleep(600)
"""


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
def test_it_removes_an_unfinished_output(tmp_path, by):
    target = tmp_path / "out.jsonl"
    target.write_text("earlier")
    line = ["env", "--default-signal=TERM,HUP", sys.executable, "-c", _UNFINISHED, target]
    with subprocess.Popen(line) as process:
        try:
            while not list(tmp_path.glob(".*")):
                assert process.poll() is None
            process.send_signal(by)
            assert process.wait(60) == 128 + by
        finally:
            process.kill()
    assert target.read_text() == "earlier" and list(tmp_path.iterdir()) == [target]


def test_it_ends_a_benchmark_of_stores(interrupt, folders):
    heaps = folders["heaps"]
    line = ("db", "bench", "--benchmarks", "fillseq", "--num", 20_000, "--rounds", 1000)
    interrupt(*line, "--db", heaps, ready=lambda pid: any(heaps.iterdir()))
    assert not list(heaps.iterdir())
