# SPDX-License-Identifier: Apache-2.0
"""The user's cache folder: files that save time and can be deleted at any moment.

    FOLDER/*.heap          images: the populations of simulated runs, written and read by the core
    FOLDER/cells/*.json    results: the cells of figures, written and read by the laboratory

FOLDER is $HOLDFAST_CACHE, else $XDG_CACHE_HOME/holdfast, else ~/.cache/holdfast. All files
together may take $HOLDFAST_CACHE_LIMIT. Every command that adds files ends with trim(), which
deletes the least recently used ones beyond the limit. While it runs, a command may exceed the
limit: deleting an image that its next run needs would only have it made again.

Any number of processes may do this at the same time. A simulated run keeps its image open, so it
does not notice that the name is gone. An image under construction is locked, and stays.

`--cache DIR` may name a folder with other files in it. So an image is recognized by its content.
"""

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast import units

DEFAULT_LIMIT = 2 << 30
IMAGES, RESULTS = "images", "results"
KINDS = {
    IMAGES: "populations of simulated runs",
    RESULTS: "cells of figures (`holdfast reproduce`)",
}

# The last page of an image begins so (holdfast/runner/sim/image_cache.cc).
_MARK = b"holdfast image 1\n"
_PAGE_BYTES = 4096
_RESULT = re.compile(r"[0-9a-f]{32}\.json")
_UNFINISHED_RESULT = re.compile(r"[0-9a-f]{32}\.(\d+)\.new")


@dataclass(frozen=True)
class Item:
    """A file in the folder. `bytes` counts disk space; `used` is the time of the last use."""

    path: Path
    kind: str
    bytes: int
    used: float


def default_folder() -> Path:
    if chosen := os.environ.get("HOLDFAST_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "holdfast"


def results_folder() -> Path:
    return default_folder() / "cells"


def limit() -> int | None:
    """The most bytes that all files may take together; None without a limit."""
    text = os.environ.get("HOLDFAST_CACHE_LIMIT", "")
    if text.lower() == "none":
        return None
    return units.parse_bytes(text, "HOLDFAST_CACHE_LIMIT") if text else DEFAULT_LIMIT


def items(folder: Path | None = None) -> list[Item]:
    """The files in the folder, the least recently used one first."""
    folder = folder or default_folder()
    found = [*_items(IMAGES, folder.glob("*.heap")), *_items(RESULTS, folder.glob("cells/*.json"))]
    return sorted(found, key=lambda item: item.used)


def mark_used(path: Path) -> None:
    """Records the use of a file now. Keeps the time of modification, which seals an image."""
    with contextlib.suppress(OSError):
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


def trim(folder: Path | None = None) -> list[Item]:
    """Deletes the least recently used files beyond the limit; returns them.

    Deletes the half-made files of killed processes as well.
    """
    _sweep(folder or default_folder())
    most = limit()
    if most is None:
        return []
    known = items(folder)
    excess = sum(item.bytes for item in known) - most
    removed = []
    for item in known:
        if excess > 0 and _remove(item):
            excess -= item.bytes
            removed.append(item)
    return removed


def clear(
    folder: Path | None = None,
    *,
    older_than_days: float = 0.0,
    kinds: Collection[str] = tuple(KINDS),
) -> list[Item]:
    """Deletes files of these kinds, last used at least that many days ago; returns them."""
    _sweep(folder or default_folder())
    latest = time.time() - older_than_days * 86400 if older_than_days else float("inf")
    return [
        item
        for item in items(folder)
        if item.kind in kinds and item.used <= latest and _remove(item)
    ]


def removal_text(removed: Collection[Item]) -> str:
    """A line about what trim() deleted; empty if it deleted nothing."""
    most = limit()
    if not removed or most is None:
        return ""
    size = units.bytes_text(sum(item.bytes for item in removed))
    return (
        f"cache folder: {len(removed)} files ({size}) deleted to keep the limit of "
        f"{units.bytes_text(most)}; HOLDFAST_CACHE_LIMIT sets another one"
    )


def _items(kind: str, paths: Iterator[Path]) -> Iterator[Item]:
    for path in paths:
        with contextlib.suppress(OSError):  # another process has deleted it
            if _is_image(path) if kind == IMAGES else _RESULT.fullmatch(path.name):
                status = path.stat()
                used = max(status.st_atime, status.st_mtime)
                yield Item(path, kind, status.st_blocks * 512, used)


def _is_image(path: Path) -> bool:
    """Reads the file without a change of its time of use, which only a file's owner can do."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOATIME), "rb") as file:
        if file.seek(0, os.SEEK_END) < _PAGE_BYTES:
            return False
        file.seek(-_PAGE_BYTES, os.SEEK_END)
        return file.read(len(_MARK)) == _MARK


def _remove(item: Item) -> bool:
    """False if a process makes the image anew just now, or the file cannot be deleted."""
    try:
        with _unlocked(item.path) as free:
            if free:
                item.path.unlink(missing_ok=True)
            return free
    except OSError:
        return False


@contextlib.contextmanager
def _unlocked(path: Path) -> Iterator[bool]:
    """Yields whether no process makes this image, and keeps others from beginning meanwhile.

    The lock's file stays. A process that waits for it would otherwise hold a lock of no name.
    """
    try:
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(lock)


def _sweep(folder: Path) -> None:
    """Deletes the half-made files that killed processes have left."""
    for path in folder.glob("*.heap.new"):
        image = path.with_suffix("")
        if not Path(f"{image}.lock").exists():
            continue  # another program's file
        with contextlib.suppress(OSError), _unlocked(image) as free:
            if free:
                path.unlink(missing_ok=True)
    for path in folder.glob("cells/*.new"):
        match = _UNFINISHED_RESULT.fullmatch(path.name)
        if match and not Path(f"/proc/{match[1]}").exists():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
