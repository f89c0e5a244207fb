"""What is not written (again): captured sessions, hooks' notes, lines that were noted in the moment, what was forgotten."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from nacre.brain.local.judge import Judge
from nacre.brain.local.wording import pieces
from nacre.capture.cursors import SessionHeading, by_day, headings_of
from nacre.clock import Clock
from nacre.errors import ModelUnusable
from nacre.model import DAY_NAME, Bullet, Message, Speaker, Workspace
from nacre.sources.transcript import parse_time
from nacre.text.blocks import stamp_of
from nacre.text.tokens import sentences
from nacre.vault.entries import BULLET, bare_words, document, normal_words, words_of
from nacre.vault.ledger import LedgerStates, Tombstones, load_tombstones
from nacre.vault.provenance import Trail, messages_behind
from nacre.vault.storage import storage_of

if TYPE_CHECKING:
    from nacre.brain.local.likeness import Statement
    from nacre.embed.local import LocalEmbedder
    from nacre.vault.ledger import Vectors


# The notes that OpenClaw's own hook writes about a session.

_NOTE_TITLE = re.compile(r"\A\ufeff?#\s*Session:\s*(.+)", re.IGNORECASE)
_NOTE_SESSION = re.compile(r"(?im)^[-* \t]*Session ID\**\s*[:：]\**\s*`?([\w.-]+)")
_NOTE_MESSAGE = re.compile(r"(?m)^(?:user|assistant):[ \t]*(\S.*)$")
_NOTE_HEAD = 4000  # characters; the header stands at the top
_NOTE_BYTES = 1_000_000  # bytes of a note


@dataclass(frozen=True)
class HookNote:
    """The messages of one session that are in OpenClaw's notes: those listed up to a moment; without a list all up to then."""

    until: dt.datetime
    messages: frozenset[str] = frozenset()

    def holds(self, message: Message) -> bool:
        return message.at <= self.until and (not self.messages or _message_key(message.text) in self.messages)


def read_hook_notes(workspace: Workspace) -> Mapping[str, HookNote]:
    """The notes that OpenClaw's own hook wrote, by session."""
    notes: dict[str, HookNote] = {}
    storage = storage_of(workspace)
    for stored in sorted(storage.walk("memory", (".md",), depth=1)):
        dated = DAY_NAME.fullmatch(stored.name.removeprefix("memory/"))
        if not dated or not dated[2] or not stored.is_plain:
            continue
        text = (storage.read(stored.name, _NOTE_BYTES) or b"").decode("utf-8", errors="replace")
        title, session = _NOTE_TITLE.match(text), _NOTE_SESSION.search(text, 0, _NOTE_HEAD)
        if not title or not session:
            continue
        until = _title_time(title[1].strip()) or dt.datetime.fromtimestamp(stored.modified / 1e9, dt.UTC)
        messages = frozenset(_message_key(_unquoted(line)) for line in _NOTE_MESSAGE.findall(text))
        if other := notes.get(session[1]):
            until, messages = max(until, other.until), messages | other.messages
        notes[session[1]] = HookNote(until, messages)
    return notes


def _unquoted(line: str) -> str:
    with suppress(ValueError):  # older notes have the words as they are, newer ones as JSON
        return str(json.loads(line))
    return line


def _message_key(text: str) -> str:
    """The beginning of a message, by which it is recognised however its spaces were changed."""
    return "".join(sign for sign in text[:400] if sign.isalnum()).casefold()[:100]


def _title_time(title: str) -> dt.datetime | None:
    """The time in `# Session: 2026-03-02 14:34:45 Europe/Lisbon`, as it was in that zone."""
    clock, _, zone = title.rpartition(" ")
    try:
        return dt.datetime.fromisoformat(clock).replace(tzinfo=ZoneInfo(zone)).astimezone(dt.UTC)
    except (KeyError, ValueError, OSError):  # it ends in no zone that is known here
        return parse_time(title)


# A session that no cursor knows: which of its messages the logs hold, by their headings alone.


def captured_before(
    session: str, messages: Sequence[Message], headings: Mapping[dt.date, Sequence[SessionHeading]], clock: Clock
) -> tuple[list[Message], str]:
    """The messages that the logs hold already, and the name of their session in the logs."""
    captured: set[int] = set()
    name = ""
    for day, messages_of_day in by_day(messages, clock):
        of_session = headings_of(session, headings.get(day, ()))
        if not of_session:
            continue
        name = of_session[0].session
        count = sum(heading.messages for heading in of_session)
        # The last message was said within its heading's minute, which the clock may have shown twice.
        hour, minute = (int(part) for part in max(heading.time for heading in of_session).split(":"))
        shown = dt.datetime.combine(day, dt.time(hour % 24, minute % 60), clock.zone)
        first, second = sorted(shown.replace(fold=fold).astimezone(dt.UTC) for fold in (0, 1))
        end = second + dt.timedelta(minutes=1)
        for place, message in enumerate(messages_of_day):
            in_section = message.at < end or clock.local(message.at).date() > day
            if message.at < first or (place < count and in_section):
                captured.add(id(message))
    # An answer between two sections went with one of them, whichever it was.
    last = max((place for place, message in enumerate(messages) if id(message) in captured), default=-1)
    captured |= {id(message) for message in messages[: last + 1] if message.speaker is not Speaker.OWNER}
    return [message for message in messages if id(message) in captured], name


# What stands in a day's log already, or was given to the session from memory.

_NEGATION = re.compile(
    r"\b(?:never|not|no|none|cannot|without|stop|stopped|rather than|instead of)\b|n['’]t\b|不|别|没|勿|禁止",
    re.IGNORECASE,
)
Alike = Callable[[Sequence[str], Sequence[str]], Sequence[bool]]  # whether each text says what one of the others says


def drop_duplicates(
    bullets: Sequence[Bullet], heading: str, path: Path, log: bytes | None, alike: Alike, given: Sequence[str] = ()
) -> list[Bullet]:
    """The bullets that are new: neither in the log, word for word or as a note, nor given to the session from memory. What another
    session said that day is written again. A private note does not count for a group, nor an agent's note for the owner's words."""
    stamp = stamp_of(heading)
    text = (log or b"").decode("utf-8", "replace")
    lines = [(stamp_of(item.section), item.words) for item in document(path, text.encode()).items if item.words]
    spoken = [words for of_line, words in lines if of_line.session == (stamp.session or "")]
    noted = [(of_line.by_agent, words) for of_line, words in lines if not of_line.session and not stamp.group]
    notes = [words for by_agent, words in noted if not by_agent] + ([] if stamp.group else list(given))
    of_agents = [words for by_agent, words in noted if by_agent]
    new = _new_bullets([bullet for bullet in bullets if not bullet.by_agent], notes, spoken, alike)
    new += _new_bullets([bullet for bullet in bullets if bullet.by_agent], [*notes, *of_agents], spoken, alike)
    return [bullet for bullet in bullets if bullet in new]


def _new_bullets(bullets: Sequence[Bullet], noted: Sequence[str], spoken: Sequence[str], alike: Alike) -> list[Bullet]:
    before = [*noted, *spoken]
    if not before or not bullets:
        return list(bullets)
    captured = {normal_words(part) for line in before for part in (line, *_parts(line))}
    parts = [[] if normal_words(bullet.text) in captured else _parts(bullet.text) for bullet in bullets]
    new = list(dict.fromkeys(part for of_bullet in parts for part in of_bullet if normal_words(part) not in captured))
    unsaid = {part for part, same in zip(new, alike(new, noted), strict=True) if not same} if new else set()
    return [bullet for bullet, of_bullet in zip(bullets, parts, strict=True) if unsaid.intersection(of_bullet)]


def alike_in_meaning(judge: Callable[[], Judge], texts: Sequence[str], others: Sequence[str]) -> list[bool]:
    """Whether each text says what one of the others says, as tidying decides it. Without embedding models nothing is alike."""
    from nacre.brain.local.relation import relations, says_the_same

    reader = judge()
    if not others or not reader.with_vectors:
        return [False] * len(texts)
    meant = reader.meant([part for line in others for part in _parts(line)])
    earlier = [statement for statement in meant if statement.vector is not None]

    def is_said(new: Statement) -> bool:
        same = (
            earlier[near.place] for near in relations(earlier, new) if says_the_same(earlier[near.place], new, near)
        )
        return new.vector is not None and any(_negated(old) == _negated(new) for old in same)

    return [is_said(new) for new in reader.meant(texts)]


def _negated(statement: Statement) -> frozenset[str] | None:
    """The words after a negation, so that "never npm" is not taken for "never pnpm"; None without a negation."""
    from nacre.brain.local.likeness import statement as parsed

    denied = _NEGATION.split(statement.text, maxsplit=1)[1:]
    return parsed(denied[0], statement.language).word_set if denied else None


def _parts(line: str) -> list[str]:
    """The statements of a line, of a question with an answer those of the answer; the whole line if it has none."""
    bare = bare_words(words_of(line)).rpartition(" → ")[2]
    return [piece.text for piece in pieces(bare)] or [bare]


# What the user had forgotten is not learned again.


def not_forgotten(tombstones: Tombstones, bullets: Sequence[Bullet]) -> list[Bullet]:
    forgotten = are_forgotten(tombstones, [bullet.text for bullet in bullets])
    return [bullet for bullet, drop in zip(bullets, forgotten, strict=True) if not drop]


def without_forgotten_sentences(tombstones: Tombstones, messages: Sequence[Message]) -> list[Message]:
    """The messages without the sentences that were forgotten, which no model is to be given again."""
    if not tombstones:
        return list(messages)
    remaining: list[Message] = []
    for message, holds in zip(messages, tombstones.matches([message.text for message in messages]), strict=True):
        parts = sentences(message.text) if holds else []
        text = "\n".join(words for words, drop in zip(parts, tombstones.matches(parts), strict=True) if not drop)
        if text or not holds:
            remaining.append(replace(message, text=text) if holds else message)
    return remaining


def are_forgotten(tombstones: Tombstones, texts: Sequence[str]) -> list[bool]:
    """Whether each text matches a tombstone; by its meaning too, where the local models are installed."""
    return tombstones.matches(texts, vectors_of(texts, tombstones.models)) if tombstones else [False] * len(texts)


class Forgotten:
    """What was forgotten: the tombstones, and the marks of the messages from which it was captured."""

    def __init__(self, workspace: Workspace) -> None:
        self.tombstones = load_tombstones(workspace)
        self.messages: frozenset[str] = frozenset()
        if self.tombstones:
            states, ids = LedgerStates(workspace), [stone.id for stone in self.tombstones.stones]
            bullets = {entry[:BULLET] for entry in ids}
            bullets |= {bullet for entry in ids if (state := states.get(entry)) for bullet in state.bullets}
            self.messages = messages_behind(Trail(workspace).captured(bullets), bullets)

    def match(self, texts: Sequence[str]) -> list[bool]:
        return are_forgotten(self.tombstones, texts)


def vectors_of(texts: Sequence[str], models: Container[str] | None = None) -> list[Vectors]:
    """The vectors of each text by the local models for its script, or by those of them in `models`; empty without installed models."""
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
    except ModelUnusable:  # words are enough; doctor says that the model is damaged
        return [{} for _ in texts]


_loaded: dict[object, LocalEmbedder] = {}  # by the models that it loads


def _embedder() -> LocalEmbedder:
    """The models that are installed now, loaded once in a process."""
    from nacre.embed.local import LocalEmbedder

    embedder = LocalEmbedder(threads=1)
    return _loaded.setdefault(embedder.models(), embedder)
