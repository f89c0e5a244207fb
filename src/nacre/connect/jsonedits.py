"""Edits of JSON and its cousins: a member put, an item added, and both taken back from whatever the text has become."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nacre.connect import jsontext
from nacre.connect.edit import Add, CannotEdit, Done, Put, holds
from nacre.connect.limits import limited, limited_hook
from nacre.connect.spans import Node, Part, at, comments, member, read, value_of
from nacre.words import say


def put(text: str, edit: Put) -> tuple[str, Done | None]:
    root = _root(text)
    style = jsontext.style_of(text, root)
    holder, depth = _deepest(root, edit.path)
    kind = "default" if edit.default else "put"
    if depth == len(edit.path):
        if edit.default:
            return text, None
        value = limited(value_of(holder), edit.value, ".".join(edit.path))
        done = Done(kind, edit.path, value, depth=depth, previous=_raw(text, holder))
        if isinstance(value, dict) and holder.kind == "object":
            return _merged(text, edit.path, value), done
        return (text if value_of(holder) == value else jsontext.replace(text, holder, value, style)), done
    _must_be(holder, "object", edit.path[:depth])
    value = edit.value
    for name in reversed(edit.path[depth + 1 :]):
        value = {name: value}
    done = Done(kind, edit.path, edit.value, depth=depth, inside=_inside(text, holder))
    return jsontext.put(text, holder, edit.path[depth], value, style), done


def add(text: str, edit: Add) -> tuple[str, Done]:
    root = _root(text)
    style = jsontext.style_of(text, root)
    holder, depth = _deepest(root, edit.path)
    if depth < len(edit.path):
        after, done = put(text, Put(edit.path, [edit.value]))
        assert done is not None
        return after, Done("add", edit.path, edit.value, edit.mark, done.depth, done.inside)
    _must_be(holder, "array", edit.path)
    if known := list(ours(holder, edit)):
        part, now = known[-1]
        value = limited_hook(now, edit.value)
        done = Done("add", edit.path, value, edit.mark, depth, previous=_raw(text, part.value))
        return (text if now == value else jsontext.replace(text, part.value, value, style)), done
    done = Done("add", edit.path, edit.value, edit.mark, depth, inside=_inside(text, holder))
    return jsontext.add(text, holder, edit.value, style), done


def _merged(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """The text with these members in the object at the path; what else somebody set there stays, and so do comments."""
    for name, one in value.items():
        root = _root(text)
        holder, _ = _deepest(root, path)
        part = member(holder, name)
        style = jsontext.style_of(text, root)
        if part is None:
            text = jsontext.put(text, holder, name, one, style)
        elif value_of(part.value) != one:
            text = jsontext.replace(text, part.value, one, style)
    return text


def put_back(text: str, done: Done) -> str | None:
    root = read(text)
    node = at(root, done.path)
    if root is None or node is None:
        return text
    if done.kind == "default":
        return _without(text, root, done) if len(root.parts) == 1 and value_of(node) == done.value else text
    if not holds(value_of(node), done.value):
        return None
    if done.previous is not None:
        return text[: node.start] + done.previous + text[node.end :]
    return _without(text, root, done)


def add_back(text: str, done: Done) -> str | None:
    root = read(text)
    array = at(root, done.path)
    if root is None or array is None or array.kind != "array":
        return text
    part = next((part for part in reversed(array.parts) if value_of(part.value) == done.value), None)
    if part is None:
        edited = done.mark and any(_mentions(value_of(one.value), done.mark) for one in array.parts)
        return None if edited else text
    if done.previous is not None:
        return text[: part.value.start] + done.previous + text[part.value.end :]
    if len(array.parts) == 1 and done.depth < len(done.path) and not _said(text, array):
        return _without(text, root, done)
    return jsontext.take_out(text, array, part, done.inside if done.depth == len(done.path) else None)


def _without(text: str, root: Node, done: Done) -> str:
    """The text without the member at the path, nor what was made to hold it and now holds nothing else."""
    depth = len(done.path)
    while depth - 1 > done.depth:
        holder = at(root, done.path[: depth - 1])
        if holder is None or len(holder.parts) != 1 or _said(text, holder):
            break
        depth -= 1
    holder = at(root, done.path[: depth - 1])
    assert holder is not None
    part = member(holder, done.path[depth - 1])
    assert part is not None
    return jsontext.take_out(text, holder, part, done.inside if depth - 1 == done.depth else None)


def _said(text: str, holder: Node) -> bool:
    """Whether comments stand between the brackets of something with one part."""
    part = holder.parts[0]
    end = part.end if part.comma is None else part.comma + 1
    between = comments(text, part.end, part.comma) if part.comma is not None else []
    return bool(comments(text, holder.start + 1, part.start) or between or comments(text, end, holder.end - 1))


def ours(array: Node, edit: Add) -> Iterator[tuple[Part, Any]]:
    """The items that are ours: the very value, or one whose every command carries our mark."""
    for part in array.parts:
        value = value_of(part.value)
        told = list(commands(value))
        if value == edit.value or (edit.mark and told and all(_marked(one, edit.mark) for one in told)):
            yield part, value


def _mentions(value: Any, mark: tuple[str, ...]) -> bool:
    return any(_marked(one, mark) for one in commands(value))


def _marked(command: str, mark: tuple[str, ...]) -> bool:
    return all(one in command for one in mark)


def commands(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            if name == "command" and isinstance(one, str):
                yield one
            elif name == "command" and isinstance(one, list):
                yield " ".join(map(str, one))
            elif isinstance(one, (dict, list)):
                yield from commands(one)
    elif isinstance(value, list):
        for one in value:
            yield from commands(one) if isinstance(one, (dict, list)) else ()


def _root(text: str) -> Node:
    root = read(text)
    assert root is not None
    _must_be(root, "object", ())
    return root


def _deepest(root: Node, path: tuple[str, ...]) -> tuple[Node, int]:
    node = root
    for depth, name in enumerate(path):
        found = member(node, name)
        if found is None:
            return node, depth
        node = found.value
    return node, len(path)


def _must_be(node: Node, kind: str, path: tuple[str, ...]) -> None:
    if node.kind != kind:
        name = ".".join(path)
        what = say("an object", "对象") if kind == "object" else say("a list", "列表")
        if not path:
            raise CannotEdit(say(f"the file as a whole is not {what}", f"整个文件不是{what}"))
        raise CannotEdit(say(f'"{name}" is not {what}', f"“{name}”不是{what}"))


def _raw(text: str, node: Node) -> str:
    return text[node.start : node.end]


def _inside(text: str, holder: Node) -> str | None:
    return None if holder.parts else text[holder.start + 1 : holder.end - 1]
