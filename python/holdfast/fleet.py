# SPDX-License-Identifier: Apache-2.0
"""Many simulated runs at once. A process holds one simulated machine, so every configuration gets a process of its
own, as many at a time as there are cores; the report is the one that a single process would have made."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from typing import Any

from holdfast import core


def cores() -> int:
    """Those this process may use."""
    return len(os.sched_getaffinity(0))


def single_runs(spec: dict[str, Any], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """The configurations of a spec one by one, in the order of its report: seeds, threads, engines."""
    return [
        spec | {"seed": seed, "threads": [threads], "engines": [engine]}
        for seed in seeds
        for threads in spec["threads"]
        for engine in spec["engines"]
    ]


def sim(
    spec: dict[str, Any], seeds: Sequence[int], jobs: int, progress: core.Progress | None = None
) -> dict[str, Any]:
    """core.sim for every seed; with several seeds an entry's name ends in its seed. The first failure is raised."""
    runs = single_runs(spec, seeds)
    if jobs == 1 or len(runs) == 1:
        reports = [core.sim(spec | {"seed": seed}, progress) for seed in seeds]
    else:
        reports = _at_once(core.sim, runs, min(jobs, len(runs)), progress)
    if len(seeds) > 1:
        for report in reports:
            for entry in report["benchmarks"]:
                entry["seed"] = report["context"]["seed"]
                entry["name"] += f"/seed:{entry['seed']}"
    return reports[0] | {"benchmarks": [entry for report in reports for entry in report["benchmarks"]]}


def crash(
    spec: dict[str, Any], engines: Sequence[str], jobs: int, progress: core.Progress | None = None
) -> list[dict[str, Any]]:
    """core.crash for every engine, its schedules divided into parts; one report per engine. Of an engine's parts all
    up to the first with a violation count, whatever else had run by then: `jobs` makes no difference."""
    parts = [part for engine in engines for part in _parts(spec | {"engine": engine})]
    run = _one_by_one if jobs == 1 or len(parts) == 1 else _until_violation
    merged: dict[str, dict[str, Any]] = {}
    for report in run(parts, min(jobs, len(parts)), progress or _silent):
        known = merged.setdefault(report["engine"], report)
        if known is not report:
            _add(known, report)
    return list(merged.values())


# What one process searches before it takes the next part. Schedules share next to none of their images (measured: 48 at
# once recover 1 to 5 % fewer than 8 times 6), so small parts cost nothing.
_PART = 10


def _parts(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The seeds of a search in ranges. An exhaustive one has no seeds and stays whole."""
    schedules, seed = spec["schedules"], spec["seed"]
    if spec.get("schedule") == "exhaustive":
        return [spec]
    return [
        spec | {"seed": seed + first, "schedules": min(_PART, schedules - first)}
        for first in range(0, schedules, _PART)
    ]


def _silent(share: float, text: str) -> None:
    pass


def _one_by_one(parts: list[dict[str, Any]], _: int, progress: core.Progress) -> Iterator[dict[str, Any]]:
    """The reports that count, in the order of the parts."""
    failed: set[str] = set()
    for number, part in enumerate(parts):
        if part["engine"] not in failed:
            done = number / len(parts)
            report = core.crash(
                part, lambda share, text, done=done: progress(done + share / len(parts), text)
            )
            if report["violations"]:
                failed.add(part["engine"])
            yield report


def _until_violation(
    parts: list[dict[str, Any]], jobs: int, progress: core.Progress
) -> Iterator[dict[str, Any]]:
    """The same, several at a time. Once a part has found something, later ones of its engine are not begun."""
    others = set(active_children())
    with _pool(jobs) as pool:
        futures = [pool.submit(core.crash, part) for part in parts]
        number = {future: i for i, future in enumerate(futures)}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                at = number[future]
                progress(done / len(parts), f"{parts[at]['engine']}: {done} of {len(parts)} parts done")
                if not future.cancelled() and future.result()["violations"]:
                    for later, part in zip(futures[at + 1 :], parts[at + 1 :], strict=True):
                        if part["engine"] == parts[at]["engine"]:
                            later.cancel()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(active_children()) - others:  # they hold nothing that could be left half done
                process.terminate()
            raise
    failed: set[str] = set()
    for part, future in zip(parts, futures, strict=True):
        if part["engine"] not in failed:
            report = future.result()
            if report["violations"]:
                failed.add(part["engine"])
            yield report


def _add(total: dict[str, Any], part: dict[str, Any]) -> None:
    for name in ("points", "schedules", "images"):
        total[name] += part[name]
    total["mutated"] += part["mutated"]
    known = {site["name"]: site for site in total["sites"]}
    for site in part["sites"]:
        if site["name"] in known:
            known[site["name"]]["count"] += site["count"]
        else:
            total["sites"].append(site)
    for name, value in part["coverage"].items():
        total["coverage"][name] += value
    total["violations"] += part["violations"]


def _pool(jobs: int) -> ProcessPoolExecutor:
    # Not forked: the core may already hold threads and a machine.
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def _at_once(
    run: Callable[[dict[str, Any]], dict[str, Any]],
    specs: list[dict[str, Any]],
    jobs: int,
    progress: core.Progress | None,
) -> list[dict[str, Any]]:
    with _pool(jobs) as pool:
        futures = [pool.submit(run, spec) for spec in specs]
        for done, _ in enumerate(as_completed(futures), 1):
            if progress:
                progress(done / len(specs), f"{done} of {len(specs)} runs")
        return [future.result() for future in futures]
