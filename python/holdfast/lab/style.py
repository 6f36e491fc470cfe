# SPDX-License-Identifier: Apache-2.0
"""The look of engines, designs and stacked parts in figures, for colour-blind readers (Okabe, Ito).

An engine looks the same in every figure: as experiments/figures/looks/engines.toml says, or by its
place in the list of engines. So does a design, with looks/designs.toml.
"""

import zlib
from dataclasses import dataclass
from functools import cache

from holdfast import catalog
from holdfast.lab import metrics
from holdfast.lab.files import Table, experiments, read

# The numbers of both have no common factor, so twenty engines in a row all look different.
_COLOURS = ("#AA4499", "#661100", "#6699CC", "#117733", "#DDCC77")
_MARKERS = ("o", "s", "^", "D")


@dataclass(frozen=True)
class Look:
    label: str
    colour: str
    marker: str


def look(series: str) -> Look:
    """The look of an engine, a store, a design, or a series with a name of its own."""
    return _chosen().get(series) or _derived(series)


def colour_of(number: int) -> str:
    """A colour for the n-th of several series that are no engines."""
    return _COLOURS[number % len(_COLOURS)]


@cache
def _chosen() -> dict[str, Look]:
    looks = {}
    for path in sorted((experiments() / "figures" / "looks").glob("*.toml")):
        for name, values in read(path).items():
            table = Table(values, f"{path}, {name}")
            looks[name] = Look(*(table.get(key, str) for key in ("label", "colour", "marker")))
            table.finish()
    return looks


def _derived(series: str) -> Look:
    names = [entry.name for entry in (*catalog.engines(), *catalog.designs())]
    place = names.index(series) if series in names else len(names) + zlib.crc32(series.encode())
    return Look(series, colour_of(place), _MARKERS[place % len(_MARKERS)])


# The ends of an attempt, from the bottom of a bar to its top.
OUTCOMES = (
    ("commit in hardware", "#009E73"),
    ("commit in software", "#66C2A5"),
    ("commit under the lock", "#F0E442"),
    ("abort: conflict", "#D55E00"),
    ("abort: capacity", "#0072B2"),
    ("abort: other", "#999999"),
)

_PHASE_COLOURS = (
    "#000000",
    "#E69F00",
    "#F0E442",
    "#56B4E9",
    "#44AA99",
    "#0072B2",
    "#CC79A7",
    "#882255",
)
PHASES = dict(zip(("execute", *metrics.OVERHEAD), _PHASE_COLOURS, strict=True))
