# SPDX-License-Identifier: Apache-2.0
"""A cell: one run of one engine at one point of a panel, with one seed."""

from dataclasses import dataclass
from typing import Any

from holdfast import core


@dataclass(frozen=True)
class Cell:
    figure: str
    panel: str
    engine: str
    x: int | float | str
    seed: int
    kind: str
    spec: dict[str, Any]  # of core.sim

    @property
    def name(self) -> str:
        return f"{self.figure}/{self.panel}/{self.engine} at {self.x}"

    def population(self) -> tuple:
        """Cells with the same one share an image of their initial state, which the first of them builds."""
        of_operations = {"mix", "home", "stock_level_orders", "detail"}
        shaping = sorted((k, v) for k, v in self.spec["params"].items() if k not in of_operations)
        return (self.spec["workload"], *shaping)

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
    entry = next((entry for entry in core.engines() if entry["name"] == cell.engine), None)
    if entry is None:
        return f"engine {cell.engine} does not exist yet"
    if cell.kind == "replay" and not entry["replays"]:
        return f"engine {cell.engine} keeps no redo log that could be replayed by itself"
    return ""


def run(spec: dict[str, Any]) -> Outcome:
    """In this process."""
    entry = core.sim(spec)["benchmarks"][0]
    if entry.get("error_occurred"):
        return Outcome("failed", reason=entry["error_message"])
    entry.pop("host_image", None)  # names a folder of this computer
    return Outcome("ok", entry)
