# SPDX-License-Identifier: Apache-2.0
"""Metrics of simulated machines and hardware designs, per transaction unless stated otherwise.

media_writes, media_reads   accesses of the medium: writes that merged or were cancelled in the
                            controller's queue and reads served from there do not count
media_writes_overhead       all causes but `write_back` and `data`: beyond the program's data; of
                            designs only
media_reads_<cause>         reads by cause, before some are served from the queue: miss, data, log,
                            table, ... Those of the address table are table_reads. Without a design
                            all are miss
wear_max, wear_mean         writes of the most written line, and of a line that was written, in all
media_writes_<cause>        writes by cause, before they merge: write_back, data, log, table, ...
                            Without a design all writes are write_back. On a machine with one
                            memory, lines of volatile memory have no cause
l1_accesses                 loads, stores and atomics
l2_accesses, llc_accesses   requests for a line that L1, or L1 and L2, did not have with the right
                            to the access
llc_misses                  lines that came from memory
instructions                executed instructions, by the description's rate
table_reads                 reads of the address table, of all accesses of the medium
design_reads                lines that the design reads by itself
tx_lines                    lines to which a transaction stored, as the design counts them
commit_wait_ns, store_wait_ns   time for which commits, and stores, waited for the design
nonvolatile_bytes           bytes of the design's non-volatile structures, in all
recovery_lines              lines that the design's recovery wrote, in all (kind recovery)

Formulas with constants of experiments/costs (costs.py):
media_write_nj              energy of the writes to the medium
flush_mj                    energy of a flush of all caches at a power failure, in all
tag_flush_mj, tag_compare_nj    more of it for the design's tags, in all
tag_bytes_<level>           bytes of the tags of one cache
tag_area_percent_<level>    their part of the cache's area
"""

from collections.abc import Callable

from holdfast.lab import costs
from holdfast.results import DesignCounters, Entry, MachineCounters, Medium, Wear

CAUSES = (
    *("write_back", "data", "log", "table"),
    *("journal", "migration", "consolidation", "recovery"),
)
READ_CAUSES = ("miss", "data", "log", "table", "migration", "consolidation", "recovery")
# Places of a line, from the core outwards (Level in coherent_caches.h).
_BEYOND_L1 = ("l2", "llc", "peer", "remote_peer", "dram", "medium")
_LEVELS = ("l1", "l2", "llc")


class NotMeasured(Exception):
    """The entry lacks a value that the metric needs."""


def machine(entry: Entry) -> MachineCounters:
    if entry.machine_counters is None:
        raise NotMeasured
    return entry.machine_counters


def _medium(entry: Entry) -> Medium:
    if entry.medium is None:
        raise NotMeasured
    return entry.medium


def _design(entry: Entry) -> DesignCounters:
    if entry.design_counters is None:
        raise NotMeasured
    return entry.design_counters


def _each(entry: Entry, count: float) -> float:
    return count / entry.commits if entry.commits else 0.0


def _by_cause(entry: Entry, cause: str) -> float:
    if entry.design_counters is not None:
        return entry.design_counters.writes_by_cause.get(cause, 0)
    return machine(entry).medium_writes if cause == "write_back" else 0


def _reads_by_cause(entry: Entry, cause: str) -> float:
    if entry.design_counters is not None:
        return entry.design_counters.reads_by_cause.get(cause, 0)
    counted = machine(entry)
    return counted.medium_reads - counted.table_reads if cause == "miss" else 0


def _overhead(entry: Entry) -> float:
    _design(entry)  # an engine's log and its data are written back alike
    return sum(_by_cause(entry, cause) for cause in CAUSES if cause not in ("write_back", "data"))


def _wear(entry: Entry) -> Wear:
    if (wear := _medium(entry).wear) is None:
        raise NotMeasured
    return wear


def _found_in(entry: Entry, places: tuple[str, ...]) -> int:
    counted = machine(entry)
    return sum(
        places_of.get(place, 0)
        for places_of in (counted.loads_from, counted.fetched_for_stores)
        for place in places
    )


def _accesses(entry: Entry) -> int:
    counted = machine(entry)
    return counted.loads + counted.stores + counted.atomics


def _lines(entry: Entry) -> float:
    counted = _design(entry)
    return counted.first_stores / counted.transactions if counted.transactions else 0.0


def _recovered(entry: Entry) -> float:
    if entry.recovery is None:
        raise NotMeasured
    return entry.recovery.design.lines_written if entry.recovery.design else 0


def _cost(entry: Entry, formula: Callable[[Entry], float | None]) -> float:
    if (value := formula(entry)) is None:
        raise NotMeasured
    return value


METRICS: dict[str, Callable[[Entry], float]] = {
    "media_writes": lambda e: _each(e, _medium(e).writes),
    "media_reads": lambda e: _each(e, _medium(e).reads),
    "media_writes_overhead": lambda e: _each(e, _overhead(e)),
    "l1_accesses": lambda e: _each(e, _accesses(e)),
    "l2_accesses": lambda e: _each(e, _found_in(e, _BEYOND_L1)),
    "llc_accesses": lambda e: _each(e, _found_in(e, _BEYOND_L1[1:])),
    "llc_misses": lambda e: _each(e, _found_in(e, ("dram", "medium"))),
    "instructions": lambda e: _each(e, machine(e).instructions),
    "table_reads": lambda e: _each(e, machine(e).table_reads),
    "design_reads": lambda e: _each(e, _design(e).reads),
    "wear_max": lambda e: _wear(e).max,
    "wear_mean": lambda e: _wear(e).mean,
    "tx_lines": _lines,
    "commit_wait_ns": lambda e: _each(e, _design(e).commit_wait_ns),
    "store_wait_ns": lambda e: _each(e, _design(e).store_wait_ns),
    "nonvolatile_bytes": lambda e: _design(e).structure_bytes,
    "recovery_lines": _recovered,
    "media_write_nj": lambda e: _each(e, _cost(e, costs.media_write_nj)),
    "flush_mj": lambda e: _cost(e, costs.flush_mj),
    "tag_flush_mj": lambda e: _cost(e, costs.tag_flush_mj),
    "tag_compare_nj": lambda e: _cost(e, costs.tag_compare_nj),
}
for _cause in CAUSES:
    METRICS[f"media_writes_{_cause}"] = lambda e, c=_cause: _each(e, _by_cause(e, c))
for _cause in READ_CAUSES:
    METRICS[f"media_reads_{_cause}"] = lambda e, c=_cause: _each(e, _reads_by_cause(e, c))
for _level in _LEVELS:
    METRICS[f"tag_bytes_{_level}"] = lambda e, n=_level: _cost(
        e, lambda entry: costs.tag_bytes(entry, n)
    )
    METRICS[f"tag_area_percent_{_level}"] = lambda e, n=_level: _cost(
        e, lambda entry: costs.tag_area_percent(entry, n)
    )

COLUMNS = tuple(name for name in METRICS if name != "recovery_lines")
