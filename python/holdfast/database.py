# SPDX-License-Identifier: Apache-2.0
"""HoldfastDB: an ordered mapping from bytes to bytes, durable, in one file (docs/guide/store.md).

    with holdfast.open("my.db") as db:
        db["key"] = "value"

Keys and values are bytes-like, or str, which is stored as UTF-8. Values that come back are always
bytes. A write is durable when it returns. Any thread may use a database; every call lets other
Python threads run meanwhile.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast import errors
from holdfast.database_reader import Snapshot, State, native, path_of
from holdfast.database_transaction import Exclusive, Transaction
from holdfast.database_views import Bytes, Walk

if TYPE_CHECKING:
    from holdfast import _db

T = TypeVar("T")

# Attempts that other writers may spoil before transact takes the writer lock.
_OPTIMISTIC_ATTEMPTS = 8

# The bytes of changes that are read ahead.
_CHANGES_AT_ONCE = 1 << 20


def open(
    path: str | os.PathLike[str],
    *,
    create: bool = True,
    read_only: bool = False,
    domain: str | None = None,
    force: bool = False,
    change_feed_bytes: int | None = None,
    engine: str = "romulus-log",
    engine_options: Mapping[str, str] | None = None,
    initial_bytes: int = 16 << 20,
    max_bytes: int = 0,
    max_threads: int = 64,
) -> "Database":
    """Opens the database in this file. Makes it if there is no file, unless create=False.

    One process at a time may have it open for writing. Any number may have it open with
    read_only=True, while no process has it open for writing.

    `domain` says which failures an acknowledged write survives: "process" a killed process, "file"
    a power cut as well (the default on ordinary disks). "pmem" and "eadr" need persistent memory;
    `force` emulates them on an ordinary file, where they survive no power cut. `change_feed_bytes`
    turns the change feed on, off (0), or leaves it as it was. The options after it take effect when
    the file is made, except `max_bytes`: an existing file takes a larger one over.
    holdfast/db/options.h describes them.
    """
    return Database(
        native().open(
            os.fsencode(path),
            {
                "create": create,
                "read_only": read_only,
                "domain": domain,
                "force": force,
                "change_feed_bytes": change_feed_bytes,
                "engine": engine,
                "engine_options": {
                    key: str(value) for key, value in (engine_options or {}).items()
                },
                "initial_bytes": initial_bytes,
                "max_bytes": max_bytes,
                "max_threads": max_threads,
            },
        )
    )


class Database(State, MutableMapping[bytes, bytes]):
    """An open database; see holdfast.open. A `with` block closes it at its end."""

    def __init__(self, opened: "_db.Database") -> None:
        super().__init__(opened, None)

    @property
    def path(self) -> str:
        return path_of(self._native)

    @property
    def read_only(self) -> bool:
        return self._native.read_only

    @property
    def closed(self) -> bool:
        return self._native.closed

    @property
    def sequence(self) -> int:
        """The number of the last change in the feed; 0 without one."""
        return int(self._known("holdfast.sequence"))

    def put(self, key: Bytes, value: Bytes) -> None:
        self._native.put(key, value)

    __setitem__ = put

    def delete(self, key: Bytes) -> None:
        """Deletes a key. A missing key is no error, unlike with `del db[key]`."""
        self._native.delete(key)

    def __delitem__(self, key: Bytes) -> None:
        if self._native.pop(key) is None:
            raise KeyError(key)

    _MISSING = object()

    def pop(self, key: Bytes, default: Any = _MISSING) -> Any:
        value = self._native.pop(key)
        if value is None and default is self._MISSING:
            raise KeyError(key)
        return default if value is None else value

    def popitem(self) -> tuple[bytes, bytes]:
        """Takes out the first key."""
        while (key := next(iter(self.keys(limit=1)), None)) is not None:
            if (value := self._native.pop(key)) is not None:
                return key, value
        raise KeyError("the database is empty")

    def setdefault(self, key: Bytes, default: Bytes = b"") -> bytes:
        return self.transact(lambda transaction: transaction.setdefault(key, default))

    def update(self, *others: Any, **more: Bytes) -> None:
        """Takes the arguments of dict.update, and puts all entries in one write."""
        self.write(dict(*others, **more).items())

    def write(self, changes: Iterable[tuple[Bytes, Bytes | None]]) -> None:
        """Puts pairs of key and value, and deletes the keys whose value is None.

        Does all of it or, on a failure, nothing.
        """
        self._native.write(changes)

    def delete_range(
        self,
        start: Bytes | None = None,
        stop: Bytes | None = None,
        *,
        prefix: Bytes | None = None,
    ) -> int:
        """Deletes the keys that keys() shows of this range, in one write; returns their number."""
        walk = Walk.of(start, stop, prefix)
        return self._native.delete_range(walk.start, walk.stop)

    def clear(self) -> None:
        """Deletes all keys, in several writes."""
        walk = iter(self.keys())
        while batch := [(key, None) for _, key in zip(range(1000), walk, strict=False)]:
            self._native.write(batch)

    def transact(self, body: Callable[[Transaction], T]) -> T:
        """Runs body(transaction) and makes its writes durable, all or none; returns its result.

        Transactions are serialisable. The body runs again if another writer has meanwhile changed
        a key it read, or inserted one in a range it walked, so it must do nothing that cannot be
        repeated. An exception that leaves it reaches the caller, and nothing is written.
        """
        for attempt in range(_OPTIMISTIC_ATTEMPTS + 1):
            transaction = Transaction(self._native, exclusive=attempt == _OPTIMISTIC_ATTEMPTS)
            try:
                result = body(transaction)
                if transaction._commit():
                    return result
            finally:
                transaction._end()
        raise AssertionError("a write got past the writer lock")

    def transaction(self) -> Exclusive:
        """A transaction that runs once: `with db.transaction() as t:`.

        It takes the writer lock. Other writers of this database wait until the block ends; readers
        go on and do not see its writes. An exception or t.rollback() rolls it back. Inside the
        block, write through `t` alone.
        """
        return Exclusive(self._native)

    def snapshot(self) -> Snapshot:
        """Reads of one state: `with db.snapshot() as s:`. Later writes do not show."""
        return Snapshot(self._native)

    def _known(self, name: str) -> str:
        value = self._native.property(name)
        assert value is not None, name
        return value

    def property(self, name: str) -> str | None:
        """The text of a property such as "holdfast.stats"; None for an unknown name.

        DB::GetProperty in holdfast/db/db.h lists the names.
        """
        return self._native.property(name)

    def statistics(self) -> dict[str, int]:
        """Sizes, and counters since the database was opened, by name.

        property("holdfast.prometheus") returns them as text, with explanations.
        """
        samples = (
            line for line in self._known("holdfast.prometheus").splitlines() if line[0] != "#"
        )
        return {name.partition("{")[0].removeprefix("holdfast_db_"): int(number)
                for name, number in (sample.rsplit(" ", 1) for sample in samples)}  # fmt: skip

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copies the present state into a new file, while writers go on.

        The new file is a whole and durable database, or does not exist.
        """
        self._native.backup(os.fsencode(path))

    def verify(self) -> None:
        """Walks the whole file while writers wait. Raises DamagedError if it finds damage."""
        if self.read_only:
            self._native.verify()
        else:
            with self.transaction():
                self._native.verify()

    def changes_since(
        self, sequence: int
    ) -> Iterator[tuple[int, list[tuple[bytes, bytes | None]]]]:
        """The update transactions after number `sequence`, in the order of their commits.

        Yields each one's number, and its changes as `write` takes them. A follower reads
        `sequence`, makes a copy, and then applies the changes since that number. Later it asks
        again from the last number it saw. Raises SequenceTooOldError if changes after `sequence`
        are no longer kept.
        """
        while changes := self._native.changes(sequence, _CHANGES_AT_ONCE):
            yield from changes
            sequence = changes[-1][0]

    def compact(self) -> None:
        """Frees old versions that no snapshot needs."""
        self._native.compact()

    def close(self) -> None:
        """Waits for calls in progress, then closes.

        Later calls raise ClosedError, also those of iterators and snapshots. Writes that have
        returned are durable with or without close().
        """
        self._native.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            about = [f"{name} {self.property(f'holdfast.{name}')}" for name in ("engine", "domain")]
            if self.read_only:
                about.append("read-only")
        except errors.DatabaseError:
            about = ["closed" if self.closed else "not usable"]
        return f"<holdfast.Database {self.path!r} ({', '.join(about)})>"
