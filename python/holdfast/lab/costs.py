# SPDX-License-Identifier: Apache-2.0
"""Energy and area, computed from counts: the constants are experiments/costs/*.toml.

A file has the table [media] or [flush] for all designs, or is named like the design whose tags it
describes. Each constant has its source beside it. A value that the files or the entry do not give
is None.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from holdfast import errors
from holdfast.lab.files import Table, experiments, read
from holdfast.results import Caches, Entry

_LEVELS = ("l1", "l2", "llc")


@dataclass(frozen=True)
class Flush:
    """Energy of one byte that a flush brings from a cache to persistent memory, by level."""

    nj_per_byte: dict[str, float]


@dataclass(frozen=True)
class Tags:
    """Tags that a design adds to lines of its caches."""

    part: dict[str, float]  # of the lines of a level that can have one
    bits: dict[str, int]  # of a tag
    line_bits: int  # of a line without it: data, address, state
    flushed_bytes: float  # that a tagged line adds to a flush
    compare_pj: float  # energy to find out that a line has a tag


def flush_mj(entry: Entry) -> float | None:
    """Energy of writing every byte of all caches to persistent memory."""
    if (caches := entry.caches) is None:
        return None
    rates = _flush().nj_per_byte
    return sum(one.bytes * one.count * rates[name] for name, one in caches.levels().items()) / 1e6


def media_write_nj(entry: Entry) -> float | None:
    """Energy of the measured part's writes to the medium, each as one from the last level."""
    if entry.medium is None or entry.caches is None:
        return None
    line_nj = entry.caches.line_bytes * _flush().nj_per_byte["llc"]
    return entry.medium.writes * line_nj


def tag_flush_mj(entry: Entry) -> float | None:
    """More energy of a flush in which every line that can have a tag has one."""
    tags, caches = _tags().get(entry.design), entry.caches
    if tags is None or caches is None:
        return None
    rates = _flush().nj_per_byte
    tagged = {name: count * tags.flushed_bytes for name, count in _tagged(tags, caches).items()}
    return sum(size * rates[name] for name, size in tagged.items()) / 1e6


def tag_compare_nj(entry: Entry) -> float | None:
    """Energy of the comparisons that find the tagged lines of such a flush."""
    tags, caches = _tags().get(entry.design), entry.caches
    if tags is None or caches is None:
        return None
    return sum(_tagged(tags, caches).values()) * tags.compare_pj / 1e3


def tag_bytes(entry: Entry, level: str) -> float | None:
    """Bytes of the tags of one cache."""
    tags, caches = _tags().get(entry.design), entry.caches
    if tags is None or caches is None or level not in caches.levels():
        return None
    lines = caches.levels()[level].bytes / caches.line_bytes
    return lines * tags.part[level] * tags.bits[level] / 8


def tag_area_percent(entry: Entry, level: str) -> float | None:
    """Bits of the tags relative to those of the lines of the level, in percent."""
    if (tags := _tags().get(entry.design)) is None:
        return None
    return 100 * tags.part[level] * tags.bits[level] / tags.line_bits


def _tagged(tags: Tags, caches: Caches) -> dict[str, float]:
    """The lines of all caches of a level that can have a tag."""
    return {
        name: one.count * one.bytes / caches.line_bytes * tags.part[name]
        for name, one in caches.levels().items()
    }


@cache
def _flush() -> Flush:
    table = _file("flush")
    rates = {level: _number(table, f"{level}_nj_per_byte") for level in _LEVELS}
    table.finish()
    return Flush(rates)


@cache
def _tags() -> dict[str, Tags]:
    """The tags of each design that has a file of its own."""
    names = [path.stem for path in sorted((experiments() / "costs").glob("*.toml"))]
    return {name: _tags_of(_file(name)) for name in names if name != "flush"}


def _tags_of(table: Table) -> Tags:
    tags = Tags(
        part={level: _number(table, f"{level}_part") for level in _LEVELS},
        bits={level: int(_number(table, f"{level}_bits")) for level in _LEVELS},
        line_bits=int(_number(table, "line_bits")),
        flushed_bytes=_number(table, "flushed_bytes"),
        compare_pj=_number(table, "compare_pj"),
    )
    table.finish()
    return tags


def _file(name: str) -> Table:
    path = experiments() / "costs" / f"{name}.toml"
    return Table(read(path), str(path))


def _number(table: Table, key: str) -> float:
    """The value of a constant, whose entry also names its source."""
    inner = Table(table.get(key, dict), f"{table.where}, {key}")
    value: Any = inner.get("value", (int, float))
    if not inner.get("source", str).strip():
        raise errors.BadUsage(f"{inner.where}: a constant needs a source")
    inner.finish()
    return float(value)
