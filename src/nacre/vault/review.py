"""`memory/review.md`: what wants a person's eye. Readable as it is, answered by `nacre review`, edited by hand at will."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nacre.guard.sanitise import one_line
from nacre.vault.append import REDACT, guarded
from nacre.vault.markdown import Document, document, open_document, words_of
from nacre.vault.operation import Operation
from nacre.vault.rewrite import rewrite
from nacre.vault.workspace import Workspace
from nacre.words import say

CLASH, DOUBT, FULL, ADOPTED, FADED = "clash", "doubt", "full", "adopted", "faded"
KINDS = (CLASH, DOUBT, FULL, ADOPTED, FADED)
_ABOUT = re.compile(r"<!-- nacre:(\{.*?\}) -->")
_HEAD = """# Review

> What long-term memory could not decide alone. `nacre review` asks about each; lines that you delete here are left as they are.
"""


@dataclass(frozen=True)
class Item:
    """One question: an offered text or an entry, why it is asked, and what belongs to it."""

    id: str
    kind: str
    text: str
    why: str
    about: Mapping[str, Any] = field(
        default_factory=dict
    )  # against, file, section, source, tests: what an answer needs

    @property
    def said(self) -> tuple[str, str] | None:
        """The line of the logs that it came from, by day and mark."""
        source = self.about.get("source")
        if not isinstance(source, dict) or not source.get("bullet"):
            return None
        return str(source.get("day", "")), str(source["bullet"])


def read(workspace: Workspace) -> list[Item]:
    """The questions that are open, in the order of the file."""
    doc = open_document(workspace.review)
    return [] if doc is None else _items(doc)


def _items(doc: Document) -> list[Item]:
    found: list[Item] = []
    for item in doc.items:
        if not (match := _ABOUT.search(item.text)):
            continue
        try:
            about = json.loads(match[1])
        except ValueError:
            continue
        if isinstance(about, dict) and isinstance(about.get("id"), str) and about.get("kind") in KINDS:
            why = " ".join(line.strip(" -") for line in item.text.split("\n")[1:] if line.strip())
            words = _ABOUT.sub("", item.text.split("\n")[0]).strip()
            known = about.pop("id"), about.pop("kind")
            found.append(Item(*known, words, why, about))
    return found


def change(op: Operation, *, add: Sequence[Item] = (), drop: Iterable[str] = ()) -> None:
    """Put questions in and take answered ones out, by id; everything else in the file stays as it is."""
    workspace = op.workspace
    doc = open_document(workspace.review) or document(workspace.review, b"")
    gone = set(drop)
    lines = list(doc.lines)
    here: set[str] = set()
    for item in reversed(doc.items):
        match = _ABOUT.search(item.text)
        known = _id_of(match[1]) if match else None
        if known in gone:
            del lines[item.start - 1 : item.end]
        elif known:
            here.add(known)
    text = "".join(lines)
    new = [item for item in dict.fromkeys(one.id for one in add) if item not in here]
    by_id = {item.id: item for item in add}
    if new:
        text = text or _HEAD
        text += ("" if text.endswith("\n") else "\n") + ("" if text.rstrip().endswith("-->") or not text else "\n")
        text += "".join(_written(by_id[one]) for one in new)
    data = text.encode()
    if data == doc.data:
        return
    existing = open_document(workspace.review)
    rewrite(op, workspace.review, data, read=existing.hash if existing else None)


def _id_of(about: str) -> str | None:
    try:
        value = json.loads(about)
    except ValueError:
        return None
    return value.get("id") if isinstance(value, dict) else None


def _written(item: Item) -> str:
    about = json.dumps({"id": item.id, "kind": item.kind, **item.about}, ensure_ascii=False, separators=(",", ":"))
    about = about.replace("-->", "--\\u003e")
    text, why = (words_of(one_line(guarded(words, REDACT))) for words in (item.text, item.why))
    return f"- {text} <!-- nacre:{about} -->\n  - {why}\n"


def title(kind: str) -> str:
    """What a kind of question is called."""
    return {
        CLASH: say("clash", "冲突"),
        DOUBT: say("doubt", "存疑"),
        FULL: say("no room", "空间不足"),
        ADOPTED: say("adopted line", "收录的行"),
        FADED: say("no longer needed?", "可能已过时"),
    }[kind]
