"""Every agent whose transcripts can be read, where each keeps them, which workspace and project they belong to, and what the user leaves out."""

from __future__ import annotations

import datetime as dt
import fnmatch
import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nacre import disk
from nacre.config.settings import Config, SourceSettings
from nacre.guard.secrets import redact
from nacre.model import Kind, Message, Session, Workspace, slug_of
from nacre.sources.transcript import Places, Source, Transcript
from nacre.vault.discover import agent_workspaces, folder_name, project_of

GROUP = "group"
_AGENT = re.compile(r"\Aagent:[^:]*:")
_WITHIN = re.compile(r":(?:topic|thread):.*\Z", re.DOTALL)  # of one chat: the same people read it


def chat_hash(key: str) -> str:
    """A short hash for the chat of a session's key: the same for every agent and topic in it, and not its id."""
    chat = _WITHIN.sub("", _AGENT.sub("", key))
    return hashlib.blake2b(chat.encode("utf-8", "replace"), digest_size=3).hexdigest() if chat else ""


def group_stamp(group: str, chat: str) -> str:
    """The stamp of a group: its name and a hash of its chat, since names are chosen by members and may be the same."""
    name = slug_of(redact(group or GROUP).text)
    return f"{name}-{chat}" if chat else name


# Where each agent keeps its sessions, which workspace takes them, which project they belong to.


def places_of(config: Config) -> Places:
    names = ("openclaw", "claude-code", "codex", "cursor", "gemini", "opencode")
    paths = {name: path for name in names if (path := settings_of(config, name).path)}
    return Places(Path.home(), os.environ, paths)


def belongs_to(workspace: Workspace, config: Config) -> Callable[[Transcript], bool]:
    """A test for the transcripts that a workspace takes: with several agents each OpenClaw agent's go to its own workspace, all others
    to the first."""
    places = {name: os.path.realpath(path) for name, path in agent_workspaces(config).items()}
    here = os.path.realpath(workspace.root)
    if len(set(places.values())) < 2 or here not in places.values():
        return lambda _: True
    first = next(iter(places.values()))

    def is_taken(transcript: Transcript) -> bool:
        # The agent of `<state>/agents/<name>/…/<file>`; a folder further up may be called "agents" too.
        folders = itertools.pairwise(transcript.path.parts[:-1]) if transcript.agent == "openclaw" else ()
        names = ["", *(name.lower() for above, name in folders if above == "agents")]
        return places.get(names[-1], first) == here

    return is_taken


def project_name(
    session: Session, workspace: Workspace, find: Callable[[Workspace, Path], str | None] = project_of
) -> str:
    """The project whose folder holds a session, else the repository or folder it worked in; none for OpenClaw's agents."""
    cwd = folder(session.cwd).rstrip("/\\")
    if session.agent == "openclaw" or not cwd or cwd == str(workspace.root):
        return ""
    return find(workspace, Path(cwd)) or folder_name(cwd)


def listed_as(session: Session, project: str) -> str:
    """The name by which a session is listed and excluded: its group, its project, or "direct"."""
    if session.kind is Kind.GROUP:
        return redact(session.group).text or "group"
    return redact(project).text or "direct"


def sources() -> tuple[Source, ...]:
    """The sources of all agents."""
    from nacre.sources import claude, codex, cursor, gemini, openclaw, opencode

    programs = (claude.SOURCE, codex.SOURCE, cursor.CLI, cursor.IDE, gemini.SOURCE, opencode.SOURCE)
    return (openclaw.CLASSIC, openclaw.DATABASE, *programs)


# What the user leaves out: agents, projects and chats, spans of time, projects that opted out themselves.


# An empty file of this name keeps the sessions about a folder, and all below it, out of memory.
OPT_OUT = ".nacre-ignore"

_IN_FOLDERS = frozenset({"claude-code", "codex", "cursor", "gemini", "opencode"})  # agents that work in a folder
_LONGEST = 4096  # characters of a path


def settings_of(config: Config, agent: str) -> SourceSettings:
    settings = getattr(config.sources, agent.replace("-", "_"), None)
    return settings if isinstance(settings, SourceSettings) else SourceSettings()


def is_left_out(session: Session, patterns: Iterable[str], listed_as: str = "") -> bool:
    """Whether a session's folder, project, group, agent or id, or what it is listed under, fits a pattern to leave out."""
    names = {session.agent, session.id, session.group, listed_as}
    if cwd := folder(session.cwd):
        parents = {str(parent) for parent in Path(cwd).parents} - {"/", "."}
        names |= {cwd, os.path.basename(cwd.rstrip("/\\")), *parents}
    folded = [name.casefold() for name in names if name]
    folded_patterns = [os.path.expanduser(pattern).rstrip("/").casefold() for pattern in patterns]
    return any(pattern == name or fnmatch.fnmatchcase(name, pattern) for pattern in folded_patterns for name in folded)


def left_out(session: Session, patterns: Sequence[str], listed_as: str = "", *, signed: Callable[[], bool]) -> str:
    """Why a session is excluded; empty where it is not. A coding session without a folder may be about any: it is excluded where there
    are patterns, or where `signed` says that some known folder is marked."""
    if is_left_out(session, patterns, listed_as) or opted_out(session.cwd):
        return "left out"
    lacks_folder = session.agent in _IN_FOLDERS and not folder(session.cwd)
    return "no folder" if lacks_folder and (patterns or signed()) else ""


def folder(cwd: str) -> str:
    """The folder that a transcript names; empty where no file system could hold it."""
    return "" if "\0" in cwd or len(cwd) > _LONGEST else cwd


def opted_out(cwd: str) -> bool:
    """Whether a folder, or one above it, is marked to be left out."""
    place = Path(folder(cwd))
    return place.is_absolute() and any(os.path.lexists(parent / OPT_OUT) for parent in (place, *place.parents))


@dataclass(frozen=True)
class Pause:
    """A span of time in which nothing is captured; open when it has no end yet."""

    begin: dt.datetime
    end: dt.datetime | None = None

    def holds(self, moment: dt.datetime) -> bool:
        return self.begin <= moment and (self.end is None or moment < self.end)


def pauses(workspace: Workspace) -> tuple[Pause, ...]:
    """All pauses. A damaged file counts as a pause since ever: then nothing is captured."""
    data = disk.read_bytes(workspace.pauses)
    try:
        rows = json.loads(data) if data is not None else []
        return tuple(
            Pause(
                dt.datetime.fromisoformat(row["begin"]), dt.datetime.fromisoformat(row["end"]) if row["end"] else None
            )
            for row in rows
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return (Pause(dt.datetime.min.replace(tzinfo=dt.UTC)),)


def paused_at(spans: Sequence[Pause], moment: dt.datetime) -> Pause | None:
    return next((pause for pause in spans if pause.holds(moment)), None)


def begin_pause(workspace: Workspace, now: dt.datetime, length: dt.timedelta | None) -> Pause:
    """Stop capturing from now on, for a while or until `end_pause`."""
    try:
        pause = Pause(now, now + length if length is not None else None)
    except OverflowError:  # longer than the calendar is
        pause = Pause(now)
    _save(workspace, now, pause)
    return pause


def end_pause(workspace: Workspace, now: dt.datetime) -> bool:
    """Capture again. What was said during the pause is never captured. False when there was none."""
    if not paused_at(pauses(workspace), now):
        return False
    _save(workspace, now)
    return True


def _save(workspace: Workspace, now: dt.datetime, *begun: Pause) -> None:
    """Save all pauses; those that hold now end, and a new one replaces those that began in the same moment."""
    ended = [replace(pause, end=now) if pause.holds(now) else pause for pause in pauses(workspace)]
    spans = [*(pause for pause in ended if not begun or pause.end != pause.begin), *begun]
    rows = [{"begin": span.begin.isoformat(), "end": span.end.isoformat() if span.end else None} for span in spans]
    disk.write(workspace.pauses, json.dumps(rows, indent=1).encode(), root=workspace.root)


def outside_pauses(messages: Iterable[Message], spans: Sequence[Pause]) -> tuple[Message, ...]:
    return tuple(message for message in messages if not paused_at(spans, message.at))
