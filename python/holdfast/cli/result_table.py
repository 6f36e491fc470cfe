# SPDX-License-Identifier: Apache-2.0
"""The tables of `bench`, `sim` and `demo`."""

from typing import Any

from rich.console import Console
from rich.markup import escape

from holdfast import results
from holdfast.cli import output

PLAIN = "plain"
# What `costs` gives, as heads of columns.
_COSTS = ("aborts/tx", "fences/update", "pwb/update", "bytes/byte")


def print_report(console: Console, report: dict[str, Any], title: str) -> None:
    """One line per configuration, and one table by kind of operation if there are several."""
    entries = results.medians(report)
    with_plain = any(entry["engine"] == PLAIN for entry in entries)
    columns = ["engine", "threads", "tx/s", "spread %", "p50", "p99", *_COSTS]
    if with_plain:
        columns.append("of plain")
    rows = []
    for entry in entries:
        row = [entry["engine"], entry["threads"], entry["items_per_second"], results.spread(entry)]
        row += [_latency(entry.get("p50_ns")), _latency(entry.get("p99_ns"))]
        row += costs(entry)
        if with_plain:
            row.append(_percent(results.ratio_to(entry, report, PLAIN)))
        rows.append(row)
    if rows:
        console.print(output.table(title, columns, rows))
    _print_kinds(console, entries)
    for entry in results.failures(report):
        console.print(f"[red]{escape(entry['name'])}: {escape(entry['error_message'])}[/]")


def print_environment(console: Console, report: dict[str, Any]) -> None:
    """The computer and the setting a report was measured in. Completes the report's context."""
    output.print_environment(console, results.add_environment(report))
    print_setting(console, report)


def print_setting(console: Console, report: dict[str, Any]) -> None:
    context = report["context"]
    parts = [f"domain {context.get('domain_text') or context.get('domain', 'none')}"]
    for name in ("machine", "htm", "latency", "seed", "library_build_type", "compiler"):
        if context.get(name) not in (None, "", "none"):
            parts.append(f"{name.removeprefix('library_').replace('_', ' ')} {context[name]}")
    for name in ("params", "options"):
        parts += [f"{key}={value}" for key, value in (context.get(name) or {}).items()]
    console.print(f"[dim]{escape('; '.join(parts))}[/]")
    if context.get("assertions"):
        console.print("[dim]assertions are on, as always[/]")
    if context.get("cpu_scaling_enabled"):
        console.print("[yellow]the processor's clock frequency is not fixed; results vary[/]")


def costs(entry: results.Entry) -> list[Any]:
    """Aborts per transaction, fences and write-backs per update, bytes written per byte stored."""
    if entry["engine"] == PLAIN:
        return [None] * 4
    updates = entry["update_commits"] > 0
    return [
        results.aborts_per_commit(entry),
        entry["fences_per_update"] if updates else None,
        entry["pwb_per_update"] if updates else None,
        entry["bytes_written_per_byte_stored"] if entry["bytes_stored"] else None,
    ]


def _print_kinds(console: Console, entries: list[results.Entry]) -> None:
    kinds = list(dict.fromkeys(o["operation"] for entry in entries for o in entry.get("operations", ())))
    if len(kinds) < 2:
        return
    rows = []
    for entry in entries:
        rates = {o["operation"]: o["items_per_second"] for o in entry["operations"]}
        rows.append([entry["engine"], entry["threads"], *(rates.get(kind) for kind in kinds)])
    console.print(output.table("Transactions per second, by kind", ["engine", "threads", *kinds], rows))


def _latency(nanoseconds: float | None) -> str:
    return output.duration(nanoseconds * 1e-9) if nanoseconds else "-"


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * ratio:.0f} %"


def print_simulated(console: Console, report: dict[str, Any], title: str) -> None:
    """Counts, and times where the machine has a notion of time."""
    timed = any(entry["simulated_seconds"] for entry in results.medians(report))
    seeds = any("seed" in entry for entry in results.medians(report))
    columns = ["engine", "threads", *(["seed"] if seeds else []), "transactions"]
    columns += ["tx/s simulated", *_OUTCOMES] if timed else _COSTS
    recovered = any("recovery" in entry for entry in results.medians(report))
    columns += [*(["recovery"] if recovered else []), "operations", "host M/s", "check"]
    rows = []
    for entry in results.medians(report):
        operations = entry["simulated_memory_operations"]
        row = [entry["engine"], entry["threads"], *([entry["seed"]] if seeds else []), entry["iterations"]]
        row += [f"{entry['items_per_second']:,.0f}", *_outcomes(entry)] if timed else costs(entry)
        row += [_duration(entry["recovery"]["seconds"])] if recovered else []
        rows.append([*row, operations, f"{operations / entry['host_seconds'] / 1e6:.1f}", entry["check"]])
    if rows:
        console.print(output.table(title, columns, rows))
    for entry in results.failures(report):
        console.print(f"[red]{escape(entry['name'])}: {escape(entry['error_message'])}[/]")


def _duration(seconds: float) -> str:
    """Nothing where the machine has no notion of time."""
    return output.duration(seconds) if seconds else "-"


_OUTCOMES = ["HTM commits", "conflict", "capacity", "fences/update", "pwb/update"]


def _outcomes(entry: dict[str, Any]) -> list[int]:
    htm = entry["machine_counters"]["htm"]
    aborts = htm["aborts"]
    return [htm["commits"], aborts["conflict"], aborts["capacity"], *costs(entry)[1:3]]


def print_replays(console: Console, report: dict[str, Any], title: str) -> None:
    """Log replay: one line per configuration."""
    columns = [
        "engine",
        "filled by",
        "replayers",
        "filter",
        "transactions",
        "words",
        "time",
        "tx/s",
        "spread %",
    ]
    columns += ["written", "pwb/tx", "check"]
    rows = []
    for entry in results.medians(report):
        transactions = max(entry["iterations"], 1)
        seconds = entry["replay_seconds"]
        row = [entry["engine"], entry["threads"], entry["replayers"], entry["filter"], entry["iterations"]]
        row += [entry["words"], _duration(seconds), entry.get("items_per_second")]
        row += [results.spread(entry), output.bytes_text(entry["bytes_written"])]
        rows.append([*row, entry["persist"]["pwb"] / transactions, entry["check"]])
    if rows:
        console.print(output.table(title, columns, rows))
    for entry in results.failures(report):
        console.print(f"[red]{escape(entry['name'])}: {escape(entry['error_message'])}[/]")


def print_lint(console: Console, report: dict[str, Any]) -> None:
    """What the lint of persistence found, configuration by configuration."""
    entries = results.medians(report)
    seeds = any("seed" in entry for entry in entries)
    columns = ["engine", "finding", "where", "threads", *(["seed"] if seeds else []), "count", "first at"]
    rows = []
    for entry in entries:
        for row in entry["lint"]:
            place = "-" if row["example"] is None else f"{row['example']:#x}"
            seed = [entry["seed"]] if seeds else []
            rows.append(
                [entry["engine"], row["what"], row["where"], entry["threads"], *seed, row["count"], place]
            )
    if rows:
        console.print(output.table("Use of persistent memory", columns, rows, left=3))
    else:
        console.print("use of persistent memory: the lint found nothing")
