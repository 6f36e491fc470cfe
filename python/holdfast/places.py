# SPDX-License-Identifier: Apache-2.0
"""Folders for heap files, and the cost of a flush there."""

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

_SHARED_MEMORY = Path("/dev/shm")


def memory_backed(needed_bytes: int) -> Path | None:
    """A folder in memory with so much room, or None. Containers often have only 64 MiB."""
    usable = _SHARED_MEMORY.is_dir() and os.access(_SHARED_MEMORY, os.W_OK)
    roomy = usable and shutil.disk_usage(_SHARED_MEMORY).free >= needed_bytes
    return _SHARED_MEMORY if roomy else None


def temporary_heaps(pid: int, folder: str = "") -> list[Path]:
    """Heap files and folders that the core made for a process, in its own folders or in this one.

    The names are those of holdfast/runner/spec/temporary_heap.cc and runner/db/db_bench.cc.
    """
    folders = {Path(os.environ.get("TMPDIR") or "/var/tmp"), _SHARED_MEMORY}
    if folder:
        folders.add(Path(folder))
    names = (f"holdfast-{pid}-*", f"holdfast-db-bench-{pid}")
    return [path for place in folders for name in names for path in place.glob(name)]


def flush_seconds(folder: Path, tries: int = 25) -> float:
    """Median time of writing one page and fdatasync in this folder."""
    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        page = os.urandom(4096)
        os.posix_fallocate(file.fileno(), 0, 64 * len(page))
        for i in range(tries):
            start = time.perf_counter()
            os.pwrite(file.fileno(), page, (i % 64) * len(page))
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)
