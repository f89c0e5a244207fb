"""Add a table to a TOML text or take it out; no other byte changes."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from nacre.i18n import say

Path = tuple[str, ...]
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"[ \t]*\[\[?(?P<name>[^\n]*?)\]\]?[ \t]*(?:#[^\n]*)?\r?$")


class CannotEditToml(ValueError):
    """The table cannot be written into this text without touching more than it may."""


def load_toml(text: str) -> dict[str, Any]:
    """What the text holds; `ValueError` with line and column when it is no TOML."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except RecursionError as trouble:
        raise ValueError(say("nested too deeply", "嵌套过深")) from trouble


def toml_value(told: dict[str, Any], path: Path) -> Any:
    """The value at a path; None where there is none."""
    place: Any = told
    for name in path:
        place = place.get(name) if isinstance(place, dict) else None
    return place


def put_table(text: str, path: Path, value: dict[str, Any]) -> tuple[str, str]:
    """The text with a table, and the very characters that were added (none where an existing one was changed)."""
    wanted = _with(load_toml(text), path, value)
    if toml_value(load_toml(text), path) is None:
        newline = "\r\n" if "\r\n" in text else "\n"
        bare = text.removeprefix("\ufeff")
        gap = "" if not bare else newline if bare.endswith("\n") else newline * 2
        if re.search(r"\n\r?\n\Z", bare):
            gap = ""
        added = gap + newline.join(
            [f"[{_name(path)}]", *(f"{_key(k)} = {_toml_text(v)}" for k, v in value.items()), ""]
        )
        if _holds(text + added, wanted):
            return text + added, added
    changed = _by_tomlkit_put(text, path, value)
    if changed is None or not _holds(changed, wanted) or _comments(changed) != _comments(text):
        raise CannotEditToml(_by_hand(path))
    return changed, ""


def take_out_table(text: str, path: Path, added: str = "") -> str:
    """The text without a table: exactly what was added where it still stands, else the table with all that belongs to it."""
    wanted = _without(load_toml(text), path)
    for candidate in _candidates(text, path, added):
        if _holds(candidate, wanted):
            return candidate
    raise CannotEditToml(_by_hand(path))


def _candidates(text: str, path: Path, added: str) -> Iterator[str]:
    if added and text.count(added) == 1:
        yield text.replace(added, "")
    yield from _by_lines(text, path)
    if (changed := _by_tomlkit_removal(text, path)) is not None and _comments(changed) == _comments(text):
        yield changed


def _by_lines(text: str, path: Path) -> Iterator[str]:
    """The text without the lines of the table and of the tables below it; comments before the next table stay with that."""
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    hidden = _inside_texts(text.removeprefix("\ufeff"))
    headers = [(at, name) for at, line in enumerate(lines) if at not in hidden and (name := _path_of(line)) is not None]
    ours = [at for at, name in headers if name[: len(path)] == path]
    if not ours:
        return
    kept = set(range(len(lines)))
    for at in ours:
        end = next((other for other, _ in headers if other > at), len(lines))
        while end > at + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
            end -= 1
        kept -= set(range(at, end))
    if ours[0] and not lines[ours[0] - 1].strip():  # the blank line that set it apart
        yield _byte_order_mark(text) + "".join(lines[at] for at in sorted(kept - {ours[0] - 1}))
    yield _byte_order_mark(text) + "".join(lines[at] for at in sorted(kept))


def _inside_texts(text: str) -> set[int]:
    """The lines that stand inside a text of several lines: a header there is none."""
    found: set[int] = set()
    for match in re.finditer(
        r'"{3}(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|#[^\n]*|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', text, re.DOTALL
    ):
        first = text.count("\n", 0, match.start())
        found |= set(range(first + 1, first + 1 + match[0].count("\n")))
    return found


def _path_of(line: str) -> Path | None:
    match = _HEADER.match(line.rstrip("\n"))
    if not match:
        return None
    try:
        told = tomllib.loads(f"[{match['name'].strip('[] ')}]\n")
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while told:
        name, told = next(iter(told.items()))
        path.append(name)
    return tuple(path)


def _by_tomlkit_put(text: str, path: Path, value: dict[str, Any]) -> str | None:
    """Where a table cannot be added behind everything: inside an inline table, or over one that is there."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        doc = tomlkit.parse(text.removeprefix("\ufeff"))
        place: Any = doc
        for name in path[:-1]:
            if name not in place:
                place[name] = tomlkit.table(is_super_table=True)
            place = place[name]
        if path[-1] not in place:
            place[path[-1]] = value
        else:
            inner = place[path[-1]]
            for name in [one for one in inner if one not in value]:
                del inner[name]
            for name, one in value.items():
                if name not in inner or inner[name] != one:
                    inner[name] = one
        return _byte_order_mark(text) + tomlkit.dumps(doc)
    except (TOMLKitError, TypeError, AttributeError, KeyError, ValueError):
        return None


def _by_tomlkit_removal(text: str, path: Path) -> str | None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        doc = tomlkit.parse(text.removeprefix("\ufeff"))
        place: Any = doc
        for name in path[:-1]:
            place = place[name]
        del place[path[-1]]
        return _byte_order_mark(text) + tomlkit.dumps(doc)
    except (TOMLKitError, TypeError, AttributeError, KeyError, ValueError):
        return None


def _comments(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith("#")]


def _byte_order_mark(text: str) -> str:
    return "\ufeff" if text.startswith("\ufeff") else ""


def _holds(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return _same_values(load_toml(text), wanted)
    except ValueError:
        return False


def _same_values(one: Any, other: Any) -> bool:
    """Equal, and of the same kind; not-a-number is itself here, and an empty table may be left out."""
    return repr(_full(one)) == repr(_full(other))


def _full(value: Any) -> Any:
    if isinstance(value, dict):
        inner = {name: _full(one) for name, one in sorted(value.items())}
        return {name: one for name, one in inner.items() if one != {}}
    return [_full(one) for one in value] if isinstance(value, list) else value


def _with(told: dict[str, Any], path: Path, value: dict[str, Any]) -> dict[str, Any]:
    told = copy.deepcopy(told)
    place = told
    for name in path[:-1]:
        place = place.setdefault(name, {})
        if not isinstance(place, dict):
            raise CannotEditToml(say(f'"{name}" is not a table', f"“{name}”不是表"))
    place[path[-1]] = value
    return told


def _without(told: dict[str, Any], path: Path) -> dict[str, Any]:
    told = copy.deepcopy(told)
    place: Any = told
    for name in path[:-1]:
        place = place.get(name, {}) if isinstance(place, dict) else {}
    if isinstance(place, dict):
        place.pop(path[-1], None)
    return told


def _name(path: Path) -> str:
    return ".".join(_key(one) for one in path)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _toml_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_toml_text(one) for one in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_toml_text(v)}" for k, v in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _by_hand(path: Path) -> str:
    return say(
        f"[{_name(path)}] cannot be changed without touching other lines; do it by hand (--print shows how)",
        f"无法在不影响其他行的情况下修改 [{_name(path)}]；请手动编辑（--print 可显示内容）",
    )
