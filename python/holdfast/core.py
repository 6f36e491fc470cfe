# SPDX-License-Identifier: Apache-2.0
"""The C++ core, with errors.Failure in the place of its exceptions. Everything is plain dictionaries and lists;
the fields are documented in the headers of holdfast/runner."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast import errors

# Called now and then with the share done (0 to 1) and what is going on.
Progress = Callable[[float, str], None]


def module() -> Any:
    """The extension module, imported on first use so that --help works without it."""
    try:
        from holdfast import _core
    except ImportError as error:
        raise errors.Failure(f"the extension module is not built ({error}); run `make`") from error
    return _core


def engines() -> list[dict[str, Any]]:
    return _call("engines")


def is_durable(engine: dict[str, Any]) -> bool:
    """Whether an engine, an entry of engines(), promises anything over a crash."""
    return engine["durability"] != "none"


def why_no_htm(backend: str) -> str:
    """What to say to who asks for hardware transactions that this computer has not got; empty where it has them."""
    (native,) = (entry for entry in machines() if entry["name"] == "native")
    for entry in native["htm_backends"]:
        if entry["name"] == backend:
            way_out = "use --htm soft, or a simulated computer (holdfast sim)"
            return "" if entry["supported"] else f"no {backend} here: {entry['reason']}; {way_out}"
    known = ", ".join(entry["name"] for entry in native["htm_backends"])
    return f"no hardware transactions '{backend}'; there are {known}"


def not_durable(name: str) -> str:
    """What to say to somebody who wants to crash an engine that promises nothing."""
    return f"engine {name} keeps nothing over a crash; choose one with durability strict (`holdfast engines`)"


def workloads() -> list[dict[str, Any]]:
    return _call("workloads")


def machines() -> list[dict[str, Any]]:
    return _call("machines", _machines_directory())


def designs() -> list[dict[str, Any]]:
    return _call("designs")


def bench(spec: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Measures on this computer; returns Google Benchmark's schema."""
    return _call("bench", spec, progress)


def db_bench(spec: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Measures HoldfastDB and other key-value stores on this computer."""
    return _call("db_bench", spec, progress)


def db_bench_catalog() -> dict[str, Any]:
    """The benchmarks and peers of db_bench."""
    return _call("db_bench_catalog")


def replay(spec: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Fills logs and measures on this computer how they are replayed. Simulated: sim, with `replayers`."""
    return _call("replay", spec, progress)


def sim(spec: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """The same on a simulated machine."""
    return _call("sim", _with_machines(spec), progress)


def crash(spec: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
    """Cuts the power of a simulated machine at the persist events of a small program, and judges what is recovered."""
    return _call("crash", _with_machines(spec), progress)


def info(path: str) -> dict[str, Any]:
    return _call("info", path)


def check(path: str) -> dict[str, Any]:
    return _call("check", path)


def dump(path: str) -> dict[str, Any]:
    return _call("dump", path)


def convert(source: str, target: str, engine: str, options: dict[str, str]) -> dict[str, Any]:
    return _call("convert", source, target, {"engine": engine, "options": options})


def verify(spec: dict[str, Any], records: bytes) -> dict[str, Any]:
    """Opens a heap after a crash and looks for everything the acknowledgement records promise."""
    return _call("verify", spec, records)


def serve(spec: dict[str, Any], fd: int) -> dict[str, Any]:
    """Runs a workload until killed or done, with an acknowledgement record per operation written to fd."""
    return _call("serve", spec, fd)


def _machines_directory() -> str:
    """The machine descriptions of an installed wheel; in a source tree the core knows its own, hence nothing."""
    directory = Path(__file__).parent / "machines"
    return str(directory) if directory.is_dir() else ""


def _with_machines(spec: dict[str, Any]) -> dict[str, Any]:
    if spec.get("machine", "sim") != "sim" and _machines_directory():
        return spec | {"machines_dir": _machines_directory()}
    return spec


def _call(name: str, *arguments: Any) -> Any:
    core = module()
    try:
        return getattr(core, name)(*arguments)
    except core.Error as error:
        raise errors.from_code(error.code, error.message) from None
