"""Notes that OpenClaw's own session hook wrote: the same talk, so what they cover is not captured again."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from zoneinfo import ZoneInfo

from nacre.sources.transcript import moment
from nacre.vault.workspace import DAY_NAME, Workspace

_TITLE = re.compile(r"\A\ufeff?#\s*Session:\s*(.+)", re.IGNORECASE)
_ID = re.compile(r"(?im)^[-*\s]*\**Session ID\**\s*[:：]\**\s*`?([\w.-]+)")
_OFFSET = re.compile(r"(?:GMT|UTC)?(?P<sign>[+-])(?P<hours>\d{1,2}):?(?P<minutes>\d{2})?")
_HEAD = 4000  # bytes; the header stands at the top


def covered(workspace: Workspace) -> Mapping[str, dt.datetime]:
    """For each session that has such a note: the moment up to which it tells the talk."""
    found: dict[str, dt.datetime] = {}
    for path in sorted(workspace.memory.glob("????-??-??-*.md")):
        if not DAY_NAME.fullmatch(path.name):
            continue
        with path.open("rb") as file:
            head = file.read(_HEAD).decode("utf-8", errors="replace")
        title, session = _TITLE.match(head), _ID.search(head)
        if not title or not session:
            continue
        when = _when(title[1]) or dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC)
        found[session[1]] = max(when, found.get(session[1], when))
    return found


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
