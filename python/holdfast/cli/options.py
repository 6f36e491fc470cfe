# SPDX-License-Identifier: Apache-2.0
"""Options that several verbs share, and the parsing of their text."""

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from holdfast import catalog, errors
from holdfast.catalog import Listed, Workload

Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write JSON to FILE, or to standard output for -."),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param", metavar="NAME=VALUE", help="A parameter of the workload; may be repeated."
    ),
]
EngineOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="[ENGINE.]NAME=VALUE",
        help="An option of the engines, or of one; may be repeated.",
    ),
]
Engines = Annotated[
    str, typer.Option("--engine", metavar="E,...", help="Engines by name, or `all`.")
]
Machine = Annotated[
    str, typer.Option("--machine", metavar="M", help="A name `holdfast machines` lists.")
]
Design = Annotated[
    str,
    typer.Option(
        "--design",
        metavar="D",
        help="A name `holdfast designs` lists, or the path of a shared object with a design "
        "(./mine.so), for the engine of hardware designs. With `sim` several, with commas between "
        "them.",
    ),
]
DesignOptions = Annotated[
    list[str] | None,
    typer.Option("--design-option", metavar="NAME=VALUE", help="An option of the design."),
]
Threads = Annotated[str, typer.Option("--threads", metavar="N,...", help="Numbers of threads.")]


def journal_bytes(text: str) -> Any:
    """The option --journal-bytes, with the help of a command."""
    return typer.Option("--journal-bytes", metavar="N", min=0, max=1 << 34, help=text)


JournalBytes = Annotated[
    int | None,
    journal_bytes(
        "The most that a journal takes, in domain file; 0: none. Default: 64 MiB on a disk if the "
        "engine gains by a journal, none in memory."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random choice.")]


def finite(value: float | None) -> float | None:
    """The callback of options that are numbers: refuses infinity, and what is no number."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


def assignments(given: Sequence[str] | None, what: str) -> dict[str, str]:
    """["a=1", "b=x"] as a dictionary."""
    values: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise errors.BadUsage(f"{what} '{text}' is not of the form name=value")
        if name in values:
            raise errors.BadUsage(f"{what} '{name}' is given twice")
        values[name] = value
    return values


def design_options(given: Sequence[str] | None, design: str) -> dict[str, str]:
    """The values of `--design-option`, which a run without a design would ignore."""
    if given and not design:
        raise errors.BadUsage("--design-option concerns a hardware design: give --design")
    return assignments(given, "design option")


def whole_numbers(text: str, what: str) -> list[int]:
    """ "1,2,4" as numbers, each at least 1."""
    numbers = []
    for part in text.split(","):
        if not part.strip().isdecimal() or int(part) < 1:
            raise errors.BadUsage(f"{what} '{text}' is not a list of whole numbers such as 1,2,4")
        numbers.append(int(part))
    return numbers


def choose(given: str, known: Iterable[Listed], what: str, extra: Sequence[str] = ()) -> list[str]:
    """The names in a list with commas. Raises BadUsage, with the right names, for a wrong one.

    `all` stands for the known names. The names in `extra` are right as well.
    """
    names = [entry.name for entry in known]
    if given == "all":
        return names
    wanted = [name.strip() for name in given.split(",")]
    for name in wanted:
        if name not in names and name not in extra:
            raise errors.BadUsage(f"no {what} '{name}'; there are {', '.join([*names, *extra])}")
    return list(dict.fromkeys(wanted))


def check_names(given: dict[str, str], known: Iterable[str], what: str) -> None:
    names = list(known)
    for name in given:
        if name not in names:
            there = ", ".join(names) if names else "none"
            raise errors.BadUsage(f"no {what} '{name}'; there are {there}")


def workload(name: str) -> Workload:
    """The listing's entry of a workload."""
    entries = catalog.workloads()
    choose(name, entries, "workload")
    return next(entry for entry in entries if entry.name == name)


def check_machine(name: str, extra: Sequence[str] = ()) -> None:
    """Raises BadUsage unless this is a simulated machine, or a description of one."""
    if not name.endswith(".toml"):
        choose(name, catalog.simulated_machines(), "simulated machine", extra)


def engines(
    given: str,
    options: dict[str, str],
    extra: Sequence[str] = (),
    simulated: bool = False,
    durable: bool = False,
) -> list[str]:
    """The names of engines; checks them, and the names of options against those engines.

    An engine that only simulated machines have must be named, and is right only if `simulated`.
    With `durable`, `all` leaves out engines that keep nothing over a crash, and none may be named.
    """
    entries = catalog.engines()
    usual = [entry for entry in entries if not entry.simulated_only]
    if durable:
        usual = [entry for entry in usual if entry.durable]
        for entry in entries:
            if entry.name in given.split(",") and not entry.durable:
                raise errors.BadUsage(catalog.not_durable(entry.name))
    known = entries if simulated and given != "all" else usual
    chosen = choose(given, known, "engine", extra)
    names: list[str] = []
    for entry in entries:
        if entry.name in chosen:
            names += entry.option_names
            names += [f"{entry.name}.{name}" for name in entry.option_names]
    check_names(options, dict.fromkeys(names), "option")
    return chosen
