# SPDX-License-Identifier: Apache-2.0
"""The functions of the C++ core, with errors.Failure in place of its exceptions.

Arguments and results are JSON values; the headers of holdfast/runner document their fields.
specs.py, catalog.py, results.py and findings.py give them types.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast import cache_folder, errors
from holdfast.shapes import Json

# Takes the share done (0 to 1) and a text about the work; called now and then.
Progress = Callable[[float, str], None]


def module() -> Any:
    """The extension module, imported on first use so that --help works without it."""
    try:
        from holdfast import _core
    except ImportError as error:
        raise errors.Failure(f"the extension module is not built ({error}); run `make`") from error
    return _core


def engines() -> list[Json]:
    return _call("engines")


def workloads() -> list[Json]:
    return _call("workloads")


def machines() -> list[Json]:
    return _call("machines", _machines_directory())


def designs() -> list[Json]:
    return _call("designs")


def bench(spec: Json, progress: Progress | None = None) -> Json:
    """Measures on this computer; returns Google Benchmark's schema."""
    return _call("bench", spec, progress)


def db_bench(spec: Json, progress: Progress | None = None) -> Json:
    """Measures HoldfastDB and other key-value stores on this computer."""
    return _call("db_bench", spec, progress)


def db_bench_catalog() -> Json:
    """The benchmarks and peers of db_bench."""
    return _call("db_bench_catalog")


def replay(spec: Json, progress: Progress | None = None) -> Json:
    """Fills logs and measures their replay on this computer. Simulated replay: sim."""
    return _call("replay", spec, progress)


def sim(spec: Json, progress: Progress | None = None) -> Json:
    """Runs on a simulated machine; returns the schema of bench. With `replayers`: log replay."""
    report = _call("sim", _with_machines(spec), progress)
    for entry in report["benchmarks"]:
        if image := entry.get("host_image", {}).get("path"):
            cache_folder.mark_used(Path(image))
    return report


def crash(spec: Json, progress: Progress | None = None) -> Json:
    """Cuts a simulated machine's power at the persist events of a small program.

    Judges what is recovered, and reports the violations.
    """
    return _call("crash", _with_machines(spec), progress)


def info(path: str) -> Json:
    return _call("info", os.fsencode(path))


def check(path: str) -> Json:
    return _call("check", os.fsencode(path))


def dump(path: str) -> Json:
    return _call("dump", os.fsencode(path))


def convert(
    source: str,
    target: str,
    engine: str,
    options: dict[str, str],
    max_bytes: int = 0,
    max_threads: int = 0,
    journal_bytes: int | None = None,
) -> Json:
    """Copies a heap into a new file. `max_bytes` 0 keeps the limit of growth; a `max_threads` that
    is not larger keeps the number of threads; `journal_bytes` None keeps the journal's size."""
    spec: Json = {
        "engine": engine,
        "options": options,
        "max_bytes": max_bytes,
        "max_threads": max_threads,
    }
    if journal_bytes is not None:
        spec["journal_bytes"] = journal_bytes
    return _call("convert", os.fsencode(source), os.fsencode(target), spec)


def verify(spec: Json, records: bytes) -> Json:
    """Opens a heap after a crash and checks every promise of the acknowledgement records."""
    return _call("verify", spec, records)


def serve(spec: Json, fd: int) -> Json:
    """Runs a workload until it is done or killed; writes a record per operation to `fd`."""
    return _call("serve", spec, fd)


def _machines_directory() -> str:
    """The machine descriptions of an installed wheel. Empty in a source tree: the core has its."""
    directory = Path(__file__).parent / "machines"
    return str(directory) if directory.is_dir() else ""


def _with_machines(spec: Json) -> Json:
    if spec.get("machine", "sim") != "sim" and _machines_directory():
        return spec | {"machines_dir": _machines_directory()}
    return spec


def _call(name: str, *arguments: Any) -> Any:
    core = module()
    try:
        return getattr(core, name)(*arguments)
    except core.Error as error:
        raise errors.from_code(error.code, error.message) from None
