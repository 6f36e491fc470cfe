# SPDX-License-Identifier: Apache-2.0
"""Reports of crash searches and of verifications, as dataclasses.

The fields are documented in holdfast/runner/crash/crash.h and holdfast/runner/heap/serve.h.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import add

from holdfast.results import Recovery
from holdfast.shapes import Json, decode
from holdfast.specs import CrashSpec


@dataclass(frozen=True)
class Violation:
    """A broken promise. `replay` is the request that shows it again."""

    json: Json
    name: str
    phase: str
    text: str
    program: str
    point: int | None
    story: str
    replay: CrashSpec


@dataclass(frozen=True)
class Site:
    """A labelled place in an engine, and how often the runs met it."""

    json: Json
    name: str
    count: int
    only_in_creation: bool = False  # of the first heap, of each part

    def with_part(self, part: "Site") -> "Site":
        return replace(
            self,
            count=self.count + part.count,
            only_in_creation=self.only_in_creation and part.only_in_creation,
        )


@dataclass(frozen=True)
class Covered:
    """A hook, structure or state transition of a hardware design.

    `met` is how often the runs met it, `behind` how many crash points fell behind it.
    """

    name: str
    met: int
    behind: int


@dataclass(frozen=True)
class Mutant:
    """A planted bug of a hardware design."""

    change: str
    kind: str
    number: int


@dataclass(frozen=True)
class Mutants:
    """The planted bugs of a hardware design, and how many of them the search has found."""

    json: Json
    planted: int
    caught: int
    equivalent: int
    masked: int
    survivors: list[Mutant]

    @property
    def counted(self) -> int:
        return self.planted - self.equivalent - self.masked

    @property
    def are_few(self) -> bool:
        return self.counted < 30

    @property
    def are_caught(self) -> bool:
        return 10 * self.caught >= 9 * self.counted


# The number of two parts, where it is not the sum (check/crash/crash_explorer.h).
_COVERAGE: dict[str, Callable[[float, float], float]] = {"epochs": max}


@dataclass(frozen=True)
class CrashReport:
    """The search of one engine."""

    json: Json
    engine: str
    workload: str
    domain: str
    machine: str
    points: int
    schedules: int
    images: int
    coverage: dict[str, float]
    mutated: int
    violations: list[Violation]
    sites: list[Site] = field(default_factory=list)
    lost_max: int = 0
    mutated_in_creation: int = 0
    probes: dict[str, int] = field(default_factory=dict)
    design_coverage: list[Covered] = field(default_factory=list)
    mutants: Mutants | None = None

    @property
    def uncovered(self) -> list[str]:
        """The parts of the design behind which no crash point fell."""
        return [row.name for row in self.design_coverage if row.behind == 0]

    def with_part(self, part: "CrashReport") -> "CrashReport":
        """The report of two parts of one search."""
        sites = {site.name: site for site in self.sites}
        for site in part.sites:
            sites[site.name] = sites[site.name].with_part(site) if site.name in sites else site
        return replace(
            self,
            points=self.points + part.points,
            schedules=self.schedules + part.schedules,
            images=self.images + part.images,
            mutated=self.mutated + part.mutated,
            mutated_in_creation=self.mutated_in_creation + part.mutated_in_creation,
            lost_max=max(self.lost_max, part.lost_max),
            coverage={
                name: _COVERAGE.get(name, add)(value, part.coverage[name])
                for name, value in self.coverage.items()
            },
            probes=dict(Counter(self.probes) + Counter(part.probes)),
            design_coverage=_summed(self.design_coverage, part.design_coverage),
            sites=list(sites.values()),
            violations=[*self.violations, *part.violations],
        )

    def as_json(self) -> Json:
        """The core's object, with the sums of all parts."""
        sums = {
            "points": self.points,
            "schedules": self.schedules,
            "images": self.images,
            "coverage": self.coverage,
            "mutated": self.mutated,
            "mutated_in_creation": self.mutated_in_creation,
            "lost_max": self.lost_max,
            "violations": [violation.json for violation in self.violations],
        }
        if "probes" in self.json:
            sums["probes"] = self.probes
        if "sites" in self.json:
            sums["sites"] = [
                site.json | {"count": site.count, "only_in_creation": site.only_in_creation}
                for site in self.sites
            ]
        if "design_coverage" in self.json:
            sums["design_coverage"] = [vars(row) for row in self.design_coverage]
            sums["uncovered"] = self.uncovered
        return self.json | sums


def _summed(first: list[Covered], second: list[Covered]) -> list[Covered]:
    rows = {row.name: row for row in first}
    for row in second:
        if row.name in rows:
            known = rows[row.name]
            row = Covered(row.name, known.met + row.met, known.behind + row.behind)
        rows[row.name] = row
    return list(rows.values())


@dataclass(frozen=True)
class Picture:
    """The drawing of a violation. `missing` says why there is none, or is empty."""

    path: str
    missing: str


@dataclass(frozen=True)
class HeapCheck:
    """The walk of a heap's allocator and structures."""

    json: Json
    ok: bool
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Verification:
    """A heap, opened after a kill and compared with the acknowledgements."""

    json: Json
    ok: bool
    recovery: Recovery
    open_seconds: float
    acknowledged: int
    verified: int
    lost: int  # acknowledged and not there, as the engine's lag allows
    failures: list[str]
    failure_count: int
    check: str
    heap_check: HeapCheck
    by_operation: dict[str, int] = field(default_factory=dict)


def crash_report(json: Json) -> CrashReport:
    return decode(CrashReport, json)


def together(reports: Sequence[CrashReport]) -> Json:
    """One object for all engines; for one engine, its own."""
    if len(reports) == 1:
        return reports[0].as_json()
    first = reports[0]
    return {
        "engine": ",".join(report.engine for report in reports),
        "workload": first.workload,
        "domain": first.domain,
        "machine": first.machine,
        "points": sum(report.points for report in reports),
        "schedules": sum(report.schedules for report in reports),
        "images": sum(report.images for report in reports),
        "violations": [
            {"engine": report.engine} | violation.json
            for report in reports
            for violation in report.violations
        ],
        "engines": [report.as_json() for report in reports],
    }


def replayed(report: CrashReport, commands: Sequence[str]) -> CrashReport:
    """The report with a command line in place of each violation's request."""
    violations = [
        replace(violation, json=violation.json | {"replay": command})
        for violation, command in zip(report.violations, commands, strict=True)
    ]
    return replace(report, violations=violations)
