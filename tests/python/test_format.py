# SPDX-License-Identifier: Apache-2.0
"""Are databases readable that versions before format 2 have written, and does convert upgrade them?

The files in format_1/ were written by commit 581b9f0: 300 short entries, every seventh of them
deleted again, and a long value.
"""

import lzma
from pathlib import Path

import pytest

import holdfast
from holdfast import _core as core

FILES = sorted((Path(__file__).parent / "format_1").glob("*.xz"))
EXPECTED = {
    f"key{i:04}".encode(): (f"value {i}" * (i % 5 + 1)).encode() for i in range(300) if i % 7 != 0
} | {b"long": bytes(range(256)) * 64}


@pytest.fixture(params=FILES, ids=lambda file: file.name.split(".")[0])
def old(request, tmp_path):
    path = tmp_path / "old.db"
    path.write_bytes(lzma.decompress(request.param.read_bytes()))
    return path


def test_there_are_files_of_both_layouts():
    assert len(FILES) == 2


def test_an_old_file_opens_read_only(old, command_json):
    before = old.read_bytes()
    with pytest.raises(holdfast.DatabaseError, match="convert"):
        holdfast.open(old, domain="process")
    with holdfast.open(old, domain="process", read_only=True) as db:
        assert dict(db.items()) == EXPECTED
        db.verify()
    assert command_json("info", old)["format"] == 1
    assert old.read_bytes() == before


def test_convert_upgrades(old, command, command_json, tmp_path):
    new = tmp_path / "new.db"
    command("convert", old, new, "--max-bytes", str(1 << 30))
    was, now = command_json("info", old), command_json("info", new)
    assert now["format"] == 2 and now["engine"] == was["engine"]
    assert now["capacity_bytes"] == 1 << 30
    with holdfast.open(new, domain="process") as db:
        assert dict(db.items()) == EXPECTED
        db.verify()
        db["more"] = b"x" * (8 << 20)  # grows
    with holdfast.open(new, domain="process") as db:
        assert dict(db.items()) == EXPECTED | {b"more": b"x" * (8 << 20)}


def test_each_durable_engine_has_a_file_that_later_builds_must_open():
    folder = Path(__file__).parent.parent / "fuzz/format_2"
    engines = {file.name.removesuffix(".xz").split(",")[0] for file in folder.glob("*.xz")}
    assert engines == {
        engine["name"]
        for engine in core.engines()
        if engine["durability"] != "none" and not engine["simulated_only"]
    }, "tools/write_format_file.py ENGINE"
