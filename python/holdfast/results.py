# SPDX-License-Identifier: Apache-2.0
"""Reports of `bench`, `sim` and `db bench`: Google Benchmark's schema with Holdfast's counters.

A report keeps the JSON it was made from, for --json and for the laboratory's files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast import environment, errors
from holdfast.shapes import Json, decode, encode

# ---- one configuration -------------------------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """The transactions of one kind. Latencies are those of sampled operations."""

    operation: str
    items_per_second: float = 0.0
    latency_samples: int = 0
    p50_ns: float = 0.0
    p90_ns: float = 0.0
    p99_ns: float = 0.0
    p999_ns: float = 0.0


@dataclass(frozen=True)
class Measured:
    """Fields that every configuration has which ran."""

    json: Json
    name: str = ""
    engine: str = ""
    threads: int = 1
    iterations: int = 0
    items_per_second: float = 0.0
    items_per_second_min: float | None = None
    items_per_second_max: float | None = None
    operations: list[Operation] = field(default_factory=list)
    seed: int | None = None
    check: str = ""

    @property
    def spread(self) -> float | None:
        """(maximum - minimum) / median over the repetitions, in percent."""
        if self.items_per_second_min is None or self.items_per_second_max is None:
            return None
        if not self.items_per_second:
            return None
        width = self.items_per_second_max - self.items_per_second_min
        return 100 * width / self.items_per_second


@dataclass(frozen=True)
class HtmCounters:
    begins: int
    commits: int
    aborts: dict[str, int]


@dataclass(frozen=True)
class KindCounters:
    """Counters of the update or of the read-only transactions."""

    phase_ns: dict[str, float]
    execute_loads: int


@dataclass(frozen=True)
class MachineCounters:
    """Counters that only a simulated machine has."""

    htm: HtmCounters
    update: KindCounters
    read: KindCounters
    loads: int = 0
    stores: int = 0
    atomics: int = 0
    instructions: int = 0
    medium_reads: int = 0
    medium_writes: int = 0
    table_reads: int = 0
    # By the place where a line was found.
    loads_from: dict[str, int] = field(default_factory=dict)
    fetched_for_stores: dict[str, int] = field(default_factory=dict)

    def of_kind(self, kind: str) -> KindCounters:
        """The counters of `update` or `read`."""
        return {"update": self.update, "read": self.read}[kind]


@dataclass(frozen=True)
class DesignCounters:
    """Counters of a hardware design (holdfast/runner/sim/sim_counters_json.h)."""

    transactions: int
    aborts: int
    media_writes: int
    media_reads: int
    commit_wait_ns: float
    store_wait_ns: float
    structure_bytes: int
    first_stores: int = 0
    reads: int = 0
    reads_by_cause: dict[str, int] = field(default_factory=dict)
    writes_by_cause: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Wear:
    """How often the lines of a medium were written: lines, writes of all, and the most of one."""

    lines: int
    writes: int
    max: int

    @property
    def mean(self) -> float:
        """Writes of a line that was written at all."""
        return self.writes / self.lines if self.lines else 0.0


@dataclass(frozen=True)
class Medium:
    """Accesses of the medium, without those that ended in its controller's queue."""

    writes: int
    reads: int
    wear: Wear | None = None


@dataclass(frozen=True)
class CacheLevel:
    """The bytes of one cache, and the number of such caches."""

    bytes: int
    count: int


@dataclass(frozen=True)
class Caches:
    """The caches of a simulated machine, as its hardware design has adapted them."""

    line_bytes: int
    l1: CacheLevel | None = None
    l2: CacheLevel | None = None
    llc: CacheLevel | None = None

    def levels(self) -> dict[str, CacheLevel]:
        """The levels that the machine has, by name."""
        all_levels = {"l1": self.l1, "l2": self.l2, "llc": self.llc}
        return {name: level for name, level in all_levels.items() if level is not None}


@dataclass(frozen=True)
class DesignRecovery:
    """The recovery of a hardware design, before the heap is opened."""

    lines_written: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Recovery:
    """The opening of a heap after a power failure or a kill."""

    needed: bool
    transactions: int
    bytes: int
    seconds: float = 0.0
    text: str = ""
    design: DesignRecovery | None = None


@dataclass(frozen=True)
class Response:
    """Times of operations of a simulated run, from begin or arrival to end, in nanoseconds."""

    count: int
    mean_ns: float
    p50_ns: float
    p90_ns: float
    p99_ns: float
    p999_ns: float
    max_ns: float


@dataclass(frozen=True)
class Pending:
    """Updates that have returned and are not durable, sampled over simulated time.

    A sample is microseconds since the beginning, their count, the age of the oldest in
    microseconds.
    """

    samples: list[list[float]]
    mean: float
    max: int
    max_age_us: float


@dataclass(frozen=True)
class Beside:
    """The thread without transactions beside the workers of a simulated run.

    `miss_rate` has the share of accesses that miss at `l1`, `l2` and `llc`, of those that reach it.
    """

    structure: str
    inserts: int
    miss_rate: dict[str, float]


@dataclass(frozen=True)
class Drawing:
    """A timeline's file. `left_out` counts the slices that found no room."""

    path: str
    left_out: int


@dataclass(frozen=True)
class Lint:
    """One finding about the use of persistent memory: a place, and how often."""

    what: str
    where: str
    count: int
    example: int | None


@dataclass(frozen=True)
class Entry(Measured):
    """Transactions of a workload (holdfast/runner/bench/bench_entry.h and sim/simulate.h)."""

    p50_ns: float | None = None
    p99_ns: float | None = None
    update_commits: int = 0
    read_commits: int = 0
    aborts: dict[str, int] = field(default_factory=dict)
    explicit_aborts: dict[str, int] = field(default_factory=dict)
    lock_fallbacks: int = 0
    pwb_per_update: float = 0.0
    fences_per_update: float = 0.0
    bytes_stored: int = 0
    bytes_written: int = 0
    bytes_written_per_byte_stored: float = 0.0
    # On a simulated machine:
    simulated_memory_operations: int = 0
    simulated_seconds: float = 0.0
    host_seconds: float = 0.0
    machine_counters: MachineCounters | None = None
    design: str = ""
    design_counters: DesignCounters | None = None
    medium: Medium | None = None
    caches: Caches | None = None
    recovery: Recovery | None = None
    response: Response | None = None
    queued: int | None = None
    pending: Pending | None = None
    beside: Beside | None = None
    timeline: Drawing | None = None
    lint: list[Lint] = field(default_factory=list)

    @property
    def commits(self) -> int:
        return self.update_commits + self.read_commits

    @property
    def aborts_per_commit(self) -> float:
        """Aborted attempts, of every cause, per committed transaction."""
        return sum(self.aborts.values()) / max(self.commits, 1)


@dataclass(frozen=True)
class Persist:
    pwb: int


@dataclass(frozen=True)
class ReplayEntry(Measured):
    """Log replay (holdfast/runner/bench/replay_entry.h)."""

    replayers: int = 1
    filter: bool = False
    words: int = 0
    bytes_written: int = 0
    replay_seconds: float = 0.0
    persist: Persist = field(default_factory=lambda: Persist(0))


@dataclass(frozen=True)
class StoreEntry(Measured):
    """A benchmark of a key-value store (holdfast/runner/db/db_bench_entry.h)."""

    benchmark: str = ""
    store: str = ""
    survives: str = ""
    cpu_time: float = 0.0
    micros_per_op: float = 0.0
    micros_per_op_min: float = 0.0
    micros_per_op_max: float = 0.0
    megabytes_per_second: float | None = None
    looked: int | None = None
    found: int | None = None
    p50_ns: float = 0.0
    p99_ns: float = 0.0


@dataclass(frozen=True)
class Failed:
    """A configuration that could not run."""

    name: str
    error_message: str

    @property
    def reason(self) -> errors.Failure:
        return errors.from_text(self.error_message)


def entry_of(json: Json) -> Measured:
    """The entry of a configuration that ran, as the class its fields belong to."""
    if "replayers" in json:
        return decode(ReplayEntry, json)
    return decode(StoreEntry if "store" in json else Entry, json)


# ---- a report ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Context:
    """The setting of a measurement, as far as the command line prints it."""

    domain: str = "none"
    domain_text: str = ""
    machine: str = ""
    htm: str = ""
    latency: str = ""
    seed: int | None = None
    library_build_type: str = ""
    compiler: str = ""
    params: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    assertions: bool = False
    cpu_scaling_enabled: bool = False
    turns: int = 0


@dataclass(frozen=True)
class Version:
    name: str
    version: str


@dataclass(frozen=True)
class Missing:
    store: str
    reason: str


@dataclass(frozen=True)
class StoreContext:
    """The setting of `db bench`."""

    num: int
    value_size: int
    threads: int
    rounds: int
    dir: str
    stores: list[Version]
    missing: list[Missing]


@dataclass(frozen=True)
class Report:
    json: Json

    @property
    def context(self) -> Context:
        return decode(Context, self.json["context"])

    @property
    def store_context(self) -> StoreContext:
        return decode(StoreContext, self.json["context"])

    def medians(self) -> list[Any]:
        """One entry per configuration that ran: the aggregate, which has all fields."""
        return [
            entry_of(entry)
            for entry in self.json["benchmarks"]
            if entry.get("run_type") == "aggregate"
        ]

    def failures(self) -> list[Failed]:
        return [
            decode(Failed, entry)
            for entry in self.json["benchmarks"]
            if entry.get("error_occurred")
        ]

    def add_environment(self) -> environment.Environment:
        """Adds to the context the facts that the core does not know, and returns all of them.

        The core's values stay. The commit is replaced: the core knows the one it was compiled at.
        """
        described = environment.describe()
        context = self.json["context"]
        for name, value in encode(described).items():
            context.setdefault(name, value)
        context["commit"] = described.commit
        return described


def merged(reports: Sequence[Report]) -> Report:
    """The first report with the entries of all of them."""
    entries = [entry for report in reports for entry in report.json["benchmarks"]]
    return Report(reports[0].json | {"benchmarks": entries})


def ratio_to(entry: Entry, entries: Sequence[Entry], baseline: str) -> float | None:
    """Speed relative to the baseline engine's at as many threads; None if it was not measured."""
    for other in entries:
        same = other.engine == baseline and other.threads == entry.threads
        if same and other is not entry:
            rate = other.items_per_second
            return entry.items_per_second / rate if rate else None
    return None
