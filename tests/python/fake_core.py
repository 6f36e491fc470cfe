# SPDX-License-Identifier: Apache-2.0
"""A stand-in for holdfast._core: fixed answers in the shapes of holdfast/runner."""

from typing import Any


class Error(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message


def engine(name: str, **other: Any) -> dict[str, Any]:
    return {
        "name": name,
        "supported": True,
        "reason": "",
        "title": f"the {name} algorithm",
        "paper": "a paper, section 1",
        "isolation": "opaque",
        "durability": "strict",
        "layout": "in_place",
        "needs_htm": False,
        "log": "redo",
        "fences": "two",
        "replays": False,
        "options": [{"name": "log_entries", "fallback": "4096", "help": "entries of a log"}],
    } | other


def entry(name: str, threads: int, rate: float) -> dict[str, Any]:
    """The median entry of one configuration, with all counters."""
    return {
        "name": f"bank/{name}/threads:{threads}_median",
        "run_name": f"bank/{name}/threads:{threads}",
        "run_type": "aggregate",
        "aggregate_name": "median",
        "threads": threads,
        "engine": name,
        "items_per_second": rate,
        "items_per_second_min": rate * 0.9,
        "items_per_second_max": rate * 1.1,
        "real_time": 1e9 / rate,
        "cpu_time": 1e9 / rate,
        "time_unit": "ns",
        "p50_ns": 900.0,
        "p99_ns": 2500.0,
        "operations": [
            {"operation": "transfer", "items_per_second": rate * 0.75},
            {"operation": "audit", "items_per_second": rate * 0.25},
        ],
        "update_commits": 300,
        "read_commits": 100,
        "aborts": {"conflict": 30, "capacity": 10},
        "fences_per_update": 2.0,
        "pwb_per_update": 5.5,
        "bytes_stored": 1000,
        "bytes_written": 2000,
        "bytes_written_per_byte_stored": 2.0,
        "domain": "process",
    }


_ENDS = {"": 1.0, "_min": 0.9, "_max": 1.1}


def violation(spec: dict[str, Any], seed: int) -> dict[str, Any]:
    program = spec["program"] or "w0 w1 | s"
    return {
        "name": "lost update",
        "phase": "crash",
        "text": "T1 was answered and is gone",
        "program": program,
        "seed": seed,
        "point": 12,
        "image": 99,
        "story": "thread 0",
        "replay": {name: value for name, value in spec.items() if name != "mutants"}
        | {
            "program": program,
            "seed": seed,
            "schedules": 1,
            "point": 12,
            "points": 0,
            "minimise": False,
        },
    }


class FakeCore:
    """A test may replace attributes. `calls` has the name and arguments of each call."""

    Error = Error

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple]] = []
        self.failing: Exception | None = None
        self.check_report: dict[str, Any] = {"ok": True, "problems": [], "blocks": 12}
        self.extra_entries: list[dict[str, Any]] = []
        self.lint: list[dict[str, Any]] = []
        self.bad_seeds: set[tuple[str, int]] = set()
        self.mutants: dict[str, Any] = {
            "planted": 100,
            "caught": 54,
            "equivalent": 30,
            "masked": 10,
            "survivors": [{"change": "flags", "kind": "drop", "number": n} for n in range(6)],
        }

    def engines(self) -> list[dict[str, Any]]:
        return [
            engine("steady", options=[]),
            engine("swift", replays=True),
            engine("odd", supported=False, reason="no such chip"),
        ]

    def workloads(self) -> list[dict[str, Any]]:
        parameters = [{"name": "accounts", "fallback": "100", "help": "number of accounts"}]
        return [
            {
                "name": "bank",
                "supported": True,
                "title": "money",
                "operations": ["transfer", "audit"],
                "parameters": parameters,
            },
            {
                "name": "ring",
                "supported": True,
                "title": "a cycle",
                "operations": ["rotate"],
                "parameters": [],
            },
        ]

    def machines(self, directory: str = "") -> list[dict[str, Any]]:
        domains = [{"name": "pmem", "supported": False, "reason": "no DAX mapping"}]
        return [
            {
                "name": "native",
                "supported": True,
                "reason": "",
                "title": "this computer",
                "domains": domains,
                "htm": "soft",
            },
            {"name": "sim", "supported": True, "reason": "", "title": "simulated"},
            {
                "name": "abacus",
                "supported": True,
                "reason": "",
                "title": "two rods of ten beads",
                "cores": 12,
                "smt": 3,
                "threads": 36,
                "line_bytes": 128,
                "htm": "none",
                "domains": domains,
            },
            {
                "name": "ruin",
                "supported": False,
                "reason": "ruin.toml:3: l1.ways",
                "title": "a mistake",
            },
        ]

    def designs(self) -> list[dict[str, Any]]:
        option = {"name": "depth", "fallback": "9", "help": "in metres"}
        return [
            {
                "name": "moat",
                "supported": True,
                "reason": "",
                "title": "water around it",
                "source": "old drawings",
                "survives": "what is inside",
                "options": [option],
            },
            {
                "name": "ditch",
                "supported": True,
                "reason": "",
                "title": "no water",
                "source": "new drawings",
                "survives": "nothing",
                "options": [],
            },
        ]

    def bench(self, spec: dict[str, Any], progress: Any = None) -> dict[str, Any]:
        self._called("bench", spec)
        if progress:
            progress(0.5, "half")
        rates = {"plain": 4000.0, "steady": 1000.0, "swift": 2000.0, "odd": 1.0}
        entries = [entry(name, n, rates[name]) for n in spec["threads"] for name in spec["engines"]]
        context = {
            "date": "today",
            "num_cpus": 2,
            "domain": spec["domain"],
            "params": spec["params"],
            "options": {},
            "seed": spec["seed"],
            "turns": 3,
        }
        return {"context": context, "benchmarks": entries + self.extra_entries}

    def db_bench_catalog(self) -> dict[str, Any]:
        names = ("fillseq", "fillsync", "readrandom", "readseq")
        why = {"leveldb": "", "lmdb": "not built: install liblmdb-dev and run `make` again"}
        peers = [{"name": name, "missing": reason, "file": ""} for name, reason in why.items()]
        return {"benchmarks": [{"name": n, "help": "it"} for n in names], "peers": peers}

    def db_bench(self, spec: dict[str, Any], progress: Any = None) -> dict[str, Any]:
        """Peers read twice as fast and write half as fast as HoldfastDB; lmdb is not built."""
        self._called("db_bench", spec)
        stores = [f"holdfast/{e}/{d}" for e in spec["engines"] for d in spec["domains"]]
        stores += [name for name in spec["peers"] if name != "lmdb"]
        entries = []
        for benchmark in spec["benchmarks"]:
            name = benchmark if isinstance(benchmark, str) else benchmark["name"]
            for store in stores:
                rate = 1e6
                if store == "leveldb":
                    rate *= 2 if name.startswith("read") else 0.5
                read = {"looked": 100, "found": 63}
                entries.append(
                    entry(store, 1, rate)
                    | {
                        "benchmark": name,
                        "store": store,
                        "iterations": spec["rounds"],
                        "survives": "process",
                    }
                    | {f"micros_per_op{end}": 1e6 / rate * by for end, by in _ENDS.items()}
                    | {"p90_ns": 1000.0, "p999_ns": 9000.0}
                    | (read if name.startswith("read") else {"megabytes_per_second": 47.2})
                    | {
                        "operations": [
                            {
                                "operation": "get",
                                "latency_samples": 9,
                                "p50_ns": 900.0,
                                "p90_ns": 1000.0,
                                "p99_ns": 2500.0,
                                "p999_ns": 9000.0,
                            }
                        ]
                    }
                )
        keys = ("num", "reads", "value_size", "threads", "rounds", "seed")
        context = {key: spec[key] for key in keys} | {"dir": spec.get("dir", "/dev/shm")}
        context |= {"stores": [{"name": name, "version": "1.23"} for name in stores]}
        missing = [
            {"store": "lmdb", "reason": "not built: install liblmdb-dev and run `make` again"}
        ]
        context |= {"missing": missing if "lmdb" in spec["peers"] else []}
        return {"context": context, "benchmarks": entries + self.extra_entries}

    def replay(self, spec: dict[str, Any], progress: Any = None) -> dict[str, Any]:
        self._called("replay", spec)
        return self._replays(spec, "native", 0.5)

    def _replays(self, spec: dict[str, Any], machine: str, seconds: float) -> dict[str, Any]:
        more = {
            "iterations": 400,
            "filter": spec["filter"],
            "words": 4200,
            "bytes_written": 33600,
            "replay_seconds": seconds,
            "persist": {"pwb": 4300, "pfence": 2},
            "check": "ok",
        }
        entries = [
            entry(name, n, 800.0) | more | {"replayers": replayers}
            for n in spec["threads"]
            for name in spec["engines"]
            for replayers in spec["replayers"]
        ]
        context = self._context(spec, machine)
        return {"context": context, "benchmarks": entries + self.extra_entries}

    def _context(self, spec: dict[str, Any], machine: str) -> dict[str, Any]:
        names = ("seed", "params", "options")
        return {name: spec[name] for name in names} | {
            "machine": machine,
            "domain": spec.get("domain", "pmem"),
        }

    def sim(self, spec: dict[str, Any], progress: Any = None) -> dict[str, Any]:
        self._called("sim", spec)
        if "replayers" in spec:
            return self._replays(spec, spec["machine"], 1e-4)
        more = {
            "iterations": 400,
            "simulated_memory_operations": 9000,
            "simulated_seconds": 0.0,
            "host_seconds": 0.5,
            "check": "ok",
        }
        if spec["lint"]:
            more["lint"] = self.lint
        if spec.get("design"):
            more["design"] = spec["design"]
            more["design_counters"] = {
                "transactions": 400,
                "aborts": 0,
                "media_writes": 1000,
                "media_reads": 100,
                "commit_wait_ns": 2e4,
                "store_wait_ns": 0.0,
                "structure_bytes": 4096,
                "writes_by_cause": {"data": 900, "log": 200, "table": 0},
            }
        entries = [entry(name, n, 1.0) | more for n in spec["threads"] for name in spec["engines"]]
        return {"context": self._context(spec, "sim"), "benchmarks": entries}

    def crash(self, spec: dict[str, Any], progress: Any = None) -> dict[str, Any]:
        """Stops at the first of `bad_seeds`, pairs of engine and seed.

        A schedule has 10 points and 20 images.
        """
        self._called("crash", spec)
        if progress:
            progress(0.5, "half")
        name, seeds = spec["engine"], range(spec["seed"], spec["seed"] + spec["schedules"])
        bad = next((seed for seed in seeds if (name, seed) in self.bad_seeds), None)
        schedules = len(seeds) if bad is None else bad - seeds[0] + 1
        first = spec["seed"] == 1
        coverage = dict.fromkeys(
            ("persist_events", "legal", "recovery_points", "continued", "judged"), 7
        )
        return {
            "engine": name,
            "workload": spec["workload"],
            "domain": spec.get("domain", "pmem"),
            "machine": spec["machine"],
            "points": 10 * schedules,
            "schedules": schedules,
            "images": 20 * schedules,
            "coverage": coverage
            | {"schedules": schedules, "points": 10 * schedules, "explored": 30 * schedules}
            | {"epochs": spec["seed"]},
            "mutated": 1,
            "mutated_in_creation": 2,
            "probes": {f"{name}.log_full": 2 * schedules},
            "sites": [
                {
                    "name": f"{name}.log.fence",
                    "kind": "fence",
                    "count": 3,
                    "only_in_creation": first,
                },
                {
                    "name": f"{name}.head.fence",
                    "kind": "fence",
                    "count": 1,
                    "only_in_creation": True,
                },
            ],
            "violations": [] if bad is None else [violation(spec, bad)],
        } | (self._of_design(spec, schedules) if spec.get("design") else {})

    def _of_design(self, spec: dict[str, Any], schedules: int) -> dict[str, Any]:
        """The moat is dug in every schedule, and drained only in the one with seed 1."""
        drained = 3 if spec["seed"] == 1 else 0
        rows = [
            {"name": "digs", "met": 5 * schedules, "behind": 4 * schedules},
            {"name": "drains", "met": drained, "behind": drained},
            {"name": "overflows", "met": 0, "behind": 0},
        ]
        found = {
            "design_coverage": rows,
            "uncovered": [row["name"] for row in rows if row["behind"] == 0],
        }
        return found | ({"mutants": self.mutants} if "mutants" in spec else {})

    def info(self, path: str) -> dict[str, Any]:
        self._called("info", path)
        return {
            "engine": "swift",
            "base": 0x550000000000,
            "bytes": 1 << 24,
            "roots": [{"name": "bank", "bytes": 64}],
        }

    def check(self, path: str) -> dict[str, Any]:
        self._called("check", path)
        return self.check_report

    def dump(self, path: str) -> dict[str, Any]:
        self._called("dump", path)
        return {"superblock": {"format": 1}}

    def convert(self, source: str, target: str, spec: dict[str, Any]) -> dict[str, Any]:
        self._called("convert", source, target, spec)
        return {"ok": True}

    def _called(self, name: str, *arguments: Any) -> None:
        self.calls.append((name, arguments))
        if self.failing:
            raise self.failing
