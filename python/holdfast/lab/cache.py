# SPDX-License-Identifier: Apache-2.0
"""Results of cells by content: what was run, on what machine description, with which version of the program. What is
found was run by exactly this, so an interrupted reproduction goes on where it stopped."""

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from holdfast import core, errors
from holdfast.lab.cells import Cell


def default_folder() -> Path:
    """Beside the populations: $HOLDFAST_CACHE, else the user's cache folder."""
    if chosen := os.environ.get("HOLDFAST_CACHE"):
        return Path(chosen) / "cells"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "holdfast" / "cells"


@cache
def version() -> str:
    """A hash over the extension module: engines, workloads and the simulator are all in there."""
    path = getattr(core.module(), "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else "no file"


@cache
def _description(machine: str) -> str:
    """The text of a machine's description."""
    if machine.endswith(".toml"):
        path = Path(machine)
    else:
        path = _machines() / f"{machine}.toml"
    try:
        return path.read_text()
    except OSError:
        return ""  # running the cell will say what is wrong


def _machines() -> Path:
    packaged = Path(core.__file__).parent / "machines"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "experiments" / "machines"


class Cache:
    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or default_folder()

    def key(self, cell: Cell) -> str:
        what = {
            "job": cell.job,
            "machine": _description(cell.spec["machine"]),
            "version": version(),
        }
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:32]

    def get(self, key: str) -> dict[str, Any] | None:
        try:
            return json.loads((self._folder / f"{key}.json").read_text())
        except (OSError, json.JSONDecodeError):
            return None  # not there, or cut short by a full disk: run it again

    def put(self, key: str, entry: dict[str, Any]) -> None:
        path = self._folder / f"{key}.json"
        unfinished = path.with_suffix(f".{os.getpid()}.new")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished.write_text(json.dumps(entry))
            unfinished.replace(path)
        except OSError as failure:
            raise errors.Failure(f"{path}: a result cannot be kept: {failure.strerror}") from None
