# SPDX-License-Identifier: Apache-2.0
"""Does an argument that a database cannot use raise an error, and mean the same everywhere?"""

import subprocess
import sys

import pytest

import holdfast


@pytest.fixture
def db(tmp_path):
    sizes = {"domain": "process", "initial_bytes": 4 << 20, "max_bytes": 64 << 20}
    with holdfast.open(tmp_path / "a.db", **sizes) as opened:
        yield opened


def test_only_a_named_map_is_dropped(db):
    db.map("users")["ada"] = "1"
    db["key"] = "value"
    with db.snapshot() as snapshot, db.transaction() as transaction:
        for wrong in (db, snapshot, transaction, None, 5, b"users"):
            with pytest.raises(TypeError, match="drop_map takes a named map or its name"):
                db.drop_map(wrong)
    for default in ("default", db.map("default")):
        with pytest.raises(holdfast.MisuseError, match="the default map cannot be dropped"):
            db.drop_map(default)
    assert dict(db) == {b"key": b"value"} and dict(db.map("users")) == {b"ada": b"1"}


def test_a_map_is_a_name_or_an_object_of_a_map(db):
    class Other:
        _map = 5

    with db.transaction() as transaction:
        for wrong in (None, 5, b"users"):
            with pytest.raises(TypeError, match="a map is a name or an object"):
                transaction.map(wrong)
    for wrong in (5, Other()):
        with pytest.raises(TypeError, match="a map or its name"):
            db.write([(wrong, "key", "value")])
    for use in (db.map, db.drop_map, lambda name: db.write([(name, "key", "value")])):
        with pytest.raises(UnicodeEncodeError):
            use("\udc80")


def test_text_means_its_bytes_in_every_view(db):
    db["käse"] = "brie"
    for limit in (None, 1):
        assert "käse" in db.keys(limit=limit)
        for value in ("brie", b"brie", bytearray(b"brie"), memoryview(b"brie")):
            assert value in db.values(limit=limit)
            assert ("käse", value) in db.items(limit=limit)
        for value in ("käse", b"other", 5, None):
            assert value not in db.values(limit=limit)
            assert ("käse", value) not in db.items(limit=limit)


def test_a_limit_may_be_larger_than_any_number_of_entries(db):
    db.update({"a": "1", "b": "2"})
    for limit in (sys.maxsize, sys.maxsize + 1, 10**30):
        assert list(db.keys(limit=limit)) == list(db.keys(limit=limit, reverse=True))[::-1]
        assert len(db.items("a", limit=limit)) == 2


def test_a_name_of_a_parameter_is_a_key_too(db):
    db.update(self="1", others="2", more="3")
    assert db["self"] + db["others"] + db["more"] == b"123"


def test_engine_options_are_a_mapping(tmp_path):
    for wrong in ([1], "text", 5):
        with pytest.raises(TypeError, match="engine_options is a mapping from str"):
            holdfast.open(tmp_path / "b.db", engine_options=wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_buffer_that_cannot_be_read_says_why(db):
    released = memoryview(b"key")
    released.release()
    with pytest.raises(ValueError, match="released"):
        db.get(released)
    with pytest.raises(BufferError, match="contiguous"):
        db["key"] = memoryview(b"a-b-c-")[::2]
    assert len(db) == 0


def test_a_buffer_is_free_after_a_call_without_memory(tmp_path):
    program = """
import mmap, resource, sys
import holdfast
with holdfast.open(sys.argv[1], domain="process", max_bytes=64 << 20) as db:
    large = mmap.mmap(-1, 1 << 30)
    with open("/proc/self/statm") as file:
        bytes_now = int(file.read().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (bytes_now + (64 << 20), resource.RLIM_INFINITY))
    for call in (lambda: db.put("key", large), lambda: db.get(large)):
        try:
            call()
        except MemoryError:
            continue
        sys.exit("there was memory")
    large.close()  # BufferError, if a call still held its bytes
    db["key"] = "value"
"""
    subprocess.run([sys.executable, "-c", program, tmp_path / "a.db"], check=True, timeout=600)
