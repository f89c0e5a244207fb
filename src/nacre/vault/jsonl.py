"""Files of one JSON object a line: written whole, read with patience."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nacre.model.problem import Problem
from nacre.words import say


class Row(NamedTuple):
    line: int
    value: dict[str, Any]


class Rows(NamedTuple):
    """The good lines, and trouble with the others."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


def dump(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def read(path: Path, shown: str) -> Rows:
    """All objects of the file; a broken line is a problem with its number. `shown` is the path as users know it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Rows((), ())
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        sentence = say(f"{shown} cannot be read: {reason}.", f"{shown} 无法读取：{reason}。")
        return Rows((), (Problem("unreadable", sentence, shown, severity="error"),))
    return parse(data, shown)


def parse(data: bytes, shown: str) -> Rows:
    rows: list[Row] = []
    problems: list[Problem] = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            rows.append(Row(number, value))
        else:
            problems.append(_broken(shown, number, torn=number == len(lines)))
    return Rows(tuple(rows), tuple(problems))


def _broken(shown: str, number: int, *, torn: bool) -> Problem:
    if torn:
        return Problem(
            "torn line",
            say(
                f"The last line of {shown} was never finished; it is skipped.",
                f"{shown} 的最后一行没有写完，已跳过。",
            ),
            shown,
            number,
        )
    return Problem(
        "broken line",
        say(
            f"Line {number} of {shown} is no JSON object; it is skipped.",
            f"{shown} 第 {number} 行不是 JSON 对象，已跳过。",
        ),
        shown,
        number,
        remedy=say("mend or remove the line", "请修正或删除该行"),
    )
