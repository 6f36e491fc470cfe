# SPDX-License-Identifier: Apache-2.0
"""What a cell can be: all that kinds of cells differ in (docs/reference/reproduce.md, "A figure")."""

from typing import Any

from holdfast import core, errors, fleet, results
from holdfast.lab import metrics

Spec = dict[str, Any]
Entry = dict[str, Any]


class Kind:
    """What all kinds answer."""

    native = (
        False  # measures this computer: all engines of a panel in one run, in turns, and nothing beside it
    )
    timed = True  # needs a duration and a warm-up
    axes: tuple[str, ...]
    columns: tuple[str, ...]

    def more(self, panel: Any) -> Spec:
        """What of a panel goes into the specs of its cells, beyond what all kinds have."""
        return {}

    def cannot_run(self, engine: str, spec: Spec) -> str:
        """Why this version of holdfast cannot run the cell; empty if it can try."""
        raise NotImplementedError

    def run(self, spec: Spec) -> Entry:
        """In this process. Raises Failure."""
        raise NotImplementedError

    def own(self, entry: Entry, engine: str) -> Entry:
        """The engine's part of an entry that several cells share."""
        return entry


class Sim(Kind):
    """Transactions on a simulated machine, for a while. Its spec is core.sim's."""

    axes = ("threads", "machine", "variant", "set", "params", "options")
    columns = (
        "tput",
        "update_commits",
        "read_commits",
        "attempts",
        "htm_share",
        "lock_share",
        *(f"abort_share_{cause}" for cause in metrics.CAUSES),
        *(f"{kind}_execute_ns" for kind in ("update", "read")),
        *(f"{kind}_{phase}" for kind in ("update", "read") for phase in metrics.OVERHEAD),
        "reads",
        "writes",
        "pwb",
        "fences",
        "amplification",
    )

    def cannot_run(self, engine: str, spec: Spec) -> str:
        return "" if _engine(engine) else f"engine {engine} does not exist yet"

    def run(self, spec: Spec) -> Entry:
        entry = core.sim(spec)["benchmarks"][0]
        if entry.get("error_occurred"):
            raise errors.Failure(entry["error_message"])
        entry.pop("host_image", None)  # names a folder of this computer
        return entry


class Replay(Sim):
    """Threads fill logs, then replayers replay them."""

    columns = ("tput", "replayed", "replay_words", "replay_written", "replay_pwb")

    def more(self, panel: Any) -> Spec:
        return {"replayers": [panel.replayers], "filter": panel.filter}

    def cannot_run(self, engine: str, spec: Spec) -> str:
        if reason := super().cannot_run(engine, spec):
            return reason
        return (
            ""
            if _engine(engine)["replays"]
            else f"engine {engine} keeps no redo log that could be replayed by itself"
        )


class Recovery(Sim):
    """A run, then the power fails, and the heap is opened again."""

    columns = (*Sim.columns, "recovery_us")

    def more(self, panel: Any) -> Spec:
        return {"recovery": True}


class Bench(Kind):
    """Transactions on this computer."""

    native = True
    axes = ("threads", "params", "options")
    columns = ("tput", "update_commits", "read_commits", "pwb", "fences", "amplification")

    def more(self, panel: Any) -> Spec:
        return {"engines": list(panel.engines), "latency": panel.latency}

    def cannot_run(self, engine: str, spec: Spec) -> str:
        missing = next((name for name in spec["engines"] if not _engine(name)), None)
        return _too_many_threads(spec) or (f"engine {missing} does not exist yet" if missing else "")

    def run(self, spec: Spec) -> Entry:
        asked = ("workload", "engines", "threads", "domain", "params", "options", "latency", "seed", "check")
        turns = {"seconds": spec["duration_us"] / 1e6, "repetitions": 5, "force": True}
        report = core.bench({key: spec[key] for key in asked} | turns)
        for entry in results.failures(report):
            raise errors.Failure(entry["error_message"])
        return {"engines": {entry["engine"]: entry for entry in results.medians(report)}}

    def own(self, entry: Entry, engine: str) -> Entry:
        return entry["engines"][engine]


class Stores(Kind):
    """Key-value stores on this computer. `workload` names the benchmark, `params` are num, value_size and rounds."""

    native = True
    timed = False
    axes = ("threads",)
    columns = ("tput",)

    def more(self, panel: Any) -> Spec:
        # A store that is missing takes nobody else's run away, and once it is there all run anew.
        return {"engines": [name for name in panel.engines if not _why_missing(name)]}

    def cannot_run(self, engine: str, spec: Spec) -> str:
        return _why_missing(engine) or _too_many_threads(spec)

    def run(self, spec: Spec) -> Entry:
        report = core.db_bench(_of_db_bench(spec))
        for entry in results.failures(report):
            raise errors.Failure(entry["error_message"])
        measured = [entry for entry in results.medians(report) if entry["benchmark"] == spec["workload"]]
        return {"stores": {_store(entry["store"]): entry for entry in measured}}

    def own(self, entry: Entry, engine: str) -> Entry:
        return entry["stores"][engine]


KINDS: dict[str, Kind] = {
    "sim": Sim(),
    "replay": Replay(),
    "recovery": Recovery(),
    "bench": Bench(),
    "db": Stores(),
}


def _too_many_threads(spec: Spec) -> str:
    threads = spec["threads"][0]
    return (
        f"takes {threads} cores of this computer, which has {fleet.cores()}"
        if threads > fleet.cores()
        else ""
    )


def _engine(name: str) -> dict[str, Any] | None:
    return next((entry for entry in core.engines() if entry["name"] == name), None)


def _of_db_bench(spec: Spec) -> Spec:
    peers = [name for name in spec["engines"] if name in _peers()]
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


def _peers() -> dict[str, str]:
    """Other key-value stores by name, and why this build has not got them; empty where it has."""
    return {peer["name"]: peer["missing"] for peer in core.db_bench_catalog()["peers"]}


def _why_missing(store: str) -> str:
    """Why this build has not got an engine or peer; empty where it has."""
    if reason := _peers().get(store):
        return f"{store} is {reason}"
    known = {entry["name"] for entry in core.engines()} | set(_peers())
    return "" if store in known else f"{store} was not there when holdfast was built (docs/guide/store.md)"


def _store(name: str) -> str:
    """The engine of "holdfast/ENGINE/...", or the peer."""
    return name.split("/")[1] if "/" in name else name
