"""Set one key of a TOML file and leave every other byte as it was, comments too."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from nacre.errors import BadSetting
from nacre.vault import atomic
from nacre.words import say

_TABLE = re.compile(r"^\s*\[([^\[\]]+)\]\s*(?:#.*)?$")


def changed(path: Path, key: str, value: Any) -> str:
    """The file with the key set; None takes it out."""
    text = (atomic.read_bytes(path) or b"").decode("utf-8")
    table, _, name = key.rpartition(".")
    lines = text.splitlines(keepends=True)
    start, end = _section(lines, table)
    wanted = None if value is None else f"{name} = {_toml(value)}\n"
    place = next((at for at in range(start, end) if re.match(rf"\s*{re.escape(name)}\s*=", lines[at])), None)
    if place is not None:
        stop = _value_end(lines, place)
        lines[place:stop] = [wanted] if wanted else []
    elif wanted and (start or not table):
        at = end
        while at > start and not lines[at - 1].strip():
            at -= 1
        if at and not lines[at - 1].endswith("\n"):
            lines[at - 1] += "\n"
        lines.insert(at, wanted)
    elif wanted:
        lead = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        lines.append(f"{lead}[{table}]\n{wanted}")
    after = "".join(lines)
    _check(path, after)
    return after


def write(path: Path, text: str) -> None:
    atomic.make_folder(path.parent)
    atomic.write(path, text.encode())


def _section(lines: list[str], table: str) -> tuple[int, int]:
    """The lines that belong to a table: after its header, up to the next one; (0, 0) when it is not there."""
    start = 0 if not table else None
    for at, line in enumerate(lines):
        header = _TABLE.match(line)
        if not header and not line.lstrip().startswith("[["):
            continue
        if start is not None:
            return start, at
        if header and header[1].strip() == table:
            start = at + 1
    return (0, 0) if start is None else (start, len(lines))


def _value_end(lines: list[str], at: int) -> int:
    """Where the value that begins on this line ends; an array may go over several."""
    for end in range(at + 1, len(lines) + 1):
        try:
            tomllib.loads("".join(lines[at:end]).strip())
        except tomllib.TOMLDecodeError:
            continue
        return end
    return at + 1


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _check(path: Path, text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as trouble:
        raise BadSetting(
            say(
                f"{path} cannot be changed safely ({trouble}); edit it by hand.",
                f"无法安全修改 {path}({trouble});请手动编辑。",
            )
        ) from trouble
