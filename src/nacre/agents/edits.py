"""Edits of one settings file: applied to its text, and taken back from whatever the text has become."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path, PureWindowsPath
from typing import Any

from nacre.i18n import say
from nacre.text.json5 import Node, holds_only, insert_value, new_json, parse, replace_value, take_out
from nacre.vault import rules
from nacre.vault.entries import document

JSON, TOML, MARKDOWN = "json", "toml", "markdown"


@dataclass(frozen=True)
class Put:
    """A member of an object or a table of TOML: ours by its name. A default is put only where there is none."""

    path: tuple[str, ...]
    value: Any
    default: bool = False


@dataclass(frozen=True)
class Add:
    """An item of an array. The mark is what every command in an item of ours holds, also one that an older version wrote."""

    path: tuple[str, ...]
    value: Any
    mark: tuple[str, ...] = ()


@dataclass(frozen=True)
class RulesBlock:
    language: str


Edit = Put | Add | RulesBlock


@dataclass(frozen=True)
class Done:
    """An edit as it was carried out: what is needed to take it back, also when the file has changed since."""

    kind: str  # "put", "default", "add" or "rules"
    path: tuple[str, ...] = ()
    value: Any = None
    mark: tuple[str, ...] = ()
    depth: int = 0  # how much of the path was there before
    previous: str | None = None  # what stood in the place of the value
    added: str = ""  # the very characters that were written, and those that they replaced
    replaced: str = ""


class CannotEdit(ValueError):
    """The file holds something else where our entry belongs; the message names it."""


def load(text: str, form: str) -> Any:
    if form == TOML:
        return load_toml(text)
    root = parse(text) if form == JSON else None
    return root.value if root else {}


def value_at(values: Any, path: Sequence[str]) -> Any:
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


def are_in_place(text: str, form: str, edits: Sequence[Edit]) -> bool:
    """Whether everything stands there already, wherever and however it is laid out."""
    return apply_edits(text, form, edits)[0] == text


def apply_edits(text: str, form: str, edits: Sequence[Edit]) -> tuple[str, list[Done]]:
    """The text with the edits, and what was done; `ValueError` says why it cannot be."""
    changes: list[Done] = []
    for edit in edits:
        if isinstance(edit, RulesBlock):
            after, done = with_rules(text.encode(), edit.language).decode(), Done("rules")
        elif form == TOML:
            assert isinstance(edit, Put)
            before = value_at(load_toml(text), edit.path)
            _refuse_limited(before, edit)
            after = with_table(text, edit.path, edit.value)
            done = Done("put", edit.path, edit.value, previous=None if before is None else "")
        else:
            put = _put_json if isinstance(edit, Put) else _add_json
            after, done = put(new_json(text) if parse(text) is None else text, edit)  # type: ignore[arg-type]
        if after != text or not (isinstance(edit, Put) and edit.default):
            added, replaced = _difference(text, after)
            changes.append(replace(done, added=added, replaced=replaced))
        text = after
    return text, changes


def _difference(before: str, after: str) -> tuple[str, str]:
    """The characters that were written and those that they replaced, with as much around them as tells them from all others."""
    start = _alike(before, after)
    same = _alike(before[start:][::-1], after[start:][::-1])
    while after != before and after.count(after[start : len(after) - same]) > 1:
        start, same = max(start - 1, 0), max(same - 1, 0)
    return after[start : len(after) - same], before[start : len(before) - same]


def _alike(first: str, second: str) -> int:
    """How many characters two texts have in common from their beginning on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def take_back_edits(text: str, form: str, changes: Sequence[Done]) -> tuple[str, list[str]]:
    """The text without what was done, and the names of what somebody has changed since, which stays."""
    left: list[str] = []
    # What was only put so that the rest may stand goes last, and only when nothing else is there.
    defaults, others = ([done for done in changes if (done.kind == "default") is last] for last in (True, False))
    for done in (*reversed(others), *defaults):
        try:
            after = _take_back(text, form, done)
        except ValueError:
            after = None
        if after is None:
            left.append(".".join(done.path))
        else:
            text = after
    return text, left


def _take_back(text: str, form: str, done: Done) -> str | None:
    """The text without an edit: its very characters where they still stand, else what stands at its path; None where that is not ours."""
    is_whole = bool(done.added) and text.count(done.added) == 1 and done.kind != "default"
    cut = text.replace(done.added, done.replaced) if is_whole else text
    if done.kind == "rules":
        return cut if is_whole else without_rules(text.encode()).decode()
    now = value_at(load(text, form), done.path)
    if done.kind == "put" and now is not None and not _holds(now, done.value):
        return None
    if is_whole and _is_without(cut, form, done):
        return cut
    if form == JSON:
        return _take_back_json(text, done)
    return with_table(text, done.path, None) if done.previous is None else None


def _is_without(text: str, form: str, done: Done) -> bool:
    """Whether a text can be read, and says nothing in the place of what was new."""
    try:
        now = value_at(load(text, form), done.path)
    except ValueError:
        return False
    return done.previous is not None or (done.value not in (now or []) if done.kind == "add" else now is None)


def recognise_edits(text: str, form: str, edits: Sequence[Edit]) -> list[Done]:
    """What of ours stands in a text, whoever wrote it, as if it had been carried out there; what held it is not taken for ours."""
    changes: list[Done] = []
    values = load(text, form)
    for edit in edits:
        if isinstance(edit, RulesBlock):
            changes += [Done("rules")] if without_rules(text.encode()).decode() != text else []
            continue
        now = value_at(values, edit.path)
        if isinstance(edit, Add):
            items = [item for item in now if _is_own_item(item, edit)] if isinstance(now, list) else []
            changes += [Done("add", edit.path, item, depth=len(edit.path)) for item in items]
        elif not edit.default and (now == edit.value or any("nacre" in command for command in _commands_in(now))):
            changes.append(Done("put", edit.path, now, depth=len(edit.path) - 1))
    return changes


# Connecting never lets anybody hear more: an entry that is limited to a group is not written over.

_ADDRESS_KEYS = ("url", "httpUrl", "serverUrl")  # of a server that is reached by an address
_PROGRAM_NAMES = ("nacre", "nacre.exe", "nacre.cmd")


def _refuse_limited(now: Any, edit: Put | Add) -> None:
    """Refuse to replace a server or a hook that has a scope, or a server that may reach Nacre in a narrower way of its own."""
    words, is_other = list(_commands_in(now)), False
    if isinstance(edit, Put) and isinstance(now, Mapping) and "command" in edit.value:
        parts = [now.get("command"), now.get("args")]
        words = [str(word) for part in parts if part for word in (part if isinstance(part, list) else [part])]
        is_ours = not words or any(PureWindowsPath(word).name.lower() in _PROGRAM_NAMES for word in words)
        is_other = not is_ours or any(key in now for key in _ADDRESS_KEYS)
    if is_other or any(sign in word for sign in ("--scope", "NACRE_SCOPE") for word in words):
        name = ".".join(edit.path)
        raise CannotEdit(
            say(
                f'"{name}" was limited or added by hand and Nacre would give it more access; rename or remove it first',
                f"“{name}”是手动添加或限制过的，改写会扩大它的权限；请先改名或删除",
            )
        )


def _holds(now: Any, wanted: Any) -> bool:
    """Whether a value is what was written; the agent or the user may have added settings to it."""
    if isinstance(wanted, dict) and isinstance(now, dict):
        return all(name in now and now[name] == value for name, value in wanted.items())
    return bool(now == wanted) and type(now) is type(wanted)


def is_there(now: Any, done: Done) -> bool:
    """Whether what was written stands in what is there now; rules are the user's to keep or not."""
    if done.kind == "add":
        return isinstance(now, list) and done.value in now
    return done.kind != "put" or _holds(now, done.value)


def _is_own_item(item: Any, edit: Add) -> bool:
    """Whether an item is the very value, or one whose every command carries our mark."""
    commands = list(_commands_in(item))
    marked = all(word in command for command in commands for word in edit.mark)
    return bool(item == edit.value or (edit.mark and commands and marked))


def _commands_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for name, item in value.items() if isinstance(value, dict) else ():
        if name == "command" and isinstance(item, (str, list)):
            yield item if isinstance(item, str) else " ".join(map(str, item))
        elif isinstance(item, (dict, list)):
            yield from _commands_in(item)
    for item in value if isinstance(value, list) else ():
        yield from _commands_in(item) if isinstance(item, (dict, list)) else ()


# JSON and its cousins: a member put, an item added, and both taken back by their place.


def _put_json(text: str, edit: Put) -> tuple[str, Done]:
    node, depth = _deepest(text, edit.path)
    done = Done("default" if edit.default else "put", edit.path, edit.value, depth=depth)
    if depth < len(edit.path):
        _require_kind(node, "object", edit.path[:depth])
        value = edit.value
        for name in reversed(edit.path[depth + 1 :]):
            value = {name: value}
        return insert_value(text, node, value, edit.path[depth]), done
    if edit.default:
        return text, done
    _refuse_limited(node.value, edit)
    value, done = edit.value, replace(done, previous=text[node.start : node.end])
    if not isinstance(value, dict) or node.kind != "object":
        return (text if node.value == value else replace_value(text, node, value)), done
    for name, item in value.items():  # what else somebody set there stays, and so do comments
        holder, _ = _deepest(text, edit.path)
        part = holder.member(name)
        if part is None:
            text = insert_value(text, holder, item, name)
        elif part.node.value != item:
            text = replace_value(text, part.node, item)
    return text, done


def _add_json(text: str, edit: Add) -> tuple[str, Done]:
    array, depth = _deepest(text, edit.path)
    done = Done("add", edit.path, edit.value, edit.mark, depth)
    if depth < len(edit.path):
        return _put_json(text, Put(edit.path, [edit.value]))[0], done
    _require_kind(array, "array", edit.path)
    ours = [part.node for part in array.parts if _is_own_item(part.node.value, edit)]
    if not ours:
        return insert_value(text, array, edit.value), done
    node = ours[-1]
    _refuse_limited(node.value, edit)
    done = replace(done, previous=text[node.start : node.end])
    return (text if node.value == edit.value else replace_value(text, node, edit.value)), done


def _take_back_json(text: str, done: Done) -> str | None:
    root, node = parse(text), _node_at(text, done.path)
    if root is None or node is None or (done.kind == "default" and (len(root.parts) > 1 or node.value != done.value)):
        return text
    path = done.path
    if done.kind == "add":
        part = next((part for part in reversed(node.parts) if part.node.value == done.value), None)
        if part is None:
            commands = [command for item in node.parts for command in _commands_in(item.node.value)]
            is_changed = done.mark and any(all(word in command for word in done.mark) for command in commands)
            return None if is_changed else text
        if done.previous is None and (done.depth == len(path) or not holds_only(text, node, part)):
            return take_out(text, node, part)
        node = part.node if done.previous is not None else node
    if done.previous is not None:
        return text[: node.start] + done.previous + text[node.end :]
    while True:  # the member, and what was made to hold it and now holds nothing else
        *above, name = path
        holder = _node_at(text, above)
        part = holder.member(name) if holder else None
        assert holder is not None
        assert part is not None
        if len(above) <= done.depth or not holds_only(text, holder, part):
            return take_out(text, holder, part)
        path = tuple(above)


def _node_at(text: str, path: Sequence[str]) -> Node | None:
    node = parse(text)
    for name in path:
        part = node.member(name) if node else None
        node = part.node if part else None
    return node


def _deepest(text: str, path: tuple[str, ...]) -> tuple[Node, int]:
    """The node at the path, or as far along it as there is one, and how far that is."""
    node = parse(text)
    assert node is not None
    _require_kind(node, "object", ())
    for depth, name in enumerate(path):
        part = node.member(name)
        if part is None:
            return node, depth
        node = part.node
    return node, len(path)


def _require_kind(node: Node, kind: str, path: tuple[str, ...]) -> None:
    if node.kind != kind:
        what = say("an object", "对象") if kind == "object" else say("a list", "列表")
        english, chinese = (
            (f'"{".".join(path)}"', f"“{'.'.join(path)}”") if path else ("the content of the file", "文件的内容")
        )
        raise CannotEdit(say(f"{english} is not {what}", f"{chinese}不是{what}"))


# TOML: a table put or taken out; the result is read again and must hold exactly what was meant, with every comment. Rules in Markdown.

_MARK = "\ufeff"


def load_toml(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix(_MARK).replace("\r\n", "\n"))


def with_table(text: str, path: tuple[str, ...], value: dict[str, Any] | None) -> str:
    """The text with the values in the table at the path, a new one at its end; None: without the table."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    holder = wanted = load_toml(text)
    for name in path[:-1]:
        holder = holder.setdefault(name, {})
        if not isinstance(holder, dict):
            raise ValueError(say(f'"{name}" is not a table', f"“{name}”不是表"))  # noqa: TRY004 - it is the user's text
    is_new = path[-1] not in holder
    if value is None:
        holder.pop(path[-1], None)
    else:
        holder[path[-1]] = {**holder.get(path[-1], {}), **value}
    if _is_toml_of(text, wanted):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    if is_new and value is not None:
        table: dict[str, Any] = value
        for name in reversed(path):
            table = {name: table}
        bare = text.removeprefix(_MARK)
        gap = "" if not bare or re.search(r"\n\r?\n\Z", bare) else "\n" if bare.endswith("\n") else "\n\n"
        after = text + (gap + tomlkit.dumps(table)).replace("\n", newline)
        if _is_toml_of(after, wanted):
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
    letters = iter(after)
    is_intact = value is None or not is_new or all(letter in letters for letter in text)  # only adds
    comments = [[line.strip() for line in part.splitlines() if line.lstrip().startswith("#")] for part in (text, after)]
    if is_intact and _is_toml_of(after, wanted) and comments[0] == comments[1]:
        return after
    name = ".".join(path)
    raise ValueError(
        say(
            f"[{name}] cannot be changed without touching other lines; edit it by hand (--print shows how)",
            f"修改 [{name}] 会影响其他行；请手动编辑（参照 --print 的输出）",
        )
    )


def _is_toml_of(text: str, wanted: dict[str, Any]) -> bool:
    """Whether the text is TOML with these values, of the same kinds; an empty table may be left out, and nan equals itself."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: item for name in sorted(value) if (item := plain(value[name])) != {}}
        return [plain(item) for item in value] if isinstance(value, list) else value

    try:
        return repr(plain(load_toml(text))) == repr(plain(wanted))
    except ValueError:
        return False


def with_rules(data: bytes, language: str) -> bytes:
    return rules.with_block(document(Path("AGENTS.md"), data), language)


def without_rules(data: bytes) -> bytes:
    return rules.without_block(document(Path("AGENTS.md"), data))
