# SPDX-License-Identifier: Apache-2.0
"""Updates of structures made of Fields: in memory, on a disk, and on a disk with a journal.

Usage: .venv/bin/python bench/durable_structures.py FOLDER [ENGINES [THREADS [SECONDS [ROUNDS]]]]

FOLDER lies on the disk. ENGINES (romulus-log) and THREADS (1) are lists with commas. In each of the
ROUNDS (5) every workload runs for SECONDS (0.5) in domain `process` in /dev/shm, in domain `file`
in FOLDER without a journal, and there with one. Each transaction is an update. The tables have
medians, with the smallest and the largest. For one thread they tell what durability over a journal
adds to a transaction, in raw overwrites: the time in domain `file` less that in domain `process`,
divided by that of an overwrite of 4 KiB with fdatasync in the same round. All times are means.
"""

import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict

from durable_clients import cell, turns

WORKLOADS = {
    "map": ("update=100", "pairs=1"),
    "intset": ("update=100", "pairs=1"),
    "tpcc": ("mix=new_order:45,payment:43,delivery:4",),
}
MEMORY, DISK, JOURNAL = "memory", "disk", "disk, journal"
BLOCK = 4096
BLOCKS = 4096

Key = tuple[str, str, int, str]  # workload, engine, threads, medium


def raw_overwrite(folder: str, seconds: float) -> float:
    """The mean time of an overwrite of 4 KiB that is made durable, in seconds."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        os.pwrite(file.fileno(), bytes(BLOCKS * BLOCK), 0)
        os.fsync(file.fileno())
        done = 0
        begin = time.perf_counter()
        while (elapsed := time.perf_counter() - begin) < seconds:
            os.pwrite(file.fileno(), bytes([done % 251]) * BLOCK, done % BLOCKS * BLOCK)
            os.fdatasync(file.fileno())
            done += 1
    return elapsed / done


def rates(
    workload: str, engines: str, threads: str, seconds: str, arguments: list[str]
) -> dict[tuple[str, int], float]:
    """Transactions per second of each engine and number of threads, in one turn."""
    parameters = [word for one in WORKLOADS[workload] for word in ("--param", one)]
    command = ["bench", workload, "--engine", engines, "--threads", threads]
    command += ["--seconds", seconds, "--repetitions", "1", *parameters, *arguments]
    return {(turn["engine"], turn["threads"]): turn["items_per_second"] for turn in turns(*command)}


def print_table(workload: str, found: dict[Key, list[float]], raw: list[float]) -> None:
    threads = sorted({key[2] for key in found})
    print(f"\n`{workload}`, transactions per second:\n")
    print("| engine | medium | " + " | ".join(map(str, threads)) + " | in raw overwrites |")
    print("|---" * (len(threads) + 3) + "|")
    for engine in dict.fromkeys(key[1] for key in found):
        for medium in (MEMORY, DISK, JOURNAL):
            cells = [cell(found[workload, engine, n, medium]) for n in threads]
            added = ""
            if medium == JOURNAL and 1 in threads:
                rounds = zip(
                    found[workload, engine, 1, MEMORY],
                    found[workload, engine, 1, JOURNAL],
                    raw,
                    strict=True,
                )
                added = f"{statistics.median((1 / j - 1 / m) / one for m, j, one in rounds):.2f}"
            print(f"| `{engine}` | {medium} | " + " | ".join([*cells, added]) + " |")


def main() -> None:
    folder, *more = sys.argv[1:]
    engines, threads, seconds, rounds = [*more, *("romulus-log", "1", "0.5", "5")[len(more) :]]
    media = {
        MEMORY: ["--domain", "process", "--dir", "/dev/shm"],
        DISK: ["--domain", "file", "--dir", folder, "--journal-bytes", "0"],
        JOURNAL: ["--domain", "file", "--dir", folder, "--journal-bytes", str(64 << 20)],
    }
    found: dict[Key, list[float]] = defaultdict(list)
    raw = []
    for _ in range(int(rounds)):
        raw.append(raw_overwrite(folder, float(seconds)))
        for workload in WORKLOADS:
            for medium, arguments in media.items():
                turn = rates(workload, engines, threads, seconds, arguments)
                for (engine, n), rate in turn.items():
                    found[workload, engine, n, medium].append(rate)
    in_us = [1e6 * one for one in raw]
    print(f"a raw overwrite of 4 KiB: {cell(in_us)} us")
    for workload in WORKLOADS:
        print_table(workload, found, raw)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
