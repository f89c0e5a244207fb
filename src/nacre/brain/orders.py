"""Orders for the user's own model, and its answers: plain values, a JSON schema made from them, text with its data marked as data."""

from __future__ import annotations

import hashlib
import json
import os
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, Literal

from nacre.errors import NacreError
from nacre.model.session import ORDER_MARK, Speaker
from nacre.model.workspace import Workspace
from nacre.text.quoting import parts
from nacre.vault.discover import trusted_workspaces

Work = Literal["extract", "digest", "distil", "summarise"]
LONGEST = {"en": 260, "zh": 130}  # characters of one line, as in the local brain
FRAME = {"en": 33, "zh": 20}  # characters that stand around a line of a digest, about
LARGEST_ANSWER = 400_000  # characters; no honest answer is so long


class BrainFailed(NacreError):
    """The model gave no answer that can be used; the local brain does the work."""


class Waiting(BrainFailed):
    """Orders wait for the user's agent, by their keys: work that can be left for later is left."""

    def __init__(self, *keys: str) -> None:
        super().__init__("Waiting for your agent.", "等待你的智能体处理。")
        self.keys = keys


# What an answer consists of. Each claim cites what it rests on.


@dataclass(frozen=True)
class Claim:
    text: str
    speaker: Literal["owner", "agent"]
    cites: tuple[str, ...]


@dataclass(frozen=True)
class NewEntry(Claim):
    type: Literal["PREF", "PROJ", "TECH", "LESSON", "PEOPLE", "TEMP", "-"]


@dataclass(frozen=True)
class DigestLine(Claim):
    category: Literal["decision", "discovery", "preference", "task"]


@dataclass(frozen=True)
class Change:
    """What is to become of a new entry. `targets` are the lines of memory that it is about, the first as `relation` says."""

    entry: str
    targets: tuple[str, ...]
    relation: Literal["same", "replaces", "adds", "exception", "unclear", "none"]
    verdict: Literal["keep", "update", "merge", "drop", "ask"]
    type: Literal["PREF", "PROJ", "TECH", "LESSON", "PEOPLE"]
    scope: Literal["project", "everywhere"]
    text: str

    @property
    def cites(self) -> tuple[str, ...]:
        return (self.entry, *self.targets)


@dataclass(frozen=True)
class Extracted:
    entries: tuple[NewEntry, ...]


@dataclass(frozen=True)
class Digested:
    lines: tuple[DigestLine, ...]


@dataclass(frozen=True)
class Distilled:
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Summary:
    title: str
    tags: tuple[str, ...]
    lines: tuple[Claim, ...]


Answer = Extracted | Digested | Distilled | Summary
ANSWERS: Mapping[str, type[Answer]] = {
    "extract": Extracted,
    "digest": Digested,
    "distil": Distilled,
    "summarise": Summary,
}


def schema(kind: Any) -> dict[str, Any]:
    """The JSON schema of a dataclass, in the form that services take in their strict mode: no limits, every field required."""
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        properties = {field.name: schema(hints[field.name]) for field in fields(kind)}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    if typing.get_origin(kind) is Literal:
        return {"type": "string", "enum": list(typing.get_args(kind))}
    if typing.get_origin(kind) is tuple:
        return {"type": "array", "items": schema(typing.get_args(kind)[0])}
    return {str: {"type": "string"}}[kind]


# What is asked.


@dataclass(frozen=True)
class Item:
    """A message, or an entry, with the id by which answers cite it."""

    id: str
    text: str
    speaker: Speaker = Speaker.OWNER
    stamp: str = ""  # its day, and its project where there are several
    is_entry: bool = False  # a line of memory, in which nothing is pasted

    @cached_property
    def own(self) -> str:
        """The words of who speaks, without what is pasted or quoted."""
        if self.is_entry:
            return self.text
        typed = self.speaker is Speaker.OWNER
        return "\n".join(part.text for part in parts(self.text, typed=typed) if not part.quoted).strip()

    def shown(self, longest: int) -> str:
        """As the order gives it: what is pasted is named and not told, a long text loses its middle."""
        if self.is_entry:
            return self.text
        typed = self.speaker is Speaker.OWNER
        pieces = (f"[pasted: {len(part.text)}]" if part.quoted else part.text for part in parts(self.text, typed=typed))
        text = "\n".join(pieces).strip()
        if len(text) > longest:
            text = f"{text[: longest * 2 // 3]} […] {text[-longest // 3 :]}"
        return text.replace("\n", "\n    ")  # so that no line of a message looks like the beginning of another


@dataclass(frozen=True)
class Order:
    """One piece of work for a model: it sees this and nothing else."""

    work: Work
    language: str
    items: tuple[Item, ...]
    prompt: str
    memory: tuple[Item, ...] = ()  # lines of long-term memory, which changes may name
    most: int = 10  # claims
    longest: int = 260  # characters of a claim
    item_length: int = 1_500  # characters of an item that are shown
    room: int = 0  # characters of all claims together, each counted with its frame; 0 for any number

    @cached_property
    def by_id(self) -> dict[str, Item]:
        return {item.id: item for item in (*self.items, *self.memory)}

    @cached_property
    def text(self) -> str:
        data = "\n".join(
            f"{item.id} {item.speaker}{item.stamp and f' {item.stamp}'}: {item.shown(self.item_length)}"
            for item in (*self.items, *self.memory)
        )
        # A boundary that nobody could have written into the data.
        end = hashlib.blake2b(data.encode("utf-8", "replace"), digest_size=6).hexdigest()
        limits = {"most": self.most, "longest": self.longest, "room": self.room, "frame": FRAME[self.language]}
        prompt = reduce(lambda text, limit: text.replace(f"{{{limit[0]}}}", str(limit[1])), limits.items(), self.prompt)
        asked = json.dumps(self.schema, separators=(",", ":"))
        return f"{ORDER_MARK} {self.work}\n\n{prompt.strip()}\n\nJSON schema: {asked}\n\n<data {end}>\n{data}\n</data {end}>\n"

    @property
    def schema(self) -> dict[str, Any]:
        return schema(ANSWERS[self.work])

    @cached_property
    def key(self) -> str:
        """The same for the same order, whenever it is made."""
        return hashlib.blake2b(self.text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def load_prompt(work: Work, language: str, workspace: Workspace | None = None) -> str:
    """What the model is told to do: ours, or the file of a workspace that its user has trusted."""
    name = f"{work}.{language}.md"
    if workspace and os.path.realpath(workspace.root) in trusted_workspaces():
        own = workspace.machine / "prompts" / name
        if own.is_file() and not own.is_symlink():
            return own.read_text(encoding="utf-8", errors="replace")
    return (Path(__file__).parent / "prompts" / name).read_text(encoding="utf-8")


# What comes back.


def parse_answer(work: Work, raw: str) -> tuple[Answer, int]:
    """The answer in what a model printed, and how many of its claims were malformed and left out."""
    from jsonschema import Draft202012Validator

    kind: Any = ANSWERS[work]
    value = _json_object(raw)
    hints = typing.get_type_hints(kind)
    inners = {name: typing.get_args(hint)[0] for name, hint in hints.items() if typing.get_args(hint)}
    (name, inner) = next((name, inner) for name, inner in inners.items() if is_dataclass(inner))
    whole = schema(kind)
    whole["properties"][name]["items"] = True  # each on its own: one that is malformed does not cost the others
    if not Draft202012Validator(whole).is_valid(value):
        raise BrainFailed("The answer does not match the schema.", "模型的回答不符合要求的格式。")
    is_valid = Draft202012Validator(schema(inner)).is_valid

    def made(kind: Any, fields: Mapping[str, Any]) -> Any:
        return kind(**{name: tuple(field) if isinstance(field, list) else field for name, field in fields.items()})

    claims = [made(inner, claim) for claim in value[name] if is_valid(claim)]
    return made(kind, {**value, name: claims}), len(value[name]) - len(claims)


def _json_object(raw: str) -> dict[str, Any]:
    """The JSON object in a text; models put fences and a sentence around it."""
    begin, end = raw.find("{"), raw.rfind("}")
    if len(raw) > LARGEST_ANSWER:
        raise BrainFailed("The answer is too long.", "模型的回答过长。")
    try:
        value = json.loads(raw[begin : end + 1]) if 0 <= begin < end else None
        json.dumps(value, ensure_ascii=False).encode()  # half a character could never be written
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BrainFailed("The answer is not a JSON object.", "模型的回答不是 JSON 对象。")
    return value


def items_of(texts: Sequence[tuple[str, Speaker, str]], letter: str = "m") -> tuple[Item, ...]:
    """Texts with their speakers and stamps as numbered items."""
    return tuple(Item(f"{letter}{number}", *about) for number, about in enumerate(texts, 1))
