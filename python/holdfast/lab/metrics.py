# SPDX-License-Identifier: Apache-2.0
"""Values of a cell's entry, by name: panels draw them and claims speak of them.

Every kind of cell has:
tput                        operations per second of simulated time; of log replay, transactions

Transactions have:
rate_<operation>            tput of one kind of operation, such as rate_order_status
update_commits, read_commits, attempts   counts; attempts are those of transactions that can abort
abort_share, abort_share_<cause>         aborted attempts per attempt: conflict, capacity, ...
abort_share_<code>                       those of cause explicit: lock, log, alias, revoked, stale
htm_share, lock_share       commits in hardware, and under the lock, per commit of an attempt
<kind>_<phase>              time in the phase relative to execute, of committed transactions; the
                            kind is update or read
<kind>_<phase>_ns           the mean of that time per committed transaction, in nanoseconds
<kind>_overhead             relative time of all phases at a transaction's end, OVERHEAD below
<kind>_durability           relative time of its flushes and its durability wait alone
time_us                     simulated time of the measured part; panels with `work` compare it
reads, writes               loads per transaction in its body, and words it stores (8 bytes)
pwb, fences                 write-backs and fences (pfence and psync) per committed update
recovery_us                 to open the heap after a power failure, where `recovery` was asked for
response_<value>            time of an operation from its begin, or its arrival in an open loop, to
                            its end, in microseconds: mean, p50, p90, p99, p999, max
queued                      in an open loop: operations that had arrived and not begun at the end
pending_mean, pending_max   updates that had returned and were not durable, where `gauge_us` was
pending_age_us              asked for; and the largest age of the oldest one
amplification               bytes written to persistent memory beyond those stored, per byte stored
                            (Romulus 3)

Machines and hardware designs have the metrics of machine_metrics.py.

Log replay has:
replayed                    transactions in the logs
replay_words, replay_written, replay_pwb   words logged, words stored to the home, and write-backs,
                            per transaction
"""

from collections.abc import Callable
from typing import Any

from holdfast import errors
from holdfast.lab import machine_metrics
from holdfast.lab.machine_metrics import NotMeasured
from holdfast.lab.machine_metrics import machine as counters
from holdfast.results import Entry, Measured, Pending, ReplayEntry

# Phases of committed transactions beyond execute (holdfast/machine/phase.h), in the order in which
# bars are stacked. Waiting for the global lock is not among them: it comes before a transaction,
# not at its end.
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
PHASES = (
    "execute",
    *OVERHEAD,
    "lock_wait",
    "space_wait",
    "combine",
    "roll_back",
    "back_off",
    "aborted",
)
CAUSES = ("conflict", "capacity", "explicit", "interrupt", "other")
RESPONSE = ("mean", "p50", "p90", "p99", "p999", "max")
CODES = ("lock", "log", "alias", "revoked", "stale")  # reasons of engines: AbortCode in types.h
_KINDS = ("update", "read")


def value(entry: Measured, name: str) -> float:
    """Raises BadUsage for a metric that does not exist, or that this kind of cell lacks."""
    if not known(name):
        raise errors.BadUsage(
            f"there is no metric '{name}'; there are {', '.join(_named())}, rate_<operation>, and "
            "of update and read <kind>_<phase>, <kind>_<phase>_ns with a phase of "
            f"{', '.join(PHASES)}"
        )
    if (found := if_measured(entry, name)) is None:
        raise errors.BadUsage(f"metric '{name}' is none that cells of this kind measure")
    return found


def if_measured(entry: Measured, name: str) -> float | None:
    """As value(), but None for a metric that this cell lacks."""
    function = _TPUT.get(name)
    if isinstance(entry, ReplayEntry):
        function = function or _OF_REPLAY.get(name)
    elif isinstance(entry, Entry):
        function = function or _OF_TRANSACTIONS.get(name) or _patterned(name)
    try:
        return None if function is None else function(entry)
    except NotMeasured:
        return None


def known(name: str) -> bool:
    return name in _named() or _patterned(name) is not None


def attempts(entry: Entry) -> int:
    """Attempts of transactions that can abort.

    The simulated machine counts how often hardware transactions begin. Elsewhere, and without them,
    these are committed updates and aborts.
    """
    begins = entry.machine_counters.htm.begins if entry.machine_counters else 0
    return begins or entry.update_commits + sum(entry.aborts.values())


def commits_of_attempts(entry: Entry) -> int:
    htm = counters(entry).htm
    return htm.commits + entry.lock_fallbacks if htm.begins else entry.update_commits


def phase_ns(entry: Entry, kind: str, phase: str) -> float:
    """The sum over all transactions of the kind."""
    return counters(entry).of_kind(kind).phase_ns[phase.replace("_", " ")]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _relative(entry: Entry, kind: str, phases: tuple[str, ...]) -> float:
    spent = sum(phase_ns(entry, kind, phase) for phase in phases)
    return _ratio(spent, phase_ns(entry, kind, "execute"))


def _loads(entry: Entry) -> int:
    return sum(counters(entry).of_kind(kind).execute_loads for kind in _KINDS)


def _recovery_us(entry: Entry) -> float:
    if entry.recovery is None:
        raise NotMeasured
    return entry.recovery.seconds * 1e6


def _time_us(entry: Entry) -> float:
    if not entry.simulated_seconds:
        raise NotMeasured
    return entry.simulated_seconds * 1e6


def _response_us(entry: Entry, value: str) -> float:
    if entry.response is None:
        raise NotMeasured
    return getattr(entry.response, f"{value}_ns") / 1000


def _queued(entry: Entry) -> float:
    if entry.queued is None:
        raise NotMeasured
    return entry.queued


def _pending(entry: Entry) -> Pending:
    if entry.pending is None:
        raise NotMeasured
    return entry.pending


def _rate(entry: Entry, operation: str) -> float:
    for row in entry.operations:
        if row.operation == operation:
            return row.items_per_second
    there = ", ".join(row.operation for row in entry.operations)
    raise errors.BadUsage(f"the workload has no operation '{operation}'; it has {there}")


_TPUT: dict[str, Callable[[Any], float]] = {"tput": lambda e: e.items_per_second}

_OF_TRANSACTIONS: dict[str, Callable[[Entry], float]] = {
    "update_commits": lambda e: e.update_commits,
    "read_commits": lambda e: e.read_commits,
    "attempts": attempts,
    "abort_share": lambda e: _ratio(sum(e.aborts.values()), attempts(e)),
    "htm_share": lambda e: _ratio(counters(e).htm.commits, commits_of_attempts(e)),
    "lock_share": lambda e: _ratio(e.lock_fallbacks, commits_of_attempts(e)),
    "time_us": _time_us,
    "reads": lambda e: _ratio(_loads(e), e.commits),
    "writes": lambda e: _ratio(e.bytes_stored / 8, e.commits),
    "pwb": lambda e: e.pwb_per_update,
    "fences": lambda e: e.fences_per_update,
    "recovery_us": _recovery_us,
    "queued": _queued,
    "pending_mean": lambda e: _pending(e).mean,
    "pending_max": lambda e: _pending(e).max,
    "pending_age_us": lambda e: _pending(e).max_age_us,
    "amplification": lambda e: _ratio(e.bytes_written - e.bytes_stored, e.bytes_stored),
} | machine_metrics.METRICS
for _cause in CAUSES:
    _OF_TRANSACTIONS[f"abort_share_{_cause}"] = lambda e, c=_cause: _ratio(e.aborts[c], attempts(e))
for _value in RESPONSE:
    _OF_TRANSACTIONS[f"response_{_value}"] = lambda e, v=_value: _response_us(e, v)
for _code in CODES:
    _OF_TRANSACTIONS[f"abort_share_{_code}"] = lambda e, c=_code: _ratio(
        e.explicit_aborts.get(c, 0), attempts(e)
    )
for _kind in _KINDS:
    _OF_TRANSACTIONS[f"{_kind}_overhead"] = lambda e, k=_kind: _relative(e, k, OVERHEAD)
    _OF_TRANSACTIONS[f"{_kind}_durability"] = lambda e, k=_kind: _relative(e, k, DURABILITY)

_OF_REPLAY: dict[str, Callable[[ReplayEntry], float]] = {
    "replayed": lambda e: e.iterations,
    "replay_words": lambda e: _ratio(e.words, e.iterations),
    "replay_written": lambda e: _ratio(e.bytes_written / 8, e.iterations),
    "replay_pwb": lambda e: _ratio(e.persist.pwb, e.iterations),
}


def _named() -> list[str]:
    return [*_TPUT, *_OF_TRANSACTIONS, *_OF_REPLAY]


def _patterned(name: str) -> Callable[[Entry], float] | None:
    """The metric of a name with an operation or a phase in it."""
    if name.startswith("rate_"):
        return lambda e: _rate(e, name.removeprefix("rate_"))
    kind, _, phase = name.partition("_")
    if kind not in _KINDS:
        return None
    if phase in PHASES:
        return lambda e: _relative(e, kind, (phase,))
    if phase.removesuffix("_ns") in PHASES and phase.endswith("_ns"):
        return lambda e: _ratio(
            phase_ns(e, kind, phase.removesuffix("_ns")),
            e.update_commits if kind == "update" else e.read_commits,
        )
    return None
