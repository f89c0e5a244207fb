"""Edits of one settings file: applied to its text, and taken back from whatever the text has become."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path, PureWindowsPath
from typing import Any

from nacre.agents.json_editor import Style, has_comments, insert_value, new_json, replace_value, take_out
from nacre.agents.toml_editor import CannotEditToml, load_toml, put_table, take_out_table
from nacre.i18n import say
from nacre.text.json5 import Node, parse
from nacre.vault import rules
from nacre.vault.markdown import document

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
    inside: str | None = None  # what stood between the brackets of what was empty
    previous: str | None = None  # what stood in the place of the value
    added: str = ""  # the very characters, where they stand in one piece


class CannotEdit(ValueError):
    """The file says something in the place of ours that is none of the kind; the sentence names it."""


def load(text: str, form: str) -> Any:
    if form == TOML:
        return load_toml(text)
    root = parse(text)
    return root.value if root else {}


def value_at(values: Any, path: Sequence[str]) -> Any:
    for name in path:
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


def are_in_place(text: str, form: str, edits: Sequence[Edit]) -> bool:
    """Whether everything stands there already, wherever and however it is laid out."""
    values = load(text, form) if form != MARKDOWN else None
    for edit in edits:
        if isinstance(edit, RulesBlock):
            if with_rules(text.encode(), edit.language).decode() != text:
                return False
            continue
        now = value_at(values, edit.path)
        if isinstance(edit, Put):
            if not (edit.default and now is not None) and not _holds(now, _server_with_scope(now, edit)):
                return False
        elif not any(item == _hook_with_scope(item, edit.value) for item in _own_items(now, edit)):
            return False
    return True


def apply_edits(text: str, form: str, edits: Sequence[Edit]) -> tuple[str, list[Done]]:
    """The text with the edits, and what was done; `ValueError` says why it cannot be."""
    done: list[Done] = []
    for edit in edits:
        if isinstance(edit, RulesBlock):
            after = with_rules(text.encode(), edit.language).decode()
            change: Done | None = Done("rules", added=after.removeprefix(text) if after.startswith(text) else "")
        elif form == TOML:
            assert isinstance(edit, Put)
            after, change = _put_toml(text, edit)
        else:
            text = new_json(text) if parse(text) is None else text
            after, change = _put_json(text, edit) if isinstance(edit, Put) else _add_json(text, edit)
        text = after
        done += [change] if change else []
    return text, done


def take_back_edits(text: str, form: str, done: Sequence[Done]) -> tuple[str, list[str]]:
    """The text without what was done, and the names of what somebody has changed since, which stays."""
    left: list[str] = []
    # What was only put so that the rest may stand goes last, and only when nothing else is there.
    defaults_first = sorted(done, key=lambda change: change.kind != "default")
    for change in reversed(defaults_first):
        after: str | None = None
        with contextlib.suppress(CannotEditToml):
            if change.kind == "rules":
                is_whole = bool(change.added) and text.count(change.added) == 1
                after = text.replace(change.added, "") if is_whole else without_rules(text.encode()).decode()
            elif form == TOML:
                after = _take_back_toml(text, change)
            else:
                after = _take_back_add(text, change) if change.kind == "add" else _take_back_put(text, change)
        if after is None:
            left.append(".".join(change.path))
        else:
            text = after
    return text, left


def recognise_edits(text: str, form: str, edits: Sequence[Edit]) -> list[Done]:
    """What of ours stands in a text, whoever wrote it, as if it had been carried out there; what held it is not taken for ours."""
    changes: list[Done] = []
    values = load(text, form) if form != MARKDOWN else None
    for edit in edits:
        if isinstance(edit, RulesBlock):
            changes += [Done("rules")] if without_rules(text.encode()).decode() != text else []
            continue
        now = value_at(values, edit.path)
        if isinstance(edit, Add):
            changes += [Done("add", edit.path, item, depth=len(edit.path)) for item in _own_items(now, edit)]
        elif not edit.default and (now == edit.value or any("nacre" in command for command in _commands_in(now))):
            changes.append(Done("put", edit.path, now, depth=len(edit.path) - 1))
    return changes


def is_empty_file(text: str, form: str) -> bool:
    if form != JSON:
        return not text.strip("\ufeff \t\r\n")
    root = parse(text)
    return root is None or (root.kind == "object" and not root.parts and not has_comments(text, root))


# What somebody set for us by hand before stays: whom an entry is for above all. Connecting never lets anybody hear more.

_ADDRESS_KEYS = ("url", "httpUrl", "serverUrl")  # of a server that is reached by an address
_PROGRAM_NAMES = ("nacre", "nacre.exe", "nacre.cmd")
_SCOPE_IN_LINE = re.compile(r"""(?:--scope(?:=|\s+)|NACRE_SCOPE=)("[^"]*"|'[^']*'|[^\s"']+)""")


def _server_with_scope(now: Any, edit: Put) -> Any:
    """The entry that is wanted, for nobody but those whom the one that stands there is for. What of it cannot be understood, and so
    might be narrower than ours, is not written over."""
    wanted = edit.value
    if not isinstance(now, Mapping) or not isinstance(wanted, dict) or "command" not in wanted:
        return wanted
    by_hand = CannotEdit(
        say(
            f'"{".".join(edit.path)}" was made by hand and starts or reaches Nacre in a way of its own, which may be narrower; '
            "rename it or take it out first",
            f"“{'.'.join(edit.path)}”是手动添加的，以自己的方式启动或连接 Nacre，其范围可能更窄；请先改名或移除",
        )
    )
    if any(key in now for key in _ADDRESS_KEYS):
        raise by_hand
    parts = [now.get("command"), now.get("args")]
    words = [str(word) for part in parts if part for word in (part if isinstance(part, list) else [part])]
    if not words:
        return wanted
    scope: str | None = None
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word.startswith(("--scope=", "NACRE_SCOPE=")):
            scope = word.partition("=")[2]
        elif word == "--scope" and following:
            scope = following
        elif "scope" in word.lower() and word != scope:
            raise by_hand
    if not any(PureWindowsPath(word).name.lower() in _PROGRAM_NAMES for word in words):
        raise by_hand
    if scope is None:
        return wanted
    holder = "args" if "args" in wanted else "command"
    return {**wanted, holder: [*wanted[holder], "--scope", scope]}


def _hook_with_scope(now: Any, wanted: Any) -> Any:
    """The hook that is wanted, for the scope that the commands of the one that stands there name."""
    if isinstance(now, Mapping) and isinstance(wanted, dict):
        hook = {name: _hook_with_scope(now.get(name), value) for name, value in wanted.items()}
        command = now.get("command")
        scopes = _SCOPE_IN_LINE.findall(command) if isinstance(command, str) else []
        if scopes and isinstance(wanted.get("command"), str):
            hook["command"] = f"{wanted['command']} --scope {scopes[-1]}"
        return hook
    if isinstance(now, list) and isinstance(wanted, list) and now:
        return [_hook_with_scope(now[min(at, len(now) - 1)], value) for at, value in enumerate(wanted)]
    return wanted


def _holds(now: Any, wanted: Any) -> bool:
    """Whether a value is what was written; the agent or the user may have added settings to it."""
    if isinstance(wanted, dict) and isinstance(now, dict):
        return all(name in now and now[name] == value for name, value in wanted.items())
    return bool(now == wanted) and type(now) is type(wanted)


def _own_items(items: Any, edit: Add) -> list[Any]:
    return [item for item in items if _is_own_item(item, edit)] if isinstance(items, list) else []


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


# JSON and its cousins: a member put, an item added, and both taken back.


def _put_json(text: str, edit: Put) -> tuple[str, Done | None]:
    node, depth = _deepest(text, edit.path)
    style = Style(text, parse(text))
    done = Done("default" if edit.default else "put", edit.path, edit.value, depth=depth)
    if depth < len(edit.path):
        _require_kind(node, "object", edit.path[:depth])
        value = edit.value
        for name in reversed(edit.path[depth + 1 :]):
            value = {name: value}
        done = replace(done, inside=None if node.parts else text[node.start + 1 : node.end - 1])
        return insert_value(text, node, value, style, edit.path[depth]), done
    if edit.default:
        return text, None
    value = _server_with_scope(node.value, edit)
    done = replace(done, value=value, previous=text[node.start : node.end])
    if not isinstance(value, dict) or node.kind != "object":
        return (text if node.value == value else replace_value(text, node, value, style)), done
    for name, item in value.items():  # what else somebody set there stays, and so do comments
        holder, _ = _deepest(text, edit.path)
        part = holder.member(name)
        style = Style(text, parse(text))
        if part is None:
            text = insert_value(text, holder, item, style, name)
        elif part.node.value != item:
            text = replace_value(text, part.node, item, style)
    return text, done


def _add_json(text: str, edit: Add) -> tuple[str, Done | None]:
    array, depth = _deepest(text, edit.path)
    if depth < len(edit.path):
        after, done = _put_json(text, Put(edit.path, [edit.value]))
        return after, done and replace(done, kind="add", value=edit.value, mark=edit.mark)
    _require_kind(array, "array", edit.path)
    style = Style(text, parse(text))
    done = Done("add", edit.path, edit.value, edit.mark, depth)
    ours = [part.node for part in array.parts if _is_own_item(part.node.value, edit)]
    if not ours:
        return insert_value(text, array, edit.value, style), replace(
            done, inside=None if array.parts else text[array.start + 1 : array.end - 1]
        )
    node = ours[-1]
    value = _hook_with_scope(node.value, edit.value)
    done = replace(done, value=value, previous=text[node.start : node.end])
    return (text if node.value == value else replace_value(text, node, value, style)), done


def _take_back_put(text: str, done: Done) -> str | None:
    root, node = parse(text), _node_at(text, done.path)
    if root is None or node is None:
        return text
    if done.kind == "default":
        return _without_member(text, done) if len(root.parts) == 1 and node.value == done.value else text
    if not _holds(node.value, done.value):
        return None
    if done.previous is not None:
        return text[: node.start] + done.previous + text[node.end :]
    return _without_member(text, done)


def _take_back_add(text: str, done: Done) -> str | None:
    array = _node_at(text, done.path)
    if array is None or array.kind != "array":
        return text
    part = next((part for part in reversed(array.parts) if part.node.value == done.value), None)
    if part is None:
        commands = [command for item in array.parts for command in _commands_in(item.node.value)]
        changed = done.mark and any(all(word in command for word in done.mark) for command in commands)
        return None if changed else text
    if done.previous is not None:
        return text[: part.node.start] + done.previous + text[part.node.end :]
    if len(array.parts) == 1 and done.depth < len(done.path) and not has_comments(text, array):
        return _without_member(text, done)
    return take_out(text, array, part, done.inside if done.depth == len(done.path) else None)


def _without_member(text: str, done: Done) -> str:
    """The text without the member at the path, nor what was made to hold it and now holds nothing else."""
    depth = len(done.path) - 1
    holder = _node_at(text, done.path[:depth])
    while depth > done.depth and holder and len(holder.parts) == 1 and not has_comments(text, holder):
        depth -= 1
        holder = _node_at(text, done.path[:depth])
    part = holder.member(done.path[depth]) if holder else None
    assert holder is not None
    assert part is not None
    return take_out(text, holder, part, done.inside if depth == done.depth else None)


def _node_at(text: str, path: tuple[str, ...]) -> Node | None:
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
            (f'"{".".join(path)}"', f"“{'.'.join(path)}”") if path else ("the file as a whole", "整个文件")
        )
        raise CannotEdit(say(f"{english} is not {what}", f"{chinese}不是{what}"))


# TOML, and rules in Markdown.


def _put_toml(text: str, edit: Put) -> tuple[str, Done]:
    before = value_at(load_toml(text), edit.path)
    value = _server_with_scope(before, edit)
    whole = {**before, **value} if isinstance(before, dict) else value  # what else somebody set there stays
    after, added = put_table(text, edit.path, whole)
    previous = None if before is None else json.dumps(before, ensure_ascii=False, default=str)
    return after, Done("put", edit.path, value, added=added, previous=previous)


def _take_back_toml(text: str, done: Done) -> str | None:
    now = value_at(load_toml(text), done.path)
    if now is None:
        return text
    if not _holds(now, done.value):
        return None
    if done.previous is None:
        return take_out_table(text, done.path, done.added)
    before = json.loads(done.previous)
    if isinstance(before, dict) and isinstance(now, dict):  # what we did not write is as it is now
        before = {name: value if name in done.value else now.get(name, value) for name, value in before.items()}
    return put_table(text, done.path, before)[0]


def with_rules(data: bytes, language: str) -> bytes:
    return rules.with_block(document(Path("AGENTS.md"), data), language)


def without_rules(data: bytes) -> bytes:
    return rules.without_block(document(Path("AGENTS.md"), data))
