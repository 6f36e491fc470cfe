# SPDX-License-Identifier: Apache-2.0
"""The series of a panel: engines, hardware designs, and named settings of either.

A panel lists engines under `engines` and hardware designs under `designs`. A table
`[panel.series.NAME]` adds a series, or says more about a listed one.
"""

from dataclasses import dataclass, field
from typing import Any

from holdfast import catalog, errors
from holdfast.lab.files import Table, assigned
from holdfast.specs import Assigned


@dataclass(frozen=True)
class Series:
    """One line of a panel."""

    name: str
    engine: str = ""  # empty: the engine that runs with a design
    design: str = ""
    domain: str = ""  # empty: the panel's
    options: Assigned = field(default_factory=dict)  # of the engine
    design_options: Assigned = field(default_factory=dict)
    set: Assigned = field(default_factory=dict)  # of the machine's description

    @property
    def runs(self) -> str:
        """The engine that runs; empty if this build has none for designs."""
        return self.engine or catalog.find_design_engine()


def all_of(table: Table) -> tuple[Series, ...]:
    """The series that a panel's table lists and defines: designs, engines, then named ones."""
    designs = table.list_of("designs", str, [])
    engines = table.list_of("engines", str, [])
    defined = table.get("series", dict, {})
    listed = [(name, "design") for name in designs] + [(name, "engine") for name in engines]
    names = [name for name, _ in listed]
    if len(set(names)) != len(names):
        raise errors.BadUsage(f"{table.where}: a name is listed twice: {', '.join(names)}")
    made = [_series(name, {kind: name} | defined.get(name, {}), table) for name, kind in listed]
    return (
        *made,
        *(_series(name, values, table) for name, values in defined.items() if name not in names),
    )


def _series(name: str, values: Any, panel: Table) -> Series:
    table = Table(values, f"{panel.where}, series {name}")
    texts = {key: table.get(key, str, "") for key in ("engine", "design", "domain")}
    groups = {key: assigned(table, key) for key in ("options", "design_options", "set")}
    table.finish()
    if not texts["engine"] and not texts["design"]:
        raise errors.BadUsage(f"{table.where}: it has neither an engine nor a design")
    return Series(name, **texts, **groups)
