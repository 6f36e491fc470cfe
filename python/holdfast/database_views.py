# SPDX-License-Identifier: Apache-2.0
"""Ranges of a database or a snapshot as views, like those of a dict."""

import sys
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

Bytes = bytes | bytearray | memoryview | str
T_co = TypeVar("T_co", covariant=True)

# Entries::What of holdfast/bindings/db/entries.h.
_KEYS, _VALUES, _ITEMS = range(3)


def encoded(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def as_bytes(key: Any) -> bytes:
    return bytes(memoryview(encoded(key)))


def after_prefix(prefix: bytes) -> bytes | None:
    """The first key after all those that begin with prefix; None if there is none."""
    shorter = prefix.rstrip(b"\xff")
    return shorter[:-1] + bytes((shorter[-1] + 1,)) if shorter else None


@dataclass(frozen=True)
class Walk:
    """A range of keys, a direction, and the largest number of entries."""

    start: bytes | None
    stop: bytes | None
    reverse: bool = False
    limit: int | None = None

    @classmethod
    def of(
        cls,
        start: Bytes | None,
        stop: Bytes | None,
        prefix: Bytes | None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> "Walk":
        if prefix is not None:
            if start is not None or stop is not None:
                raise TypeError("prefix stands alone, without start and stop")
            start = as_bytes(prefix)
            stop = after_prefix(start)
        if limit is not None and limit < 0:
            raise ValueError("limit is a number of entries, 0 or more")
        return cls(
            None if start is None else as_bytes(start),
            None if stop is None else as_bytes(stop),
            reverse,
            limit if limit is None else min(limit, sys.maxsize),
        )

    def backwards(self) -> "Walk":
        return replace(self, reverse=not self.reverse)

    def holds(self, key: Any) -> bool:
        key = as_bytes(key)
        return (self.start is None or self.start <= key) and (self.stop is None or key < self.stop)

    def __str__(self) -> str:
        given = {k: v for k, v in vars(self).items() if v is not None and v is not False}
        return ", ".join(f"{name}={value!r}" for name, value in given.items())


class Source(Protocol):
    """A database, a snapshot or a transaction."""

    def _find(self, key: Any) -> bytes | None: ...

    def _entries(self, walk: Walk, what: int) -> Iterator[Any]: ...


class _View(Generic[T_co]):
    """The part of a view that does not depend on what it shows.

    With a limit, a view shows the first entries of its walk, so only a walk tells what is in it.
    """

    _what: int
    _walk: Walk
    _source: Source

    def __iter__(self) -> Iterator[T_co]:
        return self._source._entries(self._walk, self._what)

    def __reversed__(self) -> Iterator[T_co]:
        if self._walk.limit is not None:
            return reversed(list(self))
        return self._source._entries(self._walk.backwards(), self._what)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._walk}) of {self._source!r}"


class Keys(_View[bytes], KeysView[bytes]):
    _what = _KEYS

    def __init__(self, reader: Any, walk: Walk) -> None:
        super().__init__(reader)
        self._source = reader
        self._walk = walk

    def __contains__(self, key: object) -> bool:
        if self._walk.limit is not None:
            return any(as_bytes(key) == other for other in self)
        return self._walk.holds(key) and self._source._find(key) is not None


class Values(_View[bytes], ValuesView[bytes]):
    _what = _VALUES

    def __init__(self, reader: Any, walk: Walk) -> None:
        super().__init__(reader)
        self._source = reader
        self._walk = walk

    def __contains__(self, value: object) -> bool:
        value = encoded(value)
        return any(value == other for other in self)


class Items(_View[tuple[bytes, bytes]], ItemsView[bytes, bytes]):
    _what = _ITEMS

    def __init__(self, reader: Any, walk: Walk) -> None:
        super().__init__(reader)
        self._source = reader
        self._walk = walk

    def __contains__(self, item: object) -> bool:
        if not isinstance(item, tuple) or len(item) != 2:
            return False
        key, value = item[0], encoded(item[1])
        if self._walk.limit is not None:
            return any((as_bytes(key), value) == other for other in self)
        return value is not None and self._walk.holds(key) and self._source._find(key) == value
