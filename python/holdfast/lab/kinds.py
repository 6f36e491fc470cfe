# SPDX-License-Identifier: Apache-2.0
"""The kinds of cells, and all that differs between them (docs/reference/reproduce.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from holdfast import catalog, core, errors, fleet, results
from holdfast.lab import machine_metrics, metrics
from holdfast.results import Entry, Measured, Report, StoreEntry
from holdfast.shapes import Json
from holdfast.specs import BenchSpec, StoreSpec

if TYPE_CHECKING:
    from holdfast.lab.cells import CellSpec


class Kind:
    """The questions that every kind answers."""

    native = False  # measures this computer: a panel's engines in one run, and nothing beside it
    timed = True  # needs a duration and a warm-up
    axes: tuple[str, ...]
    columns: tuple[str, ...]

    def more(self, panel: Any) -> Json:
        """Fields of the specs of a panel's cells, beyond those that all kinds have."""
        return {}

    def cannot_run(self, series: str, spec: CellSpec) -> str:
        """The reason why this version of holdfast cannot run the cell; empty if it can try."""
        raise NotImplementedError

    def request(self, spec: CellSpec) -> Json:
        """The request that run() makes of the core. Raises BadUsage for a senseless spec."""
        return spec.json()

    def run(self, spec: CellSpec, progress: core.Progress | None = None) -> Json:
        """Runs in this process; returns an entry. Raises Failure."""
        raise NotImplementedError

    def own(self, entry: Json, series: str) -> Measured:
        """The part of an entry that belongs to the series; several cells may share an entry."""
        return results.entry_of(entry)


_CLOSED_LOOP = (
    *("threads", "machine", "variant", "workload", "design"),
    *("set", "params", "options", "design_options"),
)


class Sim(Kind):
    """Transactions on a simulated machine, for a while. Its spec is core.sim's."""

    axes = (*_CLOSED_LOOP, "arrivals")
    columns = (
        "tput",
        "update_commits",
        "read_commits",
        "attempts",
        "htm_share",
        "lock_share",
        "time_us",
        *(f"abort_share_{cause}" for cause in metrics.CAUSES),
        *(f"{kind}_execute_ns" for kind in ("update", "read")),
        *(f"{kind}_{phase}" for kind in ("update", "read") for phase in metrics.OVERHEAD),
        "reads",
        "writes",
        "pwb",
        "fences",
        "amplification",
        *(f"response_{value}" for value in metrics.RESPONSE),
        "queued",
        "pending_mean",
        "pending_max",
        "pending_age_us",
        *machine_metrics.COLUMNS,
    )

    def more(self, panel: Any) -> Json:
        given = {"arrivals": panel.arrivals or None, "gauge_us": panel.gauge_us or None}
        return {name: value for name, value in given.items() if value is not None}

    def cannot_run(self, series: str, spec: CellSpec) -> str:
        return (
            _unknown("workload", spec.workload, catalog.workloads())
            or _unknown("design", spec.design or "", catalog.designs())
            or _no_engine(spec)
        )

    def run(self, spec: CellSpec, progress: core.Progress | None = None) -> Json:
        report = Report(core.sim(self.request(spec), progress))
        _raise_failures(report)
        entry = report.json["benchmarks"][0]
        entry.pop("host_image", None)  # names a folder of this computer
        return entry


class Replay(Sim):
    """Threads fill logs, then replayers replay them."""

    axes = _CLOSED_LOOP
    columns = ("tput", "replayed", "replay_words", "replay_written", "replay_pwb")

    def more(self, panel: Any) -> Json:
        return {"replayers": [panel.replayers], "filter": panel.filter}

    def cannot_run(self, series: str, spec: CellSpec) -> str:
        found = catalog.find_engine(spec.engines[0])
        if found is None or found.replays:
            return super().cannot_run(series, spec)
        return f"engine {found.name} keeps no redo log that could be replayed by itself"


class Recovery(Sim):
    """A run, then a power failure, then the opening of the heap."""

    axes = _CLOSED_LOOP
    columns = (*Sim.columns, "recovery_us", "recovery_lines")

    def more(self, panel: Any) -> Json:
        return {"recovery": True}

    def cannot_run(self, series: str, spec: CellSpec) -> str:
        if reason := super().cannot_run(series, spec):
            return reason
        engine = catalog.find_engine(spec.engines[0])
        design = catalog.find_design(spec.design or "")
        volatile = [f"engine {engine.name}"] if engine and not engine.durable else []
        volatile += [f"design {design.name}"] if design and not design.durable else []
        return f"{volatile[0]} makes nothing durable: it has no recovery" if volatile else ""


class Bench(Kind):
    """Transactions on this computer."""

    native = True
    axes = ("threads", "params", "options")
    columns = (
        *("tput", "update_commits", "read_commits", "attempts", "pwb", "fences", "amplification"),
        *(f"abort_share_{cause}" for cause in metrics.CAUSES),
    )

    def more(self, panel: Any) -> Json:
        return {"engines": list(panel.engines), "latency": panel.latency, "htm": panel.htm}

    def cannot_run(self, series: str, spec: CellSpec) -> str:
        known = {entry.name for entry in catalog.engines()}
        missing = next((name for name in spec.engines if name not in known), None)
        reason = f"engine {missing} does not exist yet" if missing else ""
        return _too_many_threads(spec) or reason or catalog.why_no_htm(spec.htm)

    def request(self, spec: CellSpec) -> Json:
        return BenchSpec(
            workload=spec.workload,
            engines=spec.engines,
            threads=spec.threads,
            domain=spec.domain,
            params=spec.params,
            options=spec.options,
            latency=spec.latency,
            htm=spec.htm,
            seed=spec.seed,
            check=spec.check,
            seconds=(spec.duration_us or 0) / 1e6,
            repetitions=5,
            force=True,
        ).json()

    def run(self, spec: CellSpec, progress: core.Progress | None = None) -> Json:
        report = Report(core.bench(self.request(spec), progress))
        _raise_failures(report)
        entries: list[Entry] = report.medians()
        return {"engines": {entry.engine: entry.json for entry in entries}}

    def own(self, entry: Json, series: str) -> Measured:
        return results.entry_of(entry["engines"][series])


class Stores(Kind):
    """Key-value stores on this computer.

    `workload` names the benchmark; `params` are num, value_size and rounds.
    """

    native = True
    timed = False
    axes = ("threads",)
    columns = ("tput",)

    def more(self, panel: Any) -> Json:
        # The others run without a store that is missing. Once it is there, all run anew.
        return {"engines": [name for name in panel.engines if not _why_missing(name)]}

    def cannot_run(self, series: str, spec: CellSpec) -> str:
        return _why_missing(series) or _too_many_threads(spec)

    def request(self, spec: CellSpec) -> Json:
        return _store_spec(spec).json()

    def run(self, spec: CellSpec, progress: core.Progress | None = None) -> Json:
        report = Report(core.db_bench(self.request(spec), progress))
        _raise_failures(report)
        entries: list[StoreEntry] = report.medians()
        measured = [entry for entry in entries if entry.benchmark == spec.workload]
        return {"stores": {_engine_of(entry.store): entry.json for entry in measured}}

    def own(self, entry: Json, series: str) -> Measured:
        return results.entry_of(entry["stores"][series])


KINDS: dict[str, Kind] = {
    "sim": Sim(),
    "replay": Replay(),
    "recovery": Recovery(),
    "bench": Bench(),
    "db": Stores(),
}


def _raise_failures(report: Report) -> None:
    for failed in report.failures():
        raise errors.Failure(failed.error_message)


def _unknown(what: str, name: str, known: Iterable[catalog.Listed]) -> str:
    """The reason for a name that is not listed. An empty name, or a design's file, is none."""
    if not name or catalog.is_design_file(name):
        return ""
    there = any(entry.name == name for entry in known)
    return "" if there else f"{what} {name} does not exist yet"


def _no_engine(spec: CellSpec) -> str:
    """The reason why the engine cannot take the cell's transactions."""
    if not spec.engines[0]:
        return "this build has no engine that runs with a hardware design"
    found = catalog.find_engine(spec.engines[0])
    if found is None:
        return f"engine {spec.engines[0]} does not exist yet"
    if found.needs_design and not spec.design:
        return f"engine {found.name} needs a hardware design, and the panel names none"
    return ""


def _too_many_threads(spec: CellSpec) -> str:
    threads, cores = spec.threads[0], fleet.cores()
    if threads <= cores:
        return ""
    return f"takes {threads} cores of this computer, which has {cores}"


def _store_spec(spec: CellSpec) -> StoreSpec:
    peers = [name for name in spec.engines if name in _peers()]
    try:
        params = {name: int(value) for name, value in spec.params.items()}
    except ValueError as wrong:
        raise errors.BadUsage(f"{spec.workload}: a parameter is no whole number: {wrong}") from None
    num = params.get("num", 100_000)
    fills = spec.workload.startswith("fill")
    return StoreSpec(
        benchmarks=[spec.workload] if fills else ["fillrandom", spec.workload],
        num=num,
        reads=num,
        value_size=params.get("value_size", 100),
        rounds=params.get("rounds", 3),
        threads=spec.threads[0],
        engines=[name for name in spec.engines if name not in peers],
        domains=[spec.domain or "pmem"],
        options={},
        peers=peers,
        sync="default",
        each=False,
        seed=spec.seed,
    )


def _peers() -> dict[str, str]:
    """Other key-value stores: the reason why this build does not have each; empty if it does."""
    return {peer.name: peer.missing for peer in catalog.stores().peers}


def _why_missing(store: str) -> str:
    """The reason why this build does not have an engine or peer; empty if it does."""
    if reason := _peers().get(store):
        return f"{store} is {reason}"
    known = {entry.name for entry in catalog.engines()} | set(_peers())
    if store in known:
        return ""
    return f"{store} was not there when holdfast was built (docs/guide/store.md)"


def _engine_of(store: str) -> str:
    """The engine of "holdfast/ENGINE/...", or the peer."""
    return store.split("/")[1] if "/" in store else store
