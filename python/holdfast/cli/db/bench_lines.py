# SPDX-License-Identifier: Apache-2.0
"""What `holdfast db bench` prints: lines as db_bench's, and who is ahead."""

from collections.abc import Iterator
from typing import Any

from holdfast import results
from holdfast.cli import output

_OURS = "holdfast/"


def head(context: dict[str, Any]) -> list[str]:
    """db_bench's, with where and how it was measured."""
    size = context["value_size"]
    stores = [f"{s['name']} {s['version']}".strip() for s in context["stores"]]
    return [
        f"Stores:     {', '.join(stores)}",
        "Keys:       16 bytes each",
        f"Values:     {size} bytes each ({size // 2} bytes after compression)",
        f"Entries:    {context['num']}",
        f"RawSize:    {context['num'] * (16 + size) / 2**20:.1f} MB (estimated)",
        f"Threads:    {context['threads']}, each does all operations (of YCSB's its share)",
        f"Rounds:     {context['rounds']}, stores in turns; medians",
        f"Files:      in {context['dir']}",
        *(f"{m['store']}: {m['reason']}" for m in context["missing"]),
        "-" * 48,
    ]


def line(entry: results.Entry) -> str:
    """db_bench's line; in brackets what it has no room for."""
    extra = []
    if "megabytes_per_second" in entry:
        extra.append(f"{entry['megabytes_per_second']:6.1f} MB/s")
    if "looked" in entry:
        extra.append(f"({entry['found']} of {entry['looked']} found)")
    text = f"{entry['benchmark']:<12} : {entry['micros_per_op']:11.3f} micros/op;"
    return f"{text}{' ' if extra else ''}{' '.join(extra)} [{', '.join(_notes(entry))}]"


def _notes(entry: results.Entry) -> Iterator[str]:
    yield entry["store"]
    yield f"writes survive {entry['survives']}"
    if entry["iterations"] > 1:
        yield f"{entry['micros_per_op_min']:.3f} to {entry['micros_per_op_max']:.3f}"
    yield f"processor {output.duration(entry['cpu_time'] * 1e-9)}"
    for name in ("p50", "p99"):
        yield f"{name} {output.duration(entry[f'{name}_ns'] * 1e-9)}"


def histogram(entry: results.Entry) -> list[str]:
    """Percentiles of each kind of operation."""
    lines = []
    for one in entry["operations"]:
        points = (("P50", "p50_ns"), ("P90", "p90_ns"), ("P99", "p99_ns"), ("P99.9", "p999_ns"))
        values = "  ".join(f"{label}: {one[key] / 1000:.3f}" for label, key in points)
        lines.append(f"  {one['operation']}, microseconds per op: Count: {one['latency_samples']}  {values}")
    return lines


def comparison(report: dict[str, Any]) -> list[dict[str, Any]]:
    """For each benchmark the fastest peer and the fastest HoldfastDB: how many times as fast the peer is, and whether
    their rounds overlap, so that noise could have decided."""
    found = []
    entries = results.medians(report)
    for benchmark in dict.fromkeys(entry["benchmark"] for entry in entries):
        of_it = [entry for entry in entries if entry["benchmark"] == benchmark]
        ours = _fastest([e for e in of_it if e["store"].startswith(_OURS)])
        peer = _fastest([e for e in of_it if not e["store"].startswith(_OURS)])
        if ours is None or peer is None:
            continue
        found.append(
            {
                "benchmark": benchmark,
                "ours": ours["store"],
                "ours_survives": ours["survives"],
                "peer": peer["store"],
                "peer_survives": peer["survives"],
                "ratio": peer["items_per_second"] / ours["items_per_second"],
                "overlap": peer["items_per_second_min"] <= ours["items_per_second_max"]
                and ours["items_per_second_min"] <= peer["items_per_second_max"],
            }
        )
    return found


def _fastest(entries: list[results.Entry]) -> results.Entry | None:
    return max(entries, key=lambda entry: entry["items_per_second"], default=None)


def wins(found: list[dict[str, Any]]) -> list[str]:
    """Where a peer wins, and where none does, in words."""
    lines = []
    for one in found:
        if one["ratio"] > 1:
            who = f"a peer wins: {one['peer']} (survives {one['peer_survives']})"
            whom = f"{one['ours']} (survives {one['ours_survives']})"
            times = one["ratio"]
        else:
            who = f"HoldfastDB wins: {one['ours']} (survives {one['ours_survives']})"
            whom = f"the best peer, {one['peer']} (survives {one['peer_survives']})"
            times = 1 / one["ratio"]
        close = "; the rounds overlap" if one["overlap"] else ""
        lines.append(f"{one['benchmark']:<16} {who} at {times:.3g} times the rate of {whom}{close}")
    return lines
