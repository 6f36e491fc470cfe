# SPDX-License-Identifier: Apache-2.0
"""Writing to the maps of a database."""

from abc import abstractmethod
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from holdfast.database_reader import State, path_of
from holdfast.database_views import Bytes, Walk

if TYPE_CHECKING:
    from holdfast import _db
    from holdfast.database import Database


class Writable(State, MutableMapping[bytes, bytes]):
    """Reading and writing of one map. Each call but clear() is one transaction.

    It is durable when the call returns, unless sync=False: then a crash may take it, within the
    limits of holdfast.open, until Database.sync or a durable write returns.
    """

    @abstractmethod
    def _database(self) -> "Database": ...

    def put(self, key: Bytes, value: Bytes, *, sync: bool = True) -> None:
        self._native.put(key, value, self._map, sync)

    def __setitem__(self, key: Bytes, value: Bytes) -> None:
        self._native.put(key, value, self._map, True)

    def delete(self, key: Bytes, *, sync: bool = True) -> None:
        """Deletes a key. A missing key is no error, unlike with `del db[key]`."""
        self._native.delete(key, self._map, sync)

    def __delitem__(self, key: Bytes) -> None:
        if self._native.pop(key, self._map) is None:
            raise KeyError(key)

    _MISSING = object()

    def pop(self, key: Bytes, default: Any = _MISSING) -> Any:
        value = self._native.pop(key, self._map)
        if value is None and default is self._MISSING:
            raise KeyError(key)
        return default if value is None else value

    def popitem(self) -> tuple[bytes, bytes]:
        """Takes out the first key."""
        while (key := next(iter(self.keys(limit=1)), None)) is not None:
            if (value := self._native.pop(key, self._map)) is not None:
                return key, value
        raise KeyError("the database is empty" if self._map is None else "the map is empty")

    def setdefault(self, key: Bytes, default: Bytes = b"") -> bytes:
        return self._database().transact(lambda t: t.map(self).setdefault(key, default))

    def update(self, /, *others: Any, **more: Bytes) -> None:
        """Takes the arguments of dict.update, and puts all entries in one write."""
        new = dict(*others, **more)
        if any(value is None for value in new.values()):  # to write() that is a deletion
            raise TypeError("keys and values are bytes or str, not NoneType")
        changes = new.items()
        self._native.write(
            changes if self._map is None else ((self, key, value) for key, value in changes), True
        )

    def delete_range(
        self,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        *,
        prefix: Bytes | None = None,
    ) -> int:
        """Deletes the keys that keys() shows of this range, in one write; returns their number."""
        walk = Walk.of(start, stop, prefix)
        return self._native.delete_range(walk.start, walk.stop, self._map)

    def clear(self) -> None:
        """Deletes all keys, in several writes."""
        start: Bytes | None = None
        # Each time a new view, because a view keeps the values that have been deleted since.
        while keys := list(self.keys(start, limit=1000)):
            self._native.write([(self, key, None) for key in keys], True)
            start = keys[-1]


# A change for write(): key and value, or map, key and value. The value None deletes the key.
Change = tuple[Bytes, Bytes | None] | tuple["Writable | str | None", Bytes, Bytes | None]


class Map(Writable):
    """A named map of a database; db.map returns it."""

    def __init__(self, database: "Database", named: "_db.Map") -> None:
        super().__init__(database._native, None, named)
        self._owner = database
        self._name = named.name

    @property
    def name(self) -> str:
        return self._name

    def _database(self) -> "Database":
        return self._owner

    def __repr__(self) -> str:
        closed = " (closed)" if self._native.closed else ""
        return f"<holdfast.Map {self._name!r} of {path_of(self._native)!r}{closed}>"
