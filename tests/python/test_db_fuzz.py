# SPDX-License-Identifier: Apache-2.0
"""Can wrong input break `holdfast db`?

Tables, JSON lines and property files with mistakes of every kind are read, or get an error that
names the line. Seeds are fixed.
"""

import io
import random
import string
import subprocess
import sys

import pytest

import holdfast
from holdfast import core, errors
from holdfast.cli.db import ycsb
from holdfast.cli.db.coding import Bytes
from holdfast.cli.db.rows import Format, Numbered, read, writer

_TABLE = b'key,value\na,1\n"b, c","2\n3"\n"say ""d""",\xc3\xa4\n'
_LINES = b'{"key": "a", "value": "1"}\n\n{"key": 7, "value": [1, {"x": null}], "more": "\\u00e4"}\n'
_BITS = [
    b"\0",
    b'"',
    b'""',
    b",",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"\\",
    b"{",
    b"[",
    b"\xe2\x80\xa8",
]


def mutated(chance, content):
    for _ in range(chance.randint(1, 6)):
        at = chance.randint(0, len(content))
        kind = chance.randrange(4)
        if kind == 0:
            content = (
                content[:at] + chance.choice(_BITS) * chance.choice((1, 1, 1, 50)) + content[at:]
            )
        elif kind == 1:
            content = content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]
        elif kind == 2:
            content = content[:at] + content[at + chance.randint(1, 9) :]
        else:
            content = content[:at]
    return content


def outcome(content, form, key=None, value=None, as_text=Bytes.text):
    """Returns entries, or the text of a Failure. Any other exception fails the test."""
    try:
        lines = Numbered(io.BytesIO(content), "in")
        return list(read(lines, form, key, value, as_text, None, lambda _: None))
    except errors.BadUsage as error:
        return str(error)


@pytest.mark.parametrize("form", list(Format))
def test_wrong_tables_and_lines_are_reported(form):
    chance = random.Random(f"rows {form}")
    good = (
        _LINES
        if form is Format.jsonl
        else _TABLE.replace(b",", b"\t")
        if form is Format.tsv
        else _TABLE
    )
    read_at_all = told = 0
    for _ in range(3000):
        content = mutated(chance, good)
        key, value = chance.choice(((None, None), ("key", "value"), ("value", None)))
        found = outcome(content, form, key, value, chance.choice(list(Bytes)))
        if isinstance(found, str):
            told += 1
            assert "line" in found, (content, found)
        else:
            read_at_all += 1
            assert all(isinstance(part, bytes) for entry in found for part in entry), content
    assert read_at_all > 100 and told > 100


@pytest.mark.parametrize(
    ("content", "form", "expected"),
    [
        (b"\n\na,b\n", Format.csv, "line 1 is empty"),
        (b"[" * 100_000, Format.jsonl, "line 1 is nested too deeply"),
        (b'{"key": ' * 100_000, Format.jsonl, "line 1 is nested too deeply"),
        (b'{"key": "k", "value": ' + b"9" * 5000 + b"}", Format.jsonl, "line 1 cannot be read"),
        (b'{"key": "k", "a": "\\ud800", "b": 1}', Format.jsonl, "line 1 is not --bytes text"),
        (b'{"key": "k", "value": "cut o', Format.jsonl, "line 1 is not JSON"),
        (b'k,v\n"a,b\n', Format.csv, "line 2 is not CSV"),
        (b'k,v\n"a"x,b\n', Format.csv, "line 2 is not CSV"),
        (b"k,v\n\xff,b\n", Format.csv, "line 2 is not UTF-8"),
        (b"k,v\na\0b,c\n", Format.csv, [(b"a\0b", b"c")]),
        (b"k,v\na," + b"x" * 5_000_000 + b"\n", Format.csv, [(b"a", b"x" * 5_000_000)]),
        (b"", Format.csv, []),
    ],
)
def test_inputs_that_once_failed(content, form, expected):
    found = outcome(content, form)
    assert expected in found if isinstance(expected, str) else found == expected


@pytest.mark.parametrize("form", list(Format))
def test_load_reads_the_output_of_dump(form):
    chance = random.Random(f"round trip {form}")
    for _ in range(30):
        entries = [
            (
                "".join(chance.choices(string.printable + 'ä\0"\u2028', k=chance.randrange(30))),
                "x" * chance.choice((0, 3, 200_000)),
            )
            for _ in range(3)
        ]
        stream = io.StringIO(newline="")
        write = writer(stream, form)
        for key, value in entries:
            write(
                Bytes.escape.encode_bytes(key.encode()), Bytes.escape.encode_bytes(value.encode())
            )
        found = outcome(stream.getvalue().encode(), form, "key", "value", Bytes.escape)
        assert found == [(key.encode(), value.encode()) for key, value in entries]


def test_wrong_property_files_are_reported():
    chance = random.Random("properties")
    names = [
        "recordcount",
        "operationcount",
        "fieldlength",
        "readproportion",
        "scanproportion",
        "requestdistribution",
        "insertorder",
        "table",
        "x.y",
        "",
        "recordcuont",
    ]
    values = [
        "1",
        "0",
        "-1",
        "1e9",
        "9" * 30,
        "9" * 5000,
        "0.5",
        ".",
        "1.",
        "inf",
        "nan",
        "\u0663",
        "zipfian",
        "",
        "\0",
        "hashed",
        "\\",
        " = ",
        "0x10",
        "1_000",
    ]
    told = 0
    for _ in range(3000):
        lines = [
            f"{chance.choice(names)}{chance.choice('=: ')}{chance.choice(values)}"
            for _ in range(chance.randint(1, 4))
        ]
        try:
            text = chance.choice(("\n", "\r\n", "\\\n")).join(lines)
            found = ycsb.parse(text, "file", "mine").json()
        except errors.BadUsage as error:
            told += 1
            assert str(error).startswith("file:") and len(str(error)) < 400
            continue
        for name, value in found.items():
            if name.endswith(("count", "length")):
                assert 1 <= value <= 1 << 40
            elif name.endswith("proportion"):
                assert 0 <= value < 1e10
    assert told > 500


def test_the_core_refuses_requests_that_no_property_file_makes(tmp_path):
    for absurd in (
        {"recordcount": 1 << 41},
        {"recordcount": 0},
        {"operationcount": -1},
        {"fieldcount": 10_000, "fieldlength": 1 << 20},
        {"readproportion": 1e300},
        {"readproportion": 0.0, "updateproportion": 0.0},
        {"requestdistribution": "pareto"},
        {"unknown": 1},
    ):
        spec = {
            "benchmarks": [{"name": "ycsb-x", **absurd}],
            "num": 10,
            "dir": str(tmp_path),
            "engines": ["romulus-log"],
        }
        with pytest.raises(errors.Failure):
            core.db_bench(spec, lambda *_: None)


@pytest.mark.parametrize(
    "verb", ["get", "put", "delete", "scan", "stats", "verify", "load", "dump", "backup"]
)
def test_verbs_refuse_files_that_are_none(invoke, tmp_path, verb):
    """Expects exit status 2, or 1 for a missing file, a message, and an unchanged file.

    An empty file is a new database, so verbs that write take it.
    """
    chance = random.Random(verb)
    table = tmp_path / "table.csv"
    table.write_text("k,v\na,1\n")
    rest = {
        "get": ("k",),
        "put": ("k", "v"),
        "delete": ("k",),
        "load": (table,),
        "backup": (tmp_path / "copy",),
    }.get(verb, ())
    with holdfast.open(tmp_path / "good", domain="process") as database:
        database["k"] = "v"
    good = (tmp_path / "good").read_bytes()
    no_superblock = bytearray(good)
    for copy in (0, good.index(good[:16], 16)):
        for byte in range(64, 4096, 7):
            no_superblock[copy + byte] ^= 0x55
    for content in (
        *([] if verb in ("put", "load") else [b""]),
        b"no database",
        bytes(100_000),
        chance.randbytes(100_000),
        good[:5000],
        no_superblock,
    ):
        file = tmp_path / "file"
        file.write_bytes(content)
        result = invoke("db", verb, file, *rest)
        assert result.exit_code in (1, 2, 3), (verb, result.output)
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
        assert file.read_bytes() == content


def test_the_store_opens_after_an_error_in_the_core(tmp_path):
    """Runs in a process of its own.

    The two modules share libstdc++, and the first exception makes its thread-local words.
    """
    program = (
        "import holdfast; from holdfast import core, errors\n"
        "try: core.db_bench({'unknown': 1}, lambda *_: None)\n"
        "except errors.BadUsage: pass\n"
        f"holdfast.open({str(tmp_path / 'db')!r}, domain='process').close()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=600)
