"""Which transcripts there are to capture, those that hooks queued among them, and what the user leaves out."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from nacre.brain.local.dialogue import off_record_messages, without_off_record
from nacre.brain.local.extract import extract
from nacre.brain.local.judge import Judge
from nacre.capture.cursors import any_opted_out, owner_count
from nacre.capture.dedupe import Alike, alike_in_meaning
from nacre.clock import Clock, duration
from nacre.config.settings import Config, set_key, user_config_file
from nacre.model import Bullet, Context, Kind, Message, Session, SessionFile
from nacre.sources.registry import (
    belongs_to,
    left_out,
    listed_as,
    opted_out,
    outside_pauses,
    pauses,
    places_of,
    project_name,
    settings_of,
    sources,
)
from nacre.sources.transcript import Places, Source, Transcript, list_files
from nacre.vault import spool
from nacre.vault.discover import project_of
from nacre.vault.spool import Queued

LONGEST = dt.timedelta(days=20_000)  # that a run looks back: to before there were agents
Progress = Callable[[int, int], None]
Extract = Callable[[Sequence[Message]], list[Bullet]]
ByModel = Callable[[Session, str, Sequence[Message]], list[Bullet] | None]
_WITH_HOOKS = ("claude-code", "codex", "cursor")  # agents whose hooks name transcripts


@dataclass(frozen=True)
class SyncSetup:
    """What a run of sync works with."""

    context: Context
    places: Places
    sources: Sequence[Source]
    extract: Extract
    exclude: Sequence[str] = ()
    wanted: Callable[[Transcript], bool] = lambda _: True  # whether a transcript belongs to this workspace
    alike: Alike = lambda texts, _: [False] * len(texts)
    # The ids of messages that must be kept nowhere.
    off_record: Callable[[Sequence[Message]], set[str]] = lambda _: set()
    by_model: ByModel = lambda *_: None  # what the user's own model writes; None: `extract` does it


def sync_setup(context: Context, judge: Callable[[], Judge], *, exclude: Sequence[str] = ()) -> SyncSetup:
    """The setup of sync for this machine and the user's settings. The judge is loaded only when something has to be judged."""
    limits = context.config.sync

    def bullets(messages: Sequence[Message]) -> list[Bullet]:
        return extract(messages, judge(), least=min(limits.min_bullets, limits.max_bullets), most=limits.max_bullets)

    setup = SyncSetup(
        context,
        places_of(context.config),
        sources(),
        bullets,
        exclude,
        wanted=belongs_to(context.workspace, context.config),
        alike=partial(alike_in_meaning, judge),
        off_record=lambda messages: off_record_messages(messages, judge()),
    )
    if context.config.brain.extract == "local":
        return setup
    from nacre.brain.extract import by_model

    return replace(setup, by_model=by_model(context, bullets, lambda messages: without_off_record(messages, judge())))


@dataclass(frozen=True)
class Queue:
    """The sessions that hooks named, as read from the inbox."""

    waiting: Sequence[Queued] = ()
    outside: Mapping[str, Transcript] = field(default_factory=dict)  # by inbox file: those that no source would find

    def is_ended(self, transcript: Transcript) -> bool:
        """Whether a hook said that the session ended or is about to lose its beginning. In a database it is found by its id."""
        return any(
            queued.now
            and (transcript.path.suffix == ".jsonl" or (queued.session and queued.session in transcript.key))
            and os.path.realpath(queued.transcript) == os.path.realpath(transcript.path)
            for queued in self.waiting
        )


def read_queue(context: Context, places: Places) -> Queue:
    waiting = spool.waiting(str(context.workspace.root))
    outside: dict[str, Transcript] = {}
    for queued in waiting:
        if queued.agent not in _WITH_HOOKS or not settings_of(context.config, queued.agent).enabled:
            continue
        path, root = Path(queued.transcript), os.path.realpath(places.root(queued.agent))
        is_listed = os.path.realpath(path).startswith(root + os.sep)  # its own source knows best which are to be read
        is_of_subagent = path.name.startswith("agent-") or "subagents" in path.parts
        if is_listed or is_of_subagent or path.suffix != ".jsonl":
            continue
        for transcript in list_files(queued.agent, [path]):
            is_codex = queued.agent == "codex" and len(path.parts) > 5 and path.parts[-5] == "sessions"
            key = f"{path.parents[4]}#{path.name}" if is_codex else transcript.key  # as its source makes it
            outside[queued.path] = replace(transcript, key=key)
    return Queue(waiting, outside)


def clear_queue(context: Context, queue: Queue, open_keys: Collection[str]) -> None:
    """Remove from the inbox what a run has handled. A transcript outside of all sources stays while something in it is to be captured."""
    for queued in queue.waiting:
        outside = queue.outside.get(queued.path)
        if outside is None or outside.key not in open_keys:
            spool.remove_queued(queued)
    spool.clean_inbox(str(context.workspace.root), context.clock.now().timestamp())


def list_transcripts(
    context: Context, places: Places, sources: Sequence[Source], queue: Queue | None = None
) -> Iterator[tuple[Source, Transcript]]:
    """Every transcript of the enabled agents, and those of the queue that no source lists."""
    outside = list((queue or Queue()).outside.values())
    for source in sources:
        if not settings_of(context.config, source.agent).enabled:
            continue
        yield from ((source, transcript) for transcript in source.find(places))
        yield from ((source, transcript) for transcript in outside if transcript.agent == source.agent)
        outside = [transcript for transcript in outside if transcript.agent != source.agent]  # the first reads files


def session_files(setup: SyncSetup, ended: Collection[str], *, only_queued: bool) -> list[SessionFile]:
    """The transcripts of the workspace, or only those that hooks named; `ended` are the paths of sessions that just ended."""
    queue = read_queue(setup.context, setup.places)
    just_now = {os.path.realpath(path) for path in ended}
    over = just_now | {os.path.realpath(queued.transcript) for queued in queue.waiting if queued.now}
    named = over | {os.path.realpath(queued.transcript) for queued in queue.waiting}
    files: list[SessionFile] = []
    if only_queued and not named:
        return files
    for _, transcript in list_transcripts(setup.context, setup.places, setup.sources, queue):
        path = os.path.realpath(transcript.path) if named else ""
        if setup.wanted(transcript) and (path in named or not only_queued):
            changed = dt.datetime.fromtimestamp(transcript.changed, dt.UTC)
            files.append(SessionFile(transcript.key, changed, ended=path in over, now=path in just_now))
    return files


def whole_session(source: Source, transcript: Transcript, clock: Clock) -> Session | None:
    """All that a transcript holds; None where that is no session or cannot be read."""
    with suppress(OSError):
        return source.read(transcript, None, clock.fixed).session
    return None


def read_session(
    context: Context, source: Source, transcript: Transcript, exclude: Sequence[str] = ()
) -> Session | None:
    """A session without what was said during pauses; None where it is left out, empty or cannot be read."""
    workspace, session = context.workspace, whole_session(source, transcript, context.clock)
    if session is None:
        return None
    patterns = (*settings_of(context.config, session.agent).exclude, *exclude)
    listed = listed_as(session, project_name(session, workspace))
    if left_out(session, patterns, listed, signed=lambda: any_opted_out(workspace)):
        return None
    messages = outside_pauses(session.messages, pauses(workspace))
    return replace(session, messages=messages) if messages else None


# What there is to capture: the agents on this machine, their projects and chats, with counts; and what to leave out of it.


class Capturable(NamedTuple):
    """One project or chat of one agent."""

    agent: str
    name: str  # the project, the group, or "direct" for sessions without either
    sessions: int
    messages: int  # the owner's
    left_out: bool


def survey_sessions(
    setup: SyncSetup, since: dt.datetime | None = None, progress: Progress | None = None
) -> list[Capturable]:
    """Every project and chat that would be captured, the busiest first. Reads transcripts, writes nothing."""
    workspace, config, clock = setup.context.workspace, setup.context.config, setup.context.clock
    begin = since or clock.now() - min(duration(config.sync.first), LONGEST)
    find_project = cache(project_of)
    listed = ((source, transcript) for source in setup.sources for transcript in source.find(setup.places))
    transcripts = [pair for pair in listed if pair[1].changed >= begin.timestamp() and setup.wanted(pair[1])]
    rows: list[tuple[Session, str, int]] = []
    for number, (source, transcript) in enumerate(transcripts, 1):
        if progress:
            progress(number, len(transcripts))
        session = whole_session(source, transcript, clock)  # sync names what cannot be read
        if session is None or session.kind is Kind.ISOLATED:
            continue
        users = owner_count(message for message in session.messages if message.at >= begin)
        if users and owner_count(session.messages) >= config.sync.min_user_messages:
            name = listed_as(session, project_name(session, workspace, find_project))
            rows.append((replace(session, messages=()), name, users))
    is_signed = cache(lambda: any_opted_out(workspace) or any(opted_out(session.cwd) for session, _, _ in rows))
    counts: dict[tuple[str, str, bool], list[int]] = {}  # the owner's messages of each session
    for session, name, users in rows:
        settings = settings_of(config, session.agent)
        patterns = (*settings.exclude, *setup.exclude)
        is_out = not settings.enabled or bool(left_out(session, patterns, name, signed=is_signed))
        counts.setdefault((session.agent, name, is_out), []).append(users)
    capturable = [
        Capturable(agent, name, len(users), sum(users), is_out) for (agent, name, is_out), users in counts.items()
    ]
    return sorted(capturable, key=lambda row: (row.agent, -row.messages, row.name))


def remember_exclusions(config: Config, rows: Sequence[Capturable], names: Sequence[str]) -> None:
    """Write what the user leaves out into the user's settings: rows or whole agents, by name."""
    excluded = {name.casefold() for name in names}
    for agent in sorted({row.agent for row in rows}):
        key = f"sources.{agent.replace('-', '_')}"
        mine = [row.name for row in rows if row.agent == agent and row.name.casefold() in excluded]
        if agent.casefold() in excluded:
            set_key(user_config_file(os.environ), f"{key}.enabled", value=False)
        elif mine:
            before = settings_of(config, agent).exclude
            set_key(user_config_file(os.environ), f"{key}.exclude", list(dict.fromkeys([*before, *mine])))
