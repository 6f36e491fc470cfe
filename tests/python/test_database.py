# SPDX-License-Identifier: Apache-2.0
"""Is a database in Python an ordered, durable, transactional mapping, safe in Python programs?"""

import gc
import os
import random
import signal
import subprocess
import sys
import threading

import pytest

import holdfast
import sample


@pytest.fixture
def open_database(tmp_path):
    """Opens the test's one database; closes all that are still open at the end."""
    opened = []

    def open_it(**options):
        options = {"domain": "process", "initial_bytes": 4 << 20, "max_bytes": 64 << 20} | options
        opened.append(holdfast.open(tmp_path / "test.db", **options))
        return opened[-1]

    yield open_it
    for database in opened:
        database.close()


@pytest.fixture
def db(open_database):
    return open_database()


def run_threads(*functions):
    """Runs all of them at once; raises the exception that one of them raises."""
    failures = []

    def guarded(function):
        try:
            function()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_it_is_a_mapping_like_a_dict(db):
    chance = random.Random(7)
    model = {}
    for _ in range(3000):
        key = bytes(chance.choices(b"ab\0\xff", k=chance.randrange(4)))
        value = bytes(chance.choices(b"xyz", k=chance.choice((0, 5, 5000))))
        match chance.randrange(8):
            case 0 | 1 | 2:
                db[key] = model[key] = value
            case 3:
                assert db.pop(key, None) == model.pop(key, None)
            case 4:
                assert db.setdefault(key, value) == model.setdefault(key, value)
            case 5:
                assert (key in db) == (key in model) and db.get(key, b"?") == model.get(key, b"?")
            case 6 if key in model:
                del db[key], model[key]
            case 6:
                with pytest.raises(KeyError):
                    del db[key]
            case 7:
                more = {key: value, b"update": value}
                db.update(more)
                model.update(more)
    ordered = dict(sorted(model.items()))
    assert list(db.items()) == list(ordered.items()) and db == model
    assert list(db) == list(ordered) and list(db.values()) == list(ordered.values())
    assert list(reversed(db)) == list(reversed(ordered)) and len(db) == len(model) and db
    assert db.popitem() == next(iter(ordered.items()))
    assert ("missing", None) not in db.items() and not {("missing", None)} & db.items()
    db.clear()
    assert not db and len(db) == 0
    with pytest.raises(KeyError):
        db.popitem()


def test_ranges_and_prefixes_in_both_directions(db):
    keys = [b"", b"a", b"a\0", b"ab", b"b", b"b\xff", b"b\xff\xff", b"c", b"\xff", b"\xff\xff1"]
    db.update({key: key for key in keys})
    limits = [None, *keys, b"aa", b"d"]
    for start in limits:
        for stop in limits:
            inside = [
                k for k in keys if (start is None or start <= k) and (stop is None or k < stop)
            ]
            assert list(db.keys(start, stop)) == inside
            assert list(db.values(start, stop, reverse=True)) == inside[::-1]
            assert list(reversed(db.items(start, stop))) == [(k, k) for k in inside[::-1]]
    for prefix in limits[1:]:
        inside = [k for k in keys if k.startswith(prefix)]
        assert list(db.keys(prefix=prefix)) == inside
        assert list(db.keys(prefix=prefix, reverse=True)) == inside[::-1]
        assert [k for k in keys if k in db.keys(prefix=prefix)] == inside
    assert db.keys(prefix=b"a") & {b"a", b"b"} == {b"a"}
    with pytest.raises(TypeError):
        db.keys(b"a", prefix=b"a")


def test_keys_and_values_are_bytes_and_text_is_utf_8(db):
    db["käse"] = bytearray(b"brie")
    db[memoryview(b"raw")] = "\u20ac"
    assert dict(db) == {"käse".encode(): b"brie", b"raw": "\u20ac".encode()}
    assert (
        db["raw"] == db[b"raw"]
        and "käse" in db.keys("k", "l")
        and list(db.keys(prefix="kä")) == ["käse".encode()]
    )
    for key, value in ((1, "x"), ("x", None), ("x", 1.5), (("x",), "x")):
        with pytest.raises(TypeError, match="bytes or str, not"):
            db[key] = value
    with pytest.raises(UnicodeEncodeError):
        db["\udc80"] = "x"


def test_an_update_deletes_no_key(db):
    for mapping in (db, db.map("m")):
        mapping["k"] = b"old"
        with pytest.raises(TypeError, match="bytes or str, not NoneType"):
            mapping.update({"new": "x", "k": None})
        with pytest.raises(TypeError, match="bytes or str, not NoneType"):
            mapping.update(k=None)
        assert dict(mapping) == {b"k": b"old"}
    with db.transaction() as transaction:
        for mapping in (transaction, transaction.map("m")):
            with pytest.raises(TypeError, match="bytes or str, not NoneType"):
                mapping.update({"k": None})


def test_snapshots_and_iterators_show_one_state(db):
    db.update({str(i): "old" for i in range(300)})
    walk = iter(db.items())
    first = next(walk)
    with db.snapshot() as before:
        db.write(
            [*((str(i), None) for i in range(100, 300)), *((str(i), "new") for i in range(100))]
        )
        assert len(before) == 300 and set(before.values()) == {b"old"} and before["299"] == b"old"
        assert [first, *walk] == list(before.items())
        assert len(db) == 100 and set(db.values()) == {b"new"} and "299" not in db
    with pytest.raises(holdfast.MisuseError, match="snapshot is closed"):
        before.get("1")
    assert db.property("holdfast.open-snapshots") == "0"


@pytest.mark.parametrize("engine", sample.DURABLE)
def test_everything_is_there_after_opening_again(open_database, engine):
    with open_database(engine=engine) as db:
        db["big"] = os.urandom(3 << 20)
        db["k"] = "v"
        kept = dict(db)
    with open_database() as db:
        assert dict(db) == kept and db.property("holdfast.engine") == engine
    with open_database(read_only=True) as db:
        assert dict(db) == kept


def test_a_transaction_that_another_writer_overtook_runs_again(db):
    db["n"] = "1"
    runs = []

    def body(t):
        n = int(t["n"])
        if not runs:
            run_threads(lambda: db.put("n", "10"))
        runs.append(n)
        t["n"] = str(n + 1)
        assert t["n"] == str(n + 1).encode(), "own writes are seen"
        return n

    assert db.transact(body) == 10
    assert runs == [1, 10] and db["n"] == b"11"


def test_a_key_that_was_not_there_counts_as_read(db):
    runs = []

    def body(t):
        runs.append(t.get("new"))
        if len(runs) == 1:
            run_threads(lambda: db.put("new", "first"))
        if "new" not in t:
            t["new"] = "mine"

    db.transact(body)
    assert runs == [None, b"first"] and db["new"] == b"first"


def test_a_body_that_always_loses_gets_the_writer_lock(db):
    db["n"] = "0"
    runs = []

    def body(t):
        t["n"] = str(int(t["n"]) + 1)
        runs.append(1)
        db["n"] = str(len(runs))  # against the rules: the database itself, not t

    with pytest.raises(holdfast.MisuseError, match="through the transaction"):
        db.transact(body)
    assert len(runs) == 9
    db["n"] = "goes on"


@pytest.mark.parametrize("begin", ["transact", "transaction"])
def test_an_exception_rolls_back_and_arrives_as_it_is(db, begin):
    failure = LookupError("mine")
    db["k"] = "before"

    def body(t):
        t["k"] = "after"
        del t["k"]
        t["other"] = "x"
        raise failure

    with pytest.raises(LookupError) as caught:
        if begin == "transact":
            db.transact(body)
        else:
            with db.transaction() as t:
                body(t)
    assert caught.value is failure and dict(db) == {b"k": b"before"}
    with db.transaction() as t:
        t["k"] = "free"
    with pytest.raises(holdfast.MisuseError, match="over"):
        t["k"] = "late"
    assert db["k"] == b"free"


def test_a_transaction_block_keeps_other_writers_waiting(db):
    db["n"] = "1"
    order = []
    writes = (
        lambda: db.put("n", "100"),
        lambda: db.delete("n"),
        lambda: db.write([("n", "x")]),
        lambda: db.pop("n", None),
        lambda: db.transact(lambda t: t.put("n", "y")),
    )

    def other(write):
        write()
        order.append("others")

    threads = [threading.Thread(target=other, args=(write,)) for write in writes]
    with db.transaction() as t:
        for thread in threads:
            thread.start()
        for _ in range(200):
            t["n"] = str(int(t["n"]) + 1)
            assert db["n"] == b"1", "readers go on, and see nothing of it"
        with pytest.raises(holdfast.MisuseError):
            db["n"] = "mine"
        with pytest.raises(holdfast.MisuseError), db.transaction():
            pass
        order.append("block")
    for thread in threads:
        thread.join()
    assert order == ["block", *["others"] * len(writes)]


@pytest.mark.parametrize("engine", sample.DURABLE)
def test_transactions_of_many_threads_are_serial(open_database, engine):
    db = open_database(engine=engine)

    def add(t):
        t["n"] = str(int(t.get("n", b"0")) + 1)

    def transact():
        for _ in range(60):
            db.transact(add)

    def lock():
        for _ in range(20):
            with db.transaction() as t:
                add(t)

    run_threads(transact, transact, transact, lock)
    assert db["n"] == b"200"


@pytest.mark.parametrize("engine", sample.DURABLE)
def test_a_long_read_body_and_committers_let_each_other_go_on(open_database, engine):
    """The body keeps reading until others have committed hundreds of times.

    The test would stop for good if a begin, a commit or a wait kept the interpreter's lock, or if a
    committer waited for the body.
    """
    db = open_database(engine=engine)
    db.update({"a": "500", "b": "500"})
    commits = [0, 0]

    def move(t):
        t["a"], t["b"] = str(int(t["a"]) - 1), str(int(t["b"]) + 1)

    def commit(me):
        for _ in range(150):
            db.transact(move)
            commits[me] += 1

    def read(snapshot):
        while sum(commits) < 300:
            state = dict(snapshot.items())
            assert state == {b"a": b"500", b"b": b"500"} and snapshot["a"] == b"500"
            assert sum(map(int, db.values())) == 1000

    with db.snapshot() as snapshot:
        run_threads(lambda: commit(0), lambda: commit(1), lambda: read(snapshot))
    assert dict(db) == {b"a": b"200", b"b": b"800"}


def test_iterators_and_snapshots_keep_their_database_alive(tmp_path):
    path = tmp_path / "forgotten.db"

    def make():
        db = holdfast.open(path, domain="process", max_bytes=64 << 20)
        db.update({str(i): "v" for i in range(200)})
        return iter(db), db.snapshot(), db.items(prefix="7")

    walk, snapshot, view = make()
    gc.collect()
    assert len(list(walk)) == len(snapshot) == 200 and len(view) == 11
    del walk, snapshot, view
    gc.collect()
    holdfast.open(path).close()


def test_after_close_everything_says_so(open_database):
    db = open_database()
    db.update({str(i): "v" for i in range(200)})
    walk, snapshot = iter(db), db.snapshot()
    next(walk)
    with pytest.raises(holdfast.ClosedError), db.transaction() as t:
        t["k"] = "v"
        db.close()
    for use in (
        lambda: t.get("k"),
        lambda: t.put("k", "v"),
        lambda: list(walk),
        lambda: snapshot["1"],
    ):
        with pytest.raises(holdfast.ClosedError):
            use()
    snapshot.close()
    assert db.closed and "closed" in repr(db)
    assert "k" not in open_database()


def test_errors_explain_themselves(open_database, tmp_path):
    with pytest.raises(FileNotFoundError):
        open_database(create=False)
    db = open_database()
    with pytest.raises(holdfast.LockedError, match="in use"):
        open_database()
    db.close()
    for use in (
        lambda: db["k"],
        lambda: db.put("k", "v"),
        lambda: list(db),
        db.snapshot,
        lambda: db.property("x"),
    ):
        with pytest.raises(holdfast.ClosedError):
            use()
    db.close()
    reader = open_database(read_only=True)
    with pytest.raises(holdfast.ReadOnlyError):
        reader["k"] = "v"
    with pytest.raises(holdfast.ReadOnlyError), reader.transaction():
        pass
    reader.close()
    other = tmp_path / "other"
    other.write_bytes(b"something else" * 1000)
    with pytest.raises(holdfast.NotADatabaseError):
        holdfast.open(other)
    assert other.read_bytes() == b"something else" * 1000
    with pytest.raises(holdfast.MisuseError, match="nonsense"):
        holdfast.open(tmp_path / "new", engine="nonsense")
    with pytest.raises(holdfast.MisuseError, match="keeps nothing"):
        holdfast.open(tmp_path / "new", engine=sample.VOLATILE)
    assert not (tmp_path / "new").exists()


def test_names_of_new_databases(tmp_path):
    for name in ("none/new.db", "none/"):
        with pytest.raises(FileNotFoundError, match=r"the directory .*none does not exist"):
            holdfast.open(f"{tmp_path}/{name}")
    with pytest.raises(holdfast.MisuseError, match="zero byte"):
        holdfast.open(f"{tmp_path}/new\0more.db")
    assert list(tmp_path.iterdir()) == []
    empty = tmp_path / "empty"
    empty.touch()
    for options in ({"read_only": True}, {"create": False}):
        with pytest.raises(holdfast.NotADatabaseError, match="empty: no database is in it yet"):
            holdfast.open(empty, **options)
    with holdfast.open(empty, domain="process", max_bytes=64 << 20) as db:
        db["k"] = "v"
    with holdfast.open(empty, read_only=True) as db:
        assert dict(db) == {b"k": b"v"}


def test_persistent_memory_is_emulated_only_by_force(tmp_path):
    with pytest.raises(holdfast.MisuseError, match="option force"):
        holdfast.open(tmp_path / "new.db", domain="pmem")
    assert list(tmp_path.iterdir()) == []
    with holdfast.open(tmp_path / "new.db", domain="pmem", force=True) as db:
        assert db.property("holdfast.domain") == "pmem (emulated)"
        assert db.statistics()["domain_emulated"] == 1


def test_a_full_database_loses_nothing(open_database):
    db = open_database(max_bytes=8 << 20)
    written = {}
    with pytest.raises(holdfast.FullError, match="larger max_bytes"):
        for i in range(1000):
            db[str(i)] = bytes(100_000)
            written[str(i).encode()] = bytes(100_000)
    assert len(written) > 10 and dict(db) == written
    db.close()
    with holdfast.open(db.path, domain="process", max_bytes=64 << 20) as db:  # as it advises
        assert dict(db) == written
        db["more"] = bytes(10_000_000)
        db.verify()


def test_a_database_does_not_grow_while_it_is_cleared(open_database):
    db = open_database(initial_bytes=1 << 20)
    db.update({f"{i:08}": bytes(10) for i in range(20_000)})
    before = os.path.getsize(db.path)
    db.clear()
    assert not db and os.path.getsize(db.path) == before


@pytest.mark.parametrize("engine", sample.BOTH)
def test_options_that_contradict_the_file_are_refused(open_database, engine):
    other = next(name for name in sample.BOTH if name != engine)
    with open_database(engine=engine) as db:
        db["key"] = "value"
    for wrong, has in (
        ({"engine": other}, f"has engine {engine}, not {other}"),
        ({"max_bytes": 32 << 20}, f"has max_bytes={64 << 20}"),
        ({"engine_options": {"nonsense": 1}}, "no option 'nonsense'"),
        ({"max_threads": 256}, "max_threads is from 1 to 255"),
    ):
        with pytest.raises(holdfast.MisuseError, match=has):
            open_database(**wrong)
    with open_database(engine=None, max_bytes=0, max_threads=100) as db:
        assert db["key"] == b"value"
        assert db.property("holdfast.engine") == engine


def test_a_journal_is_kept_by_the_file_and_its_copies(tmp_path):
    path, copy = tmp_path / "test.db", tmp_path / "copy.db"
    with holdfast.open(path, domain="file", journal_bytes=256 << 10) as db:
        db["key"] = "value"
        numbers = db.statistics()
        assert 0 < numbers["journal_held_bytes"] <= numbers["journal_bytes"] < 256 << 10
        assert numbers["journal_groups_total"] > 0 and numbers["journal_lines_total"] > 0
        assert "through a journal" in db.property("holdfast.stats")
        db.backup(copy)
    for made in (path, copy):
        with holdfast.open(made, domain="file") as db:
            assert db["key"] == b"value" and db.statistics()["journal_bytes"] > 0
            db["key"] = "value"
            assert db.statistics()["journal_groups_total"] > 0
    with pytest.raises(holdfast.MisuseError, match="has journal_bytes=262144, not 65536"):
        holdfast.open(path, journal_bytes=64 << 10)


def test_reads_that_ask_find_a_damaged_page(tmp_path):
    path = tmp_path / "test.db"
    with holdfast.open(path, domain="file", journal_bytes=256 << 10) as db:
        db["key"] = "a rare value"
        assert db.statistics()["checksummed_pages"] > 0
    path.write_bytes(path.read_bytes().replace(b"a rare value", b"a rarE value"))
    with holdfast.open(path, read_only=True) as db:
        assert db["key"] == b"a rarE value"
        with pytest.raises(holdfast.DamagedError, match="differs from its checksum"):
            db.verify()
    with holdfast.open(path, read_only=True, verify_reads=True) as db:
        with pytest.raises(holdfast.DamagedError, match="differs from its checksum"):
            db.get("key")
        with pytest.raises(holdfast.DamagedError, match="differs from its checksum"):
            list(db.items())
    with pytest.raises(holdfast.DamagedError, match="differs from its checksum"):
        holdfast.open(path, verify=True)


def test_an_interrupt_ends_a_wait_for_the_writer_lock(db):
    started, done = threading.Event(), threading.Event()

    def hold():
        with db.transaction():
            started.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    started.wait()
    # Interrupts are ignored if a shell started the tests in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        # The signal comes while the main thread waits, or just before. Without it the thread
        # would wait for ever.
        with pytest.raises(KeyboardInterrupt):
            threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            while True:
                db["k"] = "v"
    finally:
        signal.signal(signal.SIGINT, before)
        done.set()
        holder.join()
    db["k"] = "v"


def _python(script, *arguments):
    line = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)


def test_a_forked_child_must_open_anew_and_ends_in_peace(tmp_path):
    done = _python(
        """
import os, sys, holdfast
db = holdfast.open(sys.argv[1], domain="process", engine=sys.argv[2], max_bytes=1 << 26)
db["k"] = "v"
snapshot, walk, t = db.snapshot(), iter(db), db.transaction()
with t as block:
    child = os.fork()
    if child == 0:
        read, write = lambda: db["k"], lambda: db.put("k", "w")
        for use in (read, write, lambda: snapshot["k"], lambda: next(walk)):
            try:
                use()
            except holdfast.MisuseError as error:
                assert "fork" in str(error)
            else:
                os._exit(7)
        db.close()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    block["k"] = "parent"
print(db["k"], snapshot["k"], list(walk))
""",
        tmp_path / "fork.db",
        sample.REPLAYED,
    )
    assert done.stdout == "b'parent' b'v' [b'k']\n", done.stderr


@pytest.mark.parametrize("engine", sample.LAGGING)
@pytest.mark.parametrize(("sync", "lag"), [(True, 0), (False, 20)])
def test_a_killed_process_leaves_its_acknowledged_writes(tmp_path, engine, sync, lag):
    script = """
import sys, holdfast
path, engine, sync, lag = sys.argv[1:]
db = holdfast.open(path, domain="process", max_bytes=1 << 26, engine=engine, lag=int(lag))
for i in range(1 << 30):
    changes = [(f"left {i % 100}", str(i)), (f"right {i % 100}", str(i)), ("last", str(i))]
    db.write(changes, sync=sync == "True")
    print(i, "", flush=True)
    if i % 50 == 49:
        db.sync()
        print(i, "synced", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "kill.db"), engine, str(sync), str(lag)],
        stdout=subprocess.PIPE,
    ) as worker:
        lines = [worker.stdout.readline() for _ in range(500)]
        worker.kill()
        lines += [line for line in worker.stdout if line.endswith(b"\n")]
    acknowledged = int(lines[-1].split()[0])
    synced = max(int(line.split()[0]) for line in lines if b"synced" in line)
    with holdfast.open(tmp_path / "kill.db", create=False, domain="process") as db:
        assert int(db["last"]) >= max(acknowledged - lag, synced)
        for i in range(100):
            assert db[f"left {i}"] == db[f"right {i}"]
        assert db.property("holdfast.old-versions") == "0"


def test_writes_without_sync(tmp_path):
    with holdfast.open(tmp_path / "db", domain="process", lag=10, lag_ms=3_600_000) as db:
        assert db.property("holdfast.lag") == "10"
        users = db.map("users")
        for write in (
            lambda: db.put("k", "v", sync=False),
            lambda: db.delete("k", sync=False),
            lambda: db.write([("k", "v"), (users, "a", "b")], sync=False),
            lambda: users.put("k", "v", sync=False),
        ):
            write()
            assert db.statistics()["pending_writes"] == 1
            db.sync()
            assert db.statistics()["pending_writes"] == 0
        assert db["k"] == users["k"] == b"v"
        with pytest.raises(holdfast.MisuseError, match="lag_ms"):
            holdfast.open(tmp_path / "other", lag_ms=0)
    with holdfast.open(tmp_path / "db", read_only=True) as db:
        db.sync()


def test_a_database_left_open_makes_no_noise(tmp_path):
    script = """
import sys, holdfast
db = holdfast.open(sys.argv[1], domain="process")
db["k"] = "v"
walk = iter(db)
"""
    done = _python(script, tmp_path / "noise.db")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_follower_applies_the_change_feed(open_database, tmp_path):
    db = open_database(change_feed_bytes=1 << 20)
    db["before"] = "copy"
    sequence = db.sequence
    db.backup(tmp_path / "copy.db")
    with db.transaction() as t:
        t["a"], t["b"] = "1", "2"
    db.transact(lambda t: t.delete("before"))
    with holdfast.open(tmp_path / "copy.db", domain="process") as follower:
        for number, changes in db.changes_since(sequence):
            follower.write(changes)
            sequence = number
        assert dict(follower) == dict(db) == {b"a": b"1", b"b": b"2"}
    assert list(db.changes_since(sequence)) == []
    db["a"] = b"\0" * 9000
    assert list(db.changes_since(sequence)) == [(sequence + 1, [(b"a", b"\0" * 9000)])]
    with pytest.raises(holdfast.MisuseError, match="does not exist yet"):
        list(db.changes_since(sequence + 9))
    for wrong in (-1, 1 << 64):
        with pytest.raises(ValueError, match=f"sequence is out of range: {wrong}"):
            list(db.changes_since(wrong))
    for _ in range(300):
        db["big"] = b"x" * 9000
    with pytest.raises(holdfast.SequenceTooOldError, match="too old"):
        list(db.changes_since(sequence))


def test_statistics_backup_and_verify(open_database, tmp_path):
    db = open_database()
    db.update({str(i): "v" for i in range(100)})
    numbers = db.statistics()
    assert numbers["updates_total"] > 0 and numbers["data_bytes"] == 4 << 20
    assert numbers["domain_emulated"] == 0
    assert int(db.property("leveldb.approximate-memory-usage")) > 0
    assert db.property("leveldb.stats") and db.property("no such") is None
    with pytest.raises(holdfast.MisuseError, match="keeps no changes"):
        list(db.changes_since(0))
    db.verify()
    db.compact()
    db.backup(tmp_path / "copy.db")
    with pytest.raises(holdfast.ExistsError, match="exists already"):
        db.backup(tmp_path / "copy.db")
    with holdfast.open(tmp_path / "copy.db", domain="process") as copy:
        assert dict(copy) == dict(db)
        copy.verify()
