# SPDX-License-Identifier: Apache-2.0
"""The mechanical part of the house's style, as a check that runs on any file or folder.

    python tests/python/style_rules.py [--count] [PATH ...]

Prints `path:line: rule: detail` for each break of a rule and exits with 1 if there is one.
Without a path it checks the whole repository. `--count` prints breaks per folder instead.

- `width`: a line has at most 100 columns. Markdown's table rows and lines that are mainly an
  address are exempt.
- `beginning`: no sentence begins with one of the words in FORBIDDEN_BEGINNINGS. Questions,
  Markdown's headings and the header rows of its tables are exempt.
- `word`: comments and prose avoid the words in FORBIDDEN_WORDS.

Prose is: comments, docstrings, string literals and Markdown outside of code.
"""

import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
MOST_COLUMNS = 100
FORBIDDEN_BEGINNINGS = ("Who", "Whoever", "What", "Of", "That of", "Nobody")
FORBIDDEN_WORDS = ("whoever", "nobody")

# Files with text of others, or with examples of broken rules.
EXEMPT = {"LICENSE", "tests/python/style_rules.py", "tests/python/test_style_rules.py"}

# Folders that tools make.
_MADE = {".git", "build", "out", ".venv", "__pycache__", ".pytest_cache", ".ruff_cache"}

_C_SUFFIXES = {".h", ".cc", ".c"}
_HASH_SUFFIXES = {".cmake", ".sh", ".properties", ".txt", ".yaml", ".yml", ".clang-tidy"}
_HASH_SUFFIXES |= {".clang-format", ".gitignore"}
_HASH_NAMES = {"Makefile", "run", ".clang-tidy", ".clang-format", ".gitignore"}

# A literal with fewer words is a name, a heading or a piece of a message.
_FEWEST_WORDS = 4


@dataclass(frozen=True)
class Break:
    """One place where a file breaks a rule."""

    path: str
    line: int
    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.detail}"


@dataclass
class Passage:
    """Prose that belongs together: a comment, a literal, a Markdown paragraph or a table's cell.

    `sentences` is false for headings, where only forbidden words are checked. `fragments` is true
    where text without a capital may begin a sentence, as in comments.
    """

    lines: list[tuple[int, str]] = field(default_factory=list)
    sentences: bool = True
    fragments: bool = False
    fewest_words: int = 0

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.lines)

    def line_at(self, offset: int) -> int:
        return self.lines[self.text.count("\n", 0, offset)][0]


# ---- the rules -----------------------------------------------------------------------------------

_ADDRESS = re.compile(r"\S*\w+://\S+")
_BEFORE = r"""(?:\A[\s"'(*_]*|[.!?]["')*_]*\s+["'(*_]*|:\s+)"""
_BEGINNING = re.compile(_BEFORE + rf"({'|'.join(sorted(FORBIDDEN_BEGINNINGS, reverse=True))})\b")
# "The same" with no noun behind it.
_THE_SAME = re.compile(
    _BEFORE + r"(The same)(?=\s*[.,;:)]|\s+(?:as|for|with|in|again|is|of|holds|goes|from|on|at|to"
    r"|by|where|when|but|and|if|over|under|without|after|before|while|through)\b)"
)
_LOWER_BEGINNING = re.compile(r"\A[\s\"'(*_]*(who|whoever|nobody|that of)\b")
_WORD = re.compile(rf"\b({'|'.join(FORBIDDEN_WORDS)})(?:'s)?\b", re.IGNORECASE)
_END = re.compile(r"""[.!?](?=["')*_]*(?:\s+["'(*_]*[A-Z`]|\s*\Z))""")


def is_too_wide(line: str, *, markdown: bool = False) -> bool:
    """True for a line over the limit, except table rows and lines that are mainly an address."""
    width = len(line.expandtabs())
    if width <= MOST_COLUMNS or (markdown and line.lstrip().startswith("|")):
        return False
    address = max((len(match[0]) for match in _ADDRESS.finditer(line)), default=0)
    return address * 2 < width


def _is_question(text: str, begin: int) -> bool:
    end = _END.search(text, begin)
    return end is not None and end[0] == "?"


def beginnings(passage: Passage) -> Iterator[tuple[int, str]]:
    """(line, beginning) of each sentence that begins as none may."""
    text = passage.text
    if not passage.sentences or len(text.split()) < passage.fewest_words:
        return
    found = [*_BEGINNING.finditer(text), *_THE_SAME.finditer(text)]
    if passage.fragments:
        found += _LOWER_BEGINNING.finditer(text)
    for match in sorted(found, key=lambda m: m.start(1)):
        if not _is_question(text, match.start(1)):
            yield passage.line_at(match.start(1)), match[1]


def words(passage: Passage) -> Iterator[tuple[int, str]]:
    """(line, word) of each forbidden word."""
    text = passage.text
    for match in _WORD.finditer(text):
        yield passage.line_at(match.start()), match[0]


# ---- prose of a file -----------------------------------------------------------------------------

_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_CODE = re.compile(r"(`+)(?!`).+?\1", re.DOTALL)
_CELLS = re.compile(r"\s{3,}|\s+\|\s+")


def _without_code(text: str) -> str:
    """Replaces inline code by as many backticks, line breaks kept."""
    return _CODE.sub(lambda m: re.sub(r"[^\n]", "`", m[0]), text)


def _paragraphs(lines: list[tuple[int, str]], *, fragments: bool, fewest: int) -> Iterator[Passage]:
    """Splits at empty lines, at items of lists and at rows of tables."""
    clean = _without_code("\n".join(text for _, text in lines)).split("\n")
    current: list[tuple[int, str]] = []

    def passage(content: list[tuple[int, str]], *, cell: bool = False) -> Passage:
        return Passage(content, fragments=fragments and not cell, fewest_words=fewest)

    for (number, _), text in zip(lines, clean, strict=True):
        cells = [cell for cell in _CELLS.split(text.strip(" |")) if cell]
        item = _ITEM.match(text)
        if (not text.strip() or len(cells) > 1 or item) and current:
            yield passage(current)
            current = []
        if len(cells) > 1:
            yield from (passage([(number, cell)], cell=True) for cell in cells)
        elif item:
            current.append((number, text[item.end() :]))
        elif text.strip():
            current.append((number, text))
    if current:
        yield passage(current)


def _comments(found: Iterable[tuple[int, int, str]]) -> Iterator[Passage]:
    """Joins comments of (line, column, text) that stand below each other in the same column."""
    block: list[tuple[int, str]] = []
    place = (0, 0)
    for line, column, text in found:
        if "SPDX-License-Identifier" in text:
            continue
        if block and place != (line - 1, column):
            yield from _paragraphs(block, fragments=True, fewest=0)
            block = []
        block.append((line, text))
        place = (line, column)
    if block:
        yield from _paragraphs(block, fragments=True, fewest=0)


def _literal(lines: list[tuple[int, str]], fewest: int = _FEWEST_WORDS) -> Iterator[Passage]:
    """A literal's text, where an escaped line break begins a paragraph."""
    split: list[tuple[int, str]] = []
    for number, text in lines:
        pieces = text.replace("\\t", " ").replace('\\"', '"').split("\\n")
        for index, piece in enumerate(pieces):
            split += [(number, ""), (number, piece)] if index else [(number, piece)]
    yield from _paragraphs(split, fragments=False, fewest=fewest)


_C_TOKEN = re.compile(
    r"""
      //(?P<line>[^\n]*)
    | /\*(?P<block>.*?)\*/
    | \bR"(?P<fence>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=fence)"
    | "(?P<string>(?:[^"\\\n]|\\.)*)"
    | (?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'
    """,
    re.VERBOSE | re.DOTALL,
)


def _c_prose(text: str) -> Iterator[Passage]:
    comments: list[tuple[int, int, str]] = []
    literal: list[tuple[int, str]] = []
    literal_end = 0
    line = 1
    position = 0
    for match in _C_TOKEN.finditer(text):
        line += text.count("\n", position, match.start())
        position = match.start()
        column = match.start() - text.rfind("\n", 0, match.start())
        if match["line"] is not None:
            comments.append((line, column, match["line"].lstrip("/!<")))
        elif match["block"] is not None:
            pieces = match["block"].split("\n")
            comments += [(line + i, column, p.lstrip(" *")) for i, p in enumerate(pieces)]
        elif match["string"] is not None or match["raw"] is not None:
            if literal and text[literal_end : match.start()].strip():
                yield from _literal(literal)
                literal = []
            content = match["string"] if match["raw"] is None else match["raw"]
            literal += [(line + i, p) for i, p in enumerate(content.split("\n"))]
            literal_end = match.end()
    if literal:
        yield from _literal(literal)
    yield from _comments(comments)


_STRING_PREFIX = re.compile(r"(?i)^[rbuf]*(\"\"\"|'''|\"|')")


def _python_prose(path: Path) -> Iterator[Passage]:
    comments: list[tuple[int, int, str]] = []
    literal: list[tuple[int, str]] = []
    fewest = _FEWEST_WORDS
    middle = getattr(tokenize, "FSTRING_MIDDLE", -1)  # since Python 3.12
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            line, column = token.start
            if token.type == tokenize.COMMENT:
                comments.append((line, column, token.string.lstrip("#!")))
            elif token.type == tokenize.STRING:
                prefix = _STRING_PREFIX.match(token.string)
                quote = len(prefix[1])
                fewest = 0 if quote == 3 else _FEWEST_WORDS
                content = token.string[prefix.end() : -quote]
                literal += [(line + i, p) for i, p in enumerate(content.split("\n"))]
            elif token.type == middle:
                literal += [(line + i, p) for i, p in enumerate(token.string.split("\n"))]
            elif token.type != tokenize.NL and literal:
                yield from _literal(literal, fewest)
                literal = []
    yield from _comments(comments)


# A comment begins at a # that a space or the line's beginning precedes, outside of quotes.
_HASH = re.compile(r"""^(?:[^"'#]|"(?:[^"\\]|\\.)*"|'[^']*'|(?<=\S)#|["'])*?(?<!\S)#(.*)""")


def _hash_prose(text: str) -> Iterator[Passage]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if match := _HASH.match(line):
            found.append((number, match.start(1), match[1].lstrip("#")))
    yield from _comments(found)


_TOML_TOKEN = re.compile(
    r'''
      \#(?P<comment>[^\n]*)
    | """(?P<long>.*?)"""
    | \'\'\'(?P<rawlong>.*?)\'\'\'
    | "(?P<string>(?:[^"\\\n]|\\.)*)"
    | '(?P<raw>[^'\n]*)'
    ''',
    re.VERBOSE | re.DOTALL,
)


def _toml_prose(text: str) -> Iterator[Passage]:
    comments = []
    for match in _TOML_TOKEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        column = match.start() - text.rfind("\n", 0, match.start())
        if match["comment"] is not None:
            comments.append((line, column, match["comment"]))
            continue
        content = next(part for part in match.groups() if part is not None)
        pieces = [piece.rstrip("\\") for piece in content.split("\n")]
        yield from _literal([(line + i, piece) for i, piece in enumerate(pieces)])
    yield from _comments(comments)


_LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
_RULER = re.compile(r"^\s*\|?[\s:|-]*-{2,}[\s:|-]*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_HTML_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def _markdown_prose(text: str) -> Iterator[Passage]:
    text = _HTML_COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    lines = text.splitlines()
    paragraph: list[tuple[int, str]] = []
    fence = ""

    def finish() -> Iterator[Passage]:
        if paragraph:
            clean = _without_code("\n".join(line for _, line in paragraph))
            clean = _LINK.sub(lambda m: m[1], clean).replace("**", "").replace("__", "")
            numbers = [number for number, _ in paragraph]
            yield Passage(list(zip(numbers, clean.split("\n"), strict=False)))
            paragraph.clear()

    for number, line in enumerate(lines, 1):
        if match := _FENCE.match(line):
            if not fence:
                yield from finish()
                fence = match[1]
            elif match[1] == fence:
                fence = ""
            continue
        if fence:
            yield Passage([(number, line)], sentences=False)
            continue
        stripped = line.lstrip(" >")
        following = lines[number] if number < len(lines) else ""
        if stripped.startswith("|"):
            yield from finish()
            header = bool(_RULER.match(following)) and "|" in following
            cells = _LINK.sub(lambda m: m[1], _without_code(stripped)).split("|")
            for cell in cells:
                clean = cell.replace("**", "").strip()
                yield Passage([(number, clean)], sentences=not header)
        elif stripped.startswith("#"):
            yield from finish()
            yield Passage([(number, _without_code(stripped))], sentences=False)
        elif not stripped:
            yield from finish()
        elif item := _ITEM.match(stripped):
            yield from finish()
            paragraph.append((number, stripped[item.end() :]))
        elif not paragraph and line.startswith("    "):
            continue  # an indented block of code
        else:
            paragraph.append((number, stripped))
    yield from finish()


def _kind(path: Path) -> str:
    name = path.name.removesuffix(".in")
    suffix = Path(name).suffix
    if suffix in _C_SUFFIXES:
        return "c"
    if suffix in {".py", ".md", ".toml"}:
        return suffix[1:]
    if suffix in _HASH_SUFFIXES or name in _HASH_NAMES:
        return "hash"
    return "other"


def prose(path: Path) -> Iterator[Passage]:
    """All passages of prose in a file."""
    kind = _kind(path)
    if kind == "py":
        yield from _python_prose(path)
        return
    text = path.read_text()
    readers = {"c": _c_prose, "md": _markdown_prose, "toml": _toml_prose, "hash": _hash_prose}
    if kind in readers:
        yield from readers[kind](text)


# ---- files ---------------------------------------------------------------------------------------


def check_file(path: Path, name: str | None = None) -> list[Break]:
    """Breaks in one file, in the order of lines. Empty for a file that is no text."""
    name = name or str(path)
    try:
        lines = path.read_text().splitlines()
    except UnicodeDecodeError:
        return []
    markdown = _kind(path) == "md"
    found = [
        Break(name, number, "width", f"{len(line.expandtabs())} columns")
        for number, line in enumerate(lines, 1)
        if is_too_wide(line, markdown=markdown)
    ]
    for passage in prose(path):
        for line, text in beginnings(passage):
            found.append(Break(name, line, "beginning", f'a sentence begins with "{text}"'))
        for line, text in words(passage):
            found.append(Break(name, line, "word", f'"{text}"'))
    return sorted(found, key=lambda b: (b.line, b.rule))


def tracked_files(paths: Iterable[Path] = ()) -> list[Path]:
    """The project's files below `paths`, or all: those git tracks or would track.

    Without git, those that no tool has made.
    """
    limits = [path.resolve() for path in paths] or [REPOSITORY]
    listing = subprocess.run(
        ["git", "-C", str(REPOSITORY), "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0 and listing.stdout:
        found = {REPOSITORY / line for line in listing.stdout.splitlines()}
    else:
        found = set(REPOSITORY.rglob("*"))
    return sorted(
        path
        for path in found
        if path.is_file()
        and not _MADE & set(path.relative_to(REPOSITORY).parts)
        and any(path.is_relative_to(limit) for limit in limits)
    )


def check(paths: Iterable[Path] = ()) -> list[Break]:
    """Breaks in all files below `paths`, or in the whole repository."""
    found: list[Break] = []
    for path in tracked_files(paths):
        name = str(path.relative_to(REPOSITORY))
        if name not in EXEMPT:
            found += check_file(path, name)
    return found


def main(arguments: list[str]) -> int:
    count = "--count" in arguments
    found = check([Path(a) for a in arguments if a != "--count"])
    if count:
        folders = Counter((str(Path(b.path).parent), b.rule) for b in found)
        for (folder, rule), number in sorted(folders.items()):
            print(f"{number:6} {rule:9} {folder}")
    else:
        print("\n".join(map(str, found)))
    print(f"{len(found)} breaks of the style's rules" if found else "style: clean", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
