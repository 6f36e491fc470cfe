# SPDX-License-Identifier: Apache-2.0
"""The tables of `bench`, `sim` and `demo`."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from holdfast import results, units
from holdfast.cli import output
from holdfast.results import DesignCounters, Entry, MachineCounters, ReplayEntry, Report

PLAIN = "plain"
# The columns of _costs().
_COSTS = ("aborts/tx", "fences/update", "pwb/update", "bytes/byte")


def print_report(console: Console, report: Report, title: str) -> None:
    """One line per configuration, and a table by kind of operation if there are several kinds."""
    entries: list[Entry] = report.medians()
    with_plain = any(entry.engine == PLAIN for entry in entries)
    columns = ["engine", "threads", "tx/s", "spread %", "p50", "p99", *_COSTS]
    if with_plain:
        columns.append("of plain")
    rows = []
    for entry in entries:
        row: list[Any] = [entry.engine, entry.threads, entry.items_per_second, entry.spread]
        row += [_latency(entry.p50_ns), _latency(entry.p99_ns), *_costs(entry)]
        if with_plain:
            row.append(_percent(results.ratio_to(entry, entries, PLAIN)))
        rows.append(row)
    if rows:
        output.print_table(console, output.table(title, columns, rows))
    _print_kinds(console, entries)
    print_failures(console, report)


def print_failures(console: Console, report: Report) -> None:
    for entry in report.failures():
        console.print(f"[red]{escape(entry.name)}: {escape(entry.error_message)}[/]")


def print_environment(console: Console, report: Report) -> None:
    """Prints the computer and the setting of a report, and completes the report's context."""
    output.print_environment(console, report.add_environment())
    print_setting(console, report)


def print_setting(console: Console, report: Report) -> None:
    context = report.context
    parts = [f"domain {context.domain_text or context.domain}"]
    for name in ("machine", "htm", "latency", "seed", "library_build_type", "compiler"):
        if (value := getattr(context, name)) not in (None, "", "none"):
            parts.append(f"{name.removeprefix('library_').replace('_', ' ')} {value}")
    for values in (context.params, context.options):
        parts += [f"{key}={value}" for key, value in values.items()]
    console.print(f"[dim]{escape('; '.join(parts))}[/]")
    if context.assertions:
        console.print("[dim]assertions are on, as always[/]")
    if context.cpu_scaling_enabled:
        console.print("[yellow]the processor's clock frequency is not fixed; results vary[/]")


def _costs(entry: Entry) -> list[float | None]:
    """Aborts per transaction, fences and write-backs per update, bytes written per byte stored."""
    if entry.engine == PLAIN:
        return [None] * len(_COSTS)
    updates = entry.update_commits > 0
    return [
        entry.aborts_per_commit,
        entry.fences_per_update if updates else None,
        entry.pwb_per_update if updates else None,
        entry.bytes_written_per_byte_stored if entry.bytes_stored else None,
    ]


def _print_kinds(console: Console, entries: Sequence[Entry]) -> None:
    kinds = list(dict.fromkeys(o.operation for entry in entries for o in entry.operations))
    if len(kinds) < 2:
        return
    rows = []
    for entry in entries:
        rates = {o.operation: o.items_per_second for o in entry.operations}
        rows.append([entry.engine, entry.threads, *(rates.get(kind) for kind in kinds)])
    columns = ["engine", "threads", *kinds]
    output.print_table(console, output.table("Transactions per second, by kind", columns, rows))


def _latency(nanoseconds: float | None) -> str:
    return units.duration(nanoseconds * 1e-9) if nanoseconds else "-"


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * ratio:.0f} %"


def print_simulated(console: Console, report: Report, title: str) -> None:
    """Counts, and times where the machine has a notion of time.

    An open loop shows response times in place of the outcomes of attempts.
    """
    entries: list[Entry] = report.medians()
    if any(entry.design_counters for entry in entries):
        _print_designs(console, entries, title)
        _print_beside(console, entries)
        print_failures(console, report)
        return
    timed = any(entry.simulated_seconds for entry in entries)
    seeds = any(entry.seed is not None for entry in entries)
    recovered = any(entry.recovery for entry in entries)
    open_loop = any(entry.queued is not None for entry in entries)
    gauged = any(entry.pending for entry in entries)
    columns = ["engine", "threads", *(["seed"] if seeds else []), "transactions"]
    columns += ["tx/s simulated", *(_RESPONSE if open_loop else _OUTCOMES)] if timed else _COSTS
    columns += [*(["recovery"] if recovered else []), *(["pending, at most"] if gauged else [])]
    columns += ["operations", "host M/s", "check"]
    rows = []
    for entry in entries:
        operations = entry.simulated_memory_operations
        row: list[Any] = [entry.engine, entry.threads, *([entry.seed] if seeds else [])]
        row.append(entry.iterations)
        details = _response(entry) if open_loop else _outcomes(entry) if timed else _costs(entry)
        row += [f"{entry.items_per_second:,.0f}", *details] if timed else details
        row += [_duration(entry.recovery.seconds if entry.recovery else 0)] if recovered else []
        row += [entry.pending.max if entry.pending else "-"] if gauged else []
        speed = f"{operations / entry.host_seconds / 1e6:.1f}"
        rows.append([*row, operations, speed, entry.check])
    if rows:
        output.print_table(console, output.table(title, columns, rows))
    _print_beside(console, entries)
    print_failures(console, report)


def _print_beside(console: Console, entries: list[Entry]) -> None:
    """The threads without transactions, and the share of their accesses that miss at each level."""
    seeds = any(entry.seed is not None for entry in entries)
    columns = ["design or engine", "threads", *(["seed"] if seeds else []), "inserts"]
    columns += ["L1 misses", "L2 misses", "last-level misses"]
    rows = []
    for entry in entries:
        if (found := entry.beside) is not None:
            row: list[Any] = [entry.design or entry.engine, entry.threads]
            row += [*([entry.seed] if seeds else []), found.inserts]
            rows.append([*row, *(f"{100 * found.miss_rate[at]:.2f} %" for at in _LEVELS)])
    if rows:
        output.print_table(console, output.table("The thread without transactions", columns, rows))


_LEVELS = ["l1", "l2", "llc"]


def _print_designs(console: Console, entries: list[Entry], title: str) -> None:
    """Hardware designs beside each other: speed and times, and media accesses per transaction."""
    seeds = any(entry.seed is not None for entry in entries)
    recovered = any(entry.recovery for entry in entries)
    timed = any(entry.response for entry in entries)
    engines = len({entry.engine for entry in entries}) > 1
    names = ["design", *(["engine"] if engines else [])]
    keys = [*names, "threads", *(["seed"] if seeds else [])]
    columns = [*keys, "transactions", "tx/s", "commit waits"]
    columns += [*(["response", "p99.9"] if timed else []), *(["recovery"] if recovered else [])]
    columns += ["non-volatile", "host M/s", "check"]
    rows, counted = [], []
    for entry in entries:
        if (counts := entry.design_counters) is None:
            continue
        key: list[Any] = [entry.design, *([entry.engine] if engines else []), entry.threads]
        key += [entry.seed] if seeds else []
        counted.append((key, entry, counts))
        waited = counts.commit_wait_ns / max(counts.transactions, 1)
        row = [*key, entry.iterations, f"{entry.items_per_second:,.0f}"]
        row += [units.duration(waited / 1e9)]
        if timed and entry.response is not None:
            mean, p999 = entry.response.mean_ns, entry.response.p999_ns
            row += [units.duration(mean / 1e9), units.duration(p999 / 1e9)]
        row += [_duration(entry.recovery.seconds if entry.recovery else 0)] if recovered else []
        speed = f"{entry.simulated_memory_operations / entry.host_seconds / 1e6:.1f}"
        rows.append([*row, units.bytes_text(counts.structure_bytes), speed, entry.check])
    output.print_table(console, output.table(title, columns, rows, left=len(names)))
    _print_traffic(console, keys, len(names), counted)


def _print_traffic(
    console: Console,
    keys: list[str],
    names: int,
    counted: list[tuple[list[Any], Entry, DesignCounters]],
) -> None:
    """Reads and writes of the medium, in lines per transaction; writes by cause before merging."""
    every = [counts.writes_by_cause for _, _, counts in counted]
    causes = list(dict.fromkeys(cause for by in every for cause, count in by.items() if count))
    rows = []
    for key, entry, counts in counted:
        each = max(counts.transactions, 1)
        amounts = [counts.media_reads, counts.media_writes]
        amounts += [counts.writes_by_cause.get(cause, 0) for cause in causes]
        rows.append([*key, *(f"{amount / each:.2f}" if amount else "-" for amount in amounts)])
        rows[-1].append(_wear(entry))
    columns = [*keys, "reads", "writes", *causes, "wear"]
    title = "Lines of the medium per transaction, writes by cause before they merge"
    output.print_table(console, output.table(title, columns, rows, left=names))


def _wear(entry: Entry) -> str:
    """Writes of a line of the medium: the mean of the lines written, and the most of one."""
    wear = entry.medium.wear if entry.medium else None
    return f"{wear.mean:.1f} / {wear.max}" if wear and wear.max else "-"


def _duration(seconds: float) -> str:
    """A dash where the machine has no notion of time."""
    return units.duration(seconds) if seconds else "-"


_RESPONSE = ["response", "p99.9", "queued"]


def _response(entry: Entry) -> list[Any]:
    """An open loop: times from arrival to end, and the transactions that found no thread."""
    if entry.response is None:
        return ["-", "-", entry.queued]
    mean, p999 = entry.response.mean_ns, entry.response.p999_ns
    return [units.duration(mean / 1e9), units.duration(p999 / 1e9), entry.queued]


_OUTCOMES = ["HTM commits", "conflict", "capacity", "fences/update", "pwb/update"]


def _outcomes(entry: Entry) -> list[Any]:
    assert isinstance(entry.machine_counters, MachineCounters)
    htm = entry.machine_counters.htm
    return [htm.commits, htm.aborts["conflict"], htm.aborts["capacity"], *_costs(entry)[1:3]]


def print_replays(console: Console, report: Report, title: str) -> None:
    """Log replay: one line per configuration."""
    columns = ["engine", "filled by", "replayers", "filter", "transactions", "words", "time"]
    columns += ["tx/s", "spread %", "written", "pwb/tx", "check"]
    entries: list[ReplayEntry] = report.medians()
    rows = []
    for entry in entries:
        row: list[Any] = [entry.engine, entry.threads, entry.replayers, entry.filter]
        row += [entry.iterations, entry.words, _duration(entry.replay_seconds)]
        row += [entry.items_per_second, entry.spread, units.bytes_text(entry.bytes_written)]
        rows.append([*row, entry.persist.pwb / max(entry.iterations, 1), entry.check])
    if rows:
        output.print_table(console, output.table(title, columns, rows))
    print_failures(console, report)


def print_lint(console: Console, report: Report) -> None:
    """The findings about the use of persistent memory, configuration by configuration."""
    entries: list[Entry] = report.medians()
    seeds = any(entry.seed is not None for entry in entries)
    columns = ["engine", "finding", "where", "threads", *(["seed"] if seeds else [])]
    columns += ["count", "first at"]
    rows = []
    for entry in entries:
        for found in entry.lint:
            place = "-" if found.example is None else f"{found.example:#x}"
            row: list[Any] = [entry.engine, found.what, found.where, entry.threads]
            rows.append([*row, *([entry.seed] if seeds else []), found.count, place])
    if rows:
        output.print_table(console, output.table("Use of persistent memory", columns, rows, left=3))
    else:
        console.print("use of persistent memory: the lint found nothing")
