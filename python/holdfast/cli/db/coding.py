# SPDX-License-Identifier: Apache-2.0
"""Bytes as text: on the command line, in CSV and in JSON."""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from holdfast import errors

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PLAIN = {"\\": b"\\", "n": b"\n", "r": b"\r", "t": b"\t"}
_ESCAPED = re.compile(r"\\(x[0-9a-fA-F]{2}|[\\nrt])|\\", re.DOTALL)


def _escape(character: str) -> str:
    """Escapes backslashes, control characters, and the surrogates of bytes that are not UTF-8."""
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:
        return f"\\x{number - 0xDC00:02x}"
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\x{number:02x}" if number < 0x20 or number == 0x7F else character


def _unescape(text: str) -> bytes:
    parts, at = [], 0
    for match in _ESCAPED.finditer(text):
        parts.append(text[at : match.start()].encode())
        escape = match[1]
        if escape is None:
            raise ValueError("a backslash that begins no escape; \\\\ stands for one")
        parts.append(bytes.fromhex(escape[1:]) if escape[0] == "x" else _PLAIN[escape])
        at = match.end()
    return b"".join([*parts, text[at:].encode()])


def is_text(value: Any) -> bool:
    """True for text that UTF-8 can express. Arguments and JSON may have lone surrogates."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


@dataclass(frozen=True)
class Coding:
    encode: Callable[[bytes], str]
    decode: Callable[[str], bytes]


class Bytes(StrEnum):
    """The names of --bytes."""

    text = "text"
    escape = "escape"
    hex = "hex"
    base64 = "base64"

    def encode_bytes(self, content: bytes) -> str:
        try:
            return _CODINGS[self].encode(content)
        except UnicodeDecodeError:
            raise errors.BadUsage(
                f"{content[:40]!r} is not UTF-8 text; use --bytes escape, hex or base64"
            ) from None

    def decode_text(self, text: str, what: str) -> bytes:
        try:
            return _CODINGS[self].decode(text)
        except (ValueError, binascii.Error) as error:
            why = str(error)
            if isinstance(error, UnicodeEncodeError):
                why = r"it is not UTF-8; --bytes escape takes \xff for such a byte"
            raise errors.BadUsage(f"{what} is not --bytes {self.value}: {why}") from None


_CODINGS = {
    Bytes.text: Coding(lambda content: content.decode(), lambda text: text.encode()),
    Bytes.escape: Coding(
        lambda content: "".join(map(_escape, content.decode("utf-8", "surrogateescape"))), _unescape
    ),
    Bytes.hex: Coding(bytes.hex, bytes.fromhex),
    Bytes.base64: Coding(
        lambda content: base64.b64encode(content).decode(),
        lambda text: base64.b64decode(text, validate=True),
    ),
}

AsText = Annotated[
    Bytes,
    typer.Option("--bytes", help="The encoding of keys and values as text; `text` is UTF-8."),
]
