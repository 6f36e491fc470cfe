# SPDX-License-Identifier: Apache-2.0
"""Do the links between pages lead somewhere, and do the guide's programs run as printed?"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from style_rules import EXEMPT, tracked_files

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = tracked_files()
PAGES = [path for path in FILES if path.suffix == ".md"]
GUIDE = [path for path in PAGES if path.parent == REPOSITORY / "docs/guide"]

_FENCED = re.compile(r"^(```+|~~~+)(\w*)(?: [^\n]*)?\n(.*?)^\1 *$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?\1", re.DOTALL)
_LINK = re.compile(r"\[[^]]*\]\(\s*([^)\s]+)\s*\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
# Capitals stand for a name: docs/inside/planted-bugs/ENGINE.md.
_PAGE_IN_SOURCE = re.compile(r"\bdocs/[a-z\d/.-]*\.md\b")


def _name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def links(text: str) -> Iterator[str]:
    """Targets of all links outside of code. Addresses of other sites are left out."""
    for target in _LINK.findall(_CODE.sub("", _FENCED.sub("", text))):
        if not re.match(r"\w+:", target):
            yield target


def anchors(text: str) -> set[str]:
    """The anchors that GitHub derives from a page's headings."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCED.sub("", text)):
        text_only = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text_only).replace(" ", "-")
        repeats = (f"{anchor}-{n}" if n else anchor for n in range(len(found) + 1))
        found.add(next(name for name in repeats if name not in found))
    return found


def broken(page: Path) -> list[str]:
    """The targets of a page's links that do not exist."""
    found = []
    for target in links(page.read_text()):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            found.append(target)
    return found


def code(page: Path, language: str) -> str:
    """All code of one language on a page, in order."""
    return "\n".join(b for _, name, b in _FENCED.findall(page.read_text()) if name == language)


def test_links_and_anchors_are_recognized(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b`, c: d\n## Twice\n## Twice\n"
        "[in\ncode `x`](page.md#a-b-c-d) `[no](no.md)` [x](#twice-1)\n"
        "```\n# no heading\n[no](no.md)\n```\n"
        "```toml file=a.toml\n# no heading\n```\n"
        "[far](https://example.org) [lost](lost.md) [lost](#lost)\n"
    )
    assert anchors(page.read_text()) == {"a-b-c-d", "twice", "twice-1"}
    assert broken(page) == ["lost.md", "#lost"]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_leads_to_a_file_and_a_heading(page):
    assert broken(page) == []


def test_every_page_can_be_reached_from_the_readme():
    reached: set[Path] = set()
    waiting = [REPOSITORY / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md" and page.exists():
            reached.add(page)
            targets = (target.partition("#")[0] for target in links(page.read_text()))
            waiting += [(page.parent / target).resolve() for target in targets if target]
    documentation = {path for path in PAGES if path.is_relative_to(REPOSITORY / "docs")}
    assert sorted(_name(page) for page in documentation - reached) == []


def test_the_page_of_reproduce_names_every_figure():
    page = (REPOSITORY / "docs/reference/reproduce.md").read_text()
    named = set(re.findall(r"`([\w-]+)`", page))
    for stem, first, last in re.findall(r"`([\w-]+)-(\d+)` to `\1-(\d+)`", page):
        named |= {f"{stem}-{n}" for n in range(int(first), int(last) + 1)}
    figures = {path.stem for path in (REPOSITORY / "experiments/figures").glob("*.toml")}
    assert sorted(figures - named) == []


def test_every_page_that_a_source_names_exists():
    lost = []
    for path in FILES:
        if path.suffix in {".md", ".png", ".svg"} or _name(path) in EXEMPT:
            continue
        for name in _PAGE_IN_SOURCE.findall(path.read_text(errors="ignore")):
            if not (REPOSITORY / name).exists():
                lost.append(f"{_name(path)}: {name}")
    assert lost == []


def _run(command: list[str], folder: Path) -> None:
    """Runs a command in a folder, with the programs of this Python's environment in reach."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", [page for page in GUIDE if code(page, "python")], ids=_name)
def test_the_python_of_a_guide_runs(page, tmp_path):
    _run([sys.executable, "-c", code(page, "python")], tmp_path)


@pytest.mark.parametrize("page", [page for page in GUIDE if code(page, "sh")], ids=_name)
def test_the_commands_of_a_guide_run(page, tmp_path):
    _run([sys.executable, "-c", "import holdfast; holdfast.open('full.db')['key'] = b''"], tmp_path)
    _run(["bash", "-euo", "pipefail", "-c", code(page, "sh")], tmp_path)
