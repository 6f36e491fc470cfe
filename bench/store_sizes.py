# SPDX-License-Identifier: Apache-2.0
"""The sizes of a database: empty, with 200,000 small rows, and after their deletion.

Usage: .venv/bin/python bench/store_sizes.py [ENGINE ...]
"""

import os
import random
import sys
import tempfile

import holdfast

ROWS = 200_000
AT_ONCE = 1000
MIB = 1 << 20


def disk(path: str) -> float:
    return os.stat(path).st_blocks * 512 / MIB


def measure(engine: str, folder: str) -> None:
    path = os.path.join(folder, engine)
    keys = [b"%016d" % i for i in range(ROWS)]
    random.Random(1).shuffle(keys)
    with holdfast.open(path, engine=engine, domain="process") as db:
        empty = disk(path)
        for i in range(0, ROWS, AT_ONCE):
            db.write((key, b"x" * 12) for key in keys[i : i + AT_ONCE])
        loaded, used = disk(path), db.statistics()["used_bytes"] / MIB
        for i in range(0, ROWS, AT_ONCE):
            db.write((key, None) for key in keys[i : i + AT_ONCE])
        returned = db.compact() / MIB
        columns = (empty, loaded, used, returned, disk(path))
    print(f"| `{engine}` | " + " | ".join(f"{value:.1f}" for value in columns) + " |")


def main() -> None:
    print("| engine | empty | loaded | used of it | returned | after |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for engine in sys.argv[1:] or ["romulus-log", "quadra", "fur-mv", "romulus-lr"]:
            measure(engine, folder)


if __name__ == "__main__":
    main()
