"""Files of one JSON object a line: written whole, read with patience."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nacre.i18n import say
from nacre.model.report import Problem

LARGEST = 500_000_000  # bytes; no file of ours grows so long


class Row(NamedTuple):
    line: int
    value: dict[str, Any]


class Rows(NamedTuple):
    """The good lines, and trouble with the others."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


def dump_row(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_rows(path: Path, shown: str) -> Rows:
    """All objects of the file; a broken line is a problem with its number. `shown` is the path as users know it."""
    try:
        if path.is_symlink() and not _stays_near(path):
            return _unreadable(
                shown,
                say(
                    f"{shown} is a link that leads elsewhere; it is not read.", f"{shown} 是指向别处的链接，不会读取。"
                ),
            )
        # A pipe would keep us waiting for ever, a device would never end.
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return _unreadable(
                shown, say(f"{shown} is no ordinary file; it is not read.", f"{shown} 不是普通文件，不会读取。")
            )
        if about.st_size > LARGEST:
            return _unreadable(shown, say(f"{shown} is too large to be read.", f"{shown} 过大，无法读取。"))
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        return Rows((), ())
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        return _unreadable(shown, say(f"{shown} cannot be read: {reason}.", f"{shown} 无法读取：{reason}。"))
    return parse_rows(data, shown)


def _stays_near(link: Path) -> bool:
    """Whether a link leads to a place in the folder that holds its own: for a file of memory that is the workspace."""
    near, target = os.path.realpath(link.parent.parent), os.path.realpath(link)
    return target.startswith(os.path.join(near, ""))


def _unreadable(shown: str, sentence: str) -> Rows:
    remedy = say("move it away, or put the real file in its place", "请将其移走，或换回真正的文件")
    return Rows((), (Problem("unreadable", sentence, shown, remedy=remedy, severity="error"),))


def parse_rows(data: bytes, shown: str) -> Rows:
    lines = data.split(b"\n")
    if found := _all_at_once(lines):
        return Rows(tuple(found), ())
    rows: list[Row] = []
    problems: list[Problem] = []
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


def _all_at_once(lines: list[bytes]) -> list[Row]:
    """The objects when every line holds one: twice as fast as line by line. No string of JSON goes over the end of a line."""
    full = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not all(line[:1] == b"{" and line[-1:] == b"}" for _, line in full):
        return []
    try:
        values = json.loads(b"[" + b",\n".join(line for _, line in full) + b"]")
    except (ValueError, RecursionError):
        return []
    if len(values) != len(full) or not all(type(value) is dict for value in values):
        return []
    return [Row(number, value) for (number, _), value in zip(full, values, strict=True)]


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
