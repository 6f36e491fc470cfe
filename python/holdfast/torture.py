# SPDX-License-Identifier: Apache-2.0
"""Kills a worker over and over on one heap file: `python -m holdfast.torture --engine fur-si --kills 200`.

Each round starts a worker, kills it after a random number of acknowledgements, now and then kills the
recovery too, and then has a third process recover and verify: every acknowledged operation is there, the
workload's conditions hold, the allocator leaks nothing. Prints the seed; the same seed kills at the same
counts, though a process is never killed at the same instruction twice.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast import core, errors, kill

# A worker that gives no sign for so long is taken to hang.
_PATIENCE_SECONDS = 120
# Kill points are spread evenly over the logarithm, so that early ones are as likely as late ones.
_MOST_ACKNOWLEDGEMENTS = 20_000
# One round in so many also kills the recovery, up to this many times in a row.
_RECOVERY_KILLS_ONE_IN = 3
_MOST_RECOVERY_KILLS = 3


@dataclass
class Tally:
    """What a torture run came to."""

    kills: int = 0
    recovery_kills: int = 0
    recoveries: int = 0  # opens that had something to recover
    transactions: int = 0  # replayed or rolled back by them
    acknowledged: int = 0
    verified: int = 0


def torture(spec: dict[str, Any], kills: int, seed: int) -> Tally:
    """Raises CheckFailed at the first round in which anything acknowledged is missing or the heap is damaged."""
    chance = random.Random(seed)
    tally = Tally()
    recovery_seconds = 0.05
    for round_number in range(kills):
        with kill.Worker({**spec, "seed": seed * 1_000_003 + round_number}) as worker:
            wanted = int(_MOST_ACKNOWLEDGEMENTS ** chance.random())
            reached = worker.wait_for(wanted, _PATIENCE_SECONDS)
            killed = worker.kill()
        where = f"{spec['engine']}, round {round_number}, seed {seed}"
        if not reached or not killed:
            raise errors.CheckFailed(f"{where}: the worker ended or hung by itself: {worker.failure()}")
        tally.kills += 1
        if chance.randrange(_RECOVERY_KILLS_ONE_IN) == 0:
            for _ in range(chance.randint(1, _MOST_RECOVERY_KILLS)):
                tally.recovery_kills += kill.verify_interrupted(
                    spec, worker.records, chance.uniform(0, recovery_seconds)
                )
        start = time.monotonic()
        try:
            result = kill.verify(spec, worker.records)
        except errors.Failure as failure:
            raise errors.CheckFailed(f"{where}: {failure}") from None
        recovery_seconds = time.monotonic() - start
        _add(tally, result, where)
    return tally


def _add(tally: Tally, result: dict[str, Any], where: str) -> None:
    tally.recoveries += result["recovery"]["needed"]
    tally.transactions += result["recovery"]["transactions"]
    tally.acknowledged += result["acknowledged"]
    tally.verified += result["verified"]
    if not result["ok"]:
        found = [*result["failures"], result["check"], *result["heap_check"].get("problems", ())]
        raise errors.CheckFailed(f"{where}: " + "; ".join(text for text in found if text != "ok"))


def specification(
    engine: str, workload: str, path: Path, threads: int, domain: str, htm: str = "soft"
) -> dict[str, Any]:
    """The fields of a session. Workloads that acknowledge only when told to are told to. Raises BadUsage for what
    cannot be tortured here."""
    kept = next((core.is_durable(entry) for entry in core.engines() if entry["name"] == engine), True)
    if not kept:
        raise errors.BadUsage(core.not_durable(engine))
    if reason := core.why_no_htm(htm):
        raise errors.BadUsage(reason)
    entry = next(entry for entry in core.workloads() if entry["name"] == workload)
    acknowledges = any(parameter["name"] == "ack" for parameter in entry["parameters"])
    return {
        "engine": engine,
        "workload": workload,
        "params": {"ack": "1"} if acknowledges else {},
        "path": str(path),
        "threads": threads,
        "domain": domain,
        "htm": htm,
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m holdfast.torture", description=__doc__.split("\n\n")[0])
    parser.add_argument("--engine", default="all", help="names with commas, or all")
    parser.add_argument("--workload", default="bank")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--domain", default="process")
    parser.add_argument("--htm", default="soft", help="who runs hardware transactions: soft, rtm, power")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--dir", default=None, help="folder for the heap file")
    given = parser.parse_args(arguments)
    seed = int.from_bytes(os.urandom(4)) if given.seed is None else given.seed
    names = (
        [e["name"] for e in core.engines() if e["supported"] and core.is_durable(e)]
        if given.engine == "all"
        else given.engine.split(",")
    )
    status = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="holdfast-torture-", dir=given.dir) as folder:
            try:
                spec = specification(
                    name, given.workload, Path(folder) / "heap", given.threads, given.domain, given.htm
                )
                tally = torture(spec, given.kills, seed)
                print(f"{name}: {tally}", flush=True)
            except errors.BadUsage as failure:
                status = failure.exit_status
                print(f"{name}: {failure}", file=sys.stderr, flush=True)
            except errors.CheckFailed as failure:
                status = failure.exit_status
                print(f"{name}: FAILED: {failure}", flush=True)
    print(f"seed {seed}")
    return status


if __name__ == "__main__":
    sys.exit(main())
