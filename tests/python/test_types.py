# SPDX-License-Identifier: Apache-2.0
"""Do the package's annotations agree with its code, its extension module, and typed programs?"""

import ast
import subprocess
import sys
from pathlib import Path

from holdfast import _db

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "holdfast"

_PROGRAM = """
from typing import assert_type

import holdfast
from holdfast import Changes, Database, Map, Snapshot, Transaction


def body(t: Transaction) -> int:
    t["k"] = memoryview(b"v")
    assert_type(t["k"], bytes)
    assert_type(t.delete_range("a", b"b"), int)
    return len(t)


def use(db: Database) -> None:
    db["text"] = "text"
    db[b"bytes"] = bytearray(b"v")
    db.write([("k", b"v"), (b"k", None)])
    assert_type(db["k"], bytes)
    assert_type(db.first(prefix="k"), tuple[bytes, bytes] | None)
    for key, value in db.items("a", limit=3):
        assert_type(key, bytes)
        assert_type(value, bytes)
    for key in reversed(db.keys()):
        assert_type(key, bytes)
    for key in db:
        assert_type(key, bytes)
    assert_type(db.transact(body), int)
    with db.transaction() as t:
        assert_type(t, Transaction)
        t.rollback()
    with db.snapshot() as before:
        assert_type(before, Snapshot)
        assert_type(dict(before), dict[bytes, bytes])
    assert_type(db.delete_range(), int)
    for number, changes in db.changes_since(0):
        assert_type(number, int)
        assert_type(changes, Changes)
        assert_type(changes[0], tuple[bytes, bytes | None])
        assert_type(changes.maps["users"], list[tuple[bytes, bytes | None]])
        db.write(changes)
    users = db.map("users")
    assert_type(users, Map)
    assert_type(users["ada"], bytes)
    db.write([(users, "k", b"v"), ("users", b"k", None), ("k", "v")])
    with db.transaction() as t:
        assert_type(t.map(users).first(), tuple[bytes, bytes] | None)
    with db.snapshot() as before:
        assert_type(before.map("users")["ada"], bytes)


with holdfast.open("towns.db", max_bytes=1 << 30) as opened:
    assert_type(opened, Database)
    use(opened)
try:
    holdfast.open("towns.db", read_only=True)
except holdfast.MissingError as error:
    assert_type(error.errno, int | None)
"""
_WRONG = """
import holdfast

db = holdfast.open("towns.db", nonsense=1)
db["k"] = 5
db.put(5, "v")
db.items(limit="many")
db.write({"k": "v"})
db.write([("users", "k", 5)])
"""


def test_annotations_reach_typed_programs(tmp_path):
    """mypy finds them as it does for users: py.typed marks the package."""
    (tmp_path / "right.py").write_text(_PROGRAM)
    (tmp_path / "wrong.py").write_text(_WRONG)
    others = ("__init__.py", "errors.py", "_db.pyi")
    files = [*PACKAGE.glob("database*.py"), *(PACKAGE / name for name in others)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache",
         "right.py", "wrong.py", *files],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = [line.split(":")[:2] for line in done.stdout.splitlines() if ": error:" in line]
    assert found == [["wrong.py", str(line)] for line in range(4, 10)], done.stdout + done.stderr


def described(function):
    """The names of the parameters, as the extension module tells them."""
    text = function.__nb_signature__[0][0].replace("\\0", "...")
    return names(ast.parse(f"{text}: ...").body[0])


def names(definition):
    arguments = definition.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def test_the_stub_describes_the_extension_module():
    stub = ast.parse((PACKAGE / "_db.pyi").read_text())
    kinds = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    there = {name for name in dir(_db) if not name.startswith("_")}
    assert there == kinds.keys() | functions.keys()
    for name, function in functions.items():
        assert names(function) == described(getattr(_db, name)), name
    for name, kind in kinds.items():
        real = getattr(_db, name)
        methods = {node.name: node for node in kind.body if isinstance(node, ast.FunctionDef)}
        public = {member for member in dir(real) if not member.startswith("_")}
        assert public == {member for member in methods if not member.startswith("_")}, name
        for member, method in methods.items():
            if not isinstance(getattr(real, member), property) and hasattr(
                getattr(real, member), "__nb_signature__"
            ):
                assert names(method) == described(getattr(real, member)), f"{name}.{member}"
