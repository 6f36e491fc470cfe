# SPDX-License-Identifier: Apache-2.0
"""What can be read out of a cell's entry, by name: what panels draw and claims speak of.

tput                        operations per second of simulated time; of log replay, transactions
rate_<operation>            the same of one kind of operation, such as rate_order_status
update_commits, read_commits, attempts   counts; attempts are those of updates (and of reads that can abort)
abort_share, abort_share_<cause>         aborted attempts per attempt: conflict, capacity, explicit, ...
htm_share, lock_share       commits in hardware, and under the lock, per commit that took an attempt
<kind>_<phase>              time in the phase relative to execute, of committed transactions; kind update or read
<kind>_<phase>_ns           the same, as mean nanoseconds per committed transaction
<kind>_overhead             of the phases at its end, OVERHEAD below
<kind>_durability           of its flushes and its durability wait alone
replayed                    transactions in the logs; log replay has this, those of the next line, and tput
replay_words, replay_written, replay_pwb   words logged, words stored to the home, and write-backs, per transaction
reads, writes               loads per transaction in its body, and words it stores (8 bytes)
pwb, fences                 write-backs and fences (pfence and psync) per committed update
recovery_us                 to open the heap again after a power failure, where `recovery` was asked for
amplification               bytes written to persistent memory beyond those stored, per byte stored (Romulus 3)
"""

from collections.abc import Callable
from typing import Any

from holdfast import errors

Entry = dict[str, Any]

# Phases of committed transactions beyond execute (holdfast/machine/phase.h), in the order in which bars are stacked.
# Waiting for the global lock is not among them: it comes before a transaction, not at its end.
OVERHEAD = (
    "isolation_wait",
    "commit",
    "log_flush",
    "data_flush",
    "durability_wait",
    "marker_flush",
    "copy",
)
DURABILITY = ("log_flush", "data_flush", "durability_wait", "marker_flush", "copy")
PHASES = ("execute", *OVERHEAD, "lock_wait", "space_wait", "combine", "roll_back", "back_off", "aborted")
CAUSES = ("conflict", "capacity", "explicit", "interrupt", "other")
_KINDS = ("update", "read")


def value(entry: Entry, name: str) -> float:
    """Raises BadUsage for a name there is not."""
    function = _plain().get(name) or _patterned(name)
    if function is None:
        raise errors.BadUsage(
            f"there is no metric '{name}'; there are {', '.join(_plain())}, rate_<operation>, and of update and read "
            f"<kind>_<phase>, <kind>_<phase>_ns with a phase of {', '.join(PHASES)}"
        )
    try:
        return function(entry)
    except KeyError:
        raise errors.BadUsage(f"metric '{name}' is none that cells of this kind measure") from None


def known(name: str) -> bool:
    return name in _plain() or _patterned(name) is not None


def attempts(entry: Entry) -> int:
    """Of transactions that can abort. Engines that use hardware transactions count their beginnings."""
    begins = entry["machine_counters"]["htm"]["begins"]
    return begins or entry["update_commits"] + sum(entry["aborts"].values())


def commits_of_attempts(entry: Entry) -> int:
    htm = entry["machine_counters"]["htm"]
    return htm["commits"] + entry["lock_fallbacks"] if htm["begins"] else entry["update_commits"]


def phase_ns(entry: Entry, kind: str, phase: str) -> float:
    """Of all transactions of the kind together."""
    return entry["machine_counters"][kind]["phase_ns"][phase.replace("_", " ")]


def _plain() -> dict[str, Callable[[Entry], float]]:
    named: dict[str, Callable[[Entry], float]] = {
        "tput": lambda e: e["items_per_second"],
        "update_commits": lambda e: e["update_commits"],
        "read_commits": lambda e: e["read_commits"],
        "attempts": attempts,
        "abort_share": lambda e: _ratio(sum(e["aborts"].values()), attempts(e)),
        "htm_share": lambda e: _ratio(e["machine_counters"]["htm"]["commits"], commits_of_attempts(e)),
        "lock_share": lambda e: _ratio(e["lock_fallbacks"], commits_of_attempts(e)),
        "reads": lambda e: _ratio(_both(e, "execute_loads"), _commits(e)),
        "writes": lambda e: _ratio(e["bytes_stored"] / 8, _commits(e)),
        "pwb": lambda e: e["pwb_per_update"],
        "fences": lambda e: e["fences_per_update"],
        "recovery_us": lambda e: e["recovery"]["seconds"] * 1e6,
        "amplification": lambda e: _ratio(e["bytes_written"] - e["bytes_stored"], e["bytes_stored"]),
    }
    named |= {
        "replayed": _replayed,
        "replay_words": lambda e: _ratio(e["words"], _replayed(e)),
        "replay_written": lambda e: _ratio(e["bytes_written"] / 8, _replayed(e)),
        "replay_pwb": lambda e: _ratio(e["persist"]["pwb"], _replayed(e)),
    }
    for cause in CAUSES:
        named[f"abort_share_{cause}"] = lambda e, c=cause: _ratio(e["aborts"][c], attempts(e))
    for kind in _KINDS:
        named[f"{kind}_overhead"] = lambda e, k=kind: _relative(e, k, OVERHEAD)
        named[f"{kind}_durability"] = lambda e, k=kind: _relative(e, k, DURABILITY)
    return named


def _replayed(entry: Entry) -> int:
    if "replayers" not in entry:
        raise KeyError("replayers")
    return entry["iterations"]


def _patterned(name: str) -> Callable[[Entry], float] | None:
    if name.startswith("rate_"):
        return lambda e: _rate(e, name.removeprefix("rate_"))
    kind, _, phase = name.partition("_")
    if kind not in _KINDS:
        return None
    if phase in PHASES:
        return lambda e: _relative(e, kind, (phase,))
    if phase.removesuffix("_ns") in PHASES and phase.endswith("_ns"):
        return lambda e: _ratio(phase_ns(e, kind, phase.removesuffix("_ns")), e[f"{kind}_commits"])
    return None


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _relative(entry: Entry, kind: str, phases: tuple[str, ...]) -> float:
    return _ratio(sum(phase_ns(entry, kind, p) for p in phases), phase_ns(entry, kind, "execute"))


def _both(entry: Entry, counter: str) -> int:
    return sum(entry["machine_counters"][kind][counter] for kind in _KINDS)


def _commits(entry: Entry) -> int:
    return entry["update_commits"] + entry["read_commits"]


def _rate(entry: Entry, operation: str) -> float:
    for row in entry["operations"]:
        if row["operation"] == operation:
            return row["items_per_second"]
    raise errors.BadUsage(
        f"the workload has no operation '{operation}'; it has "
        + ", ".join(row["operation"] for row in entry["operations"])
    )
