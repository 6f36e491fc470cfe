# SPDX-License-Identifier: Apache-2.0
"""Many simulated runs at once. A process holds one simulated machine, so every configuration gets a process of its
own, as many at a time as there are cores; the report is the one that a single process would have made."""

import os
from collections.abc import Sequence
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
        reports = _at_once(runs, min(jobs, len(runs)), progress)
    if len(seeds) > 1:
        for report in reports:
            for entry in report["benchmarks"]:
                entry["seed"] = report["context"]["seed"]
                entry["name"] += f"/seed:{entry['seed']}"
    return reports[0] | {"benchmarks": [entry for report in reports for entry in report["benchmarks"]]}


def _at_once(runs: list[dict[str, Any]], jobs: int, progress: core.Progress | None) -> list[dict[str, Any]]:
    # Not forked: the core may already hold threads and a machine.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(core.sim, run) for run in runs]
        for done, _ in enumerate(as_completed(futures), 1):
            if progress:
                progress(done / len(runs), f"{done} of {len(runs)} runs")
        return [future.result() for future in futures]
