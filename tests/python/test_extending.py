# SPDX-License-Identifier: Apache-2.0
"""Does docs/inside/extending.md work as printed?

The page's files, differences and commands are taken from its code blocks, by the words behind the
language: `file=PATH`, `try` and `use`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_machines import without_source

from holdfast.lab import claims, figures
from style_rules import tracked_files

REPOSITORY = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(\w+) (try|use|file=(\S+))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PAGE = (REPOSITORY / "docs/inside/extending.md").read_text()


@dataclass(frozen=True)
class Change:
    """Lines of a file, and the lines that replace them."""

    path: str
    before: str
    after: str

    @classmethod
    def read(cls, path: str, difference: str) -> "Change":
        lines = difference.splitlines(keepends=True)
        sides = ["".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +")]
        return cls(path, *sides)

    def apply(self, root: Path) -> None:
        text = (root / self.path).read_text()
        assert text.count(self.before) == 1, f"{self.path} has not, or not once:\n{self.before}"
        (root / self.path).write_text(text.replace(self.before, self.after))


def sections(kind: str) -> list[str]:
    """The headings above the blocks of a kind, in order."""
    headings = []
    for match in _BLOCK.finditer(_PAGE):
        if match[2] == kind:
            headings += re.findall(r"^## (.+)$", _PAGE[: match.start()], re.MULTILINE)[-1:]
    return headings


_FOUND = [match.groups() for match in _BLOCK.finditer(_PAGE)]
FILES = {path: text for language, _, path, text in _FOUND if path and language != "diff"}
CHANGES = [Change.read(path, text) for language, _, path, text in _FOUND if language == "diff"]
TRY = [text for _, kind, _, text in _FOUND if kind == "try"]
USE = [text for _, kind, _, text in _FOUND if kind == "use"]
MACHINE, FIGURE = (
    next(path for path in FILES if path.startswith(f"experiments/{folder}/"))
    for folder in ("machines", "figures")
)


def write_files(root: Path) -> None:
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def run(commands: str, root: Path, **variables: str) -> str:
    """Runs commands in a shell that stops at the first failure. Returns all they print."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=root, env=os.environ | variables, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, f"{commands}\n{done.stdout[-8000:]}"
    return done.stdout


# ---- before anything is registered


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's files, beside this build and this environment."""
    folder = tmp_path_factory.mktemp("extending")
    write_files(folder)
    (folder / "build").symlink_to(REPOSITORY / "build")
    (folder / ".venv").symlink_to(sys.prefix)
    return folder


def test_the_page_has_every_kind_of_block():
    assert sections("try") == [
        "An engine",
        "A hardware design",
        "A workload",
        "A structure",
        "A machine",
    ]
    assert len(USE) == 6
    assert len(FILES) >= 16 and len(CHANGES) >= 9


@pytest.mark.parametrize("commands", TRY, ids=sections("try"))
def test_an_example_is_compiled_without_warnings_and_runs(scratch, commands):
    said = run(commands, scratch, CPLUS_INCLUDE_PATH=str(REPOSITORY))
    print(said)
    assert "warning" not in said


def test_each_change_fits_its_file(tmp_path):
    for change in CHANGES:
        copy = tmp_path / change.path
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists():
            shutil.copy(REPOSITORY / change.path, copy)
        change.apply(tmp_path)


def test_the_machine_names_its_sources():
    assert without_source(FILES[MACHINE]) == []


def test_the_figure_runs_and_its_claims_hold(scratch, tmp_path, monkeypatch, invoke):
    for module in (figures, claims):
        monkeypatch.setattr(module, "experiments", lambda: scratch / "experiments")
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    listed = invoke("reproduce", "--list", "--json", "-")
    assert listed.exit_code == 0, listed.output
    assert [figure["id"] for figure in json.loads(listed.stdout)["figures"]] == [Path(FIGURE).stem]
    out = tmp_path / "out"
    done = invoke("reproduce", "--quick", "--machine", scratch / MACHINE, "--out", out)
    assert done.exit_code == 0, done.output
    judged = json.loads((out / "claims.json").read_text())["claims"]
    assert {claim["verdict"] for claim in judged} == {"green"} and len(judged) == 2


# ---- registered, in a copy of the repository


@pytest.fixture(scope="module")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with the page's files and changes, configured as `make` does it."""
    root = tmp_path_factory.mktemp("overlay")
    for path in tracked_files():
        copy = root / path.relative_to(REPOSITORY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    write_files(root)
    for change in CHANGES:
        change.apply(root)
    modules = root / "build/release/python"
    programs = root / ".venv/bin"
    programs.mkdir(parents=True)
    for name, module in (("python", ""), ("holdfast", "-m holdfast")):
        (programs / name).write_text(
            "#!/bin/sh\n"
            f'PYTHONPATH={root / "python"}:{modules} exec {sys.executable} {module} "$@"\n'
        )
        (programs / name).chmod(0o755)
    run(
        "git init --quiet && git add --all && "
        "cmake --preset release -DHOLDFAST_PYTHON=ON -DHOLDFAST_UNITY=ON"
        f" -DPython_EXECUTABLE={sys.executable}"
        f" -DCMAKE_LIBRARY_OUTPUT_DIRECTORY={modules}/holdfast",
        root,
    )
    return root


@pytest.mark.long
def test_the_additions_keep_the_rules_of_the_house(overlay):
    # The copy has no extension module yet; the left-out tests compare it with the registries.
    run(
        f"PYTHONPATH={overlay / 'python'} {sys.executable} -m pytest -q -p no:cacheprovider "
        "tests/python/test_style.py tests/python/test_docs.py tests/python/test_house.py "
        "-k 'not command_line_and_the_engine_list and not registries_are_read'",
        overlay,
    )


@pytest.mark.long
def test_the_additions_build_and_pass_their_tests(overlay):
    for commands in USE:
        print(run(commands, overlay))
