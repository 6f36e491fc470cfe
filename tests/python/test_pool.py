# SPDX-License-Identifier: Apache-2.0
"""Does the pool run every job, survive its workers, and leave none behind?"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sample
from holdfast import errors, places, pool_worker
from holdfast.pool import Answer, Job, Pool

# Echoes its spec, in the time and the way that the spec asks for.
_WORKER = """
import json, os, sys, time
for line in sys.stdin:
    spec = json.loads(line)["spec"]
    if "heap" in spec:
        open(spec["heap"].replace("PID", str(os.getpid())), "w").close()
    if "sleep" in spec:
        time.sleep(spec["sleep"])
    if "exit" in spec:
        print("first line\\nlast words", file=sys.stderr, flush=True)
        os._exit(spec["exit"])
    for share in spec.get("shares", ()):
        print(json.dumps({"progress": share, "text": "so far"}), flush=True)
    if "fail" in spec:
        print(json.dumps({"failed": spec["fail"], "text": "no luck"}), flush=True)
    else:
        print(json.dumps({"value": spec | {"pid": os.getpid()}}), flush=True)
"""
_ECHO = (sys.executable, "-c", _WORKER)


def _all(pool: Pool) -> dict[int, Answer]:
    answers = {}
    while pool.busy:
        key, answer = pool.next()
        answers[key] = answer
    return answers


def _gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def _dead(pid: int) -> bool:
    """True for a zombie as well."""
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_every_job_gets_its_answer():
    with Pool(2, command=_ECHO) as pool:
        for number in range(20):
            pool.submit(number, Job("echo", {"number": number, "bulk": "x" * 100_000}))
        answers = _all(pool)
    assert [answers[number].result()["number"] for number in range(20)] == list(range(20))
    pids = {answer.result()["pid"] for answer in answers.values()}
    assert len(pids) <= 2 and all(map(_gone, pids))


def test_progress_names_its_job():
    told = []
    with Pool(1, command=_ECHO, tell=lambda *message: told.append(message)) as pool:
        pool.submit("job", Job("echo", {"shares": [0.25, 0.5]}))
        _all(pool)
    assert told == [("job", 0.25, "so far"), ("job", 0.5, "so far")]


@pytest.mark.parametrize("kind", [errors.Failure, errors.BadUsage, errors.OutOfSpace])
def test_a_failure_crosses_with_its_kind(kind):
    with Pool(1, command=_ECHO) as pool:
        pool.submit(1, Job("echo", {"fail": kind.__name__}))
        (answer,) = _all(pool).values()
    with pytest.raises(errors.Failure, match="no luck") as caught:
        answer.result()
    assert type(caught.value) is kind


def test_a_dead_worker_fails_its_job_and_is_replaced():
    with Pool(1, command=_ECHO) as pool:
        pool.submit(1, Job("echo", {}))
        pool.submit(2, Job("echo", {"exit": 3}))
        pool.submit(3, Job("echo", {}))
        answers = _all(pool)
    assert str(answers[2].failure) == "the process ended with status 3: last words"
    assert answers[1].result()["pid"] != answers[3].result()["pid"]


def test_a_job_over_its_time_is_ended():
    with Pool(1, command=_ECHO, limit_s=0.5) as pool:
        pool.submit(1, Job("echo", {"sleep": 600}))
        pool.submit(2, Job("echo", {}))
        answers = _all(pool)
    assert str(answers[1].failure).startswith("took longer than 0.5 s")
    assert answers[2].failure is None


def test_jobs_that_have_not_begun_can_be_withdrawn():
    with Pool(1, command=_ECHO) as pool:
        for number in range(10):
            pool.submit(number, Job("echo", {}))
        first, _ = pool.next()
        pool.withdraw(lambda number: number > 4)
        rest = set(_all(pool))
    assert first == 0 and rest - {5} == {1, 2, 3, 4}


def test_an_exception_ends_all_workers():
    pids = []
    with pytest.raises(KeyboardInterrupt), Pool(2, command=_ECHO) as pool:
        pool.submit(1, Job("echo", {}))
        pids.append(pool.next()[1].result()["pid"])
        pool.submit(2, Job("echo", {"sleep": 600}))
        pool.submit(3, Job("echo", {}))
        pids.append(pool.next()[1].result()["pid"])
        raise KeyboardInterrupt
    assert len(set(pids)) == 2 and all(map(_gone, pids))


def test_the_heaps_of_a_dead_worker_go(tmp_path):
    heap = tmp_path / "holdfast-PID-bank.heap"
    other = tmp_path / "holdfast-1-bank.heap"
    other.touch()
    with Pool(1, command=_ECHO) as pool:
        pool.submit(1, Job("echo", {"heap": str(heap), "dir": str(tmp_path), "exit": 9}))
        _all(pool)
    assert list(tmp_path.iterdir()) == [other]


def test_a_running_benchmark_names_its_heaps_as_the_pool_expects(tmp_path):
    spec = {"workload": "bank", "engines": [sample.FIRST], "seconds": 600, "dir": str(tmp_path)}
    with Pool(1) as pool:
        pool.submit(1, Job("bench", spec))
        pool._hand_out()
        pid = pool._workers[0]._process.pid
        while not list(tmp_path.iterdir()):
            pass
        assert set(places.temporary_heaps(pid, str(tmp_path))) == set(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_the_real_worker_answers_and_fails():
    spec = {
        "workload": "bank",
        "engines": [sample.FIRST],
        "threads": [1],
        "transactions": 5,
        "seed": 1,
    }
    with Pool(1) as pool:
        pool.submit("good", Job("sim", spec))
        pool.submit("bad", Job("sim", spec | {"machine": "nonsense"}))
        answers = _all(pool)
    assert json.dumps(answers["good"].result()["benchmarks"])
    with pytest.raises(errors.BadUsage, match="nonsense"):
        answers["bad"].result()


def test_a_worker_ends_with_the_process_that_started_it():
    program = (
        "import os, signal, subprocess, sys\n"
        "line = [sys.executable, '-m', 'holdfast.pool_worker']\n"
        "child = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "job = sys.stdin.buffer.readline()\n"
        "child.stdin.write(job * 2)\n"
        "child.stdin.flush()\n"
        "child.stdout.readline()\n"  # it has set itself up
        "print(child.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    spec = {"workload": "bank", "engines": [sample.FIRST], "transactions": 5}
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=Job("sim", spec).line(),
        capture_output=True,
        check=False,
    )
    pid = int(done.stdout)
    while not _dead(pid):
        pass


def test_progress_is_not_sent_too_often(capsys):
    sent = pool_worker._Progress(sys.stdout)
    for step in range(1000):
        sent(step / 1000, "work")
    assert 1 <= len(capsys.readouterr().out.splitlines()) < 100
