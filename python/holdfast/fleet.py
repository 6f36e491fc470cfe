# SPDX-License-Identifier: Apache-2.0
"""Many simulated runs at once. A process holds one simulated machine, so every configuration gets a process of its
own, as many at a time as there are cores; the report is the one that a single process would have made."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
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
    """core.crash for every engine, its schedules divided over processes; one report per engine, violations by seed."""
    parts = [part for engine in engines for part in _parts(spec | {"engine": engine}, jobs)]
    if len(parts) == 1:
        reports = [core.crash(parts[0], progress)]
    else:
        reports = _at_once(core.crash, parts, min(jobs, len(parts)), progress)
    merged: dict[str, dict[str, Any]] = {}
    for report in reports:
        known = merged.setdefault(report["engine"], report)
        if known is not report:
            _add(known, report)
    return list(merged.values())


# Parts per process: a process keeps what it has recovered, so a few large ones; more than one, so that they end together.
_PARTS = 3


def _parts(spec: dict[str, Any], jobs: int) -> list[dict[str, Any]]:
    """The seeds of a search in ranges. An exhaustive one has no seeds and stays whole."""
    schedules, seed = spec["schedules"], spec["seed"]
    if spec.get("schedule") == "exhaustive" or jobs == 1:
        return [spec]
    size = max(1, -(-schedules // (_PARTS * jobs)))
    return [
        spec | {"seed": seed + first, "schedules": min(size, schedules - first)}
        for first in range(0, schedules, size)
    ]


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


def _at_once(
    run: Callable[[dict[str, Any]], dict[str, Any]],
    specs: list[dict[str, Any]],
    jobs: int,
    progress: core.Progress | None,
) -> list[dict[str, Any]]:
    # Not forked: the core may already hold threads and a machine.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(run, spec) for spec in specs]
        for done, _ in enumerate(as_completed(futures), 1):
            if progress:
                progress(done / len(specs), f"{done} of {len(specs)} runs")
        return [future.result() for future in futures]
