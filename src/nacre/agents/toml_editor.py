"""Put a table into a TOML text or take it out; the result is read again and must hold exactly what was meant, with every comment."""

from __future__ import annotations

import copy
import re
import tomllib
from typing import Any

from nacre.i18n import say

_MARK = "\ufeff"


def load_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix(_MARK).replace("\r\n", "\n"))
    except RecursionError as error:
        raise ValueError(say("nested too deeply", "嵌套过深")) from error


def with_table(text: str, path: tuple[str, ...], value: dict[str, Any] | None) -> str:
    """The text with the values in the table at the path, a new one at its end; None: without the table."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    holder = wanted = copy.deepcopy(load_toml(text))
    for name in path[:-1]:
        holder = holder.setdefault(name, {})
        if not isinstance(holder, dict):
            raise ValueError(say(f'"{name}" is not a table', f"“{name}”不是表"))  # noqa: TRY004 - it is the user's text
    is_new = path[-1] not in holder
    if value is None:
        holder.pop(path[-1], None)
    else:
        holder[path[-1]] = {**holder.get(path[-1], {}), **value}
    if _holds(text, wanted):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    if is_new and value is not None:
        table: dict[str, Any] = value
        for name in reversed(path):
            table = {name: table}
        bare = text.removeprefix(_MARK)
        gap = "" if not bare or re.search(r"\n\r?\n\Z", bare) else "\n" if bare.endswith("\n") else "\n\n"
        after = text + (gap + tomlkit.dumps(table)).replace("\n", newline)
        if _holds(after, wanted):
            return after
    try:  # an inline table, or one that is there already
        document = tomlkit.parse(text.removeprefix(_MARK))
        parent: Any = document
        for name in path[:-1]:
            parent = parent[name]
        if value is None:
            del parent[path[-1]]
        elif is_new:
            parent[path[-1]] = value
        else:
            for name, item in value.items():
                if parent[path[-1]].get(name) != item:
                    parent[path[-1]][name] = item
        after = (_MARK if text.startswith(_MARK) else "") + tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError, KeyError, ValueError):
        after = ""
    if value is None and after.endswith(newline * 2) and not text.endswith(newline * 2):
        after = after.removesuffix(newline)  # the blank line that set the table apart
    is_intact = value is None or not is_new or _only_adds(text, after)
    if is_intact and _holds(after, wanted) and _comments(after) == _comments(text):
        return after
    name = ".".join(path)
    raise ValueError(
        say(
            f"[{name}] cannot be changed without touching other lines; do it by hand (--print shows how)",
            f"无法在不影响其他行的情况下修改 [{name}]；请手动编辑（--print 可显示内容）",
        )
    )


def _only_adds(before: str, after: str) -> bool:
    letters = iter(after)
    return all(letter in letters for letter in before)


def _comments(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith("#")]


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
