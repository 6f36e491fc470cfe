# SPDX-License-Identifier: Apache-2.0
"""Workloads of YCSB out of its property files."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast import errors
from holdfast.lab import files

LETTERS = "abcdef"
_MOST = 1 << 40  # as in holdfast/runner/db/ycsb.cc

_WHOLE = ("recordcount", "operationcount", "fieldcount", "fieldlength", "maxscanlength")
_SHARES = tuple(f"{kind}proportion" for kind in ("read", "update", "insert", "scan", "readmodifywrite"))
_CHOICES = {
    "requestdistribution": ("uniform", "zipfian", "latest"),
    "scanlengthdistribution": ("uniform", "zipfian"),
    "insertorder": ("hashed", "ordered"),
}
# Which class of YCSB runs it, and what a store with one value for each key cannot tell apart.
_WITHOUT_EFFECT = ("workload", "readallfields", "writeallfields", "table", "threadcount")
_KNOWN = (*_WHOLE, *_SHARES, *_CHOICES)


def read(given: str) -> dict[str, Any]:
    """The properties of a file, or of workload a to f, with a name; for the field `benchmarks` of core.db_bench."""
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
    return {"name": f"ycsb-{path.stem.removeprefix('workload')}", **parse(text, str(path))}


def parse(text: str, where: str) -> dict[str, Any]:
    """What the lines say, with values of the right kind. Properties of other parts of YCSB, whose names have
    a dot, are passed over; a name nobody knows is a slip of the pen."""
    values: dict[str, Any] = {}
    for number, name, value in _assignments(text):
        place = f"{where}: line {number}"
        if name in _WITHOUT_EFFECT or "." in name:
            continue
        if name not in _KNOWN:
            near = difflib.get_close_matches(name, _KNOWN, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_KNOWN)}"
            raise errors.BadUsage(f"{place}: no property '{name[:40]}'; {hint}")
        values[name] = _value(name, value, place)
    if all(values.get(share, 0) == 0 for share in _SHARES) and any(share in values for share in _SHARES):
        raise errors.BadUsage(f"{where}: all proportions are zero")
    return values


def _value(name: str, value: str, place: str) -> Any:
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise errors.BadUsage(f"{place}: {name} is {' or '.join(_CHOICES[name])}, not '{value[:40]}'")
        return value
    if name in _WHOLE:
        if not re.fullmatch(r"[0-9]{1,13}", value) or not 1 <= int(value) <= _MOST:
            raise errors.BadUsage(
                f"{place}: {name} is a whole number from 1 to {_MOST:,}, not '{value[:40]}'"
            )
        return int(value)
    if not re.fullmatch(r"[0-9]{0,9}\.?[0-9]{1,20}", value):
        raise errors.BadUsage(f"{place}: {name} is a number such as 0.5, not '{value[:40]}'")
    return float(value)


def _assignments(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, name and value, as java.util.Properties reads them: a name ends at =, : or a space, and a backslash
    at a line's end goes on in the next one."""
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
        name, value = re.fullmatch(r"([^=:\s]*)\s*[=:]?\s*(.*)", held).groups()  # type: ignore[union-attr]
        yield first, name, value
        held = ""
