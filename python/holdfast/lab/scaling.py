# SPDX-License-Identifier: Apache-2.0
"""Smaller computers and initial states, by one rule (docs/reference/figures-and-claims.md).

With `scale = N` every cache of the machine has an N-th of its bytes; ways and latencies stay. The
names under `scaled` are divided by N as well: values of the description, parameters of the
workload, and options of engines and designs. A result that is no whole number is rounded down.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from holdfast import catalog, errors
from holdfast.lab import files
from holdfast.lab.cells import CellSpec

_CACHES = ("l1.bytes", "l2.bytes", "llc.bytes")
_GROUPS = ("set", "params", "options", "design_options")


@dataclass(frozen=True)
class Scaling:
    by: int = 1
    set: tuple[str, ...] = ()  # of the machine's description, beyond the caches
    params: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    design_options: tuple[str, ...] = ()

    def applied(self, spec: CellSpec) -> CellSpec:
        """The spec with a smaller machine and smaller numbers."""
        if self.by == 1:
            return spec
        described = files.description(spec.machine)
        caches = tuple(key for key in _CACHES if _value(described, key) is not None)
        return replace(
            spec,
            set=self._divided(spec.set, (*caches, *self.set), lambda k: _value(described, k)),
            params=self._divided(
                spec.params, self.params, _usual(spec.workload, _parameters()).get
            ),
            options=self._divided(
                spec.options, self.options, _usual(spec.engines[0], _engine_options()).get
            ),
            design_options=self._divided(
                spec.design_options,
                self.design_options,
                _usual(spec.design or "", _design_options()).get,
            ),
        )

    def _divided(
        self, given: dict[str, str], names: tuple[str, ...], usual: Callable[[str], Any]
    ) -> dict[str, str]:
        """`given` with these names divided, in place of the usual value where none is given.

        A name that has no usual value belongs to another workload or design.
        """
        divided = {
            name: str(int(value) // self.by)
            for name in names
            if (value := given.get(name, usual(name))) is not None
        }
        return given | divided


def of(table: files.Table) -> Scaling:
    """Reads `scale` and `scaled` of a panel."""
    by = table.get("scale", int, 1)
    inner = files.Table(table.get("scaled", dict, {}), f"{table.where}, scaled")
    names = {group: tuple(inner.list_of(group, str, [])) for group in _GROUPS}
    inner.finish()
    if by < 1:
        raise errors.BadUsage(f"{table.where}: scale is {by}, which must be at least 1")
    return Scaling(by, **names)


def _value(description: dict[str, Any], key: str) -> Any:
    group, _, name = key.partition(".")
    return description.get(group, {}).get(name)


def _usual(name: str, of_all: dict[str, list[catalog.Option]]) -> dict[str, str]:
    """The defaults by plain and by full name; none for an unknown workload, engine or design."""
    plain = {one.name: one.fallback for one in of_all.get(name, [])}
    return plain | {f"{name}.{key}": value for key, value in plain.items()}


def _parameters() -> dict[str, list[catalog.Option]]:
    return {one.name: one.parameters for one in catalog.workloads()}


def _engine_options() -> dict[str, list[catalog.Option]]:
    return {one.name: one.options for one in catalog.engines()}


def _design_options() -> dict[str, list[catalog.Option]]:
    return {one.name: one.options for one in catalog.designs()}
