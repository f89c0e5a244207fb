"""What there is to capture: the agents on this machine, their projects and chats, with counts; and what to leave out of it."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from nacre.capture.cursors import signed
from nacre.capture.parts import owner_count
from nacre.capture.sync import LONGEST, Progress, Setting
from nacre.clock import duration
from nacre.config import Config, user_config_file
from nacre.model.session import Kind, Session
from nacre.sources.consent import left_out, opted_out, settings_of
from nacre.sources.whose import listed_as, project_name
from nacre.vault.projects import project_of
from nacre.vault.settings import set_key


class Found(NamedTuple):
    """One project or chat of one agent."""

    agent: str
    name: str  # the project, the group, or "direct" for talk without either
    sessions: int
    messages: int  # the owner's
    left_out: bool


def survey(given: Setting, since: dt.datetime | None = None, progress: Progress | None = None) -> list[Found]:
    """Every project and chat with talk that would be captured, the busiest first. Reads transcripts, writes nothing."""
    begin = since or given.clock.now() - min(duration(given.config.sync.first), LONGEST)
    talks: list[tuple[Session, str, int]] = []
    sessions: Counter[tuple[str, str, bool]] = Counter()
    messages: Counter[tuple[str, str, bool]] = Counter()
    projects: Callable[[str], str | None] = cache(lambda cwd: project_of(given.workspace, Path(cwd)))
    found = [(source, one) for source in given.sources for one in source.find(given.places)]
    wanted = [(source, one) for source, one in found if one.changed >= begin.timestamp() and given.wanted(one)]
    for number, (source, transcript) in enumerate(wanted, 1):
        if progress:
            progress(number, len(wanted))
        try:
            session = source.read(transcript, None, given.clock.fixed).session
        except OSError:
            continue  # sync names what cannot be read
        if session is None or session.kind is Kind.ISOLATED:
            continue
        spoken = owner_count(one for one in session.messages if one.at >= begin)
        if not spoken or owner_count(session.messages) < given.config.sync.min_user_messages:
            continue
        name = listed_as(session, project_name(session, projects, str(given.workspace.root)))
        talks.append((replace(session, messages=()), name, spoken))

    @cache
    def is_signed() -> bool:
        return signed(given.workspace) or any(opted_out(session.cwd) for session, _, _ in talks)

    for session, name, spoken in talks:
        settings = settings_of(given.config, session.agent)
        patterns = (*settings.exclude, *given.exclude)
        out = not settings.enabled or bool(left_out(session, patterns, name, signed=is_signed))
        key = (session.agent, name, out)
        sessions[key] += 1
        messages[key] += spoken
    rows = [
        Found(agent, name, count, messages[agent, name, out], out) for (agent, name, out), count in sessions.items()
    ]
    return sorted(rows, key=lambda row: (row.agent, -row.messages, row.name))


def remember_exclusions(config: Config, found: Iterable[Found], names: Sequence[str]) -> list[str]:
    """Put what the user leaves out into the user's settings; the names that fit nothing."""
    wanted = {name.casefold() for name in names}
    rows = list(found)
    for agent in sorted({row.agent for row in rows}):
        mine = [row.name for row in rows if row.agent == agent and row.name.casefold() in wanted]
        key = f"sources.{agent.replace('-', '_')}"
        if agent.casefold() in wanted:
            set_key(user_config_file(os.environ), f"{key}.enabled", value=False)
        elif mine:
            known = settings_of(config, agent).exclude
            set_key(user_config_file(os.environ), f"{key}.exclude", list(dict.fromkeys([*known, *mine])))
    told = {row.name.casefold() for row in rows} | {row.agent.casefold() for row in rows}
    return [name for name in names if name.casefold() not in told]
