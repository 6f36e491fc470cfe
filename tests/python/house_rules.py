# SPDX-License-Identifier: Apache-2.0
"""Rules about which file may include or name which: folders point down, registries name things.

Each function looks at a repository below `root` and returns the breaks of one rule as texts.
test_house.py asks for none in this repository, and shows on made-up ones that each rule works.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SOURCES = {".h", ".cc", ".c", ".in"}
_INCLUDE = re.compile(r'^\s*#include "(holdfast/[^"]+)"', re.MULTILINE)


# ---- includes ------------------------------------------------------------------------------------


def includes(root: Path) -> dict[str, list[str]]:
    """The files of the library, each with the headers of the library that it includes."""
    return {
        str(path.relative_to(root)): _INCLUDE.findall(path.read_text())
        for path in sorted((root / "holdfast").rglob("*"))
        if path.suffix in _SOURCES and path.is_file()
    }


def missing_includes(root: Path) -> list[str]:
    """Includes of files that do not exist."""
    return [
        f"{path} includes {header}, which does not exist"
        for path, headers in includes(root).items()
        for header in headers
        if not (root / header).is_file()
    ]


def mutual_includes(root: Path) -> list[str]:
    """Headers that include each other."""
    known = includes(root)
    return [
        f"{path} and {header} include each other"
        for path, headers in known.items()
        for header in headers
        if path < header and path in known.get(header, ())
    ]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def folder_cycles(root: Path) -> list[str]:
    """Groups of folders that reach each other through includes, with an include for each step."""
    edges: dict[str, dict[str, str]] = {}
    for path, headers in includes(root).items():
        for header in headers:
            if _folder(path) != _folder(header):
                edges.setdefault(_folder(path), {}).setdefault(
                    _folder(header), f"{path} includes {header}"
                )

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        left = [start]
        while left:
            for folder in edges.get(left.pop(), {}):
                if folder not in seen:
                    seen.add(folder)
                    left.append(folder)
        return seen

    reach = {folder: reachable(folder) for folder in edges}
    return [
        f"{folder} and {other} reach each other: {why}"
        for folder, others in sorted(edges.items())
        for other, why in sorted(others.items())
        if folder in reach.get(other, ())
    ]


def upward_includes(root: Path, order: Sequence[Sequence[str]]) -> list[str]:
    """Includes of a folder that is not below the file's, by the levels of `order`, lowest first.

    A folder's level is that of the longest prefix in `order`. Folders of one level do not include
    each other, except themselves.
    """
    level = {folder: number for number, row in enumerate(order) for folder in row}

    def place(path: str) -> str | None:
        while (path := _folder(path)) and path not in level:
            pass
        return path or None

    found = []
    for path, headers in includes(root).items():
        room = place(path)
        if room is None:
            found.append(f"{path} is in no folder of the order")
            continue
        for header in headers:
            target = place(header)
            if target is None or target == room:
                continue
            if level[target] >= level[room]:
                found.append(f"{path} includes {header}: {target} is not below {room}")
    return found


def foreign_engine_includes(root: Path, allowed: Mapping[str, Iterable[str]]) -> list[str]:
    """Includes of another engine's folder, except those that `allowed` lists by folder."""
    folders = {engine.folder for engine in engines(root)}
    found = []
    for path, headers in includes(root).items():
        own = _engine_folder(path, folders)
        for header in headers:
            other = _engine_folder(header, folders)
            if own and other and other != own and other not in allowed.get(own, ()):
                found.append(f"{path} includes {header}")
    return found


def _engine_folder(path: str, folders: set[str]) -> str | None:
    match = re.match(r"holdfast/engines/([^/]+)/", path)
    return match[1] if match and match[1] in folders else None


# ---- names ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Named:
    """Something that a registry lists: an engine, a hardware design or a workload."""

    name: str
    kind: str
    folder: str  # of its own, or the stem of its files
    cls: str = ""  # the C++ class of an engine

    @property
    def distinctive(self) -> bool:
        """True if the name cannot be another word of the program."""
        return self.name not in _COMMON

    def own(self, path: str) -> bool:
        """True for a path in a folder of its own, or for a file of its own name."""
        parts = Path(path).parts
        if self.kind == "engine":
            return any(parts[i : i + 2] == ("engines", self.folder) for i in range(len(parts) - 1))
        room = {"design": "hardware", "workload": "workloads"}[self.kind]
        return any(
            parts[i] == room
            and (
                parts[i + 1] == self.folder
                or re.fullmatch(rf"{re.escape(self.folder)}(_\w+)?\.\w+", parts[i + 1])
            )
            for i in range(len(parts) - 1)
        )

    @property
    def words(self) -> set[str]:
        """Each pattern contains one of them, and to look for them first takes little time."""
        return {self.name, self.name.replace("-", "_"), self.folder, self.cls or self.name}

    @property
    def patterns(self) -> Iterator[str]:
        name = re.escape(self.name)
        yield rf""""{name}"|'{name}'"""
        place = {"engine": "engines", "design": "hardware", "workload": "workloads"}[self.kind]
        yield rf"\b{place}/{re.escape(self.folder)}[/.]"
        if self.cls:
            yield rf"\b{self.cls}<"
        if self.distinctive:
            for word in sorted(self.words - {self.cls}):
                if word not in _COMMON:
                    yield rf"(?<![\w-]){re.escape(word)}(?![\w-])"


# Names that are also words of the field: only as a whole literal, a class or an include do they
# name the thing.
_COMMON = frozenset(
    [
        *("undo", "htm", "hw", "opt", "tc", "bank", "list", "map", "ring", "registers", "parts"),
        *("linked-list", "hash-table", "hash-map", "bplus-tree", "rb-tree", "huge"),
        "ycsb",
    ]
)


def engines(root: Path) -> list[Named]:
    text = (root / "holdfast/engines/CMakeLists.txt").read_text()
    rows = re.findall(r"^holdfast_engine\((\S+) engines/(\w+)/\S+ (\w+)", text, re.MULTILINE)
    return [Named(name, "engine", folder, cls) for name, folder, cls in rows]


def designs(root: Path) -> list[Named]:
    text = (root / "holdfast/hardware/designs.cc").read_text()
    folders = dict.fromkeys(re.findall(r'#include "holdfast/hardware/(\w+)/', text))
    return [Named(folder, "design", folder) for folder in folders]


def workloads(root: Path) -> list[Named]:
    text = (root / "holdfast/workloads/registry.h").read_text()
    files = re.findall(r'#include "holdfast/workloads/(\w+)[./]', text)
    found = [file for file in dict.fromkeys(files) if file not in _ROOMS]
    return [Named(file.replace("_", "-"), "workload", file) for file in found]


_ROOMS = ("parts", "catalogue", "registry")


def names(root: Path) -> list[Named]:
    """All names of the three registries."""
    return [*engines(root), *designs(root), *workloads(root)]


def code(path: Path) -> str:
    """The file's text without comments and Python's docstrings, line breaks kept."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", "", match[0])

    text = path.read_text()
    if path.suffix in _SOURCES:
        literal_or_comment = r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/'
        return re.sub(
            literal_or_comment,
            lambda m: m[0] if m[0].startswith('"') else blank(m),
            text,
            flags=re.DOTALL,
        )
    text = re.sub(r'^\s*(?:[rf]?""".*?""")', blank, text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"""(?<!['"\w])#[^\n]*""", blank, text)


@dataclass(frozen=True)
class Excused:
    """A file, or a folder with all its files, that may name things, and the reason."""

    path: str
    reason: str
    names: tuple[str, ...] = ()  # none: all

    def covers(self, hit: "Hit") -> bool:
        inside = hit.path == self.path or hit.path.startswith(self.path.rstrip("/") + "/")
        return inside and (not self.names or hit.thing.name in self.names)


@dataclass(frozen=True)
class Hit:
    """A place outside of what belongs to a thing that names the thing."""

    path: str
    line: int
    thing: Named

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: names {self.thing.kind} {self.thing.name}"


def named_elsewhere(root: Path, folders: Sequence[str]) -> list[Hit]:
    """In each file below `folders`, the first place that names a thing of another folder."""
    rules = [(thing, re.compile("|".join(thing.patterns))) for thing in names(root)]
    found = []
    for path in _files(root, folders):
        text = code(root / path)
        for thing, pattern in rules:
            if thing.own(path) or not any(word in text for word in thing.words):
                continue
            if match := pattern.search(text):
                found.append(Hit(path, text.count("\n", 0, match.start()) + 1, thing))
    return found


_TEXTS = _SOURCES | {".py", ".cmake", ".txt", ".toml"}


def _files(root: Path, folders: Sequence[str]) -> list[str]:
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0 and listing.stdout:
        known = listing.stdout.splitlines()
    else:
        known = [str(path.relative_to(root)) for path in sorted(root.rglob("*"))]
    return [
        path
        for path in known
        if path.split("/")[0] in folders and Path(path).suffix in _TEXTS and (root / path).is_file()
    ]
