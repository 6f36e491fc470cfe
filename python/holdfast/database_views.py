# SPDX-License-Identifier: Apache-2.0
"""Ranges of a database or a snapshot as views, like those of a dict."""

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from dataclasses import dataclass, replace
from typing import Any

# Entries::What of holdfast/bindings/db/entries.h.
_KEYS, _VALUES, _ITEMS = range(3)


def as_bytes(key: Any) -> bytes:
    return key.encode() if isinstance(key, str) else bytes(key)


def after_prefix(prefix: bytes) -> bytes | None:
    """The first key after all those that begin with prefix; None if there is none."""
    shorter = prefix.rstrip(b"\xff")
    return shorter[:-1] + bytes((shorter[-1] + 1,)) if shorter else None


@dataclass(frozen=True)
class Walk:
    """A range of keys, and a direction."""

    database: Any
    snapshot: Any
    start: bytes | None
    stop: bytes | None
    reverse: bool

    @classmethod
    def of(
        cls, database: Any, snapshot: Any, start: Any, stop: Any, prefix: Any, reverse: bool
    ) -> "Walk":
        if prefix is not None:
            if start is not None or stop is not None:
                raise TypeError("prefix stands alone, without start and stop")
            start = as_bytes(prefix)
            stop = after_prefix(start)
        return cls(
            database,
            snapshot,
            None if start is None else as_bytes(start),
            None if stop is None else as_bytes(stop),
            reverse,
        )

    def backwards(self) -> "Walk":
        return replace(self, reverse=not self.reverse)

    def holds(self, key: Any) -> bool:
        key = as_bytes(key)
        return (self.start is None or self.start <= key) and (self.stop is None or key < self.stop)

    def entries(self, what: int) -> Iterator[Any]:
        from holdfast import _db

        return _db.entries(self.database, self.snapshot, self.start, self.stop, self.reverse, what)


class Keys(KeysView[bytes]):
    def __init__(self, reader: Any, walk: Walk) -> None:
        super().__init__(reader)
        self._walk = walk

    def __contains__(self, key: object) -> bool:
        return self._walk.holds(key) and key in self._mapping

    def __iter__(self) -> Iterator[bytes]:
        return self._walk.entries(_KEYS)

    def __reversed__(self) -> Iterator[bytes]:
        return self._walk.backwards().entries(_KEYS)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Values(ValuesView[bytes]):
    def __init__(self, reader: Any, walk: Walk) -> None:
        super().__init__(reader)
        self._walk = walk

    def __contains__(self, value: object) -> bool:
        return any(value == other for other in self)

    def __iter__(self) -> Iterator[bytes]:
        return self._walk.entries(_VALUES)

    def __reversed__(self) -> Iterator[bytes]:
        return self._walk.backwards().entries(_VALUES)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Items(ItemsView[bytes, bytes]):
    def __init__(self, reader: Any, walk: Walk) -> None:
        super().__init__(reader)
        self._walk = walk

    def __contains__(self, item: object) -> bool:
        key, value = item  # type: ignore[misc]
        return self._walk.holds(key) and self._mapping.get(key) == value

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self._walk.entries(_ITEMS)

    def __reversed__(self) -> Iterator[tuple[bytes, bytes]]:
        return self._walk.backwards().entries(_ITEMS)

    def __len__(self) -> int:
        return sum(1 for _ in self)
