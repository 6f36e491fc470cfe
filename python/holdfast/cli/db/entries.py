# SPDX-License-Identifier: Apache-2.0
"""Single entries and ranges."""

import sys
from typing import Annotated

import typer

from holdfast import errors
from holdfast.cli import options, output
from holdfast.cli.db.coding import AsText, Bytes
from holdfast.cli.db.file import Domain, File, Force, MapName, changing, map_of, reading
from holdfast.cli.verb import verb

Key = Annotated[str, typer.Argument(metavar="KEY", help="As --bytes says.")]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=0, max=(1 << 63) - 1, metavar="N", help="At most N entries."),
]


@verb
def get(file: File, key: Key, named: MapName = None, as_text: AsText = Bytes.text) -> None:
    """Print the value of a key, with --bytes text as it is. Exit status 1 if there is none."""
    with reading(file) as database:
        value = map_of(database, named).get(as_text.decode_text(key, "KEY"))
    if value is None:
        raise errors.CheckFailed(f"{file} has no key {key}")
    if as_text is Bytes.text:
        sys.stdout.buffer.write(value + b"\n")
    else:
        print(as_text.encode_bytes(value))


@verb
def put(
    file: File,
    key: Key,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="As --bytes says; - reads standard input.")
    ],
    named: MapName = None,
    as_text: AsText = Bytes.text,
    domain: Domain = None,
    force: Force = False,
) -> None:
    """Set the value of a key, durably. Makes the database and the map if there are none."""
    content = sys.stdin.buffer.read() if value == "-" else as_text.decode_text(value, "VALUE")
    with changing(file, domain, force, create=True) as database:
        map_of(database, named, create=True)[as_text.decode_text(key, "KEY")] = content


@verb
def delete(
    file: File,
    key: Key,
    named: MapName = None,
    as_text: AsText = Bytes.text,
    domain: Domain = None,
    force: Force = False,
) -> None:
    """Remove a key. Exit status 1 if it is not there."""
    with changing(file, domain, force) as database:
        if map_of(database, named).pop(as_text.decode_text(key, "KEY"), None) is None:
            raise errors.CheckFailed(f"{file} has no key {key}")


@verb
def scan(
    file: File,
    start: Annotated[
        str | None, typer.Option("--start", metavar="KEY", help="From this key on.")
    ] = None,
    stop: Annotated[
        str | None, typer.Option("--stop", metavar="KEY", help="Up to before this key.")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="P", help="Keys that begin so.")
    ] = None,
    limit: Limit = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="From the last to the first.")] = False,
    keys: Annotated[bool, typer.Option("--keys", help="Keys alone.")] = False,
    named: MapName = None,
    as_text: AsText = Bytes.escape,
    json_file: options.Json = None,
) -> None:
    """List entries in the order of their keys: key, tab, value."""
    if prefix is not None and (start is not None or stop is not None):
        raise errors.BadUsage("--prefix stands alone, without --start and --stop")
    given = {"start": start, "stop": stop, "prefix": prefix}
    limits = {
        n: as_text.decode_text(text, f"--{n}") for n, text in given.items() if text is not None
    }
    with reading(file) as database:
        entries = [
            (as_text.encode_bytes(key), "" if keys else as_text.encode_bytes(value))
            for key, value in map_of(database, named).items(**limits, reverse=reverse, limit=limit)
        ]
    output.write_json(
        json_file, [{"key": k} if keys else {"key": k, "value": v} for k, v in entries]
    )
    stream = sys.stderr if json_file == "-" else sys.stdout
    for key, value in entries:
        print(key if keys else f"{key}\t{value}", file=stream)
