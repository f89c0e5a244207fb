"""Orders for the user's own model, and its answers: plain values, a JSON schema made from them, text with its data marked as data."""

from __future__ import annotations

import hashlib
import json
import os
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from nacre import model
from nacre.errors import BrainFailed
from nacre.model import ORDER_MARK, Speaker, Workspace
from nacre.text.quoting import parts
from nacre.vault.discover import trusted_workspaces

Work = Literal["extract", "digest", "distil", "summarise"]
LONGEST = {"en": 260, "zh": 130}  # characters of one line, as in the local brain
FRAME = {"en": 33, "zh": 20}  # characters that stand around a line of a digest, about
_PROMPTS = Path(__file__).parent / "prompts"
LARGEST_ANSWER = 400_000  # characters; no honest answer is so long


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
class Answer:
    """The claims of an answer, how many were malformed and left out, and of a summary its title and tags."""

    claims: tuple[Any, ...]
    malformed: int = 0
    title: str = ""
    tags: tuple[str, ...] = ()


# For each kind of work: the field that holds its claims, and what each of them is.
CLAIMS: Mapping[str, tuple[str, type]] = {
    "extract": ("entries", NewEntry),
    "digest": ("lines", DigestLine),
    "distil": ("changes", Change),
    "summarise": ("lines", Claim),
}
_TEXT = {"type": "string"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """In the form that services take in their strict mode: no limits, every field required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def claim_schema(kind: type) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(kind).items():
        if typing.get_origin(hint) is Literal:
            properties[name] = {"type": "string", "enum": list(typing.get_args(hint))}
        else:
            properties[name] = _TEXT if hint is str else {"type": "array", "items": _TEXT}
    return _object(properties)


def schema(work: str) -> dict[str, Any]:
    """The JSON schema of an answer."""
    name, kind = CLAIMS[work]
    head = {"title": _TEXT, "tags": {"type": "array", "items": _TEXT}} if work == "summarise" else {}
    return _object({**head, name: {"type": "array", "items": claim_schema(kind)}})


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
        """As the order gives it: of what is pasted only its length, of a long text its beginning and its end."""
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
    memory: tuple[Item, ...] = ()  # lines of long-term memory, which changes may name
    most: int = 10  # claims
    room: int = 0  # characters of all claims together, each counted with its frame; 0 for any number
    own_prompt: str | None = None  # of a workspace, instead of ours

    @property
    def longest(self) -> int:
        """Characters of a claim."""
        return (model.LONGEST if self.work == "distil" else LONGEST)[self.language]

    @cached_property
    def by_id(self) -> dict[str, Item]:
        return {item.id: item for item in (*self.items, *self.memory)}

    @cached_property
    def text(self) -> str:
        shown = 3_000 if self.work == "summarise" else 1_500  # characters of an item
        data = "\n".join(
            f"{item.id} {item.speaker}{item.stamp and f' {item.stamp}'}: {item.shown(shown)}"
            for item in (*self.items, *self.memory)
        )
        # A boundary that nobody could have written into the data.
        end = hashlib.blake2b(data.encode("utf-8", "replace"), digest_size=6).hexdigest()
        limits = {"most": self.most, "longest": self.longest, "room": self.room, "frame": FRAME[self.language]}
        prompt = self.own_prompt or _PROMPTS.joinpath(f"{self.work}.{self.language}.md").read_text(encoding="utf-8")
        for name, limit in limits.items():
            prompt = prompt.replace(f"{{{name}}}", str(limit))
        asked = json.dumps(self.schema, separators=(",", ":"))
        return f"{ORDER_MARK} {self.work}\n\n{prompt.strip()}\n\nJSON schema: {asked}\n\n<data {end}>\n{data}\n</data {end}>\n"

    @property
    def schema(self) -> dict[str, Any]:
        return schema(self.work)

    @cached_property
    def key(self) -> str:
        """The same for the same order, whenever it is made."""
        return hashlib.blake2b(self.text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def own_prompt(work: Work, language: str, workspace: Workspace) -> str | None:
    """What a workspace tells a model to do instead of what we do; only of one that its user has trusted."""
    own = workspace.machine / "prompts" / f"{work}.{language}.md"
    if not own.is_file() or own.is_symlink() or os.path.realpath(workspace.root) not in trusted_workspaces():
        return None
    return own.read_text(encoding="utf-8", errors="replace")


# What comes back.


def parse_answer(work: str, raw: str) -> Answer:
    """The answer in what a model printed, without claims that are malformed."""
    from jsonschema import Draft202012Validator

    value, (name, kind) = json_object(raw), CLAIMS[work]
    whole = schema(work)
    whole["properties"][name]["items"] = True  # each on its own: one that is malformed does not cost the others
    if not Draft202012Validator(whole).is_valid(value):
        raise BrainFailed("The answer does not match the schema.", "模型的回答不符合要求的格式。")
    is_valid = Draft202012Validator(claim_schema(kind)).is_valid
    rows = [row for row in value[name] if is_valid(row)]
    claims = tuple(
        kind(**{key: tuple(part) if isinstance(part, list) else part for key, part in row.items()}) for row in rows
    )
    return Answer(claims, len(value[name]) - len(rows), value.get("title", ""), tuple(value.get("tags", ())))


def json_object(raw: str) -> dict[str, Any]:
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
