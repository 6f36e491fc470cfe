# SPDX-License-Identifier: Apache-2.0
"""Results of cells, kept in the cache folder by their content.

The content is the request, the machine's description, the file of a hardware design of one's own,
and the version of the program; for a measurement of this computer, the computer as well, with the
file systems that heaps may lie on and the other key-value stores that take part. So a result that
is found was made by exactly this run, and an interrupted reproduction goes on where it stopped.
cache_folder.py bounds the space.
"""

import hashlib
import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path

from holdfast import cache_folder, catalog, core, environment, errors
from holdfast.lab import files
from holdfast.lab.cells import Cell
from holdfast.shapes import Json


@cache
def version() -> str:
    """A hash over the extension module, which has the engines, workloads and the simulator."""
    path = getattr(core.module(), "__file__", None)
    return _hash_of(Path(path)) if path else "no file"


def _hash_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""  # the run of the cell reports the mistake


@cache
def _description(machine: str) -> str:
    """The text of a machine's description."""
    try:
        return files.machine_file(machine).read_text()
    except OSError:
        return ""  # the run of the cell reports the mistake


@cache
def _computer() -> list[str]:
    """Tells this computer from others that share the cache folder."""
    here = environment.describe()
    return [here.host, here.cpu, here.kernel]


def _places() -> list[tuple[str, str]]:
    """The mounts on which the core may make heaps (default_folder() in temporary_heap.cc)."""
    folders = "/dev/shm", os.environ.get("TMPDIR") or "/var/tmp"
    return [environment.mount(Path(folder)) for folder in folders]


def _stores(peers: list[str]) -> Json:
    """The files of other stores, which are no part of the extension module, by their hashes."""
    return {peer.name: linked(peer.file) for peer in catalog.stores().peers if peer.name in peers}


@cache
def linked(file: str) -> list[str]:
    """Hashes over a shared object and those that it is linked with."""
    try:
        found = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
    except OSError:
        found = ""
    return [_hash_of(Path(path)) for path in (file, *re.findall(r"=> (/\S+)", found))]


class Cache:
    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or cache_folder.results_folder()

    def key(self, cell: Cell) -> str:
        content: Json = {
            "job": cell.job,
            "request": cell.request,
            "machine": _description(cell.spec.machine),
            "version": version(),
        }
        design = cell.spec.design or ""
        if catalog.is_design_file(design):
            content["design"] = _hash_of(Path(design))
        if cell.native:
            content["computer"] = _computer()
            content["places"] = _places()
            content["peers"] = _stores(cell.request.get("peers", []))
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    def get(self, key: str) -> Json | None:
        """The result; None if it is not there, or was cut short by a full disk."""
        path = self._folder / f"{key}.json"
        try:
            entry = json.loads(path.read_text())
        except (OSError, json.JSONDecodeError):
            return None
        cache_folder.mark_used(path)
        return entry

    def put(self, key: str, entry: Json) -> None:
        path = self._folder / f"{key}.json"
        unfinished = path.with_suffix(f".{os.getpid()}.new")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished.write_text(json.dumps(entry))
            unfinished.replace(path)
        except OSError as failure:
            raise errors.Failure(f"{path}: a result cannot be kept: {failure.strerror}") from None
