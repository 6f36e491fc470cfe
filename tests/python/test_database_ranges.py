# SPDX-License-Identifier: Apache-2.0
"""Do scans, reads and deletions of many keys, and rollback work as in other stores?"""

import random
import threading

import pytest

import holdfast

KEYS = [b"", b"a", b"a\0", b"ab", b"b", b"b\xff", b"b\xff\xff", b"c", b"\xff", b"\xff\xff1"]


@pytest.fixture
def db(tmp_path):
    options = {"domain": "process", "initial_bytes": 4 << 20, "max_bytes": 64 << 20}
    with holdfast.open(tmp_path / "test.db", **options) as database:
        database.update({key: key + b"!" for key in KEYS})
        yield database


@pytest.fixture(params=["database", "snapshot", "transaction", "optimistic"])
def reader(request, db):
    """Everything that reads, with the same entries."""
    if request.param == "database":
        yield db
    elif request.param == "snapshot":
        with db.snapshot() as snapshot:
            db.clear()
            yield snapshot
    elif request.param == "transaction":
        with db.transaction() as t:
            yield t
            t.rollback()
    else:
        db.clear()
        half = {key: key + b"!" for key in KEYS[::2]}
        db.update(half | {b"deleted": b"", KEYS[0]: b"replaced"})
        t = holdfast.Transaction(db._native, exclusive=False)
        t.update({key: key + b"!" for key in KEYS[1::2]} | {KEYS[0]: KEYS[0] + b"!"})
        del t["deleted"]
        yield t
        t.rollback()


def test_a_limit_ends_a_scan_of_any_range(reader):
    for start, stop in [(None, None), (b"a\0", None), (None, b"b\xff"), (b"ab", b"\xff")]:
        inside = [k for k in KEYS if (start or b"") <= k and (stop is None or k < stop)]
        for limit in (0, 1, 3, len(inside), 1000):
            first = inside[:limit]
            keys = reader.keys(start, stop, limit=limit)
            assert list(keys) == first and len(keys) == len(first)
            assert list(reversed(keys)) == first[::-1], "the same keys in the other order"
            assert [k for k in KEYS if k in keys] == first
            last = inside[::-1][:limit]
            assert list(reader.values(start, stop, reverse=True, limit=limit)) == [
                k + b"!" for k in last
            ]
            items = reader.items(start, stop, reverse=True, limit=limit)
            assert list(items) == [(k, k + b"!") for k in last]
            assert [k for k in KEYS if (k, k + b"!") in items] == sorted(last)
    assert list(reader.keys(prefix="a", limit=2)) == [b"a", b"a\0"]
    assert list(reader.keys(prefix="a", reverse=True, limit=1)) == [b"ab"]
    with pytest.raises(ValueError):
        reader.keys(limit=-1)
    with pytest.raises(TypeError):
        reader.keys(start=5)


def test_first_last_and_many(reader):
    assert reader.first() == (b"", b"!") and reader.last() == (b"\xff\xff1", b"\xff\xff1!")
    assert reader.first("a\0") == (b"a\0", b"a\0!") and reader.first("ac", "b") is None
    assert reader.last(stop="b") == (b"ab", b"ab!") and reader.last(prefix="a")[0] == b"ab"
    assert reader.last(b"\xff\xff2") is None and reader.first(prefix=b"\xff\xff")[0] == KEYS[-1]
    assert reader.get_many(["c", b"none", "a", "c"]) == [b"c!", None, b"a!", b"c!"]
    assert reader.get_many(iter([b"none", b""]), default=0) == [0, b"!"]
    assert reader.get_many([]) == []
    assert len(reader) == len(KEYS) and reader and dict(reader) == {k: k + b"!" for k in KEYS}


def test_many_values_are_of_one_state(db):
    with db.snapshot() as before:
        db.update({"a": "new", "b": "new"})
        assert before.get_many(["a", "b"]) == [b"a!", b"b!"]
        assert db.get_many(["a", "b"]) == [b"new", b"new"]


@pytest.mark.parametrize("inside", [False, True], ids=["database", "transaction"])
def test_deleting_ranges(db, inside):
    def delete(*range, **prefix):
        if not inside:
            return db.delete_range(*range, **prefix)
        return db.transact(lambda t: t.delete_range(*range, **prefix))

    left = list(KEYS)
    for start, stop, count in [(b"a", b"ab", 2), (b"a", b"ab", 0), (b"c", b"a", 0)]:
        assert delete(start, stop) == count
        left = [k for k in left if not start <= k < stop]
        assert list(db) == left
    assert delete(prefix="b") == 3 and delete(stop="ab") == 1
    assert list(db) == [b"ab", b"c", b"\xff", b"\xff\xff1"]
    assert delete(b"\xff") == 2 and delete() == 2 and not db
    with pytest.raises(TypeError):
        delete("a", prefix="a")
    db.verify()


def test_a_scan_in_a_transaction_shows_its_writes(db):
    with db.transaction() as t:
        keys = iter(t.keys("a", "c"))
        assert next(keys) == b"a"
        t["a5"] = "new"
        del t["ab"]
        t["0 before"] = "new"
        assert list(keys) == [b"a\0", b"a5", b"b", b"b\xff", b"b\xff\xff"]
        backwards = iter(t.keys(reverse=True))
        assert next(backwards) == b"\xff\xff1"
        t.clear()
        t["0"] = "last"
        assert list(backwards) == [b"0"]
        for key in t:  # grows while it is walked
            if len(key) < 5:
                t[key + b"0"] = ""
        assert list(t) == [b"0" * n for n in range(1, 6)]
        assert list(t.keys(limit=2)) == [b"0", b"00"]
        assert t.popitem() == (b"0", b"last") and t.setdefault("x", "y") == b"y"
    assert list(db) == [b"00", b"000", b"0000", b"00000", b"x"]


def test_random_scans_of_a_transaction_and_a_dict(db):
    chance = random.Random(3)
    model = dict(db)
    with db.transaction() as t:
        for _ in range(300):
            key = bytes(chance.choices(b"abc", k=chance.randrange(4)))
            match chance.randrange(4):
                case 0:
                    t[key] = model[key] = bytes(3)
                case 1:
                    assert t.pop(key, None) == model.pop(key, None)
                case 2:
                    end = bytes(chance.choices(b"abc", k=2))
                    doomed = [k for k in model if key <= k < end and chance.random() < 2]
                    if chance.random() < 0.2:
                        assert t.delete_range(key, end) == len(doomed)
                        model = {k: v for k, v in model.items() if k not in doomed}
                case 3:
                    assert list(t.items(key)) == sorted(i for i in model.items() if i[0] >= key)
    assert dict(db) == model


def test_a_key_that_appears_in_a_scanned_range_runs_the_body_again(db):
    runs = []

    def body(t):
        runs.append(len(t.keys("a", "b")))
        if len(runs) == 1:
            db["a new"] = "phantom"
        t["count"] = str(runs[-1])

    db.transact(body)
    assert runs == [3, 4] and db["count"] == b"4"
    runs.clear()

    def elsewhere(t):
        runs.append(len(t.keys("a", "b")))
        db["z"] = str(len(runs))
        t["count"] = "0"

    db.transact(elsewhere)
    assert len(runs) == 1, "a write outside of the range is no conflict"


@pytest.mark.parametrize("writes", [False, True])
def test_threads_share_the_entries_of_a_walk(db, writes):
    keys = [str(i).encode() for i in range(10, 60)]
    db.update(dict.fromkeys(keys, ""))

    def take(walk, taken, reader):
        for key in walk:
            taken.append(key)
            if writes:
                reader.delete("99")  # the walk reads ahead anew

    for limit in (2, None) * 20:
        with db.transaction() if writes else db.snapshot() as reader:
            taken = []
            arguments = (iter(reader.keys("1", "6", limit=limit)), taken, reader)
            threads = [threading.Thread(target=take, args=arguments) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(taken) == keys[:limit]


def test_rollback(db):
    before = dict(db)
    with db.transaction() as t:
        t["k"] = "v"
        t.clear()
        t.rollback()
        with pytest.raises(holdfast.MisuseError, match="over"):
            t["k"] = "v"
        with pytest.raises(holdfast.MisuseError, match="over"):
            list(t)
        db["other"] = "the writer lock is free"
    assert dict(db) == before | {b"other": b"the writer lock is free"}

    def body(t):
        t["k"] = "v"
        t.rollback()
        return "result"

    assert db.transact(body) == "result" and "k" not in db


def test_a_scan_ends_with_its_transaction(db):
    with db.transaction() as t:
        keys = iter(t)
        next(keys)
    with pytest.raises(holdfast.MisuseError, match="over"):
        list(keys)
    assert db.property("holdfast.open-snapshots") == "0", "it still holds old versions"
    t = holdfast.Transaction(db._native, exclusive=False)
    keys = iter(t)
    db.close()
    with pytest.raises(holdfast.ClosedError):
        next(keys)


def test_reprs_say_what_it_is(db, tmp_path):
    path = repr(str(tmp_path / "test.db"))
    engine = db.property("holdfast.engine")
    assert repr(db) == f"<holdfast.Database {path} (engine {engine}, domain process)>"
    assert repr(db.keys("a", limit=3)) == f"Keys(start=b'a', limit=3) of {db!r}"
    assert repr(db.items(prefix="a", reverse=True)).startswith(
        "Items(start=b'a', stop=b'b', reverse=True) of <"
    )
    with db.snapshot() as snapshot:
        assert repr(snapshot) == f"<holdfast.Snapshot of {path}>"
    assert repr(snapshot) == f"<holdfast.Snapshot of {path} (closed)>"
    with db.transaction() as t:
        assert repr(t) == f"<holdfast.Transaction of {path}>"
    assert repr(t) == f"<holdfast.Transaction of {path} (over)>"
    db.close()
    assert repr(db) == f"<holdfast.Database {path} (closed)>"
    assert repr(db.values()) == f"Values() of {db!r}"
    with holdfast.open(tmp_path / "test.db", read_only=True) as reader:
        assert "read-only" in repr(reader)
