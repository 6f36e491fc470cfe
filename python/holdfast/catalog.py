# SPDX-License-Identifier: Apache-2.0
"""The engines, workloads, machines and hardware designs of the core, as typed entries."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from holdfast import core, errors
from holdfast.shapes import Json, decode

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """An option of an engine or a design, or a parameter of a workload."""

    name: str
    fallback: str
    help: str


@dataclass(frozen=True)
class Listed:
    """Every entry has these fields; `json` is the entry as the core wrote it."""

    json: Json
    name: str
    title: str
    supported: bool
    reason: str = ""


@dataclass(frozen=True)
class Engine(Listed):
    paper: str = ""
    isolation: str = ""
    durability: str = ""
    fences: str = ""
    log: str = ""
    simulated_only: bool = False
    needs_design: bool = False  # runs on a simulated machine with a hardware design
    replays: bool = False  # its logs can be replayed on their own
    lags: bool = False  # by itself; over a journal others can lag too
    options: list[Option] = field(default_factory=list)

    @property
    def durable(self) -> bool:
        """True if the engine promises anything over a crash."""
        return self.durability != "none"

    @property
    def option_names(self) -> list[str]:
        return [option.name for option in self.options]


@dataclass(frozen=True)
class Workload(Listed):
    operations: list[str] = field(default_factory=list)
    parameters: list[Option] = field(default_factory=list)

    @property
    def parameter_names(self) -> list[str]:
        return [parameter.name for parameter in self.parameters]


@dataclass(frozen=True)
class HtmBackend:
    """One way to run hardware transactions on this computer."""

    name: str
    supported: bool
    reason: str = ""


@dataclass(frozen=True)
class Machine(Listed):
    """This computer, or a simulated one. The functional machine has no cores and no line size."""

    cores: int | None = None
    smt: int | None = None
    line_bytes: int | None = None
    htm: str = "-"
    htm_backends: list[HtmBackend] = field(default_factory=list)

    @property
    def native(self) -> bool:
        return self.name == "native"


@dataclass(frozen=True)
class Design(Listed):
    source: str = ""
    survives: str = ""
    durable: bool = True  # a committed transaction survives a power failure
    options: list[Option] = field(default_factory=list)


@dataclass(frozen=True)
class Benchmark:
    name: str
    help: str


@dataclass(frozen=True)
class Peer:
    """Another key-value store, by the plug-in `file`. `missing` says why this build does not have
    it, or is empty."""

    name: str
    missing: str
    file: str


@dataclass(frozen=True)
class StoreCatalog:
    benchmarks: list[Benchmark]
    peers: list[Peer]


@cache
def _listed(kind: type[T], verb: str, module: Any) -> tuple[T, ...]:
    """The entries of a verb of the core. `module` tells cores of tests apart."""
    return tuple(decode(kind, entry) for entry in getattr(core, verb)())


def engines() -> list[Engine]:
    return list(_listed(Engine, "engines", core.module()))


def find_design_engine() -> str:
    """The engine that runs with a hardware design; empty if this build has none."""
    return next((engine.name for engine in engines() if engine.needs_design), "")


def design_engine() -> str:
    """The engine that runs with a hardware design."""
    if not (name := find_design_engine()):
        raise errors.BadUsage("this build has no engine that runs with a hardware design")
    return name


def find_engine(name: str) -> Engine | None:
    return next((engine for engine in engines() if engine.name == name), None)


def workloads() -> list[Workload]:
    return list(_listed(Workload, "workloads", core.module()))


def machines() -> list[Machine]:
    return [decode(Machine, entry) for entry in core.machines()]


def simulated_machines() -> list[Machine]:
    return [machine for machine in machines() if not machine.native]


def designs() -> list[Design]:
    return list(_listed(Design, "designs", core.module()))


def find_design(name: str) -> Design | None:
    return next((design for design in designs() if design.name == name), None)


def is_design_file(name: str) -> bool:
    """Whether the core takes a design's name for the path of a shared object."""
    return "/" in name or name.endswith(".so")


def stores() -> StoreCatalog:
    """The benchmarks and peers of `holdfast db bench`."""
    return decode(StoreCatalog, core.db_bench_catalog())


def json_of(entries: Iterable[Listed]) -> list[Any]:
    return [entry.json for entry in entries]


def why_no_htm(backend: str) -> str:
    """The reason why this computer cannot run such transactions, and a way out; empty if it can."""
    if backend in ("auto", "soft"):  # software transactions run on every computer
        return ""
    (native,) = (machine for machine in machines() if machine.native)
    for one in native.htm_backends:
        if one.name == backend:
            way_out = "use --htm soft, or a simulated computer (holdfast sim)"
            return "" if one.supported else f"no {backend} here: {one.reason}; {way_out}"
    known = ", ".join(one.name for one in native.htm_backends)
    return f"no hardware transactions '{backend}'; there are {known}; auto chooses"


def not_durable(name: str) -> str:
    """The refusal to crash an engine that promises nothing over a crash."""
    return (
        f"engine {name} keeps nothing over a crash; choose one with durability strict "
        "(`holdfast engines`)"
    )


def own_parameters(parameters: dict[str, str], workload: str) -> dict[str, str]:
    """The parameters that this workload has, out of parameters for several workloads.

    Those of an unknown workload are left as they are: the core says that it is unknown.
    """
    entry = next((one for one in workloads() if one.name == workload), None)
    if entry is None:
        return parameters
    return {key: value for key, value in parameters.items() if key in entry.parameter_names}


def own_design_options(
    options: dict[str, str], design: str, known: Iterable[Design] | None = None
) -> dict[str, str]:
    """The options that this design has, by plain names, out of options for several designs.

    "name" is for every design that has it, "design.name" for one; the latter goes first. Options of
    an unknown design are left as they are: the core says that it is unknown.
    """
    entries = designs() if known is None else known
    entry = next((one for one in entries if one.name == design), None)
    if entry is None:
        return options
    names = {option.name for option in entry.options}
    general = {key: value for key, value in options.items() if key in names}
    prefix = f"{design}."
    own = {
        key.removeprefix(prefix): value for key, value in options.items() if key.startswith(prefix)
    }
    return general | own


def own_options(
    options: dict[str, str], engine: str, known: Iterable[Engine] | None = None
) -> dict[str, str]:
    """The options that this engine takes, out of options for several engines.

    "name" is for every engine that has it, "engine.name" for one; the latter goes first.
    """
    entries = engines() if known is None else known
    entry = next((one for one in entries if one.name == engine), None)
    if entry is None:
        return options
    own = {key: value for key, value in options.items() if key.startswith(f"{engine}.")}
    general = {
        key: value
        for key, value in options.items()
        if key in entry.option_names and f"{engine}.{key}" not in own
    }
    return general | own
