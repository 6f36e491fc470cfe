# SPDX-License-Identifier: Apache-2.0
"""How engines and stacked parts look in figures: the same everywhere, and for colour-blind readers (Okabe and Ito)."""

from holdfast.lab import metrics

# Name in the papers, colour, marker.
_ENGINES = {
    "fur-si": ("FUR-SI", "#D55E00", "o"),
    "fur-opa": ("FUR-opa", "#E69F00", "s"),
    "fur-mv": ("FUR-MV", "#8C510A", "P"),
    "spht": ("SPHT", "#0072B2", "^"),
    "spht-si-htm": ("SPHT+SI-HTM", "#56B4E9", "v"),
    "pisces": ("Pisces", "#009E73", "D"),
    "spec-pmt": ("SpecPMT", "#CC79A7", "X"),
    "tinystm": ("TinySTM", "#999933", "h"),
    "htm": ("HTM", "#000000", "x"),
    "si-htm": ("SI-HTM", "#777777", "+"),
    "nv-htm": ("NV-HTM", "#44AA99", "<"),
    "dudetm": ("DudeTM", "#882255", ">"),
    "trinity": ("Trinity", "#332288", "1"),
    "quadra": ("Quadra", "#117733", "2"),
    "onefile": ("OneFile", "#888888", "3"),
}
_OTHER_COLOURS = ("#AA4499", "#661100", "#6699CC")


def label(engine: str) -> str:
    return _ENGINES[engine][0] if engine in _ENGINES else engine


def colour(engine: str) -> str:
    if engine in _ENGINES:
        return _ENGINES[engine][1]
    return _OTHER_COLOURS[sum(engine.encode()) % len(_OTHER_COLOURS)]


def marker(engine: str) -> str:
    return _ENGINES[engine][2] if engine in _ENGINES else "."


# What an attempt can end in, from the bottom of a bar to its top.
OUTCOMES = (
    ("commit in hardware", "#009E73"),
    ("commit in software", "#66C2A5"),
    ("commit under the lock", "#F0E442"),
    ("abort: conflict", "#D55E00"),
    ("abort: capacity", "#0072B2"),
    ("abort: other", "#999999"),
)

PHASES = dict(
    zip(
        ("execute", *metrics.OVERHEAD),
        ("#000000", "#E69F00", "#F0E442", "#56B4E9", "#44AA99", "#0072B2", "#CC79A7", "#882255"),
        strict=True,
    )
)
