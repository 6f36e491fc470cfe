# SPDX-License-Identifier: Apache-2.0
"""Does each crash search on the pages of hardware designs still find the loss that it shows?"""

import re
import shlex
from collections.abc import Iterator

import pytest

from style_rules import tracked_files

_PAGES = [path for path in tracked_files() if path.match("docs/reference/hardware/*.md")]
# A command and its lines, each of which ends with a backslash except the last.
_COMMAND = re.compile(r"^    (holdfast crash|\.\.\.) ((?:.*\\\n)*.*)$", re.MULTILINE)


def _commands(text: str) -> Iterator[str]:
    """The arguments of each command. Dots stand for the first command without its last line."""
    beginning = ""
    for start, lines in _COMMAND.findall(text):
        if start == "...":
            yield f"{beginning} {lines}"
        else:
            beginning = lines.rpartition("\\\n")[0]
            yield lines


_COMMANDS = [
    pytest.param(command.replace("\\\n", ""), id=f"{page.stem}-{n}")
    for page in _PAGES
    for n, command in enumerate(_commands(page.read_text()), start=1)
]


def test_pages_have_commands():
    assert len(_COMMANDS) > 10


@pytest.mark.parametrize("command", _COMMANDS)
def test_a_documented_crash_search_finds_a_loss(command: str, invoke):
    result = invoke("crash", *shlex.split(command), "--no-minimise")
    assert result.exit_code == 1, result.output
