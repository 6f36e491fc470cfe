# SPDX-License-Identifier: Apache-2.0
"""The output of `holdfast db bench`: lines like db_bench's, and a comparison with the peers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast import units
from holdfast.results import StoreContext, StoreEntry

_OURS = "holdfast/"


def head(context: StoreContext) -> list[str]:
    """The head of db_bench, with the place and the way of the measurement."""
    size = context.value_size
    stores = [f"{store.name} {store.version}".strip() for store in context.stores]
    return [
        f"Stores:     {', '.join(stores)}",
        "Keys:       16 bytes each",
        f"Values:     {size} bytes each ({size // 2} bytes after compression)",
        f"Entries:    {context.num}",
        f"RawSize:    {context.num * (16 + size) / 2**20:.1f} MB (estimated)",
        f"Threads:    {context.threads}, each does all operations (of YCSB's its share)",
        f"Rounds:     {context.rounds}, stores in turns; medians",
        f"Files:      in {context.dir}",
        *(f"{one.store}: {one.reason}" for one in context.missing),
        "-" * 48,
    ]


def line(entry: StoreEntry) -> str:
    """The line of db_bench; in brackets the facts that it has no room for."""
    extra = []
    if entry.megabytes_per_second is not None:
        extra.append(f"{entry.megabytes_per_second:6.1f} MB/s")
    if entry.looked is not None:
        extra.append(f"({entry.found} of {entry.looked} found)")
    text = f"{entry.benchmark:<12} : {entry.micros_per_op:11.3f} micros/op;"
    return f"{text}{' ' if extra else ''}{' '.join(extra)} [{', '.join(_notes(entry))}]"


def _notes(entry: StoreEntry) -> Iterator[str]:
    yield entry.store
    yield f"writes survive {entry.survives}"
    if entry.iterations > 1:
        yield f"{entry.micros_per_op_min:.3f} to {entry.micros_per_op_max:.3f}"
    yield f"processor {units.duration(entry.cpu_time * 1e-9)}"
    for name, nanoseconds in (("p50", entry.p50_ns), ("p99", entry.p99_ns)):
        yield f"{name} {units.duration(nanoseconds * 1e-9)}"


def histogram(entry: StoreEntry) -> list[str]:
    """Percentiles of each kind of operation."""
    lines = []
    for one in entry.operations:
        points = (
            ("P50", one.p50_ns),
            ("P90", one.p90_ns),
            ("P99", one.p99_ns),
            ("P99.9", one.p999_ns),
        )
        values = "  ".join(f"{label}: {nanoseconds / 1000:.3f}" for label, nanoseconds in points)
        count = one.latency_samples
        lines.append(f"  {one.operation}, microseconds per op: Count: {count}  {values}")
    return lines


@dataclass(frozen=True)
class Compared:
    """The fastest peer and the fastest HoldfastDB at one benchmark.

    `ratio` is the peer's rate divided by ours. With `overlap` the ranges of their rounds overlap,
    so that noise could have decided.
    """

    benchmark: str
    ours: str
    ours_survives: str
    peer: str
    peer_survives: str
    ratio: float
    overlap: bool


def comparison(entries: Sequence[StoreEntry]) -> list[Compared]:
    found = []
    for benchmark in dict.fromkeys(entry.benchmark for entry in entries):
        measured = [entry for entry in entries if entry.benchmark == benchmark]
        ours = _fastest([e for e in measured if e.store.startswith(_OURS)])
        peer = _fastest([e for e in measured if not e.store.startswith(_OURS)])
        if ours is None or peer is None:
            continue
        found.append(
            Compared(
                benchmark=benchmark,
                ours=ours.store,
                ours_survives=ours.survives,
                peer=peer.store,
                peer_survives=peer.survives,
                ratio=peer.items_per_second / ours.items_per_second,
                overlap=_reaches(ours, peer) and _reaches(peer, ours),
            )
        )
    return found


def _reaches(one: StoreEntry, other: StoreEntry) -> bool:
    """True if the best round of one is as fast as the worst round of the other."""
    best, worst = one.items_per_second_max, other.items_per_second_min
    return best is not None and worst is not None and worst <= best


def _fastest(entries: Sequence[StoreEntry]) -> StoreEntry | None:
    return max(entries, key=lambda entry: entry.items_per_second, default=None)


def wins(found: Sequence[Compared]) -> list[str]:
    """The winner of each benchmark, in words."""
    lines = []
    for one in found:
        if one.ratio > 1:
            winner = f"a peer wins: {one.peer} (survives {one.peer_survives})"
            loser = f"{one.ours} (survives {one.ours_survives})"
            times = one.ratio
        else:
            winner = f"HoldfastDB wins: {one.ours} (survives {one.ours_survives})"
            loser = f"the best peer, {one.peer} (survives {one.peer_survives})"
            times = 1 / one.ratio
        close = "; the rounds overlap" if one.overlap else ""
        rate = f"at {times:.3g} times the rate of {loser}"
        lines.append(f"{one.benchmark:<16} {winner} {rate}{close}")
    return lines
