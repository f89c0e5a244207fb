"""Add a table to a TOML text or take it out; no other byte changes.

Text is cut and joined where that suffices, tomlkit does the rest; either way the result is read again and must hold exactly what was meant.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from nacre.i18n import say

Path = tuple[str, ...]
_HEADER = re.compile(r"\ufeff?[ \t]*\[[^\n]*\][ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)


class CannotEditToml(ValueError):
    """The table cannot be written into this text without touching more than it may."""

    def __init__(self, path: Path) -> None:
        name = ".".join(map(_key, path))
        super().__init__(
            say(
                f"[{name}] cannot be changed without touching other lines; do it by hand (--print shows how)",
                f"无法在不影响其他行的情况下修改 [{name}]；请手动编辑（--print 可显示内容）",
            )
        )


def load_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except RecursionError as error:
        raise ValueError(say("nested too deeply", "嵌套过深")) from error


def put_table(text: str, path: Path, value: dict[str, Any]) -> tuple[str, str]:
    """The text with a table, and the very characters that were added (none where an existing one was changed)."""
    values = load_toml(text)
    holder = wanted = copy.deepcopy(values)
    for name in path[:-1]:
        holder = holder.setdefault(name, {})
        if not isinstance(holder, dict):
            raise ValueError(say(f'"{name}" is not a table', f"“{name}”不是表"))  # noqa: TRY004 - it is the user's text
    is_new = path[-1] not in holder
    holder[path[-1]] = value
    if is_new:
        newline = "\r\n" if "\r\n" in text else "\n"
        bare = text.removeprefix("\ufeff")
        gap = "" if not bare or re.search(r"\n\r?\n\Z", bare) else newline if bare.endswith("\n") else newline * 2
        lines = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(key)} = {_rendered(item)}" for key, item in value.items())]
        added = gap + newline.join([*lines, ""])
        if _holds(text + added, wanted):
            return text + added, added
    changed = _by_tomlkit(text, path, value)
    if changed is None or not _holds(changed, wanted):
        raise CannotEditToml(path)
    return changed, ""


def take_out_table(text: str, path: Path, added: str = "") -> str:
    """The text without a table: exactly what was added where it still stands, else the table with all that belongs to it."""
    holder = wanted = copy.deepcopy(load_toml(text))
    for name in path[:-1]:
        holder = holder.get(name, {})
    holder.pop(path[-1], None)
    candidates = [text.replace(added, "")] if added and text.count(added) == 1 else []
    candidates += _by_lines(text, path)
    if (changed := _by_tomlkit(text, path, None)) is not None:
        candidates.append(changed)
    for candidate in candidates:
        if _holds(candidate, wanted):
            return candidate
    raise CannotEditToml(path)


def _by_lines(text: str, path: Path) -> Iterator[str]:
    """The text without the lines of the table and of the tables below it; comments before the next table stay with that."""
    own_header = re.compile(
        r"\ufeff?[ \t]*\[" + r"\.".join(rf"[\s\"']*{re.escape(name)}[\s\"']*" for name in path) + r"[.\]]"
    )
    lines = text.splitlines(keepends=True)
    headers = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    ours = [at for at in headers if own_header.match(lines[at])]
    for first in range(len(ours)):  # a header further up may be none, but stand in a text of several lines
        kept = set(range(len(lines)))
        for at in ours[first:]:
            end = min((other for other in headers if other > at), default=len(lines))
            while end > at + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
                end -= 1
            kept -= set(range(at, end))
        above = ours[first] - 1  # the blank line that set it apart
        if above >= 0 and not lines[above].strip():
            kept.discard(above)
        yield "".join(lines[at] for at in sorted(kept))


def _by_tomlkit(text: str, path: Path, value: dict[str, Any] | None) -> str | None:
    """The text with the table set to the value, or without it (None): for inline tables and tables that are there already."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text.removeprefix("\ufeff"))
        holder: Any = document
        for name in path[:-1]:
            if name not in holder:
                holder[name] = tomlkit.table(is_super_table=True)
            holder = holder[name]
        if value is None:
            del holder[path[-1]]
        elif path[-1] not in holder:
            holder[path[-1]] = value
        else:
            table = holder[path[-1]]
            for name in [name for name in table if name not in value]:
                del table[name]
            for name, item in value.items():
                if name not in table or table[name] != item:
                    table[name] = item
        changed = ("\ufeff" if text.startswith("\ufeff") else "") + tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError, KeyError, ValueError):
        return None
    before, after = (
        [line.strip() for line in some.splitlines() if line.lstrip()[:1] == "#"] for some in (text, changed)
    )
    return changed if before == after else None  # no comment was lost


def _holds(text: str, wanted: dict[str, Any]) -> bool:
    """Whether the text is TOML with these values, of the same kinds; an empty table may be left out, and nan equals itself."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: item for name in sorted(value) if (item := plain(value[name])) != {}}
        return [plain(item) for item in value] if isinstance(value, list) else value

    try:
        return repr(plain(load_toml(text))) == repr(plain(wanted))
    except ValueError:
        return False


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _rendered(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(_rendered, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_rendered(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
