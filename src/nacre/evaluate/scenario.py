"""A scenario as it is given: a folder with transcripts and gold.json, with pairs of statements in relations.jsonl; or such pairs alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import BadInput

Gold = Mapping[str, Any]
Pair = Mapping[str, str]


@dataclass(frozen=True)
class Scenario:
    path: Path
    gold: Gold | None  # None for pairs alone
    pairs: tuple[Pair, ...]

    @property
    def orders(self) -> int:
        """About how many orders a model will be given: for each session and day, for each day to distil and to digest it, for each pair."""
        index = self.gold["index"].values() if self.gold else ()
        days = [row.get("local_dates", [""]) for row in index if row["capturable"] and not row.get("group")]
        return sum(map(len, days)) + 2 * len({day for some in days for day in some}) + len(self.pairs)


def read_scenario(path: Path) -> Scenario:
    if path.suffix == ".jsonl" and path.is_file():
        return Scenario(path, None, _read_pairs(path))
    labels, relations = path / "gold.json", path / "relations.jsonl"
    if not labels.is_file():
        raise BadInput(
            f"{path} contains no gold.json. Pass a folder with transcripts and labels, or a .jsonl file of statement pairs.",
            f"{path} 中没有 gold.json。请指定含会话记录和标注的文件夹，或由语句对组成的 .jsonl 文件。",
        )
    gold = _checked(labels, _parsed(labels, labels.read_bytes()), _GOLD)
    lists: Gold = {name: [] for name, about in _GOLD["properties"].items() if about["type"] == "array"}
    return Scenario(path, {**lists, **gold}, _read_pairs(relations) if relations.is_file() else ())


def _read_pairs(path: Path) -> tuple[Pair, ...]:
    pairs = [_parsed(path, line) for line in path.read_bytes().splitlines() if line.strip()]
    return tuple(_checked(path, pairs, _PAIRS))


def _parsed(path: Path, data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not valid JSON: {error}.", f"{path} 不是有效的 JSON：{error}。") from error


def _checked(path: Path, value: Any, schema: Mapping[str, Any]) -> Any:
    """The value when it has the form of the schema; else an error that names the place."""
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(value))
    if error is None:
        return value
    place = "/" + "/".join(map(str, error.absolute_path))
    raise BadInput(
        f"{path} is not a valid scenario: {place}: {error.message}.",
        f"{path} 的 {place} 处格式不正确：{error.message}。",
    )


# The form.

_TEXT, _DAY = {"type": "string"}, {"type": "string", "format": "date"}
_PATTERNS = {"type": "array", "items": {"type": "string", "format": "regex"}, "minItems": 1}
_YES_OR_NO = {"type": "boolean"}


def _rows(texts: str = "", patterns: str = "", **more: Any) -> dict[str, Any]:
    """Rows that have texts, lists of patterns, and more."""
    named = dict.fromkeys(texts.split(), _TEXT) | dict.fromkeys(patterns.split(), _PATTERNS) | more
    return {"type": "array", "items": {"type": "object", "properties": named, "required": [*named]}}


_PAIRS = _rows("old new", label={"enum": ["same", "replaces", "adds", "exception", "ask"]})
_SESSION = {"type": "object", "properties": {"capturable": _YES_OR_NO}, "required": ["capturable"]}
_QUERIES = _rows("id q kind")
_QUERIES["items"] |= {"if": {"not": {"properties": {"kind": {"const": "abstain"}}}}, "then": {"properties": {"answer_match": _PATTERNS}, "required": ["answer_match"]}}  # fmt: skip
_GOLD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "timezone": _TEXT,
        "first_day": _DAY,
        "last_day": _DAY,
        "index": {"type": "object", "additionalProperties": _SESSION},
        "durable": _rows("id", "must_match"),
        "superseded": _rows("id", "new_match old_match"),
        "repeated": _rows("id", "match"),
        "transient": _rows("id", "match"),
        "neutral": _rows("", "match"),
        "secrets": _rows("id string"),
        "bullets": _rows("session", points=_rows("id", "must_match")),
        "weekly": _rows("id text category"),
        "types": _rows("id text type"),
        "admission": _rows("id text", admit=_YES_OR_NO, fails={"type": "array", "items": {"enum": [*"abcd"]}}),
        "queries": _QUERIES,
    },
    "required": ["timezone", "first_day", "last_day", "index"],
}
