# SPDX-License-Identifier: Apache-2.0
"""Options several verbs share, and how their text becomes values."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from holdfast import core, errors

Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write JSON to FILE, or to standard output for -."),
]
Params = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="A parameter of the workload; may be repeated."),
]
EngineOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="[ENGINE.]NAME=VALUE",
        help="An option of the engines, or of one; may be repeated.",
    ),
]
Engines = Annotated[str, typer.Option("--engine", metavar="E,...", help="Engines by name, or `all`.")]
Machine = Annotated[str, typer.Option("--machine", metavar="M", help="A name `holdfast machines` lists.")]
Design = Annotated[
    str, typer.Option("--design", metavar="D", help="A name `holdfast designs` lists, for engine `hw`.")
]
DesignOptions = Annotated[
    list[str] | None,
    typer.Option("--design-option", metavar="NAME=VALUE", help="An option of the design."),
]
Threads = Annotated[str, typer.Option("--threads", metavar="N,...", help="Numbers of threads.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random choice.")]


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


def whole_numbers(text: str, what: str) -> list[int]:
    """ "1,2,4" as numbers, each at least 1."""
    numbers = []
    for part in text.split(","):
        if not part.strip().isdecimal() or int(part) < 1:
            raise errors.BadUsage(f"{what} '{text}' is not a list of whole numbers such as 1,2,4")
        numbers.append(int(part))
    return numbers


def choose(given: str, known: Iterable[dict[str, Any]], what: str, extra: Sequence[str] = ()) -> list[str]:
    """Names from a comma-separated list; an unknown one is an error that lists the right ones. `all`
    stands for the known names, `extra` ones are understood besides."""
    names = [entry["name"] for entry in known]
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
            raise errors.BadUsage(f"no {what} '{name}'; there are {', '.join(names) if names else 'none'}")


def workload(name: str) -> dict[str, Any]:
    """The listing's entry of a workload."""
    entries = core.workloads()
    choose(name, entries, "workload")
    return next(entry for entry in entries if entry["name"] == name)


def engines(
    given: str,
    options: dict[str, str],
    extra: Sequence[str] = (),
    simulated: bool = False,
    durable: bool = False,
) -> list[str]:
    """Checks engine names and, against those, the names of options. Engines that only a simulated machine has
    must be named, and only there. `durable`: `all` leaves out engines that keep nothing over a crash, and
    naming one is an error."""
    entries = core.engines()
    usual = [entry for entry in entries if not entry.get("simulated_only")]
    if durable:
        usual = [entry for entry in usual if core.is_durable(entry)]
        for entry in entries:
            if entry["name"] in given.split(",") and not core.is_durable(entry):
                raise errors.BadUsage(core.not_durable(entry["name"]))
    chosen = choose(given, entries if simulated and given != "all" else usual, "engine", extra)
    known = []
    for entry in entries:
        if entry["name"] in chosen:
            names = [option["name"] for option in entry["options"]]
            known += names + [f"{entry['name']}.{name}" for name in names]
    check_names(options, dict.fromkeys(known), "option")
    return chosen
