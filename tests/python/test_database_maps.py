# SPDX-License-Identifier: Apache-2.0
"""Is each named map a mapping of its own, and do all maps change and show together?"""

import json
import lzma
import random

import pytest
from test_format import EXPECTED, FILES

import holdfast


@pytest.fixture
def path(tmp_path):
    return tmp_path / "maps.db"


@pytest.fixture
def db(path):
    with holdfast.open(path, domain="process", change_feed_bytes=16 << 20) as database:
        yield database


def open_anew(path, **options):
    return holdfast.open(path, domain="process", **options)


def test_a_map_is_a_mapping_of_its_own(db):
    users = db.map("users")
    towns = db.map("tówns")
    model = {}
    chance = random.Random("maps")
    for _ in range(300):
        key = bytes(chance.choices([0, 97, 255], k=chance.randrange(4)))
        if chance.random() < 0.3:
            users.delete(key)
            model.pop(key, None)
        else:
            users[key] = model[key] = str(chance.random()).encode()
    db[b"\xff"] = "default"
    towns["oslo"] = "1"
    assert list(users.items()) == sorted(model.items())
    assert list(users.keys(reverse=True)) == sorted(model, reverse=True) == list(reversed(users))
    assert users.first() == min(model.items()) and users.last() == max(model.items())
    assert (
        list(users.keys(prefix=b"\xff", limit=3))
        == sorted(key for key in model if key.startswith(b"\xff"))[:3]
    )
    assert len(users) == len(model) and bool(users) and b"no" not in users
    some = [*list(model)[:3], b"missing"]
    assert users.get_many(some, b"?") == [model.get(key, b"?") for key in some]
    assert dict(db.items()) == {b"\xff": b"default"} and dict(towns) == {b"oslo": b"1"}
    assert users.setdefault("new", "1") == b"1" and users.setdefault("new", "2") == b"1"
    assert users.pop("new") == b"1" and users.pop("new", None) is None
    with pytest.raises(KeyError):
        del users["new"]
    users.update({"a": "1"}, b="2")
    assert users.delete_range("a", "c") >= 2
    users.clear()
    assert not users and users.get("a") is None
    with pytest.raises(KeyError, match="empty"):
        users.popitem()
    assert db.maps() == ["tówns", "users"]
    assert "'users'" in repr(users) and "maps.db" in repr(users)


def test_maps_stay_in_the_file(path):
    with open_anew(path) as db:
        db.map("users")["ada"] = "1"
        db.map("empty")
        db["key"] = "2"
    with open_anew(path, read_only=True) as db:
        assert db.maps() == ["empty", "users"]
        assert dict(db.map("users")) == {b"ada": b"1"}
        assert dict(db) == {b"key": b"2"}
        with pytest.raises(holdfast.MisuseError, match="no map 'other'"):
            db.map("other")
        with pytest.raises(holdfast.ReadOnlyError):
            db.map("users").put("ada", "2")


def test_one_write_and_one_transaction_change_several_maps(db):
    users, towns = db.map("users"), db.map("towns")
    db.write([("a", "1"), (users, "ada", "oslo"), ("towns", "oslo", "1"), (None, "b", "2")])
    assert dict(db) == {b"a": b"1", b"b": b"2"}
    with db.snapshot() as before:
        with db.transaction() as t:
            t.map("users")["bob"] = t.map(users)["ada"]
            del t.map(towns)["oslo"]
            assert list(t.map("users").items()) == [(b"ada", b"oslo"), (b"bob", b"oslo")]
            assert t.map("towns").setdefault("bodo", "3") == b"3"
            assert t.map(db).delete_range("a", "b") == 1
        db.transact(lambda t: t.map(users).pop("ada"))
        db.map("late")["key"] = "4"
        assert before.maps() == ["towns", "users"]
        assert dict(before.map("users")) == {b"ada": b"oslo"}
        assert before.map("towns").get_many(["oslo", "bodo"]) == [b"1", None]
        with pytest.raises(holdfast.MisuseError, match="no map 'late'"):
            before.map("late")
    assert dict(users) == {b"bob": b"oslo"} and dict(towns) == {b"bodo": b"3"}
    with pytest.raises(ZeroDivisionError), db.transaction() as t:
        t.map(users)["eve"] = "5"
        raise ZeroDivisionError
    assert "eve" not in users
    for wrong in [("a", "b", "c", "d"), ("a",), (7, "key", "value")]:
        with pytest.raises(TypeError, match="a change is"):
            db.write([wrong])
    with pytest.raises(holdfast.MisuseError, match="no map 'nothing'"):
        db.write([("a", "unchanged"), ("nothing", "key", "value")])
    assert "a" not in db


def test_a_dropped_map_is_gone(db):
    users = db.map("users")
    users.update({str(i): "x" * 100 for i in range(1000)})
    with db.snapshot() as before:
        db.drop_map("users")
        assert db.maps() == []
        assert len(before.map("users")) == 1000
    for use in (
        lambda: users["1"],
        lambda: users.put("1", "2"),
        lambda: list(users),
        lambda: users.setdefault("1", "2"),
        lambda: db.write([("key", "unchanged"), (users, "1", "2")]),
        lambda: db.drop_map(users),
    ):
        with pytest.raises(holdfast.MisuseError, match="map 'users' has been dropped"):
            use()
    assert "key" not in db
    with pytest.raises(holdfast.MisuseError, match="no map 'users'"):
        db.drop_map("users")
    assert dict(db.map("users")) == {}
    db.verify()


@pytest.mark.parametrize("name", ["", "a\0b", "n" * 256])
def test_bad_names_are_refused(db, name):
    with pytest.raises(holdfast.MisuseError, match="1 to 255 bytes"):
        db.map(name)
    assert db.maps() == []


def test_a_map_of_another_database_is_refused(db, tmp_path):
    users = db.map("users")
    with open_anew(tmp_path / "other.db") as other:
        other.map("users")["ada"] = "of the other one"
        with pytest.raises(holdfast.MisuseError, match="belongs to another database"):
            other.write([(users, "ada", "1")])
        with pytest.raises(holdfast.MisuseError, match="belongs to another database"):
            other.drop_map(users)
        with pytest.raises(holdfast.MisuseError, match="belongs to another database"):
            other.transact(lambda t: t.map(users).put("ada", "1"))
        with pytest.raises(holdfast.MisuseError, match="belongs to another database"):
            other.write([(db, "ada", "1")])
        with pytest.raises(holdfast.MisuseError, match="belongs to another database"):
            other.transact(lambda t: t.map(db).put("ada", "1"))
        other.write([(other, "bob", "2")])
        other.transact(lambda t: t.map(other).put("bob", t["bob"] + b"3"))
        assert dict(other) == {b"bob": b"23"}
    with pytest.raises(holdfast.ClosedError):
        other.map("users")


def test_a_follower_has_the_same_maps(db, tmp_path):
    db.map("users")["ada"] = "1"
    db.backup(tmp_path / "copy.db")
    db.map("towns")["oslo"] = "2"
    db.write([("a", "3"), ("users", "ada", None), ("users", "bob", "4")])
    db.map("gone")["key"] = "5"
    db.drop_map("gone")
    db["plain"] = "6"
    with (
        open_anew(tmp_path / "copy.db") as copy,
        open_anew(tmp_path / "empty.db") as empty,
    ):
        assert dict(copy.map("users")) == {b"ada": b"1"}
        seen = []
        in_maps = []
        for _, changes in db.changes_since(0):
            seen += changes
            in_maps += [(name, *one) for name, of_map in changes.maps.items() for one in of_map]
            empty.write(changes)
            copy.write(changes)  # some are in the copy already
        for follower in (copy, empty):
            assert follower.maps() == ["towns", "users"]
            assert dict(follower.map("users")) == {b"bob": b"4"}
            assert dict(follower.map("towns")) == {b"oslo": b"2"}
            assert dict(follower) == {b"a": b"3", b"plain": b"6"}
    assert seen == [(b"a", b"3"), (b"plain", b"6")]
    assert in_maps == [
        ("users", b"ada", b"1"),
        ("towns", b"oslo", b"2"),
        ("users", b"ada", None),
        ("users", b"bob", b"4"),
        (3, b"key", b"5"),  # the number of a dropped map
        (3, b"key", None),
    ]


def test_edited_changes_that_name_maps_are_refused_and_never_half_written(db, tmp_path):
    sequence = db.sequence
    users = db.map("users")
    db.write([("a", "1"), (users, "ada", "2")])
    db["b"] = "3"
    edits = [
        lambda changes: changes.append((b"more", b"4")),
        lambda changes: changes.clear(),
        lambda changes: changes.maps["users"].append((b"more", b"4")),
        lambda changes: changes.maps.clear(),
        lambda changes: changes.maps.update(towns=[(b"oslo", b"4")]),
    ]
    with open_anew(tmp_path / "copy.db") as copy:
        for edit in edits:
            changes = dict(db.changes_since(sequence))
            edit(changes[sequence + 2])
            with pytest.raises(holdfast.MisuseError, match="edited"):
                copy.write(changes[sequence + 2])
        changes[sequence + 3].maps["users"] = [(b"more", b"4")]
        with pytest.raises(holdfast.MisuseError, match="edited"):
            copy.write(changes[sequence + 3])
        assert dict(copy) == {} and copy.maps() == []
        for number, changes in db.changes_since(sequence):
            if number == sequence + 3:
                changes.append((b"more", b"4"))
            copy.write(changes)
        assert dict(copy) == {b"a": b"1", b"b": b"3", b"more": b"4"}
        assert dict(copy.map("users")) == {b"ada": b"2"}


def test_keys_that_begin_with_255_are_as_before_in_a_file_of_root_version_4(
    tmp_path, command, command_json
):
    for packed in FILES:
        old, new, copy = (tmp_path / f"{packed.stem}.{name}" for name in ("old", "new", "copy"))
        old.write_bytes(lzma.decompress(packed.read_bytes()))
        command("convert", old, new)
        with open_anew(new, change_feed_bytes=1 << 20) as db:
            sequence = db.sequence
            odd = {b"\xff": b"1", b"\xff\0key": b"2", b"\xff\x03\0\0\0\x01k": b"3"}
            db.update(odd)
            db.transact(lambda t: t.put(b"\xff\xff", "4"))
            odd[b"\xff\xff"] = b"4"
            assert dict(db.items()) == EXPECTED | odd
            assert dict(db.items(prefix=b"\xff")) == odd
            assert list(db.keys(b"\xff", reverse=True)) == sorted(odd, reverse=True)
            with pytest.raises(holdfast.DatabaseError, match="holdfast db backup"):
                db.map("users")
            assert db.maps() == []
            changes = [change for _, of_one in db.changes_since(sequence) for change in of_one]
            assert dict(changes) == odd
            db.backup(copy)
        with open_anew(new) as db:
            assert dict(db.items()) == EXPECTED | odd
        with open_anew(copy) as db:
            db.map("users")["ada"] = "5"
            assert dict(db.items()) == EXPECTED | odd
            assert dict(db.map("users")) == {b"ada": b"5"}
            db.verify()


@pytest.mark.parametrize("ending", ["jsonl", "csv", "tsv"])
def test_dump_and_load_keep_all_maps(path, tmp_path, command, ending):
    with open_anew(path) as db:
        db.update({"key": "1", b"\xff\0": "2"})
        db.map("users").update({"ada": "3", "": "4"})
        db.map("towns")["oslo"] = 'tab\t, quote" and line\n'
        expected = {name: dict(db.map(name)) for name in db.maps()} | {None: dict(db)}
    out = tmp_path / f"all.{ending}"
    new = tmp_path / "new.db"
    command("db", "dump", path, out, "--bytes", "escape")
    command("db", "load", new, out, "--bytes", "escape")
    with open_anew(new) as db:
        assert {name: dict(db.map(name)) for name in db.maps()} | {None: dict(db)} == expected
    users = tmp_path / f"users.{ending}"
    command("db", "dump", path, users, "--bytes", "escape", "--map", "users")
    assert "holdfast.map" not in users.read_text()
    command("db", "load", new, users, "--bytes", "escape", "--map", "copies")
    with open_anew(new) as db:
        assert dict(db.map("copies")) == expected["users"]


def test_the_command_line_names_maps(path, command, command_json):
    command("db", "put", path, "ada", "1", "--map", "users")
    command("db", "put", path, "key", "2")
    assert command("db", "get", path, "ada", "--map", "users").stdout == "1\n"
    assert command("db", "get", path, "ada", status=1).stdout == ""
    assert command("db", "scan", path, "--map", "users").stdout == "ada\t1\n"
    assert command("db", "scan", path).stdout == "key\t2\n"
    assert command("db", "maps", path).stdout == "users\t1\n"
    assert command_json("db", "maps", path) == [{"map": "users", "entries": 1}]
    assert command_json("db", "stats", path)["entries"] == 2
    refused = command("db", "get", path, "ada", "--map", "nothing", status=2)
    assert "no map 'nothing'" in refused.stderr and "users" in refused.stderr
    command("db", "delete", path, "ada", "--map", "users")
    assert command("db", "maps", path).stdout == "users\t0\n"
    assert json.loads(command("db", "dump", path).stdout) == {"key": "key", "value": "2"}
