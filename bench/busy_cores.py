# SPDX-License-Identifier: Apache-2.0
"""Durable puts per second of 16 clients, alone and beside a busy process on every core, on a disk.

Usage: .venv/bin/python bench/busy_cores.py FOLDER [PUTS [ROUNDS]]

FOLDER lies on the disk. PUTS are those of all clients together (default 20000), of 16-byte keys and
100-byte values into a new database. Idle and busy turns alternate, ROUNDS times (5). The table has
medians, with the smallest and the largest, and the median of the ratios of neighbouring turns.
"""

import multiprocessing
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from durable_clients import Rates, cell, measure

CLIENTS = 16


def spin() -> None:
    while True:
        pass


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keeps each core that this process may use busy with a process of its priority."""
    processes = [multiprocessing.Process(target=spin) for _ in os.sched_getaffinity(0)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def main() -> None:
    folder, *more = sys.argv[1:]
    puts, rounds = (int(more[i]) if len(more) > i else usual for i, usual in ((0, 20_000), (1, 5)))
    idle: Rates = defaultdict(lambda: defaultdict(list))
    busy: Rates = defaultdict(lambda: defaultdict(list))
    for _ in range(rounds):
        measure(folder, CLIENTS, puts, 1, idle)
        with busy_cores():
            measure(folder, CLIENTS, puts, 1, busy)
    print("| store | alone | beside busy processes | ratio |")
    print("|---|---|---|---|")
    for store, found in idle.items():
        alone, beside = found[CLIENTS], busy[store][CLIENTS]
        ratio = statistics.median(b / a for a, b in zip(alone, beside, strict=True))
        print(f"| {store} | {cell(alone)} | {cell(beside)} | {ratio:.2f} |")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
