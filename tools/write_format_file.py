#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a database that later builds must be able to open, for tests/fuzz/format_files_test.cc.

    .venv/bin/python tools/write_format_file.py ENGINE [OPTION=VALUE ...] [--journal]

A process writes the database and is killed, so that its log has to be recovered. The compressed
file is named after the arguments. It is never written anew: a build that cannot open it needs a
new format (kFormatVersion), a feature bit or a way to read the old one.
"""

import argparse
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import holdfast
from holdfast import _core as core

FOLDER = Path(__file__).resolve().parent.parent / "tests/fuzz/format_2"
# Small logs and tables, so that the files are small. Engines without such an option do not get it.
SMALL = {
    "log_bytes": "65536", "records": "1024", "markers": "1024", "alias_bytes": "65536",
    "stripes": "1024", "locks": "1024",
}  # fmt: skip


def fill(path: Path, engine: str, options: dict[str, str], journal: bool) -> None:
    """Writes what the test expects, and does not return."""
    db = holdfast.open(
        path, engine=engine, engine_options=options, domain="file" if journal else "process",
        journal_bytes=1 << 16 if journal else 0, max_bytes=1 << 24, max_threads=2,
    )  # fmt: skip
    for i in range(60):
        db[f"key{i:02}".encode()] = f"value {i}".encode() * (i % 5 + 1)
    db[b"long"] = bytes(range(256)) * 8
    for i in range(0, 60, 7):
        del db[f"key{i:02}".encode()]
    os.kill(os.getpid(), 9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine")
    parser.add_argument("options", nargs="*", metavar="OPTION=VALUE")
    parser.add_argument("--journal", action="store_true", help="write through a journal")
    parser.add_argument("--fill", type=Path, help=argparse.SUPPRESS)  # in the process to be killed
    given = parser.parse_args()
    known = {e["name"]: {o["name"] for o in e["options"]} for e in core.engines()}
    if given.engine not in known:
        parser.error(f"no engine '{given.engine}'; there are {', '.join(known)}")
    small = {name: value for name, value in SMALL.items() if name in known[given.engine]}
    options = small | dict(option.split("=", 1) for option in given.options)
    if given.fill:
        fill(given.fill, given.engine, options, given.journal)
    parts = [given.engine, *given.options, *(["journal"] if given.journal else [])]
    target = FOLDER / f"{','.join(parts)}.xz"
    if target.exists():
        parser.error(f"{target} exists, and later builds must be able to open it as it is")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "heap"
        command = [sys.executable, __file__, *sys.argv[1:], "--fill", str(path)]
        if (status := subprocess.run(command, check=False).returncode) != -9:
            raise SystemExit(f"the process that writes ended with status {status}")
        FOLDER.mkdir(exist_ok=True)
        target.write_bytes(lzma.compress(path.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
