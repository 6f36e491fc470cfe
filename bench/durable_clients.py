# SPDX-License-Identifier: Apache-2.0
"""Durable puts per second against the number of clients, beside other stores, on a disk.

Usage: .venv/bin/python bench/durable_clients.py FOLDER [PUTS [ROUNDS [IMAGE]]]

FOLDER lies on the disk. PUTS are those of all clients together (default 20000, with one client a
tenth), of 16-byte keys and 100-byte values into a new database. The stores take turns, ROUNDS times
(3); the table has medians, with the smallest and the largest. IMAGE (a .svg or .png) gets a plot.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from holdfast import plots

CLIENTS = (1, 2, 4, 8, 16, 32)
JOURNAL_BYTES = 64 << 20

Rates = dict[str, dict[int, list[float]]]


def turns(*arguments: str) -> list[dict[str, Any]]:
    """Runs a benchmark of the command line, and returns what each turn has measured."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [sys.executable, "-m", "holdfast", *arguments, "--json", report.name]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        entries = json.loads(Path(report.name).read_text())["benchmarks"]
    return [entry for entry in entries if entry["run_type"] == "iteration"]


def measure(folder: str, clients: int, puts: int, rounds: int, rates: Rates) -> None:
    """Adds the durable puts per second of each store, a number for each round."""
    each = max(puts // (10 if clients == 1 else clients), 100)
    arguments = ["db", "bench", "--peers", "--sync", "--benchmarks", "fillrandom", "--db", folder]
    arguments += ["--journal-bytes", str(JOURNAL_BYTES), "--threads", str(clients)]
    arguments += ["--num", str(each), "--rounds", str(rounds)]
    for turn in turns(*arguments):
        rates[turn["store"]][clients].append(turn["items_per_second"])


def cell(found: list[float]) -> str:
    """The median, with the smallest and the largest."""
    return f"{statistics.median(found):.0f} ({min(found):.0f} to {max(found):.0f})"


def draw(rates: Rates, image: str) -> None:
    figure, axes = plots.pyplot().subplots(figsize=(6.4, 4.2), layout="constrained")
    for store, by_clients in rates.items():
        medians = [statistics.median(by_clients[clients]) for clients in CLIENTS]
        axes.plot(CLIENTS, medians, marker="o", markersize=4, label=store)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(CLIENTS, [str(clients) for clients in CLIENTS])
    axes.set_xlabel("clients")
    axes.set_ylabel("durable puts per second")
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False)
    figure.savefig(image)


def main() -> None:
    folder, *more = sys.argv[1:]
    puts, rounds = (int(more[i]) if len(more) > i else usual for i, usual in ((0, 20_000), (1, 3)))
    rates: Rates = defaultdict(lambda: defaultdict(list))
    for clients in CLIENTS:
        measure(folder, clients, puts, rounds, rates)
    print("| store | " + " | ".join(str(clients) for clients in CLIENTS) + " |")
    print("|---" * (len(CLIENTS) + 1) + "|")
    for store, by_clients in rates.items():
        print(f"| {store} | " + " | ".join(cell(by_clients[clients]) for clients in CLIENTS) + " |")
    if len(more) > 2:
        draw(rates, more[2])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
