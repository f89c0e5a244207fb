"""Edits of one settings file: applied to its text, and taken back from whatever the text has become."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from nacre.agents import json_editor, toml_editor
from nacre.agents.json_editor import Node, Part, comments_between, member, node_at, parse_json, value_of
from nacre.i18n import say
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
    """Our block of rules in a Markdown file of the agent's."""

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

    @property
    def name(self) -> str:
        return ".".join(self.path)


class CannotEdit(ValueError):
    """The file says something in the place of ours that is none of the kind; the sentence names it."""


def holds_value(now: Any, wanted: Any) -> bool:
    """Whether a value is what was written; the agent or the user may have added settings to it."""
    if isinstance(wanted, dict) and isinstance(now, dict):
        return all(name in now and now[name] == one for name, one in wanted.items())
    return bool(now == wanted) and type(now) is type(wanted)


# What somebody set for us by hand before, and stays: whom an entry is for above all. Connecting never lets anybody
# hear more.

_ADDRESS_KEYS = ("url", "httpUrl", "serverUrl")  # of a server that is reached by an address
_PROGRAM_NAMES = ("nacre", "nacre.exe", "nacre.cmd")
_SCOPE_IN_LINE = re.compile(r"""(?:--scope(?:=|\s+)|NACRE_SCOPE=)("[^"]*"|'[^']*'|[^\s"']+)""")


def with_same_scope(now: Any, wanted: Any, name: str = "") -> Any:
    """The entry that is wanted, for nobody but those whom the one that stands there is for. What of it cannot be understood, and so
    might be narrower than ours, is not written over."""
    if not isinstance(now, Mapping) or not isinstance(wanted, dict) or "command" not in wanted:
        return wanted
    if any(one in now for one in _ADDRESS_KEYS):
        raise _made_by_hand(name)
    words = [*_argument_words(now.get("command")), *_argument_words(now.get("args"))]
    if not words:
        return wanted
    scope = _scope_in(words, name)
    if not any(_is_nacre(word) for word in words):
        raise _made_by_hand(name)
    if scope is None:
        return wanted
    holder = "args" if "args" in wanted else "command"
    return {**wanted, holder: [*wanted[holder], "--scope", scope]}


def hook_with_same_scope(now: Any, wanted: Any) -> Any:
    """The hook that is wanted, for the scope that the commands of the one that stands there name."""
    if isinstance(now, Mapping) and isinstance(wanted, dict):
        found = {name: hook_with_same_scope(now.get(name), one) for name, one in wanted.items()}
        told = now.get("command")
        if (
            isinstance(told, str)
            and isinstance(wanted.get("command"), str)
            and (scopes := _SCOPE_IN_LINE.findall(told))
        ):
            found["command"] = f"{wanted['command']} --scope {scopes[-1]}"
        return found
    if isinstance(now, list) and isinstance(wanted, list) and now:
        return [hook_with_same_scope(now[min(at, len(now) - 1)], one) for at, one in enumerate(wanted)]
    return wanted


def _scope_in(words: list[str], name: str) -> str | None:
    """The scope that the last of the options names; one that is said in another way is not guessed."""
    found: str | None = None
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if word == "--scope" and waiting:
            found = waiting.pop()
        elif word.startswith(("--scope=", "NACRE_SCOPE=")):
            found = word.partition("=")[2]
        elif "scope" in word.lower():
            raise _made_by_hand(name)
    return found


def _argument_words(told: Any) -> list[str]:
    if isinstance(told, list):
        return [str(one) for one in told]
    return [told] if isinstance(told, str) else []


def _is_nacre(word: str) -> bool:
    return PureWindowsPath(word).name.lower() in _PROGRAM_NAMES or PurePosixPath(word).name.lower() in _PROGRAM_NAMES


def _made_by_hand(name: str) -> CannotEdit:
    return CannotEdit(
        say(
            f'"{name}" was made by hand and starts or reaches Nacre in a way of its own, which may be narrower; rename it or take it out first',
            f"“{name}”是手动添加的，以自己的方式启动或连接 Nacre，其范围可能更窄；请先改名或移除",
        )
    )


# Edits of JSON and its cousins: a member put, an item added, and both taken back from whatever the text has become.


def put_json(text: str, edit: Put) -> tuple[str, Done | None]:
    root = _root_object(text)
    style = json_editor.style_of(text, root)
    holder, depth = _deepest_node(root, edit.path)
    kind = "default" if edit.default else "put"
    if depth == len(edit.path):
        if edit.default:
            return text, None
        value = with_same_scope(value_of(holder), edit.value, ".".join(edit.path))
        done = Done(kind, edit.path, value, depth=depth, previous=_raw_text(text, holder))
        if isinstance(value, dict) and holder.kind == "object":
            return _merge_members(text, edit.path, value), done
        return (text if value_of(holder) == value else json_editor.replace_value(text, holder, value, style)), done
    _require_kind(holder, "object", edit.path[:depth])
    value = edit.value
    for name in reversed(edit.path[depth + 1 :]):
        value = {name: value}
    done = Done(kind, edit.path, edit.value, depth=depth, inside=_text_inside(text, holder))
    return json_editor.insert_member(text, holder, edit.path[depth], value, style), done


def add_json(text: str, edit: Add) -> tuple[str, Done]:
    root = _root_object(text)
    style = json_editor.style_of(text, root)
    holder, depth = _deepest_node(root, edit.path)
    if depth < len(edit.path):
        after, done = put_json(text, Put(edit.path, [edit.value]))
        assert done is not None
        return after, Done("add", edit.path, edit.value, edit.mark, done.depth, done.inside)
    _require_kind(holder, "array", edit.path)
    if known := list(own_items(holder, edit)):
        part, now = known[-1]
        value = hook_with_same_scope(now, edit.value)
        done = Done("add", edit.path, value, edit.mark, depth, previous=_raw_text(text, part.value))
        return (text if now == value else json_editor.replace_value(text, part.value, value, style)), done
    done = Done("add", edit.path, edit.value, edit.mark, depth, inside=_text_inside(text, holder))
    return json_editor.insert_item(text, holder, edit.value, style), done


def _merge_members(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """The text with these members in the object at the path; what else somebody set there stays, and so do comments."""
    for name, one in value.items():
        root = _root_object(text)
        holder, _ = _deepest_node(root, path)
        part = member(holder, name)
        style = json_editor.style_of(text, root)
        if part is None:
            text = json_editor.insert_member(text, holder, name, one, style)
        elif value_of(part.value) != one:
            text = json_editor.replace_value(text, part.value, one, style)
    return text


def take_back_put(text: str, done: Done) -> str | None:
    root = parse_json(text)
    node = node_at(root, done.path)
    if root is None or node is None:
        return text
    if done.kind == "default":
        return _without_member(text, root, done) if len(root.parts) == 1 and value_of(node) == done.value else text
    if not holds_value(value_of(node), done.value):
        return None
    if done.previous is not None:
        return text[: node.start] + done.previous + text[node.end :]
    return _without_member(text, root, done)


def take_back_add(text: str, done: Done) -> str | None:
    root = parse_json(text)
    array = node_at(root, done.path)
    if root is None or array is None or array.kind != "array":
        return text
    part = next((part for part in reversed(array.parts) if value_of(part.value) == done.value), None)
    if part is None:
        edited = done.mark and any(_mentions(value_of(one.value), done.mark) for one in array.parts)
        return None if edited else text
    if done.previous is not None:
        return text[: part.value.start] + done.previous + text[part.value.end :]
    if len(array.parts) == 1 and done.depth < len(done.path) and not _has_comments(text, array):
        return _without_member(text, root, done)
    return json_editor.take_out_part(text, array, part, done.inside if done.depth == len(done.path) else None)


def _without_member(text: str, root: Node, done: Done) -> str:
    """The text without the member at the path, nor what was made to hold it and now holds nothing else."""
    depth = len(done.path)
    while depth - 1 > done.depth:
        holder = node_at(root, done.path[: depth - 1])
        if holder is None or len(holder.parts) != 1 or _has_comments(text, holder):
            break
        depth -= 1
    holder = node_at(root, done.path[: depth - 1])
    assert holder is not None
    part = member(holder, done.path[depth - 1])
    assert part is not None
    return json_editor.take_out_part(text, holder, part, done.inside if depth - 1 == done.depth else None)


def _has_comments(text: str, holder: Node) -> bool:
    """Whether comments stand between the brackets of something with one part."""
    part = holder.parts[0]
    end = part.end if part.comma is None else part.comma + 1
    between = comments_between(text, part.end, part.comma) if part.comma is not None else []
    return bool(
        comments_between(text, holder.start + 1, part.start) or between or comments_between(text, end, holder.end - 1)
    )


def own_items(array: Node, edit: Add) -> Iterator[tuple[Part, Any]]:
    """The items that are ours: the very value, or one whose every command carries our mark."""
    for part in array.parts:
        value = value_of(part.value)
        told = list(commands_in(value))
        if value == edit.value or (edit.mark and told and all(_marked(one, edit.mark) for one in told)):
            yield part, value


def _mentions(value: Any, mark: tuple[str, ...]) -> bool:
    return any(_marked(one, mark) for one in commands_in(value))


def _marked(command: str, mark: tuple[str, ...]) -> bool:
    return all(one in command for one in mark)


def commands_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            if name == "command" and isinstance(one, str):
                yield one
            elif name == "command" and isinstance(one, list):
                yield " ".join(map(str, one))
            elif isinstance(one, (dict, list)):
                yield from commands_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from commands_in(one) if isinstance(one, (dict, list)) else ()


def _root_object(text: str) -> Node:
    root = parse_json(text)
    assert root is not None
    _require_kind(root, "object", ())
    return root


def _deepest_node(root: Node, path: tuple[str, ...]) -> tuple[Node, int]:
    node = root
    for depth, name in enumerate(path):
        found = member(node, name)
        if found is None:
            return node, depth
        node = found.value
    return node, len(path)


def _require_kind(node: Node, kind: str, path: tuple[str, ...]) -> None:
    if node.kind != kind:
        name = ".".join(path)
        what = say("an object", "对象") if kind == "object" else say("a list", "列表")
        if not path:
            raise CannotEdit(say(f"the file as a whole is not {what}", f"整个文件不是{what}"))
        raise CannotEdit(say(f'"{name}" is not {what}', f"“{name}”不是{what}"))


def _raw_text(text: str, node: Node) -> str:
    return text[node.start : node.end]


def _text_inside(text: str, holder: Node) -> str | None:
    return None if holder.parts else text[holder.start + 1 : holder.end - 1]


# What is written into one settings file: carried out on its text, and taken back from whatever the text has become.


def are_in_place(text: str, form: str, edits: Sequence[Edit]) -> bool:
    """Whether everything stands there already, wherever and however it is laid out."""
    if form == MARKDOWN:
        return all(isinstance(edit, RulesBlock) and _with_rules(text, edit) == text for edit in edits)
    if form == TOML:
        told = toml_editor.load_toml(text)
        return all(
            isinstance(edit, Put) and _is_present(toml_editor.toml_value(told, edit.path), edit) for edit in edits
        )
    root = parse_json(text)
    for edit in edits:
        assert not isinstance(edit, RulesBlock)
        node = node_at(root, edit.path)
        if isinstance(edit, Put) and not (node and (edit.default or _is_present(value_of(node), edit))):
            return False
        if isinstance(edit, Add) and not (
            node and any(now == hook_with_same_scope(now, edit.value) for _, now in own_items(node, edit))
        ):
            return False
    return True


def _is_present(now: Any, edit: Put) -> bool:
    return holds_value(now, with_same_scope(now, edit.value, ".".join(edit.path)))


def apply_edits(text: str, form: str, edits: Sequence[Edit]) -> tuple[str, list[Done]]:
    """The text with the edits, and what was done; `ValueError` says why it cannot be."""
    done: list[Done] = []
    for edit in edits:
        if isinstance(edit, RulesBlock):
            after = _with_rules(text, edit)
            added = after.removeprefix(text) if after.startswith(text) else ""
            one: Done | None = Done("rules", added=added)
        elif form == TOML:
            assert isinstance(edit, Put)
            after, one = _put_toml(text, edit)
        else:
            if parse_json(text) is None:
                text = json_editor.fresh_json(text, {})
            after, one = put_json(text, edit) if isinstance(edit, Put) else add_json(text, edit)
        text = after
        done += [one] if one else []
    return text, done


def take_back_edits(text: str, form: str, done: Sequence[Done]) -> tuple[str, list[str]]:
    """The text without what was done, and the names of what somebody has changed since, which stays."""
    left: list[str] = []
    # What was only put so that the rest may stand goes last, and only when nothing else is there.
    defaults = [one for one in done if one.kind == "default"]
    for one in (*(one for one in reversed(done) if one.kind != "default"), *defaults):
        try:
            if one.kind == "rules":
                after: str | None = _without_rules(text, one)
            elif form == TOML:
                after = _take_back_toml(text, one)
            else:
                after = take_back_add(text, one) if one.kind == "add" else take_back_put(text, one)
        except toml_editor.CannotEditToml:
            after = None
        if after is None:
            left.append(one.name)
        else:
            text = after
    return text, left


def recognise_edits(text: str, form: str, edits: Sequence[Edit]) -> list[Done]:
    """What of ours stands in a text, whoever wrote it, as if it had been carried out there; what held it is not taken for ours."""
    found: list[Done] = []
    told = toml_editor.load_toml(text) if form == TOML else None
    root = parse_json(text) if form == JSON else None
    for edit in edits:
        if isinstance(edit, RulesBlock):
            found += [Done("rules")] if _without_rules(text, Done("rules")) != text else []
        elif isinstance(edit, Put) and not edit.default:
            node = node_at(root, edit.path)
            now = toml_editor.toml_value(told, edit.path) if told is not None else value_of(node) if node else None
            if now is not None and (now == edit.value or any("nacre" in one for one in commands_in(now))):
                found.append(Done("put", edit.path, now, depth=len(edit.path) - 1))
        elif isinstance(edit, Add) and (array := node_at(root, edit.path)) and array.kind == "array":
            ours = [value for _, value in own_items(array, edit)]
            found += [Done("add", edit.path, value, depth=len(edit.path)) for value in ours]
    return found


def is_empty_file(text: str, form: str) -> bool:
    """Whether nothing is left in a file."""
    if form != JSON:
        return not text.strip("\ufeff \t\r\n")
    root = parse_json(text)
    return root is None or (
        root.kind == "object" and not root.parts and not comments_between(text, root.start + 1, root.end - 1)
    )


def _put_toml(text: str, edit: Put) -> tuple[str, Done]:
    before = toml_editor.toml_value(toml_editor.load_toml(text), edit.path)
    value = with_same_scope(before, edit.value, ".".join(edit.path))
    whole = {**before, **value} if isinstance(before, dict) else value  # what else somebody set there stays
    after, added = toml_editor.put_table(text, edit.path, whole)
    if before is None:
        return after, Done("put", edit.path, value, added=added)
    return after, Done("put", edit.path, value, added=added, previous=_as_json(before))


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _take_back_toml(text: str, done: Done) -> str | None:
    now = toml_editor.toml_value(toml_editor.load_toml(text), done.path)
    if now is None:
        return text
    if not holds_value(now, done.value):
        return None
    if done.previous is not None:
        before = json.loads(done.previous)
        if isinstance(before, dict) and isinstance(now, dict):  # what we did not write is as it is now
            before = {name: one if name in done.value else now.get(name, one) for name, one in before.items()}
        return toml_editor.put_table(text, done.path, before)[0]
    return toml_editor.take_out_table(text, done.path, done.added)


def _with_rules(text: str, edit: RulesBlock) -> str:
    return rules.with_block(document(Path("AGENTS.md"), text.encode()), edit.language).decode()


def _without_rules(text: str, done: Done) -> str:
    if done.added and text.count(done.added) == 1:
        return text.replace(done.added, "")
    return rules.without_block(document(Path("AGENTS.md"), text.encode())).decode()
