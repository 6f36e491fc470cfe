# SPDX-License-Identifier: Apache-2.0
"""HoldfastDB: an ordered mapping from bytes to bytes, durable, in one file (docs/guide/store.md).

    with holdfast.open("my.db") as db:
        db["key"] = "value"

Keys and values are bytes-like, or str, which is stored as UTF-8. Values that come back are always
bytes. A write is durable when it returns, unless it asks for less. Any thread may use a database;
every call lets other Python threads run meanwhile.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from holdfast import errors
from holdfast.database_map import Change, Map, Writable
from holdfast.database_reader import Snapshot, native, path_of
from holdfast.database_transaction import Exclusive, Transaction

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
    verify: bool = False,
    verify_reads: bool = False,
    change_feed_bytes: int | None = None,
    lag: int = 1024,
    lag_ms: int = 100,
    engine: str | None = None,
    engine_options: Mapping[str, str] | None = None,
    initial_bytes: int = 384 << 10,
    max_bytes: int = 0,
    journal_bytes: int | None = None,
    max_threads: int = 0,
) -> "Database":
    """Opens the database in this file. Makes it if there is no file, or one that is empty or whose
    creation was interrupted. With create=False or read_only=True these are errors, MissingError
    and NotADatabaseError.

    One process at a time may have it open for writing. Any number may have it open with
    read_only=True, while no process has it open for writing.

    `domain` says which failures an acknowledged write survives: "process" a killed process, "file"
    a power cut as well (the default on ordinary disks). "pmem" and "eadr" need persistent memory;
    `force` emulates them on an ordinary file, where they survive no power cut. `change_feed_bytes`
    turns the change feed on, off (0), or leaves it as it was. A crash takes at most the last `lag`
    writes with sync=False, none that is older than `lag_ms` milliseconds, and none at all if the
    engine cannot lag (docs/guide/store-lag.md).

    A new file records the options after that. An existing file keeps them: a value that contradicts
    it raises MisuseError. It takes over a larger `max_bytes` or `max_threads`. `engine` None is the
    file's engine, or romulus-log for a new file; 0 is the file's value, or the default.
    `journal_bytes` limits the journal of a new file, which makes durable writes on ordinary disks
    cheaper: None is 64 MiB on a disk and no journal elsewhere, 0 is no journal
    (docs/guide/store.md). holdfast/db/options.h describes all of them.

    `verify` walks the whole file before the first use, and raises DamagedError if it finds damage.
    Without it, a damaged file is opened if possible, and operations that meet damage raise
    DamagedError. `verify_reads` compares each page that a read outside of transactions needs with
    its checksum, in a file that has a journal.
    """
    if not isinstance(engine_options, Mapping | None):
        raise TypeError(f"engine_options is a mapping from str, not {engine_options!r}")
    return Database(
        native().open(
            os.fsencode(path),
            {
                "create": create,
                "read_only": read_only,
                "domain": domain,
                "force": force,
                "verify": verify,
                "verify_reads": verify_reads,
                "change_feed_bytes": change_feed_bytes,
                "lag": lag,
                "lag_ms": lag_ms,
                "engine": engine,
                "engine_options": {
                    key: str(value) for key, value in (engine_options or {}).items()
                },
                "initial_bytes": initial_bytes,
                "max_bytes": max_bytes,
                "journal_bytes": journal_bytes,
                "max_threads": max_threads,
            },
        )
    )


class Changes(list[tuple[bytes, bytes | None]]):
    """The changes of a transaction: of the default map in this list, of the others in `maps`.

    Each is a key and a value; None for a deletion. `maps` has a list for each named map, by its
    name, or by its number if it has been dropped. `write` takes the whole. It refuses a whole with
    changes of named maps that has been edited.
    """

    def __init__(
        self,
        changes: list[tuple[bytes, bytes | None]],
        maps: dict[str | int, list[tuple[bytes, bytes | None]]],
        batch: "_db.Batch | None",
    ) -> None:
        super().__init__(changes)
        self.maps = {name: list(of_map) for name, of_map in maps.items()}
        self._batch = batch
        self._unedited = (changes, maps)


class Database(Writable):
    """An open database; see holdfast.open. A `with` block closes it at its end."""

    def __init__(self, opened: "_db.Database") -> None:
        super().__init__(opened, None)

    def _database(self) -> "Database":
        return self

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
        """The last number that the feed has given; 0 if the file never had a feed."""
        return int(self._known("holdfast.sequence"))

    def sync(self) -> None:
        """Returns when every write that had returned is durable."""
        self._native.sync()

    def write(self, changes: Iterable[Change], *, sync: bool = True) -> None:
        """Puts pairs of key and value, and deletes the keys whose value is None.

        A triple changes a named map: the map or its name, key, value. Does all of it or, on a
        failure, nothing. Takes the changes of changes_since as well. If these change named maps and
        have been edited, raises MisuseError.
        """
        if not isinstance(changes, Changes) or not (changes._batch or changes.maps):
            self._native.write(changes, sync)
        elif changes._batch and (changes, changes.maps) == changes._unedited:
            self._native.apply(changes._batch, sync)
        else:
            raise errors.database_error(
                "misuse",
                "these changes of changes_since are of named maps and have been edited: "
                "write pairs and triples in a list of your own instead",
            )

    def map(self, name: str, *, create: bool = True) -> Map:
        """The named map: an ordered mapping of its own in the same file. Makes it if need be.

        A name has 1 to 255 bytes of UTF-8. With create=False, or read-only, raises MisuseError if
        there is no such map.
        """
        return Map(self, self._native.open_map(name, create and not self.read_only, None))

    def maps(self) -> list[str]:
        """The names of all named maps, in order."""
        return self._native.maps(None)

    def drop_map(self, named: str | Map) -> None:
        """Removes a named map and its entries. Later calls of its objects raise MisuseError.

        The name goes first, the entries follow in several writes. After a crash in between, the
        next opening deletes the rest.
        """
        found = getattr(named, "_map", None)
        if isinstance(named, str):
            found = self._native.open_map(named, False, None)
        if found is None:
            raise TypeError(f"drop_map takes a named map or its name, not {named!r}")
        self._native.drop_map(found)

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
        if value is None:
            self._native.sync()  # raises why, once the medium has failed
            raise errors.DatabaseError(f"{name} cannot be read")
        return value

    def property(self, name: str) -> str | None:
        """The text of a property such as "holdfast.stats"; None for an unknown name.

        None also stands for a number that cannot be read, because the disk has failed.
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

    def changes_since(self, sequence: int) -> Iterator[tuple[int, Changes]]:
        """The update transactions after number `sequence`, in the order of their commits.

        Yields each one's number, and its changes. A follower reads `sequence`, makes a copy, and
        then gives the changes since that number to the copy's `write`, unchanged, which creates and
        drops maps as well. Later it asks again from the last number it saw. Raises
        SequenceTooOldError if changes after `sequence` are no longer kept.
        """
        if not 0 <= sequence < 1 << 64:
            raise ValueError(f"sequence is out of range: {sequence}")
        while found := self._native.changes(sequence, _CHANGES_AT_ONCE):
            for number, changes, maps, batch in found:
                yield number, Changes(changes, maps, batch)
            sequence = found[-1][0]

    def compact(self) -> int:
        """Frees old versions that no snapshot needs, and gives unused space back to the disk.

        Returns the number of bytes given back. The file keeps its length. Entries do not move, so
        a chunk of 16 KiB in which one entry is left stays.
        """
        return self._native.compact()

    def close(self) -> None:
        """Waits for calls in progress, then closes.

        Later calls raise ClosedError, also those of iterators and snapshots. Makes writes with
        sync=False durable; the others are durable without close(), too.
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
