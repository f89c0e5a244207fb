"""What the user leaves out: agents, projects and chats, spans of time, projects that opted out themselves."""

from __future__ import annotations

import datetime as dt
import fnmatch
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre.config.settings import Config, SourceSettings
from nacre.model.session import Message, Session
from nacre.model.workspace import Workspace
from nacre.vault import disk

OPT_OUT = ".nacre-ignore"  # an empty file of this name keeps the talks about a folder, and all below it, out of memory
LEFT_OUT, NO_FOLDER = "left out", "no folder"  # why a session is not captured
_IN_FOLDERS = frozenset({"claude-code", "codex", "cursor", "gemini", "opencode"})  # agents that work in a folder
_LONGEST = 4096  # characters of a path


def settings_of(config: Config, agent: str) -> SourceSettings:
    found = getattr(config.sources, agent.replace("-", "_"), None)
    return found if isinstance(found, SourceSettings) else SourceSettings()


def is_left_out(session: Session, patterns: Iterable[str], listed_as: str = "") -> bool:
    """Whether a session's folder, project, group, agent or id, or what it is listed under, fits a pattern to leave out."""
    names = {session.agent, session.id, session.group, listed_as}
    if cwd := folder(session.cwd):
        names |= {cwd, os.path.basename(cwd.rstrip("/\\")), *_above(cwd)}
    folded = {name.casefold() for name in names if name}
    for pattern in patterns:
        wanted = os.path.expanduser(pattern).rstrip("/").casefold()
        if wanted in folded or any(fnmatch.fnmatchcase(name, wanted) for name in folded):
            return True
    return False


def left_out(session: Session, patterns: Sequence[str], listed_as: str = "", *, signed: Callable[[], bool]) -> str:
    """Why a session is left out; empty where it is not.

    A talk with a coding agent whose folder nobody knows may be about any folder: where something is left out by patterns, or `signed`
    says that a folder we know of carries the sign, such a talk is too.
    """
    if is_left_out(session, patterns, listed_as) or opted_out(session.cwd):
        return LEFT_OUT
    return NO_FOLDER if lacks_folder(session) and (patterns or signed()) else ""


def lacks_folder(session: Session) -> bool:
    """Whether a talk with an agent that works in a folder does not tell which."""
    return session.agent in _IN_FOLDERS and not folder(session.cwd)


def folder(cwd: str) -> str:
    """The folder that a transcript names; nothing where no file system could hold it."""
    return "" if "\0" in cwd or len(cwd) > _LONGEST else cwd


def _above(cwd: str) -> list[str]:
    return [str(parent) for parent in Path(cwd).parents if str(parent) not in ("/", ".")]


def opted_out(cwd: str) -> bool:
    """Whether the folder of a session, or one above it, carries the sign that it is to be left out."""
    place = folder(cwd)
    if not os.path.isabs(place):
        return False
    return any(os.path.lexists(one / OPT_OUT) for one in (Path(place), *Path(place).parents))


@dataclass(frozen=True)
class Pause:
    """A span of time in which nothing is captured; open when it has no end yet."""

    begin: dt.datetime
    end: dt.datetime | None = None

    def holds(self, moment: dt.datetime) -> bool:
        return self.begin <= moment and (self.end is None or moment < self.end)


def pauses(workspace: Workspace) -> tuple[Pause, ...]:
    """Every pause there was. A file that cannot be understood counts as a pause: silence is the safe side."""
    data = disk.read_bytes(workspace.pauses)
    if data is None:
        return ()
    try:
        told = json.loads(data)
        return tuple(Pause(_moment(one["begin"]), _moment(end) if (end := one["end"]) else None) for one in told)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return (Pause(dt.datetime.min.replace(tzinfo=dt.UTC)),)


def _moment(told: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(told)
    if moment.tzinfo is None:
        raise ValueError(told)
    return moment


def paused_at(known: Sequence[Pause], moment: dt.datetime) -> Pause | None:
    return next((one for one in known if one.holds(moment)), None)


def begin_pause(workspace: Workspace, now: dt.datetime, length: dt.timedelta | None) -> Pause:
    """Stop capturing from now on, for a while or until `end_pause`."""
    try:
        end = now + length if length is not None else None
    except OverflowError:  # longer than the calendar is
        end = None
    known = [replace(one, end=now) if one.holds(now) else one for one in pauses(workspace)]
    added = Pause(now, end)
    _save(workspace, [*(one for one in known if one.end != one.begin), added])
    return added


def end_pause(workspace: Workspace, now: dt.datetime) -> bool:
    """Capture again. What was said during the pause is never captured. False when there was none."""
    known = pauses(workspace)
    if not paused_at(known, now):
        return False
    _save(workspace, [replace(one, end=now) if one.holds(now) else one for one in known])
    return True


def _save(workspace: Workspace, known: Sequence[Pause]) -> None:
    told = [{"begin": one.begin.isoformat(), "end": one.end.isoformat() if one.end else None} for one in known]
    disk.write(workspace.pauses, json.dumps(told, indent=1).encode(), root=workspace.root)


def outside_pauses(messages: Iterable[Message], known: Sequence[Pause]) -> tuple[Message, ...]:
    return tuple(message for message in messages if not paused_at(known, message.at))
