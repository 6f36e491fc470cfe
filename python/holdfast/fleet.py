# SPDX-License-Identifier: Apache-2.0
"""Runs of the core in processes of their own, which Ctrl-C ends at once.

Simulated runs go side by side, as many at a time as asked for. The report is the one that a single
process would have made.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from holdfast import cache_folder, catalog, core, findings, pool, results
from holdfast.pool import Job, Pool, cores
from holdfast.shapes import Json
from holdfast.specs import CrashSpec, ReplaySpec, SimSpec, Spec

__all__ = ["alone", "cores", "crash", "sim", "single_runs"]

_Spec = SimSpec | ReplaySpec


def silent(share: float, text: str) -> None:
    """A progress callback that shows nothing."""


def alone(task: str, spec: Spec, progress: core.Progress = silent) -> results.Report:
    """Measures this computer, with nothing of ours beside it: `bench`, `replay` or `db_bench`."""
    return results.Report(_all_of(task, [spec.json()], 1, progress)[0])


def single_runs(spec: _Spec, seeds: Sequence[int]) -> list[Json]:
    """The configurations of a spec one by one, in the order of its report."""
    known = catalog.engines()
    return [
        replace(
            one,
            threads=[threads],
            engines=[engine],
            options=catalog.own_options(spec.options, engine, known),
        ).json()
        | {"seed": seed}
        for seed in seeds
        for threads in spec.threads
        for engine in spec.engines
        for one in _of_each_design(spec)
    ]


def _of_each_design(spec: _Spec) -> list[_Spec]:
    """The spec once for each of its hardware designs, each with its own options."""
    if not isinstance(spec, SimSpec) or not spec.design:
        return [spec]
    known = catalog.designs()
    names = spec.design.split(",")
    if len(names) == 1:  # the core refuses options that the design does not have
        prefix = f"{spec.design}."
        own = {key.removeprefix(prefix): value for key, value in spec.design_options.items()}
        return [replace(spec, design_options=own)]
    return [
        replace(
            spec,
            design=name,
            design_options=catalog.own_design_options(spec.design_options, name, known),
        )
        for name in names
    ]


def sim(
    spec: _Spec,
    seeds: Sequence[int],
    jobs: int,
    progress: core.Progress = silent,
    say: Callable[[str], None] = lambda text: None,
) -> results.Report:
    """Runs every configuration with every seed. Raises the first failure.

    With several seeds an entry's name ends in its seed. `say` receives a line if the limit of the
    cache folder deletes images.
    """
    runs = single_runs(spec, seeds)
    try:
        reports = _all_of("sim", runs, jobs, progress)
    finally:
        _trim(spec, say)
    if len(seeds) > 1:
        for run, report in zip(runs, reports, strict=True):
            for entry in report["benchmarks"]:
                entry["seed"] = run["seed"]
                entry["name"] += f"/seed:{run['seed']}"
    merged = results.merged([results.Report(report) for report in reports])
    given: dict[str, str] = {}
    for report in reports:  # every engine was given its own
        given |= report["context"]["options"]
    merged.json["context"] = merged.json["context"] | {"options": given}
    return merged


def crash(
    spec: CrashSpec, engines: Sequence[str], jobs: int, progress: core.Progress = silent
) -> list[findings.CrashReport]:
    """Searches every engine, its schedules divided into parts. Returns one report per engine.

    All parts of an engine up to the first with a violation count, whatever else has run by then:
    the number of jobs makes no difference.
    """
    known = catalog.engines()
    parts = []
    for engine in engines:
        options = catalog.own_options(spec.options, engine, known)
        parts += _parts(replace(spec, engine=engine, options=options))
    merged: dict[str, findings.CrashReport] = {}
    for report in _until_violation(parts, min(jobs, len(parts)), progress):
        before = merged.get(report.engine)
        merged[report.engine] = report if before is None else before.with_part(report)
    return list(merged.values())


# The schedules that one process searches before it takes the next part. Schedules share next to
# none of their images (measured: 48 at once recover 1 to 5 % fewer than 8 times 6), so small parts
# cost nothing.
_PART = 10
# The parts of a long search are larger, so that their list stays short.
_MOST_PARTS = 1000


def _parts(spec: CrashSpec) -> list[CrashSpec]:
    """The seeds of a search in ranges.

    An exhaustive search has no seeds and stays whole, and so does one with mutants: each of these
    runs in all schedules.
    """
    if spec.schedule == "exhaustive" or spec.mutants is not None:
        return [spec]
    size = max(_PART, -(-spec.schedules // _MOST_PARTS))
    return [
        replace(spec, seed=spec.seed + first, schedules=min(size, spec.schedules - first))
        for first in range(0, spec.schedules, size)
    ]


def _until_violation(
    parts: list[CrashSpec], jobs: int, progress: core.Progress
) -> Iterator[findings.CrashReport]:
    """The reports that count, in the order of the parts.

    Once a part has found a violation, later parts of its engine are not begun.
    """
    done: dict[int, findings.CrashReport] = {}
    tell = _shares(len(parts), lambda: len(done), progress)
    workers: Pool[int]
    with Pool(jobs, tell=tell) as workers:
        for number, part in enumerate(parts):
            workers.submit(number, Job("crash", part.json()))
        while workers.busy:
            number, answer = workers.next()
            done[number] = report = findings.crash_report(answer.result())
            progress(
                len(done) / len(parts), f"{report.engine}: {len(done)} of {len(parts)} parts done"
            )
            if report.violations:
                workers.withdraw(
                    lambda other, at=number, engine=report.engine: (
                        other > at and parts[other].engine == engine
                    )
                )
    failed: set[str | None] = set()
    for number, part in enumerate(parts):
        if part.engine not in failed:
            if done[number].violations:
                failed.add(part.engine)
            yield done[number]


def _all_of(task: str, specs: list[Json], jobs: int, progress: core.Progress) -> list[Json]:
    """The values of all jobs, in the order of the specs. Raises the first failure."""
    done: dict[int, Json] = {}
    tell = _shares(len(specs), lambda: len(done), progress)
    workers: Pool[int]
    with Pool(min(jobs, len(specs)), tell=tell) as workers:
        for number, spec in enumerate(specs):
            workers.submit(number, Job(task, spec))
        while workers.busy:
            number, answer = workers.next()
            done[number] = answer.result()
            progress(len(done) / len(specs), f"{len(done)} of {len(specs)} runs")
    return [done[number] for number in range(len(specs))]


def _shares(jobs: int, done: Callable[[], int], progress: core.Progress) -> pool.Tell:
    """Progress inside of jobs, as progress of all of them."""
    return lambda key, share, text: progress((done() + share) / jobs, text)


def _trim(spec: _Spec, say: Callable[[str], None]) -> None:
    folder = getattr(spec, "cache", None) or ""
    if folder != "off":
        removed = cache_folder.trim(Path(folder) if folder else None)
        if text := cache_folder.removal_text(removed):
            say(text)
