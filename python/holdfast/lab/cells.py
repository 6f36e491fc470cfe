# SPDX-License-Identifier: Apache-2.0
"""A cell: one run of one series at one point of a panel, with one seed."""

from dataclasses import dataclass, field

from holdfast import core
from holdfast.lab.kinds import KINDS
from holdfast.results import Measured
from holdfast.shapes import Json, decode
from holdfast.specs import Assigned, Spec

_TRANSACTION_US = 1.0  # a guess, for the order in which cells run


@dataclass
class CellSpec(Spec):
    """A cell's request to its kind: the fields of sim/simulate.h, `latency` and `htm`."""

    workload: str
    engines: list[str]
    threads: list[int]
    machine: str
    seed: int
    design: str | None = None
    design_options: Assigned = field(default_factory=dict)
    domain: str | None = None
    set: Assigned = field(default_factory=dict)
    params: Assigned = field(default_factory=dict)
    options: Assigned = field(default_factory=dict)
    check: bool = False
    duration_us: float | None = 0.0
    warm_up_us: float | None = 0.0
    transactions: int | None = None  # of each thread, in place of duration_us
    warm_up: int | None = None  # and before them, in place of warm_up_us
    replayers: list[int] | None = None
    filter: bool | None = None
    recovery: bool | None = None
    arrivals: float | None = None
    gauge_us: float | None = None
    latency: str | None = None
    htm: str | None = None


@dataclass(frozen=True)
class Cell:
    figure: str
    panel: str
    series: str  # the name of an engine, of a design, or of the panel's own
    x: int | float | str
    seed: int
    kind: str  # of KINDS
    spec: CellSpec

    @property
    def name(self) -> str:
        return f"{self.figure}/{self.panel}/{self.series} at {self.x}"

    @property
    def job(self) -> Json:
        """The argument of run(), for another process."""
        return {"kind": self.kind, "spec": self.spec.json()}

    @property
    def request(self) -> Json:
        """The request that its run makes of the core."""
        return KINDS[self.kind].request(self.spec)

    @property
    def native(self) -> bool:
        return KINDS[self.kind].native

    def population(self) -> tuple:
        """Equal for cells that share an image of their initial state; the first one builds it."""
        of_operations = {"mix", "home", "stock_level_orders", "detail"}
        shaping = sorted((k, v) for k, v in self.spec.params.items() if k not in of_operations)
        return (self.spec.workload, *shaping)

    def cannot_run(self) -> str:
        return KINDS[self.kind].cannot_run(self.series, self.spec)

    def own(self, entry: Json) -> Measured:
        """The cell's part of an entry that run() returned."""
        return KINDS[self.kind].own(entry, self.series)

    def cost(self) -> float:
        """Simulated thread time, to which the host's time is roughly proportional."""
        time = (self.spec.duration_us or 0) + (self.spec.warm_up_us or 0)
        counted = (self.spec.transactions or 0) + (self.spec.warm_up or 0)
        return self.spec.threads[0] * (time or _TRANSACTION_US * counted)


@dataclass(frozen=True)
class Outcome:
    """The entry of a cell, or the reason why there is none."""

    state: str  # "ok", "not run", "failed"
    entry: Measured | None = None
    reason: str = ""
    cached: bool = False


def run(job: Json, progress: core.Progress | None = None) -> Json:
    """Runs a Cell's job in this process; returns its entry. Raises Failure."""
    return KINDS[job["kind"]].run(decode(CellSpec, job["spec"]), progress)
