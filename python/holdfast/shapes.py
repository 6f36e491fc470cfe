# SPDX-License-Identifier: Apache-2.0
"""JSON objects as dataclasses, and back. The only place that knows how.

A field takes the value of the same name. A field without a default must be there; names that no
field has are ignored, so that an object may say more than a program reads. A field called `json`
takes the whole object, for a program that hands it on unchanged.
"""

import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from holdfast import errors

Json = dict[str, Any]
T = TypeVar("T")


def decode(kind: type[T], value: Json) -> T:
    """Builds a dataclass. Raises Failure where a field is missing or is no object."""
    if not isinstance(value, dict):
        raise errors.Failure(f"{kind.__name__}: an object is expected, not {value!r:.80}")
    given: Json = {}
    for name, (hint, required) in _fields(kind).items():
        if name == "json":
            given[name] = value
        elif name in value:
            given[name] = _convert(hint, value[name])
        elif required:
            raise errors.Failure(
                f"{kind.__name__} has no '{name}'; the extension module is of another version: "
                "run `make`"
            )
    return kind(**given)


def encode(value: Any) -> Json:
    """The fields of a dataclass by name, nested ones too; those that are None are left out."""
    return {
        field.name: _plain(content)
        for field in fields(value)
        if (content := getattr(value, field.name)) is not None
    }


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return encode(value)
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


@cache
def _fields(kind: type) -> dict[str, tuple[Any, bool]]:
    """Type and necessity of each field by its name."""
    hints = typing.get_type_hints(kind)
    return {
        field.name: (
            hints[field.name],
            field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(kind)
    }


def _convert(hint: Any, value: Any) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if is_dataclass(hint):
        return decode(hint, value)
    if origin is list:
        return [_convert(inner[0], one) for one in value]
    if origin is tuple:
        return tuple(_convert(inner[0], one) for one in value)
    if origin is dict:
        return {name: _convert(inner[1], one) for name, one in value.items()}
    if origin in (types.UnionType, typing.Union):
        shapes = [one for one in inner if is_dataclass(one)]
        return decode(shapes[0], value) if shapes and isinstance(value, dict) else value
    return value
