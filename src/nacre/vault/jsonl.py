"""Files of one JSON object a line: a broken line is skipped and told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from nacre.errors import NacreError, PathEscape
from nacre.i18n import say
from nacre.model.report import Problem, problem
from nacre.model.workspace import Storage

T = TypeVar("T")


class Row(NamedTuple):
    line: int
    value: dict[str, Any]


class Rows(NamedTuple):
    """The good lines, and problems with the others."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


def dump_row(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_rows(storage: Storage, name: str) -> Rows:
    """All objects of a file; a broken line is a problem with its number."""
    try:
        return parse_rows(read_bytes(storage, name), name)
    except NacreError as error:
        remedy = say("move it away, or put the real file in its place", "请将其移走，或换回真正的文件")
        return Rows((), (Problem("unreadable", str(error), name, remedy=remedy, severity="error"),))


def read_bytes(storage: Storage, name: str) -> bytes:
    """The bytes of a file, none where it is missing; an error when it is a link that leads out of the workspace."""
    check_place(storage, name)
    return storage.read(name) or b""


def check_place(storage: Storage, name: str) -> None:
    if os.path.isabs(storage.real(name)):
        raise PathEscape(
            f"{name} is a link that leads out of the workspace; Nacre does not follow it.",
            f"{name} 是指向工作区之外的链接；Nacre 不会跟随它。",
        )


def parse_rows(data: bytes, shown: str) -> Rows:
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
    # All at once is twice as fast as line by line. No string of JSON goes over the end of a line.
    if all(line[:1] == b"{" and line[-1:] == b"}" for _, line in lines):
        try:
            values = json.loads(b"[" + b",\n".join(line for _, line in lines) + b"]")
        except (ValueError, RecursionError):
            values = []
        if len(values) == len(lines) and all(type(value) is dict for value in values):
            return Rows(tuple(Row(number, value) for (number, _), value in zip(lines, values, strict=True)), ())
    rows: list[Row] = []
    problems: list[Problem] = []
    for number, line in lines:
        if (value := parse_row(line)) is not None:
            rows.append(Row(number, value))
        elif number == data.count(b"\n") + 1:
            english = f"The last line of {shown} was never finished; it is skipped."
            problems.append(problem("torn line", english, f"{shown} 的最后一行没有写完，已跳过。", shown, number))
        else:
            english = f"Line {number} of {shown} is no JSON object; it is skipped."
            chinese = f"{shown} 第 {number} 行不是 JSON 对象，已跳过。"
            remedy = ("mend or remove the line", "请修正或删除该行")
            problems.append(problem("broken line", english, chinese, shown, number, remedy=remedy))
    return Rows(tuple(rows), tuple(problems))


def parse_row(line: bytes | str) -> dict[str, Any] | None:
    """The object on a line; None where it holds none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_records(
    storage: Storage, name: str, parse: Callable[[dict[str, Any]], T | None]
) -> tuple[tuple[T, ...], tuple[Problem, ...]]:
    """What the rows of a file tell, and problems with those that tell nothing."""
    rows, broken = read_rows(storage, name)
    records: list[T] = []
    problems = list(broken)
    for line, value in rows:
        if (record := parse(value)) is not None:
            records.append(record)
            continue
        english = f"Line {line} of {name} lacks what its kind of record needs; it is skipped."
        problems.append(problem("broken line", english, f"{name} 第 {line} 行缺少必要的字段，已跳过。", name, line))
    return tuple(records), tuple(sorted(problems, key=lambda problem: problem.line or 0))
