"""What is written into one settings file: carried out on its text, and taken back from whatever the text has become."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nacre.connect import jsonedits, jsontext, tomltext
from nacre.connect.edit import JSON, MARKDOWN, TOML, Add, Done, Edit, Put, Rules, holds
from nacre.connect.limits import limited, limited_hook
from nacre.connect.spans import at, comments, read, value_of
from nacre.vault import rules
from nacre.vault.markdown import document


def is_in_place(text: str, form: str, edits: Sequence[Edit]) -> bool:
    """Whether everything stands there already, wherever and however it is laid out."""
    if form == MARKDOWN:
        return all(isinstance(edit, Rules) and _with_rules(text, edit) == text for edit in edits)
    if form == TOML:
        told = tomltext.loads(text)
        return all(isinstance(edit, Put) and _stands(tomltext.found(told, edit.path), edit) for edit in edits)
    root = read(text)
    for edit in edits:
        assert not isinstance(edit, Rules)
        node = at(root, edit.path)
        if isinstance(edit, Put) and not (node and (edit.default or _stands(value_of(node), edit))):
            return False
        if isinstance(edit, Add) and not (
            node and any(now == limited_hook(now, edit.value) for _, now in jsonedits.ours(node, edit))
        ):
            return False
    return True


def _stands(now: Any, edit: Put) -> bool:
    return holds(now, limited(now, edit.value, ".".join(edit.path)))


def carried_out(text: str, form: str, edits: Sequence[Edit]) -> tuple[str, list[Done]]:
    """The text with the edits, and what was done; `ValueError` says why it cannot be."""
    done: list[Done] = []
    for edit in edits:
        if isinstance(edit, Rules):
            after = _with_rules(text, edit)
            added = after.removeprefix(text) if after.startswith(text) else ""
            one: Done | None = Done("rules", added=added)
        elif form == TOML:
            assert isinstance(edit, Put)
            after, one = _toml_put(text, edit)
        else:
            if read(text) is None:
                text = jsontext.fresh(text, {})
            after, one = jsonedits.put(text, edit) if isinstance(edit, Put) else jsonedits.add(text, edit)
        text = after
        done += [one] if one else []
    return text, done


def taken_back(text: str, form: str, done: Sequence[Done]) -> tuple[str, list[str]]:
    """The text without what was done, and the names of what somebody has changed since, which stays."""
    left: list[str] = []
    # What was only put so that the rest may stand goes last, and only when nothing else is there.
    defaults = [one for one in done if one.kind == "default"]
    for one in (*(one for one in reversed(done) if one.kind != "default"), *defaults):
        try:
            if one.kind == "rules":
                after: str | None = _without_rules(text, one)
            elif form == TOML:
                after = _toml_back(text, one)
            else:
                after = jsonedits.add_back(text, one) if one.kind == "add" else jsonedits.put_back(text, one)
        except tomltext.NotSafe:
            after = None
        if after is None:
            left.append(one.name)
        else:
            text = after
    return text, left


def recognised(text: str, form: str, edits: Sequence[Edit]) -> list[Done]:
    """What of ours stands in a text, whoever wrote it, as if it had been carried out there; what held it is not taken for ours."""
    found: list[Done] = []
    told = tomltext.loads(text) if form == TOML else None
    root = read(text) if form == JSON else None
    for edit in edits:
        if isinstance(edit, Rules):
            found += [Done("rules")] if _without_rules(text, Done("rules")) != text else []
        elif isinstance(edit, Put) and not edit.default:
            node = at(root, edit.path)
            now = tomltext.found(told, edit.path) if told is not None else value_of(node) if node else None
            if now is not None and (now == edit.value or any("nacre" in one for one in jsonedits.commands(now))):
                found.append(Done("put", edit.path, now, depth=len(edit.path) - 1))
        elif isinstance(edit, Add) and (array := at(root, edit.path)) and array.kind == "array":
            ours = [value for _, value in jsonedits.ours(array, edit)]
            found += [Done("add", edit.path, value, depth=len(edit.path)) for value in ours]
    return found


def is_bare(text: str, form: str) -> bool:
    """Whether nothing is left in a file."""
    if form != JSON:
        return not text.strip("\ufeff \t\r\n")
    root = read(text)
    return root is None or (
        root.kind == "object" and not root.parts and not comments(text, root.start + 1, root.end - 1)
    )


def _toml_put(text: str, edit: Put) -> tuple[str, Done]:
    before = tomltext.found(tomltext.loads(text), edit.path)
    value = limited(before, edit.value, ".".join(edit.path))
    whole = {**before, **value} if isinstance(before, dict) else value  # what else somebody set there stays
    after, added = tomltext.put(text, edit.path, whole)
    if before is None:
        return after, Done("put", edit.path, value, added=added)
    return after, Done("put", edit.path, value, added=added, previous=_plain(before))


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _toml_back(text: str, done: Done) -> str | None:
    now = tomltext.found(tomltext.loads(text), done.path)
    if now is None:
        return text
    if not holds(now, done.value):
        return None
    if done.previous is not None:
        before = json.loads(done.previous)
        if isinstance(before, dict) and isinstance(now, dict):  # what we did not write is as it is now
            before = {name: one if name in done.value else now.get(name, one) for name, one in before.items()}
        return tomltext.put(text, done.path, before)[0]
    return tomltext.take_out(text, done.path, done.added)


def _with_rules(text: str, edit: Rules) -> str:
    return rules.with_block(document(Path("AGENTS.md"), text.encode()), edit.language).decode()


def _without_rules(text: str, done: Done) -> str:
    if done.added and text.count(done.added) == 1:
        return text.replace(done.added, "")
    return rules.without_block(document(Path("AGENTS.md"), text.encode())).decode()
