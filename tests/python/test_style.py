# SPDX-License-Identifier: Apache-2.0
"""Does every file keep the rules of the house?"""

import re
from pathlib import Path

import pytest

import style_rules
from style_rules import REPOSITORY

_SOURCES = {".h", ".cc", ".py", ".sh", ".cmake", ".toml", ".in"}
_NAMED = {
    "CMakeLists.txt",
    "Makefile",
    "run",
    "packages.txt",
    "packages-lint.txt",
    "packages-aarch64.txt",
    "packages-power.txt",
    "packages-sanitize.txt",
    "requirements.txt",
}
_SPDX = "SPDX-License-Identifier: Apache-2.0"

# A file may be this long, and the numbers may only sink: split the file rather than raise one.
_MOST_LINES = 500
_MOST_LINES_OF_A_TEST = 700

# Engines, heap, structures, workloads and the store must not name these: they ask the machine.
_MACHINE_ONLY = re.compile(
    r"\bstd::(atomic|thread|jthread|mutex|condition_variable|this_thread|chrono)\b|\bthread_local\b"
    r"|\b_mm_\w+|__builtin_ia32"
)
_SEAM_FOLDERS = ("engines", "heap", "structures", "workloads", "db/store", "db/views")


def _sources() -> list[Path]:
    return [
        path
        for path in style_rules.tracked_files()
        if path.suffix in _SOURCES or path.name in _NAMED
    ]


def _name(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def test_there_are_sources():
    assert len(_sources()) > 50


def test_every_source_names_its_licence():
    missing = [
        _name(path)
        for path in _sources()
        if _SPDX not in "".join(path.read_text().splitlines(True)[:3])
    ]
    assert not missing


def test_no_file_is_too_long():
    def most(path: Path) -> int:
        return _MOST_LINES_OF_A_TEST if _name(path).startswith("tests/") else _MOST_LINES

    long = {
        _name(path): n
        for path in _sources()
        if (n := len(path.read_text().splitlines())) > most(path)
    }
    assert not long


def test_lines_are_short_and_sentences_are_plain():
    """`python tests/python/style_rules.py FOLDER` shows the breaks of a folder."""
    if found := style_rules.check():
        pytest.fail("\n".join(map(str, found)), pytrace=False)


def test_readme_is_short():
    assert len((REPOSITORY / "README.md").read_text().splitlines()) < 150


@pytest.mark.parametrize("folder", _SEAM_FOLDERS)
def test_code_above_the_machine_uses_only_the_machine(folder):
    """Comments may name these things; code may not."""
    found = []
    for path in sorted((REPOSITORY / "holdfast" / folder).rglob("*.[hc]*")):
        if path.suffix not in (".h", ".cc"):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := _MACHINE_ONLY.search(line.split("//", 1)[0]):
                found.append(f"{_name(path)}:{number}: {match[0]}")
    assert not found


def test_headers_are_guarded_by_pragma_once():
    headers = [path for path in _sources() if path.suffix == ".h"]
    assert [_name(path) for path in headers if "#pragma once" not in path.read_text()] == []


def _listed_engines() -> list[str]:
    text = (REPOSITORY / "holdfast/engines/CMakeLists.txt").read_text()
    return re.findall(r"^holdfast_engine\((\S+)", text, re.MULTILINE)


def test_every_engine_has_its_page():
    assert _listed_engines()
    missing = [
        name
        for name in _listed_engines()
        if not (REPOSITORY / f"docs/reference/engines/{name}.md").is_file()
    ]
    assert not missing


def test_every_engine_stands_in_the_guide():
    guide = (REPOSITORY / "docs/guide/engines.md").read_text()
    assert [name for name in _listed_engines() if f"engines/{name}.md)" not in guide] == []


@pytest.mark.parametrize(("example", "comment"), [("visits.cc", "//"), ("visits.py", "#")])
def test_the_readme_shows_the_example_that_is_built_and_run(example, comment):
    """Ctest runs the program in C++, test_examples.py both in turn."""
    program = (
        (REPOSITORY / "examples" / example).read_text().removeprefix(f"{comment} {_SPDX}\n").strip()
    )
    assert program in (REPOSITORY / "README.md").read_text()
    assert len([line for line in program.splitlines() if line.strip()]) <= 15


def test_the_command_line_and_the_engine_list_agree():
    from holdfast import core

    assert [entry["name"] for entry in core.engines()] == _listed_engines()
