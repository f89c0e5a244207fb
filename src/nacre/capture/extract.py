"""The lines that messages are worth, without what was forgotten, and the types of lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.brain.local.extract import extract
from nacre.brain.local.judge import Judge
from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, ModelUnusable
from nacre.guard.secrets import redact, redact_messages
from nacre.i18n import say
from nacre.model.entry import Bullet, Entry
from nacre.model.session import Message, Speaker
from nacre.model.workspace import DAY_NAME, Workspace
from nacre.text.stamps import label_of, stamp_of
from nacre.vault import disk, tombstones
from nacre.vault.history import operation
from nacre.vault.markdown import Document, Item, document
from nacre.vault.writing import rewrite

if TYPE_CHECKING:
    from nacre.capture.read import Extract
    from nacre.embed.local import LocalEmbedder
    from nacre.vault.tombstones import Tombstones, Vectors


def extract_text(text: str, clock: Clock, judge: Judge) -> list[Bullet]:
    """The lines that a text is worth; none where nothing in it would be missed."""
    if not text.strip():
        raise BadInput(say("There is nothing to read: the text is empty.", "没有可读取的内容：文本为空。"))
    messages = redact_messages([Message("text", clock.now(), Speaker.OWNER, text)])
    return extract(messages, judge, least=1)


# What the user had forgotten is not learned again: bullets that meet a tombstone are not written.


def without_forgotten(workspace: Workspace, extract: Extract) -> Extract:
    """The same extraction, passing over what was forgotten. The tombstones are read when there is something to pass over."""
    stones: list[Tombstones] = []

    def kept(messages: Sequence[Message]) -> list[Bullet]:
        found = extract(messages)
        if found and not stones:
            stones.append(tombstones.load_tombstones(workspace))
        return not_forgotten(stones[0], found) if found else found

    return kept


def not_forgotten(stones: Tombstones, bullets: Sequence[Bullet]) -> list[Bullet]:
    """The bullets that meet no tombstone."""
    if not stones:
        return list(bullets)
    met = are_forgotten(stones, [bullet.text for bullet in bullets])
    return [bullet for bullet, gone in zip(bullets, met, strict=True) if not gone]


def are_forgotten(stones: Tombstones, texts: Sequence[str]) -> list[bool]:
    """Whether each text meets a tombstone; by its meaning too, where the local models are installed."""
    return stones.matches(texts, vectors_of(texts, stones.models)) if stones else [False] * len(texts)


def vectors_of(texts: Sequence[str], models: Container[str] | None = None) -> list[Vectors]:
    """The vectors of each text by the local models that fit it, only by these where some are named; none without models."""
    if not texts or models == frozenset():
        return [{} for _ in texts]
    embedder = _embedder()
    try:
        return [
            {
                model.hash: embedder.embed(model, [text])[0]
                for model in embedder.models_for(text)
                if models is None or model.hash in models
            }
            for text in texts
        ]
    except ModelUnusable:  # words tell enough; who needs the model says that it is damaged
        return [{} for _ in texts]


def _embedder() -> LocalEmbedder:
    """The models that are installed now; those in use are kept, for who forgets one thing often forgets another."""
    from nacre.embed.local import LocalEmbedder

    embedder = LocalEmbedder(threads=1)
    known = _loaded.get("embedder")
    if known is None or known.models() != embedder.models():
        _loaded["embedder"] = embedder
    return _loaded["embedder"]


_loaded: dict[str, LocalEmbedder] = {}


# Lines of notes that carry no type yet, and giving them theirs.

_MARKER = re.compile(rb"\A(\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)")


def untyped(workspace: Workspace, judge: Judge) -> list[Entry]:
    """Every bullet of a daily log that has no type, with the one it would get.

    Under the heading of a session a line without a type is work that was asked for or done: it needs none.
    """
    found: list[tuple[str, Item]] = [
        (workspace.relative(doc.path), item) for doc in _logs(workspace) for item in doc.items if lacks_type(item)
    ]
    kinds = [one.best("type") for one in judge.read([item.words for _, item in found])]
    return [Entry(item.words, path, item.start, kind) for (path, item), kind in zip(found, kinds, strict=True)]


def give_types(workspace: Workspace, clock: Clock, config: Config, entries: Sequence[Entry]) -> list[Entry]:
    """Put the types before the lines; one operation, undone as one. Those that got theirs.

    A line that was changed meanwhile stays as it is, and so does one that holds a secret: writing it anew would be writing it.
    """
    by_path: dict[str, dict[int, Entry]] = {}
    for entry in entries:
        by_path.setdefault(entry.path, {})[entry.line] = entry
    done: list[Entry] = []
    with operation(workspace, clock, "classify", config) as op:
        for shown, mine in by_path.items():
            path = workspace.inside(shown)
            data = disk.read_bytes(path) or b""
            lines = data.split(b"\n")
            for item in document(path, data).items:
                wanted = mine.get(item.start)
                line = lines[item.start - 1]
                if wanted and wanted.type and item.words == wanted.text and not _holds_secret(line):
                    lines[item.start - 1] = _MARKER.sub(rb"\g<1>[" + wanted.type.encode() + b"] ", line, count=1)
                    done.append(wanted)
            rewrite(op, path, b"\n".join(lines), read=disk.digest(data), log=True)
    return done


def count_types(workspace: Workspace, judge: Judge) -> Counter[str]:
    """How many bullets of the daily logs are of each type: the one they carry, or would get; "-" is work, which needs none."""
    items = [item for doc in _logs(workspace) for item in doc.items if item.words and item.depth == 0]
    open_ones = [item for item in items if lacks_type(item)]
    counts = Counter(one.best("type") for one in judge.read([item.words for item in open_ones]))
    return counts + Counter(_type_of(item) or "-" for item in items if not lacks_type(item))


def _holds_secret(line: bytes) -> bool:
    return bool(redact(line.decode("utf-8", errors="replace")).findings)


def _logs(workspace: Workspace) -> Iterator[Document]:
    for path in sorted(workspace.memory.glob("????-??-??.md")):
        if DAY_NAME.fullmatch(path.name) and (data := _log_bytes(path)) is not None:
            yield document(path, data)


def _log_bytes(path: Path) -> bytes | None:
    data = disk.read_bytes(path)
    try:
        (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        return None  # doctor names it
    return data


def lacks_type(item: Item) -> bool:
    """Whether a bullet of a log is one that should carry a type and does not."""
    return bool(item.words) and item.depth == 0 and not stamp_of(item.section).session and _type_of(item) is None


def _type_of(item: Item) -> str | None:
    return label_of(f"- {item.text}")  # as it stands there: a box to tick belongs to the mark, not to the words
