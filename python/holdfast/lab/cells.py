# SPDX-License-Identifier: Apache-2.0
"""A cell: one run of one engine at one point of a panel, with one seed."""

from dataclasses import dataclass
from typing import Any

from holdfast.lab.kinds import KINDS


@dataclass(frozen=True)
class Cell:
    figure: str
    panel: str
    engine: str
    x: int | float | str
    seed: int
    kind: str  # of KINDS
    spec: dict[str, Any]  # what its kind runs

    @property
    def name(self) -> str:
        return f"{self.figure}/{self.panel}/{self.engine} at {self.x}"

    @property
    def job(self) -> dict[str, Any]:
        """What a process needs to run it."""
        return {"kind": self.kind, "spec": self.spec}

    @property
    def native(self) -> bool:
        return KINDS[self.kind].native

    def population(self) -> tuple:
        """Cells with the same one share an image of their initial state, which the first of them builds."""
        of_operations = {"mix", "home", "stock_level_orders", "detail"}
        shaping = sorted((k, v) for k, v in self.spec["params"].items() if k not in of_operations)
        return (self.spec["workload"], *shaping)

    def cannot_run(self) -> str:
        return KINDS[self.kind].cannot_run(self.engine, self.spec)

    def own(self, entry: dict[str, Any]) -> dict[str, Any]:
        return KINDS[self.kind].own(entry, self.engine)

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


def run(job: dict[str, Any]) -> dict[str, Any]:
    """The entry of a Cell's job, run in this process. Raises Failure."""
    return KINDS[job["kind"]].run(job["spec"])
