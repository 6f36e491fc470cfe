# SPDX-License-Identifier: Apache-2.0
"""The folder of the descriptions of experiments, and reading them."""

import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from holdfast import core, errors
from holdfast.specs import Assigned


def experiments() -> Path:
    """The folder with figures/ and claims/: in an installed wheel a part of the package."""
    packaged = Path(__file__).parents[1] / "experiments"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "experiments"


def machine_file(machine: str) -> Path:
    """The file of a machine's description: by its name, or a path."""
    if machine.endswith(".toml"):
        return Path(machine)
    packaged = Path(core.__file__).parent / "machines"
    folder = packaged if packaged.is_dir() else Path(__file__).parents[3] / "experiments/machines"
    return folder / f"{machine}.toml"


def description(machine: str) -> dict[str, Any]:
    """The values of a machine's description."""
    return read(machine_file(machine))


def read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as failure:
        raise errors.BadUsage(f"{path} cannot be read: {failure.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as failure:
        raise errors.BadUsage(f"{path} is not TOML: {failure}") from None


class Table:
    """A table of a file, whose keys are asked for one by one. finish() refuses all other keys."""

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, dict):
            raise errors.BadUsage(f"{where} must be a table")
        self.values, self.where = values, where
        self._known: set[str] = set()

    def get(self, key: str, kind: type | tuple[type, ...], fallback: Any = None) -> Any:
        """The value; without a fallback it must be there."""
        self._known.add(key)
        if key not in self.values:
            if fallback is None:
                raise errors.BadUsage(f"{self.where}: {key} is missing")
            return fallback
        value = self.values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, float)):
            kinds = kind if isinstance(kind, tuple) else (kind,)
            right = " or ".join(_WORDS[k] for k in kinds)
            raise errors.BadUsage(f"{self.where}: {key} must be {right}, not {value!r}")
        return value

    def one_of(self, key: str, right: Collection[str], fallback: str | None = None) -> str:
        value = self.get(key, str, fallback)
        if value not in right:
            raise errors.BadUsage(
                f"{self.where}: {key} is '{value}', which is none of {', '.join(sorted(right))}"
            )
        return value

    def list_of(
        self, key: str, kind: type | tuple[type, ...], fallback: list | None = None
    ) -> list:
        values = self.get(key, list, fallback)
        if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            raise errors.BadUsage(f"{self.where}: {key} has values of the wrong kind: {values}")
        return values

    def finish(self) -> None:
        for key in self.values:
            if key not in self._known:
                known = ", ".join(sorted(self._known))
                raise errors.BadUsage(
                    f"{self.where}: there is no key '{key}'; the keys are {known}"
                )


def assigned(table: Table, key: str) -> Assigned:
    """A table of values as texts: {persistence = {fence_ns = 6}} as {"persistence.fence_ns": "6"}.

    The dots are those of a name in a description, or of an option of one engine or design.
    """
    flat: Assigned = {}
    for name, value in table.get(key, dict, {}).items():
        inner = value if isinstance(value, dict) else {"": value}
        flat |= {f"{name}.{more}".rstrip("."): as_text(one) for more, one in inner.items()}
    return flat


def as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
