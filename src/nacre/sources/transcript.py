"""What every source is made of: where to look, a transcript, how far it was read, and what was read."""

from __future__ import annotations

import datetime as dt
import os
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

    session: Session | None  # None where nothing in it could be a session
    mark: Mark
    whole: bool = True  # False when entries younger than the moment asked for, or a torn last line, remain
    unknown: int = 0  # entries that were passed over because nothing is known of their form
    rewritten: bool = False  # what was read before is no longer there, so all was read again from its beginning


@dataclass(frozen=True)
class Source:
    """One agent: how its transcripts are found, and how what was said after a mark and not after a moment is read."""

    agent: str
    find: Callable[[Places], Iterator[Transcript]]
    read: Callable[[Transcript, Mark | None, dt.datetime | None], Reading]
