# SPDX-License-Identifier: Apache-2.0
"""A cell: one run of one engine at one point of a panel, with one seed."""

from dataclasses import dataclass
from typing import Any

from holdfast import core, fleet, results


@dataclass(frozen=True)
class Cell:
    figure: str
    panel: str
    engine: str
    x: int | float | str
    seed: int
    kind: str
    spec: dict[str, Any]  # of core.sim; of kind db: what database_spec takes

    @property
    def name(self) -> str:
        return f"{self.figure}/{self.panel}/{self.engine} at {self.x}"

    def population(self) -> tuple:
        """Cells with the same one share an image of their initial state, which the first of them builds."""
        of_operations = {"mix", "home", "stock_level_orders", "detail"}
        shaping = sorted((k, v) for k, v in self.spec["params"].items() if k not in of_operations)
        return (self.spec["workload"], *shaping)

    @property
    def native(self) -> bool:
        """Measures this computer, so nothing else may run meanwhile."""
        return self.kind == "db"

    def own(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The cell's part of an entry that several cells share."""
        return entry["stores"][self.engine] if self.kind == "db" else entry

    def cost(self) -> float:
        """Simulated thread time: what the host's time is roughly proportional to."""
        return self.spec["threads"][0] * (self.spec["duration_us"] + self.spec["warm_up_us"])


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: an entry of core.sim's report, or why there is none."""

    state: str  # "ok", "not run", "failed"
    entry: dict[str, Any] | None = None
    reason: str = ""
    cached: bool = False


def cannot_run(cell: Cell) -> str:
    """Why this version of holdfast cannot run the cell; empty if it can try."""
    if cell.kind == "db":
        return _cannot_measure(cell)
    entry = next((entry for entry in core.engines() if entry["name"] == cell.engine), None)
    if entry is None:
        return f"engine {cell.engine} does not exist yet"
    if cell.kind == "replay" and not entry["replays"]:
        return f"engine {cell.engine} keeps no redo log that could be replayed by itself"
    return ""


def _cannot_measure(cell: Cell) -> str:
    """Stores run side by side, so all of the panel's must be there."""
    threads = cell.spec["threads"][0]
    if threads > fleet.cores():
        return f"takes {threads} cores of this computer, which has {fleet.cores()}"
    there = {entry["name"] for entry in core.engines()} | set(core.db_bench_catalog()["peers"])
    missing = [name for name in cell.spec["engines"] if name not in there]
    if missing:
        return f"{missing[0]} was not there when holdfast was built (docs/db.md)"
    return ""


def database_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """Of core.db_bench: workload names the benchmark, params are num, value_size and rounds."""
    peers = [name for name in spec["engines"] if name in core.db_bench_catalog()["peers"]]
    params = {"num": 100_000, "value_size": 100, "rounds": 3} | {k: int(v) for k, v in spec["params"].items()}
    benchmark = spec["workload"]
    return params | {
        "benchmarks": [benchmark] if benchmark.startswith("fill") else ["fillrandom", benchmark],
        "reads": params["num"],
        "threads": spec["threads"][0],
        "engines": [name for name in spec["engines"] if name not in peers],
        "domains": [spec["domain"]],
        "options": {},
        "peers": peers,
        "sync": "default",
        "each": False,
        "seed": spec["seed"],
    }


def _measure_stores(spec: dict[str, Any]) -> Outcome:
    report = core.db_bench(database_spec(spec))
    stores = {}
    for entry in results.medians(report):
        if entry["benchmark"] != spec["workload"]:
            continue
        name = entry["store"]
        stores[name.split("/")[1] if "/" in name else name] = entry
    for entry in results.failures(report):
        return Outcome("failed", reason=entry["error_message"])
    return Outcome("ok", {"stores": stores})


def run(spec: dict[str, Any]) -> Outcome:
    """In this process."""
    if spec.get("db"):
        return _measure_stores(spec)
    entry = core.sim(spec)["benchmarks"][0]
    if entry.get("error_occurred"):
        return Outcome("failed", reason=entry["error_message"])
    entry.pop("host_image", None)  # names a folder of this computer
    return Outcome("ok", entry)
