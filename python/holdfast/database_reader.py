# SPDX-License-Identifier: Apache-2.0
"""Reading of a database, a snapshot or a transaction, as a mapping in the order of the keys."""

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holdfast import errors
from holdfast.database_views import Bytes, Items, Keys, Values, Walk

if TYPE_CHECKING:
    from holdfast import _db


def native() -> Any:
    """The extension module, imported on first use so that `import holdfast` works without it."""
    try:
        from holdfast import _db
    except ImportError as error:
        raise errors.Failure(f"the extension module is not built ({error}); run `make`") from error
    return _db


def path_of(database: "_db.Database") -> str:
    return os.fsdecode(database.path)


class Reader(Mapping[bytes, bytes]):
    """Reading, in the order of the keys' bytes."""

    @abstractmethod
    def _find(self, key: Any) -> bytes | None: ...

    @abstractmethod
    def _entries(self, walk: Walk, what: int) -> Iterator[Any]: ...

    @abstractmethod
    def get_many(self, keys: Iterable[Bytes], default: Any = None) -> list[Any]:
        """The values of the keys, in their order, all from one state; default for a missing key."""

    def __getitem__(self, key: Bytes) -> bytes:
        value = self._find(key)
        if value is None:
            raise KeyError(key)
        return value

    def get(self, key: Bytes, default: Any = None) -> Any:
        value = self._find(key)
        return default if value is None else value

    def __contains__(self, key: object) -> bool:
        return self._find(key) is not None

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.keys())

    def __reversed__(self) -> Iterator[bytes]:
        return reversed(self.keys())

    def __len__(self) -> int:
        """Walks all keys."""
        return len(self.keys())

    def __bool__(self) -> bool:
        return next(iter(self.keys(limit=1)), None) is not None

    def keys(
        self,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        *,
        prefix: Bytes | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Keys:
        """The keys from start up to, but not including, stop, or those that begin with prefix.

        At most `limit` of them. A view like a dict's. Each of its iterators sees the state at the
        moment it was made; later writes do not show. Those of a transaction do.
        """
        return Keys(self, Walk.of(start, stop, prefix, reverse, limit))

    def values(
        self,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        *,
        prefix: Bytes | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Values:
        return Values(self, Walk.of(start, stop, prefix, reverse, limit))

    def items(
        self,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        *,
        prefix: Bytes | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Items:
        return Items(self, Walk.of(start, stop, prefix, reverse, limit))

    def first(
        self,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        *,
        prefix: Bytes | None = None,
    ) -> tuple[bytes, bytes] | None:
        """The first entry of the range; None if it is empty."""
        return next(iter(self.items(start, stop, prefix=prefix, limit=1)), None)

    def last(
        self,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        *,
        prefix: Bytes | None = None,
    ) -> tuple[bytes, bytes] | None:
        """The last entry of the range; None if it is empty."""
        return next(iter(self.items(start, stop, prefix=prefix, reverse=True, limit=1)), None)


def or_default(values: list[bytes | None], default: Any) -> list[Any]:
    return values if default is None else [default if v is None else v for v in values]


class State(Reader):
    """Reading of one map of a database or a snapshot; without `named`, of the default map."""

    def __init__(
        self,
        database: "_db.Database",
        snapshot: "_db.Snapshot | None",
        named: "_db.Map | None" = None,
    ) -> None:
        self._native = database
        self._snapshot = snapshot
        self._map = named

    def _find(self, key: Any) -> bytes | None:
        return self._native.get(key, self._snapshot, self._map)

    def _entries(self, walk: Walk, what: int) -> Iterator[Any]:
        entries: Iterator[Any] = native().entries(
            self._native,
            self._snapshot,
            self._map,
            walk.start,
            walk.stop,
            walk.reverse,
            walk.limit,
            what,
        )
        return entries

    def get_many(self, keys: Iterable[Bytes], default: Any = None) -> list[Any]:
        return or_default(self._native.get_many(keys, self._snapshot, self._map), default)


class SnapshotMap(State):
    """A named map as a snapshot shows it."""

    def __repr__(self) -> str:
        assert self._map is not None
        return f"<holdfast.SnapshotMap {self._map.name!r} of {path_of(self._native)!r}>"


class Snapshot(State):
    """The database as it was when this was made, until close() or the end of its `with` block.

    Values that writers overwrite meanwhile are kept for it.
    """

    def map(self, name: str) -> SnapshotMap:
        """The named map as this snapshot shows it. Raises MisuseError if it has none."""
        found = self._native.open_map(name, False, self._snapshot)
        return SnapshotMap(self._native, self._snapshot, found)

    def maps(self) -> list[str]:
        """The names of the maps that this snapshot shows, in order."""
        return self._native.maps(self._snapshot)

    def __init__(self, database: "_db.Database") -> None:
        self._made: _db.Snapshot = native().Snapshot(database)
        super().__init__(database, self._made)
        self._closed = False

    def close(self) -> None:
        self._closed = True
        self._made.close()

    def __enter__(self) -> "Snapshot":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = self._closed or self._native.closed
        return f"<holdfast.Snapshot of {path_of(self._native)!r}{' (closed)' if closed else ''}>"
