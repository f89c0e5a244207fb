"""What every source speaks in: where agents keep their talks, a transcript on disk, how far it was read, what was read."""

from __future__ import annotations

import datetime as dt
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacre.model.session import Session


@dataclass(frozen=True)
class Places:
    """Where to look: the home folder, the environment, and for each agent the path that the settings give."""

    home: Path
    env: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)

    def root(self, agent: str, variable: str | None, *default: str) -> Path:
        """An agent's folder: the one in the settings, else in its own variable, else the usual one."""
        if chosen := self.paths.get(agent):
            return Path(os.path.expanduser(chosen))
        if variable and (named := self.env.get(variable)):
            return Path(os.path.expanduser(named))
        return self.home.joinpath(*default)


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript as the listing found it. The same stamp as before means that nothing was written since."""

    agent: str
    path: Path
    key: str  # names it in the cursors: the path, and the session where one file holds many; no ids of people
    stamp: tuple[int, ...]  # size and time of change, or what a database offers
    changed: float  # seconds since 1970: no message can be younger
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the listing knows of it: its kind, its owner's ids


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a transcript was read. Its fingerprint tells whether what was read is still what stands there."""

    offset: int = 0  # bytes of a file, or entries of a database
    fingerprint: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)  # what only the part before the offset tells (plain JSON)


@dataclass(frozen=True, slots=True)
class Reading:
    """What stood in a transcript after a mark and not after a moment."""

    session: Session | None  # None where there is nothing that could be a talk
    mark: Mark
    whole: bool = True  # False when entries younger than the moment asked for, or a torn last line, remain
    unknown: int = 0  # entries that were passed over because nothing is known of their form
    rewritten: bool = False  # what was read before is no longer there, so all was read again from its beginning


@dataclass(frozen=True)
class Source:
    """One agent: how its transcripts are found and read."""

    agent: str
    find: Callable[[Places], Iterator[Transcript]]
    read: Callable[[Transcript, Mark | None, dt.datetime | None], Reading]


def moment(value: object) -> dt.datetime | None:
    """A time as transcripts write it: ISO 8601, or milliseconds or seconds since 1970; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, str):
            at = dt.datetime.fromisoformat(value.strip())
            at = (at if at.tzinfo else at.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
        elif isinstance(value, int | float):
            at = dt.datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, dt.UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return at if dt.MINYEAR < at.year < dt.MAXYEAR else None  # those at the ends do not exist in every time zone


def word(value: object) -> str:
    """A value that should be a word: an id, a role; empty for anything else, which may nest too deep to be written out."""
    return value if isinstance(value, str) else ""


def listed(agent: str, paths: Iterator[Path]) -> Iterator[Transcript]:
    """Files as transcripts; those that vanish meanwhile are passed over."""
    for path in paths:
        try:
            about = path.stat()
        except OSError:
            continue
        if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
            continue  # a pipe or a device would keep us waiting for ever
        yield Transcript(agent, path, str(path), (about.st_size, about.st_mtime_ns), about.st_mtime)
