"""Set one key of a TOML file and leave every other byte as it was, comments too."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from nacre.errors import BadSetting
from nacre.vault import disk
from nacre.vault.lock import hold

_TABLE = re.compile(r"^\s*\[([^\[\]]+)\]\s*(?:#.*)?$")


def changed(path: Path, key: str, value: Any) -> str:
    """The file with the key set; None takes it out."""
    text = _text(path)
    table, _, name = key.rpartition(".")
    lines = text.splitlines(keepends=True)
    start, end = _section(lines, table)
    wanted = None if value is None else f"{name} = {_toml(value)}\n"
    place = next((at for at in range(start, end) if re.match(rf"\s*{re.escape(name)}\s*=", lines[at])), None)
    if place is not None:
        stop = _value_end(lines, place)
        lines[place:stop] = [_with_end_of(lines[stop - 1], wanted)] if wanted else []
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
    if "\r\n" in text:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    _check(path, text, after, key)
    return after


def set_key(path: Path, key: str, value: Any) -> None:
    """Set the key while nobody else does."""
    with hold(path.with_name("config.lock")):
        disk.write(path, changed(path, key, value).encode())


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


def _with_end_of(line: str, wanted: str) -> str:
    """The new line with the comment that stood behind the old value."""
    comment = re.search(r"\s+#[^\"\']*$", line.rstrip("\r\n"))
    return wanted.rstrip("\n") + (comment[0] if comment else "") + "\n"


def _text(path: Path) -> str:
    try:
        return (disk.read_bytes(path) or b"").decode("utf-8")
    except UnicodeDecodeError as trouble:
        raise _by_hand(path, str(trouble)) from trouble


def _check(path: Path, before: str, after: str, key: str) -> None:
    """Nothing but this key may differ: a line that only looks like a setting may stand inside a longer text."""
    try:
        old, new = tomllib.loads(before), tomllib.loads(after)
    except (tomllib.TOMLDecodeError, RecursionError) as trouble:
        raise _by_hand(path, str(trouble)) from trouble
    for table in (old, new):
        place = table
        *tables, name = key.split(".")
        for part in tables:
            place = place.get(part, {})
        place.pop(name, None)
    if _without_empty(old) != _without_empty(new):
        raise _by_hand(path, key)


def _without_empty(table: dict[str, Any]) -> dict[str, Any]:
    kept = {name: _without_empty(value) if isinstance(value, dict) else value for name, value in table.items()}
    return {name: value for name, value in kept.items() if value != {}}


def _by_hand(path: Path, why: str) -> BadSetting:
    return BadSetting(
        f"{path} cannot be changed safely ({why}); edit it by hand.", f"无法安全修改 {path}（{why}）；请手动编辑。"
    )
