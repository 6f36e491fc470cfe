# SPDX-License-Identifier: Apache-2.0
"""Kills a worker over and over on one heap file: `python -m holdfast.torture --kills 200`.

Each round starts a worker and kills it after a random number of acknowledgements. Some rounds kill
the recovery as well. Then another process recovers and verifies: every acknowledged operation is
there, the workload's conditions hold, the allocator leaks nothing. An engine with a lag may lose
operations up to its bound, but none from before a fence of the heap. The seed is printed; the same
seed kills at the same counts, though never at the same instruction twice.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast import catalog, errors, kill
from holdfast.findings import Verification
from holdfast.specs import SessionSpec

# A worker without an acknowledgement for this time is taken to hang.
_PATIENCE_SECONDS = 120
# Kill points are spread evenly over the logarithm, so that early ones are as likely as late ones.
_MOST_ACKNOWLEDGEMENTS = 20_000
# This share of the rounds also kills the recovery, at most this many times in a row.
_RECOVERY_KILLS_ONE_IN = 3
_MOST_RECOVERY_KILLS = 3


@dataclass
class Tally:
    """Counts over all rounds of a run."""

    kills: int = 0
    recovery_kills: int = 0
    recoveries: int = 0  # openings with something to recover
    transactions: int = 0  # replayed or rolled back by those
    acknowledged: int = 0
    verified: int = 0
    lost: int = 0  # within the engine's lag
    most_lost: int = 0  # in one round


def torture(spec: SessionSpec, kills: int, seed: int) -> Tally:
    """Raises CheckFailed at the first round that loses an acknowledgement or damages the heap."""
    chance = random.Random(seed)
    tally = Tally()
    recovery_seconds = 0.05
    for round_number in range(kills):
        with kill.Worker(replace(spec, seed=seed * 1_000_003 + round_number)) as worker:
            wanted = int(_MOST_ACKNOWLEDGEMENTS ** chance.random())
            reached = worker.wait_for(wanted, _PATIENCE_SECONDS)
            killed = worker.kill()
        where = f"{spec.engine}, round {round_number}, seed {seed}"
        if not reached or not killed:
            raise errors.CheckFailed(
                f"{where}: the worker ended or hung by itself: {worker.failure()}"
            )
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


def _add(tally: Tally, result: Verification, where: str) -> None:
    tally.recoveries += result.recovery.needed
    tally.transactions += result.recovery.transactions
    tally.acknowledged += result.acknowledged
    tally.verified += result.verified
    tally.lost += result.lost
    tally.most_lost = max(tally.most_lost, result.lost)
    if not result.ok:
        found = [*result.failures, result.check, *result.heap_check.problems]
        raise errors.CheckFailed(f"{where}: " + "; ".join(text for text in found if text != "ok"))


def specification(
    engine: str,
    workload: str,
    path: Path,
    threads: int,
    domain: str,
    htm: str = "auto",
    options: dict[str, str] | None = None,
) -> SessionSpec:
    """A session with acknowledgements, which some workloads write only when asked to.

    Raises BadUsage for an engine, a workload or hardware transactions that cannot be tortured here.
    """
    engines = {entry.name: entry for entry in catalog.engines() if not entry.simulated_only}
    workloads = {entry.name: entry for entry in catalog.workloads()}
    for what, name, known in (("engine", engine, engines), ("workload", workload, workloads)):
        if name not in known:
            raise errors.BadUsage(f"no {what} '{name}'; there are {', '.join(known)}")
    if not engines[engine].durable:
        raise errors.BadUsage(catalog.not_durable(engine))
    if reason := catalog.why_no_htm(htm):
        raise errors.BadUsage(reason)
    params = {"ack": "1"} if "ack" in workloads[workload].parameter_names else {}
    return SessionSpec(engine, workload, params, str(path), threads, domain, htm, options or {})


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m holdfast.torture", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--engine", default="all", help="names with commas, or all")
    parser.add_argument("--workload", default="bank")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--domain", default="process")
    parser.add_argument(
        "--htm", default="auto", help="hardware transactions: auto, soft, rtm, power"
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="of the engine"
    )
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--dir", default=None, help="folder for the heap file")
    given = parser.parse_args(arguments)
    if given.dir is not None and not os.path.isdir(given.dir):
        parser.error(f"{given.dir} is no folder")
    seed = int.from_bytes(os.urandom(4)) if given.seed is None else given.seed
    names = (
        [e.name for e in catalog.engines() if e.supported and e.durable]
        if given.engine == "all"
        else given.engine.split(",")
    )
    status = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="holdfast-torture-", dir=given.dir) as folder:
            try:
                heap = Path(folder) / "heap"
                spec = specification(
                    name,
                    given.workload,
                    heap,
                    given.threads,
                    given.domain,
                    given.htm,
                    dict(option.partition("=")[::2] for option in given.option),
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
