# SPDX-License-Identifier: Apache-2.0
"""matplotlib, which is needed to draw and for nothing else: `pip install 'holdfast[plots]'`."""

from importlib.util import find_spec
from typing import Any

from holdfast import errors

_ADVICE = "drawing needs matplotlib, which is not installed: pip install 'holdfast[plots]'"


def missing() -> str:
    """The advice for a computer that cannot draw; empty if this one can."""
    try:
        return "" if find_spec("matplotlib") else _ADVICE
    except ValueError:  # hidden by a None in sys.modules
        return _ADVICE


def pyplot(**settings: Any) -> Any:
    """matplotlib.pyplot for files, with values of matplotlib.rcParams. Raises BadUsage."""
    if advice := missing():
        raise errors.BadUsage(advice)
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(settings)
    from matplotlib import pyplot

    return pyplot
