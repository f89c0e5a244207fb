"""`memory/review.md`: what wants a person's eye. Readable as it is, answered by `nacre review`, edited by hand at will."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nacre.errors import NacreError
from nacre.guard.sanitise import one_line
from nacre.i18n import say
from nacre.model.workspace import Workspace
from nacre.vault.disk import digest, read_bytes
from nacre.vault.entries import without_comments, words_of
from nacre.vault.history import Operation
from nacre.vault.markdown import Document, document
from nacre.vault.writing import REDACT, guarded, rewrite

CLASH, DOUBT, FULL, ADOPTED, FADED = "clash", "doubt", "full", "adopted", "faded"
KINDS = (CLASH, DOUBT, FULL, ADOPTED, FADED)
_OPENING, _CLOSING = "<!-- nacre:{", "} -->"
_HEAD = """# Review

> What long-term memory could not decide alone. `nacre review` asks about each; lines that you delete here are left as they are.
"""


@dataclass(frozen=True)
class Question:
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


def read_review(workspace: Workspace) -> list[Question]:
    """The questions that are open, in the order of the file."""
    try:
        data = read_bytes(workspace.review)
    except NacreError:
        return []  # a folder or a pipe stands there: `change` says so when there is something to write
    return _questions(_readable(workspace, data)) if data else []


def _readable(workspace: Workspace, data: bytes) -> Document:
    """The file line by line as it stands; bytes that are not UTF-8 are shown as such, and hide no question."""
    return document(workspace.review, data.decode("utf-8", "replace").encode())


def _questions(doc: Document) -> list[Question]:
    found: list[Question] = []
    for item in doc.items:
        about = _about(item.text)
        if isinstance(about.get("id"), str) and about.get("kind") in KINDS:
            why = " ".join(line.strip(" -") for line in item.text.split("\n")[1:] if line.strip())
            words = without_comments(item.text.split("\n")[0], _OPENING, _CLOSING, "").strip()
            known = about.pop("id"), about.pop("kind")
            found.append(Question(*known, words, why, about))
    return found


def change_review(op: Operation, *, add: Sequence[Question] = (), drop: Iterable[str] = ()) -> None:
    """Put questions in and take answered ones out, by id; everything else in the file stays as it is."""
    workspace = op.workspace
    gone = set(drop)
    if not add and not gone:
        return
    old = read_bytes(workspace.review)
    doc = _readable(workspace, old or b"")
    lines = (old or b"").decode("utf-8", "surrogateescape").split("\n")
    lines = [line + "\n" for line in lines[:-1]] + lines[-1:]
    here: set[str] = set()
    for item in reversed(doc.items):
        known = _about(item.text).get("id")
        if not isinstance(known, str):
            continue
        if known in gone:
            del lines[item.start - 1 : item.end]
        else:
            here.add(known)
    text = "".join(lines)
    new = [item for item in dict.fromkeys(one.id for one in add) if item not in here]
    by_id = {item.id: item for item in add}
    if new:
        text = text or _HEAD
        text += ("" if text.endswith("\n") else "\n") + ("" if text.rstrip().endswith("-->") or not text else "\n")
        text += "".join(_written(by_id[one]) for one in new)
    data = text.encode("utf-8", "surrogateescape")
    if data != (old or b""):
        rewrite(op, workspace.review, data, read=None if old is None else digest(old))


def _about(text: str) -> dict[str, Any]:
    """What the note behind a question tells; nothing where there is none, or none that can be read."""
    for line in text.split("\n"):
        start = line.find(_OPENING)
        end = line.find(_CLOSING, start)
        if 0 <= start < end:
            try:
                value = json.loads(line[start + len(_OPENING) - 1 : end + 1])
            except (ValueError, RecursionError):
                return {}
            return value if isinstance(value, dict) else {}
    return {}


def _written(item: Question) -> str:
    about = json.dumps({"id": item.id, "kind": item.kind, **item.about}, ensure_ascii=False, separators=(",", ":"))
    about = about.replace("-->", "--\\u003e")
    text, why = (words_of(one_line(guarded(words, REDACT))) for words in (item.text, item.why))
    return f"- {text} <!-- nacre:{about} -->\n  - {why}\n"


def kind_title(kind: str) -> str:
    """What a kind of question is called."""
    return {
        CLASH: say("clash", "冲突"),
        DOUBT: say("doubt", "存疑"),
        FULL: say("no room", "空间不足"),
        ADOPTED: say("adopted line", "收录的行"),
        FADED: say("no longer needed?", "可能已过时"),
    }[kind]
