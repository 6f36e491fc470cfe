# SPDX-License-Identifier: Apache-2.0
"""Numbers, sizes and times as people read and write them."""

import re
from typing import Any

from holdfast import errors

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def number(value: Any) -> str:
    """Three significant digits or whole thousands; a dash for a value that was not measured."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def bytes_text(value: float) -> str:
    """A size with a binary unit."""
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def parse_bytes(text: str, name: str) -> int:
    """A size such as 512M, 2GiB or 1000; `name` names it in the failure."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise errors.BadUsage(f"{name} '{text}' is no size such as 512M or 2GiB")
    return int(float(match[1]) * 1024 ** _POWERS[match[2].lower()])


def duration(seconds: float) -> str:
    """A time with the unit that suits it."""
    for limit, scale, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds:.1f} s"
