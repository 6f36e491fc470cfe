# SPDX-License-Identifier: Apache-2.0
"""Formulas over results, such as `max(tput["one"] / tput["other"])`.

A metric's name with an engine or a design in brackets is a series: one number per point of the
panel's axis. A panel before it, and a figure before both, choose another panel and figure.
Arithmetic and comparisons work point by point; points that only one side has are left out. Numbers
and series mix. A point that was not run makes the formula `not run` if a function looks at it.
Functions:

    peak(s, ...), max(...)      the largest value of series and numbers; min(...) the smallest
    mean(s), gmean(s)           over the axis, arithmetic and geometric
    at(s, x)                    the value at one point; where(s) the point of the largest value
    upto(s, x), beyond(s, x)    the points up to x, and those after it
    only(s, x, ...)             the named points
    larger(s, t, ...)           at each point the largest of several series
    all(s), any(s)              of a series of truths
    first(s), last(s)           the value at the smallest and at the largest point

The text is parsed by Python's ast and walked here; nothing of it is executed.
"""

import ast
import operator
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

Number = int | float | bool
Point = int | float | str


class FormulaError(Exception):
    """The formula makes no sense."""


class NotRun(Exception):
    """A result the formula needs is not there."""


class Series:
    """Values by point, in the order of the axis; and points that were not run, with the reason."""

    def __init__(
        self, values: dict[Point, Number], missing: dict[Point, str] | None = None
    ) -> None:
        self.values, self.missing = values, missing or {}

    def __repr__(self) -> str:
        return f"Series({self.values})"

    def complete(self) -> dict[Point, Number]:
        """All values. Raises NotRun, with the reason, if a point was not run."""
        for reason in self.missing.values():
            raise NotRun(reason)
        return self.values


# metric, figure or None, panel or None, engine or design -> series
Lookup = Callable[[str, str | None, str | None, str], Series]

_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARE = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
}


class Formula:
    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(
                f"({text})", mode="eval"
            ).body  # in brackets: it may run over lines
        except (SyntaxError, ValueError) as error:
            raise FormulaError(f"'{text}' is no formula: {error}") from None
        self.needs: list[tuple[str, str | None, str | None, str]] = []
        if (kind := self._check(self._tree)) != "single":
            hint = "; reduce it with max, at, all or the like" if kind == "series" else ""
            raise FormulaError(f"'{text}' is a {kind}{hint}")

    def evaluate(self, lookup: Lookup) -> tuple[Number, list[str]]:
        """The value, and notes on comparisons that do not hold. Raises NotRun or FormulaError."""
        walker = _Walker(lookup)
        return walker.walk(self._tree), walker.notes

    def _check(self, node: ast.AST) -> str:
        """Returns "series", "single" or "text". Raises FormulaError for a node without a sense."""
        match node:
            case ast.Subscript():
                self.needs.append(_subscript(node))
                return "series"
            case ast.Constant(value=bool() | int() | float()):
                return "single"
            case ast.Constant(value=str()):
                return "text"
            case ast.Call():
                return self._check_call(node)
            case ast.BinOp() if type(node.op) in _BINARY:
                return self._check_pointwise(node, [node.left, node.right])
            case ast.UnaryOp(op=ast.USub()):
                return self._check_pointwise(node, [node.operand])
            case ast.Compare() if all(type(op) in _COMPARE for op in node.ops):
                return self._check_pointwise(node, [node.left, *node.comparators])
            case ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
                sides = node.values if isinstance(node, ast.BoolOp) else [node.operand]
                if {self._check(side) for side in sides} != {"single"}:
                    what = "and/or" if isinstance(node, ast.BoolOp) else "not"
                    raise FormulaError(
                        f"'{ast.unparse(node)}': {what} takes single values; reduce a series with "
                        "all or any"
                    )
                return "single"
        raise FormulaError(f"'{ast.unparse(node)}' is nothing a formula may have")

    def _check_pointwise(self, node: ast.AST, sides: list[ast.AST]) -> str:
        kinds = {self._check(side) for side in sides}
        if "text" in kinds:
            raise FormulaError(f"'{ast.unparse(node)}': texts cannot be compared or computed with")
        return "series" if "series" in kinds else "single"

    def _check_call(self, node: ast.Call) -> str:
        if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS or node.keywords:
            raise FormulaError(
                f"'{ast.unparse(node)}': there are the functions {', '.join(sorted(_FUNCTIONS))}"
            )
        function = _FUNCTIONS[node.func.id]
        given = [self._check(argument) for argument in node.args]
        if not function.takes(given):
            raise FormulaError(f"'{ast.unparse(node)}': {node.func.id} takes {function.arguments}")
        return function.gives


def _subscript(node: ast.Subscript) -> tuple[str, str | None, str | None, str]:
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    constants = [part.value for part in inner if isinstance(part, ast.Constant)]
    texts = [constant for constant in constants if isinstance(constant, str)]
    named = isinstance(node.value, ast.Name) and len(texts) == len(inner)
    if not named or not 1 <= len(texts) <= 3:
        raise FormulaError(
            f'\'{ast.unparse(node)}\': write metric["engine"], metric["panel", "engine"] or '
            'metric["figure", "panel", "engine"]'
        )
    figure, panel, engine = [None] * (3 - len(texts)) + texts
    return node.value.id, figure, panel, engine


class _Walker:
    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self.notes: list[str] = []

    def walk(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Subscript():
                return self._lookup(*_subscript(node))
            case ast.BinOp():
                return _pointwise(
                    _BINARY[type(node.op)], self.walk(node.left), self.walk(node.right)
                )
            case ast.UnaryOp(op=ast.Not()):
                return not self.walk(node.operand)
            case ast.UnaryOp():
                return _pointwise(operator.sub, 0, self.walk(node.operand))
            case ast.BoolOp():
                # No short cut, so that every note is made and every missing cell is found.
                truths = [bool(self.walk(value)) for value in node.values]
                return all(truths) if isinstance(node.op, ast.And) else any(truths)
            case ast.Compare():
                return self._compare(node)
            case ast.Call():
                return self._call(node)
        raise FormulaError(f"'{ast.unparse(node)}' is nothing a formula may have")

    def _compare(self, node: ast.Compare) -> Any:
        sides = [self.walk(side) for side in (node.left, *node.comparators)]
        result: Any = True
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            one = _pointwise(_COMPARE[type(op)], left, right)
            result = _pointwise(lambda a, b: bool(a and b), result, one)
        if result is False:
            self.notes.append(f"{_brief(sides[0])} against {_brief(sides[-1])}")
        return result

    def _call(self, node: ast.Call) -> Any:
        name = node.func.id
        arguments = [self.walk(argument) for argument in node.args]
        try:
            result = _FUNCTIONS[name].apply(*arguments)
        except TypeError:  # such as points that are texts, compared with a number
            raise FormulaError(
                f"'{ast.unparse(node)}': {name} makes no sense on this axis"
            ) from None
        if name == "all" and result is False:
            wrong = [str(x) for x, truth in arguments[0].values.items() if not truth]
            self.notes.append("not at " + ", ".join(wrong))
        return result


def _brief(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else str(value)


def _pointwise(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    try:
        if isinstance(left, Series) and isinstance(right, Series):
            common = {
                x: function(left.values[x], right.values[x])
                for x in left.values
                if x in right.values
            }
            missing = left.missing | right.missing
            if not common:
                reason = next(iter(missing.values()), "the two series have no point in common")
                raise NotRun(reason)
            return Series(common, missing)
        if isinstance(left, Series):
            values = {x: function(value, right) for x, value in left.values.items()}
            return Series(values, left.missing)
        if isinstance(right, Series):
            values = {x: function(left, value) for x, value in right.values.items()}
            return Series(values, right.missing)
        return function(left, right)
    except ZeroDivisionError:
        raise NotRun("division by zero: a result is 0") from None


def _values(arguments: tuple) -> list[Number]:
    values: list[Number] = []
    for argument in arguments:
        values += argument.complete().values() if isinstance(argument, Series) else [argument]
    return values


def _part(series: Series, keep: Callable[[Point], bool], what: str) -> Series:
    kept = {x: value for x, value in series.values.items() if keep(x)}
    missing = {x: reason for x, reason in series.missing.items() if keep(x)}
    if not kept:
        raise NotRun(next(iter(missing.values()), f"no point {what}"))
    return Series(kept, missing)


def _at(series: Series, x: Point) -> Number:
    return next(iter(_part(series, lambda point: point == x, f"at {x}").values.values()))


def _gmean(series: Series) -> Number:
    values = series.complete().values()
    if min(values) <= 0:
        raise NotRun("a geometric mean needs results above 0")
    return statistics.geometric_mean(values)


@dataclass(frozen=True)
class _Function:
    apply: Callable[..., Any]
    arguments: str  # in words
    # A kind for each argument: series, point (a number or a text), or value (a series or a number).
    shape: tuple[str, ...] = ("series",)
    more: bool = False  # any number of the last one
    gives: str = "single"

    def takes(self, given: list[str]) -> bool:
        shape = list(self.shape)
        if self.more and len(given) > len(shape):
            shape += shape[-1:] * (len(given) - len(shape))
        fits = {"series": {"series"}, "point": {"single", "text"}, "value": {"series", "single"}}
        return len(given) == len(shape) and all(
            a in fits[b] for a, b in zip(given, shape, strict=True)
        )


_SOME = {"arguments": "series and numbers", "shape": ("value",), "more": True}
_ONE = {"arguments": "a series"}
_PART = {"arguments": "a series and a point", "shape": ("series", "point")}

_FUNCTIONS: dict[str, _Function] = {
    "peak": _Function(lambda *s: max(_values(s)), **_SOME),
    "max": _Function(lambda *s: max(_values(s)), **_SOME),
    "min": _Function(lambda *s: min(_values(s)), **_SOME),
    "mean": _Function(lambda s: sum(s.complete().values()) / len(s.values), **_ONE),
    "gmean": _Function(_gmean, **_ONE),
    "at": _Function(_at, **_PART),
    "where": _Function(lambda s: max(s.complete(), key=lambda x: s.values[x]), **_ONE),
    "upto": _Function(
        lambda s, x: _part(s, lambda point: point <= x, f"up to {x}"), **_PART, gives="series"
    ),
    "beyond": _Function(
        lambda s, x: _part(s, lambda point: point > x, f"beyond {x}"), **_PART, gives="series"
    ),
    "only": _Function(
        lambda s, *xs: _part(s, lambda point: point in xs, "among " + ", ".join(map(str, xs))),
        arguments="a series and points",
        shape=("series", "point"),
        more=True,
        gives="series",
    ),
    "larger": _Function(
        lambda *s: reduce(lambda a, b: _pointwise(max, a, b), s),
        arguments="several series",
        shape=("series", "series"),
        more=True,
        gives="series",
    ),
    "all": _Function(lambda s: all(s.complete().values()), **_ONE),
    "any": _Function(lambda s: any(s.complete().values()), **_ONE),
    "first": _Function(lambda s: next(iter(s.complete().values())), **_ONE),
    "last": _Function(lambda s: list(s.complete().values())[-1], **_ONE),
}
