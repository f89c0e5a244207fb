"""A small tolerant reader of JSON5, enough for another program's settings: comments, trailing commas, bare keys."""

from __future__ import annotations

import json
import re
from typing import Any

_TOKEN = re.compile(
    r"""
      (?P<space> \s+ | //[^\n]* | /\*.*?\*/ )
    | (?P<text> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
    | (?P<mark> [{}\[\]:,] )
    | (?P<word> [^\s{}\[\]:,"'/]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_WORDS = {"true": True, "false": False, "null": None, "undefined": None}


def loads(text: str) -> Any:
    """The value that the text holds; `ValueError` when it is none."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    tokens = _tokens(text.removeprefix("\ufeff"))
    try:
        value, at = _value(tokens, 0)
    except (IndexError, RecursionError) as trouble:
        raise ValueError("unexpected end") from trouble
    if at != len(tokens):
        raise ValueError("text behind the value")
    return value


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match or not match.lastgroup:
            raise ValueError(f"unexpected character at {at}")
        if match.lastgroup != "space":
            found.append((match.lastgroup, match[0]))
        at = match.end()
    return found


def _value(tokens: list[tuple[str, str]], at: int) -> tuple[Any, int]:
    kind, piece = tokens[at]
    if piece == "{" and kind == "mark":
        return _object(tokens, at + 1)
    if piece == "[" and kind == "mark":
        return _array(tokens, at + 1)
    if kind == "text":
        return _unquote(piece), at + 1
    if kind == "word":
        return _word(piece), at + 1
    raise ValueError(f"unexpected {piece}")


def _object(tokens: list[tuple[str, str]], at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while tokens[at] != ("mark", "}"):
        kind, piece = tokens[at]
        if kind == "mark" or tokens[at + 1] != ("mark", ":"):
            raise ValueError(f"unexpected {piece}")
        key = _unquote(piece) if kind == "text" else piece
        found[key], at = _value(tokens, at + 2)
        at = _after_comma(tokens, at, "}")
    return found, at + 1


def _array(tokens: list[tuple[str, str]], at: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while tokens[at] != ("mark", "]"):
        value, at = _value(tokens, at)
        found.append(value)
        at = _after_comma(tokens, at, "]")
    return found, at + 1


def _after_comma(tokens: list[tuple[str, str]], at: int, closing: str) -> int:
    if tokens[at] == ("mark", ","):
        return at + 1
    if tokens[at] != ("mark", closing):
        raise ValueError(f"unexpected {tokens[at][1]}")
    return at


def _unquote(token: str) -> str:
    def plain(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) > 1 and escape[0] in "ux":
            return chr(int(escape[1:], 16))
        return _PLAIN.get(escape, escape)

    text = _ESCAPE.sub(plain, token[1:-1])
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _word(token: str) -> Any:
    if token in _WORDS:
        return _WORDS[token]
    try:
        return int(token, 0)
    except ValueError:
        return float(token)
