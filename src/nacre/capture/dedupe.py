"""What is in the logs already is not written again: captured sessions, notes of hooks, lines noted in the moment."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from nacre.brain.local.judge import Judge
from nacre.brain.local.wording import pieces
from nacre.capture.sections import SessionHeading, by_day, headings_of
from nacre.clock import Clock
from nacre.model.entry import Bullet
from nacre.model.session import Message, Speaker
from nacre.model.workspace import DAY_NAME, Workspace
from nacre.sources.reading import parse_time
from nacre.text.stamps import Stamp, stamp_of
from nacre.vault.entries import bare_words, normal_words, words_of
from nacre.vault.markdown import Item, document

if TYPE_CHECKING:
    from nacre.brain.local.likeness import Statement


_NOTE_TITLE = re.compile(r"\A\ufeff?#\s*Session:\s*(.+)", re.IGNORECASE)
_NOTE_SESSION = re.compile(r"(?im)^[-* \t]*Session ID\**\s*[:：]\**\s*`?([\w.-]+)")
_OFFSET = re.compile(r"(?:GMT|UTC)?(?P<sign>[+-])(?P<hours>\d{1,2}):?(?P<minutes>\d{2})?")
_NOTE_MESSAGE = re.compile(r"(?m)^(?:user|assistant):[ \t]*(\S.*)$")
_NOTE_HEAD = 4000  # characters; the header stands at the top
_NOTE_BYTES = 1_000_000  # bytes of a note


@dataclass(frozen=True)
class HookNote:
    """What the notes of one session tell: up to which moment, and which messages; none listed means all up to then."""

    until: dt.datetime
    said: frozenset[str] = frozenset()

    def tells(self, message: Message) -> bool:
        return message.at <= self.until and (not self.said or _message_key(message.text) in self.said)

    def __or__(self, other: HookNote) -> HookNote:
        return HookNote(max(self.until, other.until), self.said | other.said)


def read_hook_notes(workspace: Workspace) -> Mapping[str, HookNote]:
    """For each session that has such notes: what they tell of it."""
    found: dict[str, HookNote] = {}
    for path in sorted(workspace.memory.glob("????-??-??-*.md")):
        if not DAY_NAME.fullmatch(path.name) or not path.is_file():
            continue
        with path.open("rb") as file:
            head = file.read(_NOTE_BYTES).decode("utf-8", errors="replace")
        title, session = _NOTE_TITLE.match(head), _NOTE_SESSION.search(head, 0, _NOTE_HEAD)
        if not title or not session:
            continue
        when = _title_time(title[1]) or dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC)
        told = HookNote(when, frozenset(_message_key(_unquoted(one)) for one in _NOTE_MESSAGE.findall(head)))
        found[session[1]] = found[session[1]] | told if session[1] in found else told
    return found


def _unquoted(said: str) -> str:
    """What a line quotes: a JSON string, or in older notes the words as they are."""
    try:
        text = json.loads(said)
    except ValueError:
        return said
    return text if isinstance(text, str) else said


def _message_key(text: str) -> str:
    """The beginning of a message, by which it is recognised however its spaces were changed."""
    return "".join(one for one in text[:400] if one.isalnum()).casefold()[:100]


def _title_time(title: str) -> dt.datetime | None:
    """The time in `# Session: 2026-03-02 14:34:45 Europe/Lisbon`, as it was in that zone; older notes say UTC."""
    title = title.strip()
    if at := parse_time(title.removesuffix("UTC").removesuffix("GMT").strip()):
        return at
    clock, _, name = title.rpartition(" ")
    at, zone = parse_time(clock), _zone(name)
    return at.replace(tzinfo=zone).astimezone(dt.UTC) if at and zone else None


def _zone(name: str) -> dt.tzinfo | None:
    """A zone by its name (`Europe/Lisbon`) or by how far it is from Greenwich (`GMT-3`, `UTC+05:30`)."""
    if found := _OFFSET.fullmatch(name):
        ahead = dt.timedelta(hours=int(found["hours"]), minutes=int(found["minutes"] or 0))
        return dt.timezone(-ahead if found["sign"] == "-" else ahead) if ahead < dt.timedelta(days=1) else None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None  # unknown here: then the file's own time must do


# Which messages the logs tell already, by their headings alone: for a session that no cursor knows, because it was
# lost.

Headings = Callable[[dt.date], Sequence[SessionHeading]]


@dataclass(frozen=True)
class Recognised:
    """The messages that stand in the logs and those that do not, and what the logs call their session."""

    told: tuple[Message, ...]
    new: tuple[Message, ...]
    name: str = ""


def recognise(session: str, messages: Sequence[Message], headings: Headings, clock: Clock) -> Recognised:
    told: set[int] = set()
    name = ""
    for part in by_day(messages, clock.local):
        mine = headings_of(session, headings(part.day))
        if not mine:
            continue
        name = mine[0].session
        count = sum(one.messages for one in mine)
        surely, at_most = _last_minute(part.day, max(one.time for one in mine), clock)
        told |= {
            id(message)
            for place, message in enumerate(part.messages)
            if message.at < surely
            or (place < count and (message.at < at_most or clock.local(message.at).date() > part.day))
        }
    # An answer between two sections went with one of them, whichever it was.
    last = max((place for place, one in enumerate(messages) if id(one) in told), default=-1)
    told |= {id(one) for one in messages[: last + 1] if one.speaker is not Speaker.OWNER}
    return Recognised(
        tuple(one for one in messages if id(one) in told), tuple(one for one in messages if id(one) not in told), name
    )


def _last_minute(day: dt.date, time: str, clock: Clock) -> tuple[dt.datetime, dt.datetime]:
    """The span in which a heading's last message was said: its minute; more where the clock showed that minute twice."""
    hour, minute = (int(part) for part in time.split(":"))
    shown = dt.datetime.combine(day, dt.time(hour % 24, minute % 60), clock.zone)
    first, second = sorted(shown.replace(fold=fold).astimezone(dt.UTC) for fold in (0, 1))
    return first, second + dt.timedelta(minutes=1)


# What stands in a day's log already is not written again: lines noted in the moment, and what a talk said before.

_NEGATION = re.compile(
    r"\b(?:never|not|no|none|cannot|without|stop|stopped|rather than|instead of)\b|n['’]t\b|不|别|没|勿|禁止",
    re.IGNORECASE,
)
Alike = Callable[[Sequence[str], Sequence[str]], Sequence[bool]]


class DayLog:
    """The lines of one day's log."""

    def __init__(self, path: Path, log: bytes | None) -> None:
        self._path, self._log = path, log or b""

    @cached_property
    def _items(self) -> list[tuple[Stamp, Item]]:
        text = self._log.decode("utf-8", "replace")  # what is no text is passed over, the rest counts
        return [(stamp_of(item.section), item) for item in document(self._path, text.encode()).items]

    def noted(self, *, by_agent: bool) -> list[str]:
        """What an agent or the owner wrote down, under no talk's heading."""
        notes = ((stamp, item.words) for stamp, item in self._items if item.words and not stamp.session)
        return [words for stamp, words in notes if stamp.by_agent == by_agent]

    def of_session(self, name: str) -> list[str]:
        return [item.words for stamp, item in self._items if item.words and stamp.session == name]


def drop_duplicates(
    bullets: Sequence[Bullet], heading: str, lines: DayLog, alike: Alike, given: Sequence[str] = ()
) -> list[Bullet]:
    """The bullets that the log does not tell yet, word for word, or as one who noted them in the moment put it; nor was the session
    given them from memory.

    What another talk said that day is told again: what comes up in several talks counts more. Nor does a private note stand for
    what was said in a group, which does not see it, or an agent's note for the owner's word.
    """
    stamp = stamp_of(heading)
    notes = [] if stamp.group else [*lines.noted(by_agent=False), *given]
    of_agents = [] if stamp.group else lines.noted(by_agent=True)
    said = lines.of_session(stamp.session or "")
    new = _new_bullets([one for one in bullets if not one.by_agent], notes, said, alike)
    new += _new_bullets([one for one in bullets if one.by_agent], [*notes, *of_agents], said, alike)
    return [one for one in bullets if one in new]


def _new_bullets(bullets: Sequence[Bullet], noted: Sequence[str], said: Sequence[str], alike: Alike) -> list[Bullet]:
    before = [*noted, *said]
    if not before or not bullets:
        return list(bullets)
    known = {normal_words(part) for line in before for part in (line, *_parts(line))}
    parts = [[] if normal_words(one.text) in known else _parts(one.text) for one in bullets]
    new = list(dict.fromkeys(part for mine in parts for part in mine if normal_words(part) not in known))
    open_ones = {part for part, told in zip(new, alike(new, noted), strict=True) if not told} if new else set()
    return [bullet for bullet, mine in zip(bullets, parts, strict=True) if open_ones.intersection(mine)]


def by_meaning(judge: Callable[[], Judge]) -> Alike:
    """Whether each text says what one of the others says, as the night tells it. Without the models' say nothing is alike."""

    def alike(texts: Sequence[str], others: Sequence[str]) -> list[bool]:
        from nacre.brain.local.relation import as_statement, relations, says_the_same

        reader = judge()
        if not others or not reader.with_vectors:
            return [False] * len(texts)
        known = [as_statement(one) for one in reader.meant([part for line in others for part in _parts(line)])]
        known = [one for one in known if one.vector is not None]
        new = [as_statement(one) for one in reader.meant(texts)]
        return [
            one.vector is not None
            and any(
                says_the_same(known[near.place], one, near) and _negated(known[near.place]) == _negated(one)
                for near in relations(known, one)
            )
            for one in new
        ]

    return alike


def _negated(one: Statement) -> frozenset[str] | None:
    """The words after a "never" or a 不; None where nothing is denied. The night may ask once more about what it takes for the
    same; a line that is not written is gone, and "never npm" must not go for "never pnpm"."""
    from nacre.brain.local.likeness import statement

    denied = _NEGATION.split(one.text, maxsplit=1)[1:]
    return statement(denied[0], one.language).word_set if denied else None


def _parts(line: str) -> list[str]:
    """The statements of a line, of a question that of its answer; the line itself where it is made of none."""
    bare = bare_words(words_of(line)).rpartition(" → ")[2]
    return [one.text for one in pieces(bare)] or [bare]
