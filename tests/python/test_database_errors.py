# SPDX-License-Identifier: Apache-2.0
"""Can a program catch errors of a database as the standard library's, and as Holdfast's own?"""

import errno
import os
import pickle
import resource
import shutil
import tempfile

import pytest

import holdfast
from holdfast import errors


@pytest.fixture
def small(monkeypatch):
    """Opens a small database that needs no disk."""
    return lambda path, **options: holdfast.open(
        path, **{"domain": "process", "initial_bytes": 4 << 20, "max_bytes": 64 << 20} | options
    )


def expect(error, standard, own, number, path):
    """Checks everything that a program may look at."""
    assert isinstance(error, standard) and type(error) is own
    assert isinstance(error, holdfast.Error) and isinstance(error, OSError)
    assert error.errno == number and os.fsencode(error.filename) == os.fsencode(path)
    assert str(error) == error.strerror, "the message says what to do, and has no second path"
    same = pickle.loads(pickle.dumps(error))
    assert type(same) is own and same.errno == number and str(same) == str(error)


def failure(call):
    with pytest.raises(holdfast.DatabaseError) as raised:
        call()
    return raised.value


def test_a_missing_file_or_directory(small, tmp_path):
    for path, options in [
        (tmp_path / "none", {"create": False}),
        (tmp_path / "none", {"read_only": True}),
        (tmp_path / "none" / "new.db", {}),
        (f"{tmp_path}/none/", {}),
        (f"{tmp_path}/none/below/", {"create": False}),
    ]:
        error = failure(lambda path=path, options=options: small(path, **options))
        expect(error, FileNotFoundError, holdfast.MissingError, errno.ENOENT, path)
    with small(tmp_path / "a.db") as db:
        target = tmp_path / "none" / "copy.db"
        error = failure(lambda: db.backup(target))
        assert isinstance(error, FileNotFoundError) and type(error) is holdfast.MissingError
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_a_directory(small, tmp_path):
    (tmp_path / "file").touch()
    error = failure(lambda: small(tmp_path))
    expect(error, IsADirectoryError, holdfast.DirectoryError, errno.EISDIR, tmp_path)
    (tmp_path / "empty").mkdir()
    with small(tmp_path / "empty") as db:  # as LevelDB's
        db["k"] = "v"
    assert os.listdir(tmp_path / "empty") == ["holdfast.db"]


def as_another_user(path, use):
    """Calls use() in a process that is not the superuser's. Returns 0 if it fails as it should."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.seteuid(65534)
            error = failure(use)
            expect(error, PermissionError, holdfast.DeniedError, errno.EACCES, path)
            os._exit(0)
        except BaseException as wrong:
            os.write(2, f"{type(wrong).__name__}: {wrong}\n".encode())
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_no_permission(small):
    place = tempfile.mkdtemp()
    try:
        path = f"{place}/a.db"
        small(path).close()
        os.chmod(place, 0o555)
        os.chmod(path, 0)
        for options in ({}, {"read_only": True}, {"create": False}):
            assert as_another_user(path, lambda options=options: small(path, **options)) == 0
        new = f"{place}/new.db"
        assert as_another_user(new, lambda: small(new)) == 0
        os.chmod(place, 0)
        for options in ({}, {"read_only": True}, {"create": False}):  # not even looked at
            assert as_another_user(path, lambda options=options: small(path, **options)) == 0
    finally:
        os.chmod(place, 0o755)
        shutil.rmtree(place)


def test_other_errors_of_the_system(small, tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "loop").symlink_to("loop")
    long = "x" * 300
    for name, number in [("file/below", errno.ENOTDIR), ("loop", errno.ELOOP),
                         (long, errno.ENAMETOOLONG)]:  # fmt: skip
        path = tmp_path / name
        error = failure(lambda path=path: small(path))
        expect(error, OSError, holdfast.FileError, number, path)


def test_an_existing_copy(small, tmp_path):
    with small(tmp_path / "a.db") as db:
        db.backup(tmp_path / "copy.db")
        error = failure(lambda: db.backup(tmp_path / "copy.db"))
    expect(error, FileExistsError, holdfast.ExistsError, errno.EEXIST, tmp_path / "copy.db")


def test_a_copied_file_beside_its_original(small, tmp_path):
    """Both want the same address; the message says which file has it, and what to do."""
    original = tmp_path / "a.db"
    with small(original) as db:
        db["k"] = "v"
    shutil.copy(original, tmp_path / "copy.db")
    with small(original) as db:
        with pytest.raises(holdfast.LockedError) as raised:
            small(tmp_path / "copy.db")
        told = str(raised.value)
        assert (
            "copy.db: the address range" in told
            and f"is taken in this process by {original}" in told
        )
        assert "holdfast db backup" in told
        db.backup(tmp_path / "backup.db")
        with small(tmp_path / "backup.db") as copy:
            assert dict(copy) == dict(db)
    with small(tmp_path / "copy.db") as copy:
        assert copy["k"] == b"v"


def test_a_full_disk_and_a_full_database(small, tmp_path):
    path = tmp_path / "a.db"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        error = failure(lambda: small(path, initial_bytes=16 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    expect(error, OSError, holdfast.FullError, errno.EFBIG, path)
    assert not path.exists()
    with small(path, max_bytes=8 << 20) as db:
        error = failure(lambda: db.update({str(i): bytes(100_000) for i in range(1000)}))
        assert type(error) is holdfast.FullError and error.errno is None
        assert isinstance(error, OSError) and "full" in str(error)


@pytest.mark.parametrize("known", [True, False])
def test_a_number_that_cannot_be_read(known):
    """As after a failed sync of the disk. Where that is known, the error is the one of sync()."""

    class Failed:
        def property(self, name):
            return None

        def sync(self):
            if known:
                raise errors.database_error("i/o error", "the disk has failed", errno.EIO, "path")

    db = holdfast.Database(Failed())
    for use in (lambda: db.sequence, db.statistics):
        error = failure(use)
        if known:
            expect(error, OSError, holdfast.FileError, errno.EIO, "path")
        else:
            assert type(error) is holdfast.DatabaseError and "cannot be read" in str(error)
    assert db.property("holdfast.sequence") is None


def test_every_number_has_a_class_that_says_so():
    for number in errno.errorcode:
        error = errors.database_error("i/o error", "message", number, "path")
        assert isinstance(error, holdfast.FileError)
        assert (error.errno, error.filename, str(error)) == (number, "path", "message")
        # Whatever class the standard library has for it, ours is that class too, or plain OSError.
        plain = type(OSError(number, ""))
        assert isinstance(error, plain) or type(error) in (holdfast.FileError, holdfast.DeniedError)
    assert type(errors.database_error("not found", "m")) is holdfast.SequenceTooOldError
    assert type(errors.database_error("busy", "m")) is holdfast.LockedError


def test_paths_are_bytes(small, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xfe not UTF-8"
    with small(path) as db:
        db["k"] = "v"
        assert os.fsencode(db.path) == path and "Database" in repr(db)
        error = failure(lambda: small(path))
        assert isinstance(error, holdfast.LockedError) and "in use" in str(error)
        db.backup(path + b".copy")
    with small(os.fsdecode(path) + ".copy", read_only=True) as db:
        assert dict(db) == {b"k": b"v"}
    error = failure(lambda: small(path + b"/below"))
    expect(error, OSError, holdfast.FileError, errno.ENOTDIR, path + b"/below")
    for use in (lambda: small(path + b"\0more"), lambda: small("new\0more")):
        assert type(failure(use)) is holdfast.MisuseError


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("max_bytes", 1e9, TypeError),
        ("max_bytes", "1G", TypeError),
        ("max_bytes", -1, ValueError),
        ("initial_bytes", 2**65, ValueError),
        ("journal_bytes", 0.5, TypeError),
        ("journal_bytes", -1, ValueError),
        ("change_feed_bytes", "1", TypeError),
        ("max_threads", 2**31, ValueError),
        ("lag", None, TypeError),
        ("lag_ms", -1, ValueError),
        ("create", 1, TypeError),
        ("read_only", None, TypeError),
        ("force", "no", TypeError),
        ("verify", 0, TypeError),
        ("verify_reads", 0, TypeError),
        ("engine", b"name", TypeError),
        ("domain", 3, TypeError),
        ("engine_options", {3: 4}, TypeError),
    ],
)
def test_an_option_of_a_wrong_type_is_named(small, tmp_path, name, value, error):
    with pytest.raises(error, match=f"^{name} is "):
        small(tmp_path / "a.db", **{name: value})
    assert os.listdir(tmp_path) == []


def test_a_change_is_any_sequence_but_text(small, tmp_path):
    with small(tmp_path / "a.db") as db:
        db.write([["a", "1"], [None, "b", "2"]])
        assert dict(db) == {b"a": b"1", b"b": b"2"}
        for wrong in ("ab", b"ab", 5, {"a", "b"}, ["a"], "abc", None, [1, 2]):
            with pytest.raises(TypeError):
                db.write([("c", "3"), wrong])
        assert len(db) == 2
