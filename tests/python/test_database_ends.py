# SPDX-License-Identifier: Apache-2.0
"""Do closing a database and ending a process work beside threads that use the database?"""

import subprocess
import sys
import threading

import pytest

import holdfast
import sample


def python(script, *arguments):
    """Runs it in a process of its own, since a deadlock would keep this one as well."""
    line = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_a_snapshot_or_its_database_closes_while_a_walk_begins(tmp_path):
    script = """
import sys, threading, holdfast
path, closing = sys.argv[1:]
db = holdfast.open(path, domain="process", max_bytes=1 << 28)
begun = threading.Event()

def walk(snapshot):
    try:
        while True:
            next(iter(snapshot), None)
            begun.set()
    except (holdfast.MisuseError, holdfast.ClosedError):
        pass

with db.snapshot() as snapshot:
    db.update({str(i): "" for i in range(20_000)})  # a walk takes a while to pass by them
    threads = [threading.Thread(target=walk, args=(snapshot,))]
    if closing == "both":
        threads.append(threading.Thread(target=lambda: (begun.wait(), db.close())))
    for thread in threads:
        thread.start()
    begun.wait()
for thread in threads:
    thread.join()
print("done")
"""
    for i in range(5):
        for closing in ("snapshot", "both"):
            path = tmp_path / f"{closing}{i}.db"
            assert python(script, path, closing) == (0, "done\n", "")


def test_iterators_end_with_what_they_have_read_ahead(tmp_path):
    def first_half(walk):
        for _ in range(100):
            next(walk)
        return walk

    with holdfast.open(tmp_path / "a.db", domain="process") as db:
        db.update({str(i): "v" for i in range(200)})
        with db.transaction() as t:
            of_transaction = first_half(iter(t.items()))
        with pytest.raises(holdfast.MisuseError, match="over"):
            next(of_transaction)
        walks = [first_half(iter(source.items())) for source in (db, db.snapshot())]
    for walk in walks:
        with pytest.raises(holdfast.ClosedError):
            next(walk)


def test_a_new_thread_is_not_the_ended_one_that_began_a_transaction(tmp_path):
    """The system gives the id of an ended thread to the next one. That one waits for the lock."""
    with holdfast.open(tmp_path / "a.db", domain="process") as db:
        outcome = []

        def write():
            try:
                db["b"] = "2"
                outcome.append("written")
            except holdfast.MisuseError as error:
                outcome.append(str(error))

        exclusive = db.transaction()
        first = threading.Thread(target=exclusive.__enter__)
        first.start()
        first.join()
        second = threading.Thread(target=write)
        second.start()
        second.join(0.05)  # it waits; if it has not yet asked, that is no failure
        exclusive.__exit__(None, None, None)
        second.join()
        assert outcome == ["written"]


def test_the_process_ends_beside_daemon_threads(tmp_path):
    script = """
import sys, threading, holdfast
db = holdfast.open(sys.argv[1], domain="process")

def put(): db.put("k", "v")
def walk(): list(db.items())
def transact(): db.transact(lambda t: t.put("t", t.get("k", "")))
def look():
    with db.snapshot() as snapshot:
        snapshot.get("k")

def repeat(call, begun):
    while True:
        call()
        begun.set()

for call in (put, walk, transact, look):
    begun = threading.Event()
    threading.Thread(target=repeat, args=(call, begun), daemon=True).start()
    begun.wait()
"""
    for _ in range(5):
        assert python(script, tmp_path / "a.db") == (0, "", "")


@pytest.mark.parametrize("engine", sample.BOTH)
def test_a_child_opens_anew_what_its_parent_has_closed(tmp_path, engine):
    script = """
import os, sys, holdfast
open_it = lambda: holdfast.open(sys.argv[1], domain="process", engine=sys.argv[2])
db = open_it()
hears, tells = os.pipe()
hears_child, tells_parent = os.pipe()
child = os.fork()
if child == 0:
    os.read(hears, 1)
    try:
        open_it()
        os._exit(1)
    except holdfast.LockedError as error:
        assert f"process {os.getppid()}" in str(error)
    os.write(tells_parent, b"x")
    os.read(hears, 1)
    with open_it() as db:
        os._exit(0 if db["k"] == b"v" else 2)
db.close()
db = open_it()  # although the child has a copy of what was closed
db["k"] = "v"
os.write(tells, b"x")
os.read(hears_child, 1)
db.close()
os.write(tells, b"x")
print(os.waitpid(child, 0)[1])
"""
    assert python(script, tmp_path / "a.db", engine) == (0, "0\n", "")


@pytest.mark.parametrize("engine", sample.BOTH)
def test_a_child_that_closes_its_copy_outlives_its_parent(tmp_path, engine):
    script = """
import os, sys, holdfast
hears, closes = os.pipe()
parent = os.fork()
if parent == 0:
    db = holdfast.open(sys.argv[1], domain="process", engine=sys.argv[2])
    db["k"] = "v"
    if os.fork() != 0:
        os._exit(0)  # without closing the database
    db.close()
    os.close(closes)
    os.read(hears, 1)
    with holdfast.open(sys.argv[1], domain="process") as db:
        print(db["k"])
    sys.exit(0)
os.waitpid(parent, 0)
"""
    assert python(script, tmp_path / "a.db", engine) == (0, "b'v'\n", "")


def test_a_forked_child_waits_for_no_lock_that_its_parents_threads_held(tmp_path):
    script = """
import os, signal, sys, threading, holdfast
db = holdfast.open(sys.argv[1], domain="process")

def read():
    while True:
        db.get("k")

def end_child():
    signal.alarm(20)  # so that no child stays that hangs
    refused = (
        read,
        lambda: db.put("k", "v"),
        lambda: list(db.items()),
        db.snapshot,
        lambda: db.transaction().__enter__(),
        lambda: db.transact(lambda t: None),
    )
    for call in refused:
        try:
            call()
        except holdfast.MisuseError:
            continue
        os._exit(1)
    db.close()
    os._exit(0)

for _ in range(8):
    threading.Thread(target=read, daemon=True).start()
status = 0
for _ in range(200):  # at some of these moments a thread has the lock
    child = os.fork()
    if child == 0:
        end_child()
    status = os.waitpid(child, 0)[1]
    if status != 0:
        break
print(status)
"""
    assert python(script, tmp_path / "a.db") == (0, "0\n", "")
