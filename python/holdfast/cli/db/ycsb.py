# SPDX-License-Identifier: Apache-2.0
"""Workloads of YCSB out of its property files."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

from holdfast import errors
from holdfast.lab import files
from holdfast.specs import Spec

LETTERS = "abcdef"
_ASSIGNMENT = re.compile(r"([^=:\s]*)\s*[=:]?\s*(.*)")
_MOST = 1 << 40  # as in holdfast/runner/db/ycsb.cc


@dataclass(frozen=True)
class Workload(Spec):
    """The properties by their names in YCSB; the core has defaults for those that are None."""

    name: str
    recordcount: int | None = None
    operationcount: int | None = None
    fieldcount: int | None = None
    fieldlength: int | None = None
    maxscanlength: int | None = None
    readproportion: float | None = None
    updateproportion: float | None = None
    insertproportion: float | None = None
    scanproportion: float | None = None
    readmodifywriteproportion: float | None = None
    requestdistribution: str | None = None
    scanlengthdistribution: str | None = None
    insertorder: str | None = None

    def proportions(self) -> list[float]:
        """Those that are given."""
        found = [getattr(self, name) for name in _KNOWN if name.endswith("proportion")]
        return [share for share in found if share is not None]


_KNOWN = tuple(field.name for field in fields(Workload) if field.name != "name")
_CHOICES = {
    "requestdistribution": ("uniform", "zipfian", "latest"),
    "scanlengthdistribution": ("uniform", "zipfian"),
    "insertorder": ("hashed", "ordered"),
}
# The class of YCSB that runs the workload, and settings without effect on a store that has one
# value for each key.
_WITHOUT_EFFECT = ("workload", "readallfields", "writeallfields", "table", "threadcount")


def read(given: str) -> Workload:
    """The workload of a property file, or one of YCSB's own, a to f."""
    path = Path(given)
    if len(given) == 1 and given in LETTERS and not path.exists():
        path = files.experiments() / "ycsb" / f"workload{given}.properties"
    try:
        text = path.read_text()
    except OSError as failure:
        hint = "" if len(given) > 1 else f"; YCSB's own are {', '.join(LETTERS)}"
        raise errors.BadUsage(f"{path} cannot be read: {failure.strerror}{hint}") from None
    except UnicodeDecodeError:
        raise errors.BadUsage(f"{path} is not a property file: it is no text") from None
    return parse(text, str(path), f"ycsb-{path.stem.removeprefix('workload')}")


def parse(text: str, where: str, name: str) -> Workload:
    """The workload of a property file's text.

    Properties of other parts of YCSB, whose names have a dot, are passed over. Raises BadUsage for
    any other unknown name.
    """
    workload = Workload(name)
    for number, key, value in _assignments(text):
        place = f"{where}: line {number}"
        if key in _WITHOUT_EFFECT or "." in key:
            continue
        if key not in _KNOWN:
            near = difflib.get_close_matches(key, _KNOWN, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_KNOWN)}"
            raise errors.BadUsage(f"{place}: no property '{key[:40]}'; {hint}")
        workload = replace(workload, **{key: _value(key, value, place)})
    shares = workload.proportions()
    if shares and not any(shares):
        raise errors.BadUsage(f"{where}: all proportions are zero")
    return workload


def _value(name: str, value: str, place: str) -> str | int | float:
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            right = " or ".join(_CHOICES[name])
            raise errors.BadUsage(f"{place}: {name} is {right}, not '{value[:40]}'")
        return value
    if not name.endswith("proportion"):
        if not re.fullmatch(r"[0-9]{1,13}", value) or not 1 <= int(value) <= _MOST:
            raise errors.BadUsage(
                f"{place}: {name} is a whole number from 1 to {_MOST:,}, not '{value[:40]}'"
            )
        return int(value)
    if not re.fullmatch(r"[0-9]{0,9}\.?[0-9]{1,20}", value):
        raise errors.BadUsage(f"{place}: {name} is a number such as 0.5, not '{value[:40]}'")
    return float(value)


def _assignments(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, name and value, as java.util.Properties reads them.

    A name ends at =, : or a space. A line that ends with a backslash goes on in the next one.
    """
    held, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not held and (not line or line[0] in "#!"):
            continue
        first = first if held else number
        held += line
        if held.endswith("\\"):
            held = held[:-1]
            continue
        match = _ASSIGNMENT.fullmatch(held)
        assert match is not None
        yield first, match[1], match[2]
        held = ""
