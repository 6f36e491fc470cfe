# SPDX-License-Identifier: Apache-2.0
"""Writes many mutants into the same sources, so that one build serves all of them.

Each statement with a mutant gets a choice between its two forms, which the program makes at run
time (chosen.h). That is possible for whole statements, conditions, values of variables and numbers.
It is not for what the compiler has to know: constants, types, declarations. Such mutants are left
to builds of their own.
"""

import re
from pathlib import Path

HEADER = Path(__file__).resolve().parent / "chosen.h"

COMMENT = re.compile(r'^((?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*)//.*$')
CONDITION = re.compile(r"^(\} else )?(if|while) \((.*)\)((?: \[\[\w+\]\])?) \{$")
LOOP = re.compile(r"^for \((.*)\) \{$")
FUNCTION = re.compile(r"^(.*\)(?: const)?(?: noexcept)?(?: override)?) \{ (.*;) \}$")
TYPE = r"[\w:]+(?:<.*>)?[ *&]+(?:const )?"
# A declaration with a value: its type and name, and the value.
VARIABLE = re.compile(rf"^((?:const |static |volatile |inline )*{TYPE}\w+) = (.*);$")
# Other declarations, and statements that are none by themselves.
NO_STATEMENT = (
    "const|static|auto|using|typedef|struct|class|enum|union|case|default|goto|template|else|"
    "friend|virtual|explicit|inline|typename|try|catch|do|switch|public|private|protected"
)
FUNCTION_END = r"\(.*\)(?: const)?(?: noexcept)?(?: override)?;"
DECLARES = re.compile(rf"^(?:(?:{NO_STATEMENT})\b|{TYPE}\w+(?:;|\{{|\[|{FUNCTION_END}))")
KEYWORDS = re.compile(r"^(?:return|delete|throw|co_return|new)\b")
ASSIGNMENT = re.compile(r"(?<![=!<>+\-|&*/%^])=(?!=)")
NUMBER = re.compile(r"\b\d+\b")
KNOWN_AT_COMPILE_TIME = re.compile(r"\b(constexpr|consteval|constinit|static_assert)\b")


def code_of(line: str) -> str:
    """Returns a line without its comment and the space around it."""
    found = COMMENT.match(line)
    return (found[1] if found else line).strip()


def is_end(line: str) -> bool:
    """Does a statement end with this line, or is it none?"""
    code = code_of(line)
    return not code or code[-1] in ";{}:" or code[0] == "#"


def balanced(text: str) -> bool:
    """Is each parenthesis closed, outside of strings?"""
    open_ones: list[str] = []
    pairs = {")": "(", "]": "[", "}": "{"}
    for c in re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'', "", text):
        if c in "([{":
            open_ones.append(c)
        elif c in pairs and (not open_ones or open_ones.pop() != pairs[c]):
            return False
    return not open_ones


def split_at(text: str, mark: str) -> list[str]:
    """Splits a text where the mark stands outside of parentheses."""
    parts, depth, begin = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == mark and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]]


def constant_context(lines: list[str], at: int) -> bool:
    """Does the compiler have to know the value: is it a constant, or in a function of such?"""
    indent = len(lines[at]) - len(lines[at].lstrip())
    if KNOWN_AT_COMPILE_TIME.search(lines[at]):
        return True
    for line in reversed(lines[:at]):
        own = len(line) - len(line.lstrip())
        if line.strip() and own < indent:
            if KNOWN_AT_COMPILE_TIME.search(line.replace("if constexpr", "")):
                return True
            indent = own
        if indent == 0:
            return False
    return False


def choice(number: int, mutated: str, usual: str) -> str:
    return f"(holdfast_mutants::chosen({number}) ? ({mutated}) : ({usual}))"


def either(number: int, mutated: str, usual: str) -> str:
    return f"if (holdfast_mutants::chosen({number})) {{ {mutated} }} else {{ {usual} }}"


def is_statement(code: str) -> bool:
    if not code.endswith(";") or not balanced(code):
        return False
    return bool(KEYWORDS.match(code)) or not (DECLARES.match(code) or VARIABLE.match(code))


def with_condition(number: int, mutated: str, usual: str) -> str | None:
    one, two = CONDITION.match(mutated), CONDITION.match(usual)
    if not one or not two or not balanced(usual[:-1].replace("} else", "")):
        return None
    *first, new = split_at(one[3], ";")  # with what it declares, if anything
    *other, old = split_at(two[3], ";")
    if first != other or any(ASSIGNMENT.search(c) for c in (new, old)):
        return None
    chosen = choice(number, f"static_cast<bool>({new})", f"static_cast<bool>({old})")
    return f"{two[1] or ''}{two[2]} ({'; '.join([*first, chosen])}){two[4]} {{"


def with_loop(number: int, mutated: str, usual: str) -> str | None:
    one, two = LOOP.match(mutated), LOOP.match(usual)
    if not one or not two:
        return None
    news, parts = split_at(one[1], ";"), split_at(two[1], ";")
    if len(news) != 3 or len(parts) != 3:
        return None
    news, parts = [n.strip() for n in news], [p.strip() for p in parts]
    differing = [i for i in range(3) if news[i] != parts[i]]
    if len(differing) != 1:
        return None
    changed = differing[0]
    if changed == 0:
        name, value = VARIABLE.match(news[0] + ";"), VARIABLE.match(parts[0] + ";")
        if not name or not value or name[1] != value[1] or len(split_at(parts[0], ",")) > 1:
            return None
        parts[0] = f"{value[1]} = {choice(number, name[2], value[2])}"
    elif changed == 1 and news[1] and parts[1]:
        parts[1] = choice(number, news[1], parts[1])
    elif changed == 2 and news[2] and parts[2]:
        parts[2] = choice(number, f"void({news[2]})", f"void({parts[2]})")
    else:
        return None
    return f"for ({'; '.join(parts)}) {{"


def with_variable(number: int, mutated: str, usual: str) -> str | None:
    one, two = VARIABLE.match(mutated), VARIABLE.match(usual)
    if not one or not two or one[1] != two[1] or not balanced(usual) or not balanced(mutated):
        return None
    if two[2].startswith("{") or "[" in two[2][:1]:  # a list of values, a lambda
        return None
    return f"{two[1]} = {choice(number, one[2], two[2])};"


def with_function(number: int, mutated: str, usual: str) -> str | None:
    one, two = FUNCTION.match(mutated), FUNCTION.match(usual)
    if not one or not two or one[1] != two[1] or not balanced(usual):
        return None
    return f"{two[1]} {{ {either(number, one[2], two[2])} }}"


def with_number(number: int, mutated: str, usual: str) -> str | None:
    """A number within an expression of any kind."""
    for found in NUMBER.finditer(usual):
        for new in (f"({found[0]} + 1)", f"({found[0]} - 1)"):
            if usual[: found.start()] + new + usual[found.end() :] == mutated:
                both = choice(number, new, found[0])
                return usual[: found.start()] + both + usual[found.end() :]
    return None


def with_choice(number: int, mutated: str, usual: str) -> str | None:
    """Returns a statement that has both forms; nothing where that is impossible."""
    if is_statement(usual) and (mutated == "{}" or is_statement(mutated)):
        return either(number, mutated, usual)
    for way in (with_condition, with_loop, with_variable, with_function, with_number):
        if (both := way(number, mutated, usual)) is not None:
            return both
    return None


class Combined:
    """A source with several mutants. Lines keep their numbers."""

    def __init__(self, text: str) -> None:
        self.usual = text.splitlines(keepends=True)
        self.chosen: dict[int, list[str]] = {}  # first line of a statement, from 0: its new lines
        self.mutants: dict[int, int] = {}  # line, from 0: the number of its mutant

    def add(self, number: int, line: int, taken: int, text: str) -> bool:
        """Adds the mutant whose `text` takes the place of `taken` lines from `line` (from 1) on.

        Returns whether it could be added.
        """
        at = line - 1
        first, last = at, at + taken - 1
        if taken == 1:
            while first > 0 and not is_end(self.usual[first - 1]):
                first -= 1
            while last + 1 < len(self.usual) and not is_end(self.usual[last]):
                last += 1
        lines = range(first, last + 1)
        if first == 0 or any(i in self.mutants for i in lines):
            return False
        if constant_context(self.usual, first):
            return False
        before = [code_of(self.usual[i]) for i in lines]
        after = [code_of(t) for t in text.splitlines()]
        if taken == 2:
            if not all(is_statement(code) for code in before):
                return False
            both = either(number, " ".join(after), " ".join(before))
        else:
            after = before[: at - first] + after + before[at - first + 1 :]
            both = with_choice(number, " ".join(after), " ".join(before))
        if both is None:
            return False
        self.chosen[first] = [both + "\n"] + ["\n"] * (last - first)
        self.mutants |= dict.fromkeys(lines, number)
        return True

    def drop(self, number: int) -> None:
        """Takes a mutant out again."""
        lines = [line for line, other in self.mutants.items() if other == number]
        self.chosen.pop(min(lines))
        for line in lines:
            del self.mutants[line]

    def mutant_at(self, line: int) -> int | None:
        """Returns the number of the mutant that has a line (from 1)."""
        return self.mutants.get(line - 1)

    def text(self) -> str:
        if not self.chosen:
            return "".join(self.usual)
        lines = list(self.usual)
        for first, new in self.chosen.items():
            lines[first : first + len(new)] = new
        lines[0] = f'#include "{HEADER}"\n'  # instead of the licence, so that lines keep numbers
        return "".join(lines)
