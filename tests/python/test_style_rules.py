# SPDX-License-Identifier: Apache-2.0
"""Does each rule of style_rules.py find what breaks it, and nothing else?"""

from pathlib import Path

import pytest

from style_rules import MOST_COLUMNS, check_file, main

LONG = "word " * 25
ADDRESS = "https://example.org/" + "a" * 100


@pytest.fixture
def rules(tmp_path: Path):
    """Returns (line, rule) of each break in a file with this name and text."""

    def run(name: str, text: str) -> list[tuple[int, str]]:
        path = tmp_path / name
        path.write_text(text)
        return [(b.line, b.rule) for b in check_file(path)]

    return run


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cc", f"int x;  // {LONG}\n"),
        ("a.py", f"x = '{LONG}'\n"),
        ("a.md", f"{LONG}\n"),
        ("a.toml", f"x = '{LONG}'\n"),
        ("a.md", f"```\n{LONG}\n```\n"),
        ("Makefile", f"x:\n\techo {'a' * (MOST_COLUMNS - 12)}\n".replace("x:\n", "")),
        ("a.md", f"{'word ' * 50}{ADDRESS}\n"),
    ],
)
def test_a_long_line_is_found(rules, name, text):
    assert [rule for _, rule in rules(name, text)] == ["width"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cc", "x" * MOST_COLUMNS + "\n"),
        ("a.md", f"| a | {LONG} |\n"),
        ("a.md", f"See {ADDRESS}\n"),
        ("a.md", f"- [A name]({ADDRESS})\n"),
        ("a.cc", f"// {ADDRESS}\n"),
    ],
)
def test_a_line_that_may_be_so_long_is_not(rules, name, text):
    assert rules(name, text) == []


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.h", "/// What a caller sees.\n", 1),
        ("a.h", "/// Holds it. Who waits is\n/// woken.\n", 1),
        ("a.h", "/// Holds a lock.\n/// Of two readers one\n/// waits.\n", 2),
        ("a.h", "/// Holds it: That of the writer goes first.\n", 1),
        ("a.h", "/* Whoever comes waits. */\n"[:-1] + "\n", 1),
        ("a.h", "int a;  // who has it\n", 1),
        ("a.h", "// - An item.\n// - What an item is.\n", 2),
        ("a.h", "/// The same for a writer.\n", 1),
        ("a.h", "/// Sets it. The same, later.\n", 1),
        ("a.cc", 'f("What the caller gave is no heap");\n', 1),
        ("a.cc", 'f("The file is "\n  "open. Of two processes one waits");\n', 2),
        ("a.py", '"""What a file has."""\n', 1),
        ("a.py", 'def f():\n    """Does it.\n\n    Of each one.\n    """\n', 4),
        ("a.py", "x = 1  # Of all of them.\n", 1),
        ("a.toml", 'reason = "It is so. What differs is the size."\n', 1),
        ("a.toml", "# What it is.\n", 1),
        ("CMakeLists.txt", "# SPDX-License-Identifier: Apache-2.0\n# What it builds.\n", 2),
        ("a.sh", "x=1  # What it is.\n", 1),
        ("a.md", "A line.\nAnother. Who reads\nit waits.\n", 2),
        ("a.md", "**What it is.** A thing.\n", 1),
        ("a.md", "- Of two.\n", 1),
        ("a.md", "> What is it.\n", 1),
        ("a.md", "| a | b |\n|---|---|\n| c | What it does. |\n", 3),
    ],
)
def test_a_forbidden_beginning_is_found(rules, name, text, line):
    found = [at for at, rule in rules(name, text) if rule == "beginning"]
    assert found == [line]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cc", "/// What does a crash leave?\n"),
        ("a.cc", 'TEST("What does a crash leave behind, in a log?")\n'),
        ("a.h", "/// Returns what the caller gave. Often enough.\n"),
        ("a.h", "/// The same order as in a log. Whose is not said.\n"),
        ("a.cc", "auto Of = What(Who);\n"),
        ("a.cc", 'f("What");\n'),
        ("a.cc", "int a = 1'000;  // it is\nint b = 2'000;\n"),
        ("a.md", "# What it does\n\nIt works.\n"),
        ("a.md", "| What | Of |\n|---|---|\n| a | b |\n"),
        ("a.md", "```\n# What it does.\n```\n"),
        ("a.md", "It ends. `What` begins.\n"),
        ("a.py", "f(What, Of)\n"),
        ("a.toml", 'name = "What"\n'),
    ],
)
def test_another_beginning_is_not(rules, name, text):
    assert rules(name, text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cc", "// A page that nobody reads.\n"),
        ("a.cc", 'TEST("a page that Nobody reads")\n'),
        ("a.py", '"""It is nobody\'s."""\n'),
        ("a.py", "x = f'it is {y} for nobody'\n"),
        ("a.toml", "x = 'to whoever'\n"),
        ("a.md", "# For nobody\n"),
        ("a.md", "```\n# for nobody\n```\n"),
        ("a.md", "| nobody |\n|---|\n"),
    ],
)
def test_a_forbidden_word_is_found(rules, name, text):
    assert [rule for _, rule in rules(name, text)] == ["word"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cc", "int nobody = 0;\n"),
        ("a.md", "The word `nobody` is forbidden.\n"),
        ("a.py", "nobody = 1\n"),
    ],
)
def test_code_is_not_prose(rules, name, text):
    assert rules(name, text) == []


def test_the_script_names_file_line_and_rule(capsys, repository):
    """Only a file of the repository has a name there; this one has breaks by the dozen."""
    here = repository / "tests/python/test_style_rules.py"
    assert main([str(here)]) == 0
    found = check_file(here, "tests/python/test_style_rules.py")
    assert str(found[0]).startswith("tests/python/test_style_rules.py:")
    assert capsys.readouterr().err == "style: clean\n"
