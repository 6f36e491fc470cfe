# SPDX-License-Identifier: Apache-2.0
"""Entries as rows of CSV and TSV, and as lines of JSON."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

from holdfast import errors
from holdfast.cli.db.coding import Bytes, is_text

# The longest cell of a row, in characters: `load` reads every value that `dump` writes.
_LONGEST_CELL = 1 << 31


# The column, or field, with the name of an entry's map. No entry of the default map has one.
MAP_COLUMN = "holdfast.map"


class Format(StrEnum):
    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"


_ENDINGS = {
    ".csv": Format.csv,
    ".tsv": Format.tsv,
    ".tab": Format.tsv,
    ".jsonl": Format.jsonl,
    ".ndjson": Format.jsonl,
}
_DELIMITERS = {Format.csv: ",", Format.tsv: "\t"}


def ending_of(name: str) -> Format | None:
    """The format that the name's ending says."""
    return _ENDINGS.get(Path(name).suffix.lower())


def format_of(name: str, given: Format | None) -> Format:
    """The format asked for, or that of the name's ending."""
    found = given or ending_of(name)
    if found is None:
        raise errors.BadUsage(
            f"{name} does not say its format; give --format {', '.join(f.value for f in Format)}"
        )
    return found


class Numbered:
    """Lines as text, and their count so far. Raises BadUsage for a line that is not UTF-8."""

    def __init__(self, lines: Iterable[bytes], name: str) -> None:
        self._lines = lines
        self._name = name
        self.line = 0
        self.bytes = 0
        self.columns: list[str] = []  # that line 1 of a table names

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.line += 1
            self.bytes += len(line)
            try:
                yield line.decode("utf-8-sig" if self.line == 1 else "utf-8")
            except UnicodeDecodeError:
                raise self.wrong("is not UTF-8") from None

    def wrong(self, what: str) -> errors.BadUsage:
        return errors.BadUsage(f"{self._name}: line {self.line} {what}")


def read(
    lines: Numbered,
    form: Format,
    key: str | None,
    value: str | None,
    as_text: Bytes,
    delimiter: str | None,
    warn: Callable[[str], None],
) -> Iterator[tuple[Any, ...]]:
    """Pairs of key and value; where column MAP_COLUMN names a map, triples of map, key and value.

    The key is in column `key`: by default the first one, in JSON "key". The value is in column
    `value`: by default the only other one, else a JSON object of all others.
    """
    records = (
        _objects(lines)
        if form is Format.jsonl
        else _table(lines, delimiter or _DELIMITERS[form], warn)
    )
    for row in records:
        record = dict(row)
        named = record.pop(MAP_COLUMN, None)
        if named is not None and not is_text(named):
            raise lines.wrong(f"has a {MAP_COLUMN} that is no text")
        if named is not None and not record:
            raise lines.wrong(f"has no column beside {MAP_COLUMN}")
        name = key or ("key" if form is Format.jsonl else next(iter(record)))
        others = {column: cell for column, cell in record.items() if column != name}
        for column in (name, value):
            if column is not None and column not in record:
                raise lines.wrong(f"has no column '{column}'; there are {', '.join(record)}")
        chosen = value or (next(iter(others)) if len(others) == 1 else None)
        content = others if chosen is None else record[chosen]
        entry = (
            as_text.decode_text(_text(record[name]), f"line {lines.line}, '{name}',"),
            # An object made here is JSON text, whatever the encoding of the cells.
            Bytes.text.decode_text(_text(content), f"line {lines.line}")
            if chosen is None
            else as_text.decode_text(_text(content), f"line {lines.line}, '{chosen}',"),
        )
        yield (named, *entry) if named else entry


def _text(cell: Any) -> str:
    return cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)


def _table(
    lines: Numbered, delimiter: str, warn: Callable[[str], None]
) -> Iterator[dict[str, str]]:
    csv.field_size_limit(_LONGEST_CELL)
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        columns = next(rows, None)
        if columns == []:
            raise lines.wrong("is empty; the first one names the columns")
        columns = lines.columns = columns or []
        if len(set(columns)) != len(columns):
            raise lines.wrong("names a column twice")
        if len(columns) == 1:
            for other in {";", "\t", "|", ","} & set(columns[0]):
                name = "a tab" if other == "\t" else f"'{other}'"
                warn(
                    f"line 1 has one column, {columns[0]!r}; if {name} separates columns, give "
                    f"--delimiter {'tab' if other == chr(9) else repr(other)}"
                )
        for row in rows:
            if len(row) == len(columns):
                yield dict(zip(columns, row, strict=True))
            elif row:
                raise lines.wrong(f"has {len(row)} columns, not {len(columns)} as the first one")
    except csv.Error as error:
        raise lines.wrong(f"is not CSV: {error}") from None


def _objects(lines: Numbered) -> Iterator[dict[str, Any]]:
    for line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise lines.wrong(f"is not JSON: {error.msg} at column {error.colno}") from None
        except RecursionError:
            raise lines.wrong("is nested too deeply") from None
        except ValueError as error:  # a number of thousands of digits
            raise lines.wrong(f"cannot be read: {error}") from None
        if not isinstance(record, dict):
            raise lines.wrong('is no JSON object, such as {"key": "k", "value": "v"}')
        yield record


def writer(stream: TextIO, form: Format, with_maps: bool = False) -> Callable[..., None]:
    """A function of a key, a value and a map's name, which writes a row for `read`.

    Rows of CSV and TSV name a map only if with_maps is true.
    """
    if form is Format.jsonl:

        def write(key: str, value: str, named: str | None = None) -> None:
            record = {"key": key, "value": value} | ({MAP_COLUMN: named} if named else {})
            print(json.dumps(record, ensure_ascii=False), file=stream)

        return write
    delimiter = _DELIMITERS[form]
    plain = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    # The plain one quotes no carriage return, at which the reader would end the row.
    quoting = csv.writer(stream, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(("key", "value", MAP_COLUMN) if with_maps else ("key", "value"))

    def write_row(key: str, value: str, named: str | None = None) -> None:
        cells = (key, value, named or "") if with_maps else (key, value)
        rows = quoting if any("\r" in cell for cell in cells) else plain
        rows.writerow(cells)

    return write_row
