# SPDX-License-Identifier: Apache-2.0
"""Requests to the core. A field that is None is left out, and the core takes its default.

The fields are documented in holdfast/runner, in the header that each class names.
"""

from dataclasses import dataclass, field
from typing import Any

from holdfast.shapes import Json, encode

Assigned = dict[str, str]


class Spec:
    """Base of the dataclasses below."""

    def json(self) -> Json:
        return encode(self)


@dataclass(frozen=True)
class BenchSpec(Spec):
    """bench/bench.h"""

    engines: list[str]
    threads: list[int]
    workload: str | None = None
    seconds: float | None = None
    repetitions: int | None = None
    domain: str | None = None
    force: bool | None = None
    journal_bytes: int | None = None
    latency: str | None = None
    htm: str | None = None
    params: Assigned = field(default_factory=dict)
    options: Assigned = field(default_factory=dict)
    bytes: int | None = None
    seed: int | None = None
    check: bool | None = None
    dir: str | None = None


@dataclass(frozen=True)
class ReplaySpec(Spec):
    """bench/replay.h; with a `machine`, sim/simulate.h"""

    workload: str
    engines: list[str]
    threads: list[int]
    replayers: list[int]
    filter: bool
    transactions: int
    params: Assigned
    options: Assigned
    bytes: int
    seed: int
    check: bool
    domain: str | None = None
    machine: str | None = None
    repetitions: int | None = None
    force: bool | None = None
    latency: str | None = None
    htm: str | None = None
    dir: str | None = None


@dataclass(frozen=True)
class SimSpec(Spec):
    """sim/simulate.h"""

    workload: str
    engines: list[str]
    threads: list[int]
    machine: str
    schedule: str | None = None
    design: str | None = None  # in fleet.sim(): several names with commas between them
    design_options: Assigned = field(default_factory=dict)
    set: Assigned = field(default_factory=dict)  # values in place of the machine description's
    transactions: int | None = None
    warm_up: int | None = None
    duration_us: float | None = None
    cache: str | None = None
    check: bool | None = None
    lint: bool | None = None
    recovery: bool | None = None
    arrivals: float | None = None
    gauge_us: float | None = None
    beside: str | None = None
    beside_size: int | None = None
    params: Assigned = field(default_factory=dict)
    options: Assigned = field(default_factory=dict)
    domain: str | None = None
    timeline: str | None = None


@dataclass(frozen=True)
class CrashSpec(Spec):
    """crash/crash.h. The engine is left out where one search is made for several engines."""

    workload: str
    schedules: int
    seed: int
    engine: str | None = None
    machine: str | None = None
    design: str | None = None
    design_options: Assigned = field(default_factory=dict)
    schedule: str | None = None
    points: int | None = None
    point: int | None = None
    images: int | None = None
    crash_recovery: int | None = None
    go_on: int | None = None
    program: str | None = None
    program_seed: int | None = None
    mutations: list[str] = field(default_factory=list)
    rmw_orders_pwb: bool | None = None
    journal: bool | None = None
    preemptions: int | None = None
    drains: int | None = None
    delays: int | None = None
    switch_probability: float | None = None
    drain_probability: float | None = None
    domain: str | None = None
    params: Assigned = field(default_factory=dict)
    options: Assigned = field(default_factory=dict)
    minimise: bool | None = None
    mutants: int | None = None
    timeline: str | None = None


@dataclass(frozen=True)
class StoreSpec(Spec):
    """db/db_bench.h. A benchmark is a name, or the properties of a YCSB workload."""

    benchmarks: list[Any]
    num: int
    reads: int
    value_size: int
    threads: int
    engines: list[str]
    domains: list[str]
    options: Assigned
    peers: list[str]
    sync: str
    rounds: int
    each: bool
    seed: int
    dir: str | None = None
    journal_bytes: int | None = None  # of the databases in domain file


@dataclass(frozen=True)
class SessionSpec(Spec):
    """heap/serve.h: a workload on a heap file, for a worker that is killed."""

    engine: str
    workload: str
    params: Assigned
    path: str
    threads: int
    domain: str
    htm: str = "auto"
    options: Assigned = field(default_factory=dict)
    seed: int | None = None
    open: str | None = None  # create, open, or whatever is there
    transactions: int | None = None
