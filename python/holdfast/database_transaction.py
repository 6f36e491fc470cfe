# SPDX-License-Identifier: Apache-2.0
"""Transactions over several keys and ranges."""

from collections.abc import Iterable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, Protocol

from holdfast import errors
from holdfast.database_reader import Reader, native, or_default, path_of
from holdfast.database_views import Bytes, Walk

if TYPE_CHECKING:
    from holdfast import _db


class Named(Protocol):
    """An object that stands for a map of its database, the default one without `_map`."""

    _native: Any
    _map: "_db.Map | None"


class TransactionMap(Reader, MutableMapping[bytes, bytes]):
    """Reading and writing of one map inside a transaction."""

    def __init__(self, native_transaction: "_db.Transaction", named: "_db.Map | None") -> None:
        self._native = native_transaction
        self._map = named

    def _find(self, key: Any) -> bytes | None:
        return self._native.get(key, self._map)

    def _entries(self, walk: Walk, what: int) -> Iterator[Any]:
        return self._native.entries(
            self._map, walk.start, walk.stop, walk.reverse, walk.limit, what
        )

    def get_many(self, keys: Iterable[Bytes], default: Any = None) -> list[Any]:
        return or_default([self._find(key) for key in keys], default)

    def put(self, key: Bytes, value: Bytes) -> None:
        self._native.put(key, value, self._map)

    __setitem__ = put

    def setdefault(self, key: Bytes, default: Bytes = b"") -> bytes:
        if key not in self:
            self.put(key, default)
        return self[key]

    def delete(self, key: Bytes) -> None:
        """Deletes a key. A missing key is no error."""
        self._native.delete(key, self._map)

    def __delitem__(self, key: Bytes) -> None:
        self[key]
        self.delete(key)

    def delete_range(
        self,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        *,
        prefix: Bytes | None = None,
    ) -> int:
        """Deletes the keys that keys() shows of this range, and returns their number."""
        walk = Walk.of(start, stop, prefix)
        return self._native.delete_range(walk.start, walk.stop, self._map)

    def clear(self) -> None:
        self.delete_range()

    def __repr__(self) -> str:
        name = None if self._map is None else self._map.name
        return f"<holdfast.TransactionMap {name!r}>"


class Transaction(TransactionMap):
    """The argument of a body.

    Reads see the database as it was when the body began, and the body's own writes.
    """

    def __init__(self, database: "_db.Database", exclusive: bool) -> None:
        self._database = database
        super().__init__(native().Transaction(database, exclusive), None)
        self._over = False

    def map(self, named: "str | Named") -> TransactionMap:
        """A named map of the database, by its name or its object, within this transaction.

        Raises MisuseError if there is none; make it with db.map(name) before.
        """
        if isinstance(named, str):
            return TransactionMap(self._native, self._database.open_map(named, False, None))
        if not hasattr(named, "_map"):
            raise TypeError(f"a map is a name or an object that db.map returns, not {named!r}")
        if named._map is None and named._native is not self._database:
            raise errors.database_error("misuse", f"{named!r} belongs to another database")
        return TransactionMap(self._native, named._map)

    def rollback(self) -> None:
        """Ends the transaction. Nothing is written, and the body may go on without it."""
        self._end()

    def _end(self) -> None:
        self._over = True
        self._native.end()

    def _commit(self) -> bool:
        return self._over or self._native.commit()

    def __repr__(self) -> str:
        over = " (over)" if self._over else ""
        return f"<holdfast.Transaction of {path_of(self._database)!r}{over}>"


class Exclusive:
    """`with db.transaction()`."""

    def __init__(self, database: "_db.Database") -> None:
        self._database = database
        self._running: list[Transaction] = []

    def __enter__(self) -> Transaction:
        self._running.append(Transaction(self._database, exclusive=True))
        return self._running[-1]

    def __exit__(self, kind: Any, *_exception: object) -> None:
        running = self._running.pop()
        try:
            if kind is None and not running._commit():
                raise AssertionError("a write got past the writer lock")
        finally:
            running._end()
