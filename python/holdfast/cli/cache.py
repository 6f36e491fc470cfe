# SPDX-License-Identifier: Apache-2.0
from datetime import UTC, datetime
from typing import Any

from rich.markup import escape

from holdfast import cache_folder, units
from holdfast.cache_folder import KINDS, Item
from holdfast.cli import options, output
from holdfast.cli.verb import verb

_COLUMNS = ("kind", "contents", "last use of the oldest", "of the newest", "files", "size")


@verb
def run(json_file: options.Json = None) -> None:
    """Show the cache folder: its files by kind, their size, and the limit of it.

    Files beyond the limit are deleted, the least recently used first, when a command that adds
    files ends. HOLDFAST_CACHE_LIMIT sets the limit: a size such as 10GiB, or `none`.
    `holdfast cache clear` deletes files at once.
    """
    folder, limit = cache_folder.default_folder(), cache_folder.limit()
    items = cache_folder.items(folder)
    console = output.people(json_file)
    rows = [_row(kind, [item for item in items if item.kind == kind]) for kind in KINDS]
    output.print_table(console, output.table(str(folder), _COLUMNS, rows, left=4))
    total = sum(item.bytes for item in items)
    most = "no limit" if limit is None else f"the limit is {units.bytes_text(limit)}"
    console.print(f"{units.bytes_text(total)} in {len(items)} files; {most}")
    for item in items:
        if item.kind == cache_folder.IMAGES:
            size = units.bytes_text(item.bytes)
            console.print(f"[dim]{escape(item.path.name)}: {size}, used {_day(item.used)}[/]")
    output.write_json(json_file, _as_json(items, str(folder), limit))


def _row(kind: str, items: list[Item]) -> tuple[Any, ...]:
    size = units.bytes_text(sum(item.bytes for item in items))
    times = [item.used for item in items]
    oldest, newest = (_day(min(times)), _day(max(times))) if times else ("-", "-")
    return (kind, KINDS[kind], oldest, newest, len(items), size)


def _day(used: float) -> str:
    return datetime.fromtimestamp(used, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _as_json(items: list[Item], folder: str, limit: int | None) -> dict[str, Any]:
    kinds = []
    for kind in KINDS:
        own = [item for item in items if item.kind == kind]
        times = [datetime.fromtimestamp(item.used, UTC).isoformat() for item in own]
        kinds.append(
            {
                "kind": kind,
                "files": len(own),
                "bytes": sum(item.bytes for item in own),
                "oldest": times[0] if times else None,
                "newest": times[-1] if times else None,
            }
        )
    return {
        "folder": folder,
        "limit_bytes": limit,
        "bytes": sum(item.bytes for item in items),
        "kinds": kinds,
    }
