"""Notes that OpenClaw's own session hook wrote: the same talk, so what they tell is not captured again.

A note holds only the last messages of a session, so what it does not tell is captured all the same.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from nacre.model.session import Message
from nacre.sources.transcript import moment
from nacre.vault.workspace import DAY_NAME, Workspace

_TITLE = re.compile(r"\A\ufeff?#\s*Session:\s*(.+)", re.IGNORECASE)
_ID = re.compile(r"(?im)^[-* \t]*Session ID\**\s*[:：]\**\s*`?([\w.-]+)")
_OFFSET = re.compile(r"(?:GMT|UTC)?(?P<sign>[+-])(?P<hours>\d{1,2}):?(?P<minutes>\d{2})?")
_SAID = re.compile(r"(?m)^(?:user|assistant):[ \t]*(\S.*)$")
_HEAD = 4000  # characters; the header stands at the top
_MOST = 1_000_000  # bytes of a note


@dataclass(frozen=True)
class Told:
    """What the notes of one session tell: up to which moment, and which messages; none listed means all up to then."""

    until: dt.datetime
    said: frozenset[str] = frozenset()

    def tells(self, message: Message) -> bool:
        return message.at <= self.until and (not self.said or _key(message.text) in self.said)

    def __or__(self, other: Told) -> Told:
        return Told(max(self.until, other.until), self.said | other.said)


def covered(workspace: Workspace) -> Mapping[str, Told]:
    """For each session that has such notes: what they tell of it."""
    found: dict[str, Told] = {}
    for path in sorted(workspace.memory.glob("????-??-??-*.md")):
        if not DAY_NAME.fullmatch(path.name) or not path.is_file():
            continue
        with path.open("rb") as file:
            head = file.read(_MOST).decode("utf-8", errors="replace")
        title, session = _TITLE.match(head), _ID.search(head, 0, _HEAD)
        if not title or not session:
            continue
        when = _when(title[1]) or dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC)
        told = Told(when, frozenset(_key(_plain(one)) for one in _SAID.findall(head)))
        found[session[1]] = found[session[1]] | told if session[1] in found else told
    return found


def _plain(said: str) -> str:
    """What a line quotes: a JSON string, or in older notes the words as they are."""
    try:
        text = json.loads(said)
    except ValueError:
        return said
    return text if isinstance(text, str) else said


def _key(text: str) -> str:
    """The beginning of a message, by which it is recognised however its spaces were changed."""
    return "".join(one for one in text[:400] if one.isalnum()).casefold()[:100]


def _when(title: str) -> dt.datetime | None:
    """The time in `# Session: 2026-03-02 14:34:45 Europe/Lisbon`, as it was in that zone; older notes say UTC."""
    title = title.strip()
    if at := moment(title.removesuffix("UTC").removesuffix("GMT").strip()):
        return at
    clock, _, name = title.rpartition(" ")
    at, zone = moment(clock), _zone(name)
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
