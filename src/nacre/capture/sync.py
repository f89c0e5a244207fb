"""nacre sync: transcripts are read, redacted, extracted, deduplicated and appended to the daily log of their day."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from nacre.brain.local.extract import extract
from nacre.brain.local.judge import Judge
from nacre.capture import cursors, dedupe
from nacre.capture.cursors import Cursor, Cursors, Pending, Reached, any_opted_out, storable
from nacre.capture.dedupe import Alike, DayLog, by_meaning, drop_duplicates
from nacre.capture.extract import without_forgotten
from nacre.capture.read import Copied, Extract, Outcome, Queue, Rules, Section, sections_of
from nacre.capture.sections import SHORT, SessionHeading, owner_count, provenance_of, read_headings, short_id
from nacre.clock import Clock, duration
from nacre.config.loading import user_config_file
from nacre.config.settings import Config
from nacre.errors import BadInput, NacreError
from nacre.guard.sanitise import clean
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.model.entry import Bullet
from nacre.model.session import Kind, Message, Session, Speaker
from nacre.model.workspace import Workspace
from nacre.sources import consent
from nacre.sources.consent import left_out, opted_out, settings_of
from nacre.sources.reading import Mark, Places, Reading, Source, Transcript
from nacre.sources.registry import belongs_to, listed_as, places_of, project_name, sources
from nacre.vault import daily, disk, provenance
from nacre.vault.discover import project_of
from nacre.vault.files import memory_files
from nacre.vault.history import operation
from nacre.vault.injected import lines_given_to
from nacre.vault.lock import hold
from nacre.vault.provenance import Captured
from nacre.vault.settings import set_key
from nacre.vault.writing import REDACT

BATCH = 40  # sections, at least, that are written in one go and recorded as one operation
SHARE = 20  # with many transcripts a batch is this part of them: each writes all their cursors
LONGEST = dt.timedelta(days=20_000)  # that a run looks back: to before there were agents
PATIENCE = 600.0  # seconds to wait for another run
FORKING = ("claude-code", "gemini", "opencode")  # Codex tells itself what a fork repeats
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class SyncReport:
    """What a run did."""

    sections: tuple[Section, ...] = ()
    looked_at: int = 0
    passed_over: Mapping[str, int] = field(default_factory=dict)  # how many sessions, by why
    unknown: int = 0  # entries whose form is not known
    unreadable: tuple[str, ...] = ()
    paused: bool = False
    first: bool = False


@dataclass(frozen=True)
class SyncSetup:
    """Everything that a run works with."""

    workspace: Workspace
    config: Config
    clock: Clock
    places: Places
    sources: Sequence[Source]
    extract: Extract
    exclude: Sequence[str] = ()
    wanted: Callable[[Transcript], bool] = lambda _: True  # whether a transcript belongs to this workspace
    alike: Alike = lambda texts, _: [False] * len(texts)  # whether each text says what one of the others says


def sync(
    given: SyncSetup, *, since: dt.datetime | None = None, progress: Progress | None = None, dry_run: bool = False
) -> SyncReport:
    """Bring the daily logs up to date with what was said. Runs at the same time wait for one another."""
    with hold(given.workspace.machine / "sync.lock", timeout=PATIENCE):
        return _Run(given, since, dry_run=dry_run).go(progress)


class _Run:
    """One run: what it knows of the cursors, and what it has gathered to write."""

    def __init__(self, given: SyncSetup, since: dt.datetime | None, *, dry_run: bool) -> None:
        self.given = given
        self.workspace = given.workspace
        self.dry_run = dry_run
        self.now = given.clock.now()
        self.known = cursors.load_cursors(self.workspace)
        self.first = self.known.synced is None
        self.transcripts: dict[str, Cursor] = {}
        self.places_of_session: dict[str, set[str]] = {}
        self.names: dict[str, str] = {}  # what the headings call sessions, and which
        self.alike: dict[str, dict[str, str]] = {}  # the same, by the beginning of their ids
        for key, cursor in self.known.transcripts.items():
            self._remember(key, cursor)
        self.since = self._since(since)
        self.rules = self._rules()
        self.found: dict[str, tuple[Source, Transcript]] = {}  # every transcript that was listed
        self.whole: dict[str, tuple[Message, ...]] = {}  # what was said in those that may have been forked
        self.changed: list[tuple[Source, Transcript]] = []
        self.waiting: list[Section] = []
        self.written: list[Section] = []
        self.passed: Counter[str] = Counter()
        self.unknown = 0
        self.unreadable: list[str] = []
        self.headings: dict[Path, tuple[tuple[int, int], list[SessionHeading]]] = {}  # of logs, as they were
        self.interrupted: set[str] = set()  # transcripts that a run which broke off was about to write
        self.queue = Queue(self.workspace, given.config, given.places, given.sources)
        self.projects: Callable[[str], str | None] = cache(lambda cwd: project_of(self.workspace, Path(cwd)))

    def _since(self, asked: dt.datetime | None) -> dt.datetime:
        """From when on what was said is wanted: what was asked for at any time, else the span of a first run; never less than the
        look-back."""
        settings = self.given.config.sync
        if asked or self.known.since:
            at_least = self.now - min(duration(settings.lookback), LONGEST)
            return min(one for one in (asked, self.known.since, at_least) if one)
        return self.now - min(max(duration(settings.first), duration(settings.lookback)), LONGEST)

    def _rules(self) -> Rules:
        given, config = self.given, self.given.config
        agents = {source.agent for source in given.sources}
        left_out = {agent: [*consent.settings_of(config, agent).exclude, *given.exclude] for agent in agents}
        return Rules(
            given.clock,
            self.now,
            self.since,
            config.sync.min_user_messages,
            duration(config.sync.lookback),
            left_out,
            self._signed,
            consent.pauses(self.workspace),
            dedupe.read_hook_notes(self.workspace),
            given.extract,
            self._untold,
        )

    @cache  # noqa: B019 - a run lives for one call
    def _signed(self) -> bool:
        """Whether a folder carries the sign to be left out: of those that earlier runs met and those of the talks at hand."""
        if cursors.any_opted_out(self.workspace, self.known):
            return True
        for source, transcript in self.changed:
            with suppress(OSError):
                session = source.read(transcript, None, self.given.clock.fixed).session
                if session and consent.opted_out(session.cwd):
                    return True
        return False

    def go(self, progress: Progress | None) -> SyncReport:
        if not self.dry_run:
            self._recover()
        if consent.paused_at(self.rules.pauses, self.now):
            return SyncReport(paused=True, first=self.first)
        changed = self.changed = sorted(self._changed(), key=self._turn)
        left = sum(self._key(transcript) in self.interrupted for _, transcript in changed)
        for number, (source, transcript) in enumerate(changed, 1):
            self._take(source, transcript)
            enough = max(BATCH, len(self.transcripts) // SHARE)
            if number == left or (number > left and len(self.waiting) >= enough):
                self._write()
            if progress:
                progress(number, len(changed))
        self._write()
        if not self.dry_run and (changed or self.first or self.since != self.known.since):
            self._save(synced=self.now)
        if not self.dry_run:
            self.queue.take_off((key for key, one in self.transcripts.items() if one.open), self.now.timestamp())
        return SyncReport(
            tuple(self.written),
            len(changed),
            dict(self.passed),
            self.unknown,
            tuple(self.unreadable),
            first=self.first,
        )

    def _turn(self, one: tuple[Source, Transcript]) -> tuple[bool, float, str]:
        """Oldest first; before them what a run that broke off left, which is completed as it was meant."""
        _, transcript = one
        return self._key(transcript) not in self.interrupted, transcript.changed, transcript.key

    def _key(self, transcript: Transcript) -> str:
        """What a transcript is called in the cursors."""
        return transcript.key if transcript.key in self.transcripts else storable(transcript.key)

    def _changed(self) -> Iterator[tuple[Source, Transcript]]:
        """The transcripts that may hold something new: by a look at their sizes and times alone."""
        until = self.given.clock.fixed
        for source in self.given.sources:
            if not consent.settings_of(self.given.config, source.agent).enabled:
                continue
            for transcript in chain(source.find(self.given.places), self.queue.outside(source)):
                self.found[self._key(transcript)] = (source, transcript)
                known = self.transcripts.get(transcript.key)
                if known is None and transcript.changed < self.since.timestamp():
                    continue
                known = known or self.transcripts.get(self._key(transcript))
                if known and self._left_out(known) and self.given.wanted(transcript):
                    yield source, transcript
                    continue
                if known and known.stamp == transcript.stamp and not known.open:
                    continue
                if known and known.stamp == transcript.stamp and until is None and self._still_waits(known, transcript):
                    continue
                if self.given.wanted(transcript):
                    yield source, transcript

    def _left_out(self, known: Cursor) -> bool:
        """Whether something was too old for an earlier run that is wanted now."""
        return known.begins is not None and self.since < known.begins

    def _still_waits(self, known: Cursor, transcript: Transcript) -> bool:
        """Whether an unchanged transcript can have nothing new: its talk counts for too little, or is still young."""
        if known.users == 0:
            return True
        if self.queue.is_over(transcript):
            return False
        silent_for = self.now.timestamp() - transcript.changed
        return (
            silent_for < self.rules.patience.total_seconds()
            and dt.datetime.fromtimestamp(transcript.changed, self.now.tzinfo).date() == self.now.date()
        )

    def _take(self, source: Source, transcript: Transcript) -> None:
        key = self._key(transcript)
        before = self.transcripts.get(key)
        again = before is not None and self._left_out(before)
        if again:
            before = None  # the headings of the logs tell what of it is there
        try:
            reading = source.read(transcript, before.mark if before else None, self.given.clock.fixed)
        except OSError:
            self.unreadable.append(redact(clean(str(transcript.path))).text)
            return
        self.unknown += reading.unknown
        session = storable(reading.session.id) if reading.session else ""
        outcome = sections_of(
            transcript,
            reading,
            before,
            self.rules,
            key=key,
            elsewhere=None if again else self._elsewhere(key, session),
            copied=self._copied(key, source, reading, before),
            is_over=self.queue.is_over(transcript),
            headings=lambda day: [
                one for one in self._standing(day) if self.names.get(one.session, session) == session
            ],
            name=self._name,
            project=lambda session: project_name(session, self.projects, str(self.workspace.root)),
        )
        self._settle(key, outcome)

    def _settle(self, key: str, outcome: Outcome) -> None:
        if outcome.why_not:
            self.passed[outcome.why_not] += 1
        if outcome.sections:
            self.waiting += outcome.sections
        self._remember(key, (outcome.sections[-1].then if outcome.sections else None) or outcome.cursor)

    def _elsewhere(self, key: str, session: str) -> Reached | None:
        """How far the same session was captured from another place: a store that was moved into a database."""
        others = [self.transcripts[other].reached for other in self.places_of_session.get(session, ()) if other != key]
        return max((one for one in others if one), key=lambda one: one.at, default=None)

    def _copied(self, key: str, source: Source, reading: Reading, before: Cursor | None) -> Copied:
        """What of a reading was captured from another session of the same agent: a fork repeats what was said before it, to the
        millisecond. Where this one was captured before, only known forks can hold what it goes on with."""
        messages = reading.session.messages if reading.session else ()
        if not messages or source.agent not in FORKING:
            return Copied()
        begin, end = min(one.at for one in messages), max(one.at for one in messages)
        is_new = before is None or before.reached is None
        copies: dict[int, str] = {}  # by place in the messages: the session from which it was captured
        for other, cursor in self.transcripts.items():
            if cursor.reached is None or cursor.reached.at < begin or (cursor.begun and cursor.begun > end):
                continue
            if other == key or self.found.get(other, (None,))[0] is not source:
                continue
            if is_new or cursor.origin or (before and before.origin):
                said = (one for one in self._said(other) if cursor.reached.covers(one.at, one.id))
                captured = {_identity(one, source.agent) for one in said}
                same = (place for place, one in enumerate(messages) if _identity(one, source.agent) in captured)
                copies |= dict.fromkeys(same, cursor.session)
        return Copied(tuple(messages[place] for place in sorted(copies)), copies[min(copies)] if copies else "")

    def _said(self, key: str) -> tuple[Message, ...]:
        """Everything that was said in a transcript that was listed; nothing where it cannot be read."""
        if key not in self.whole:
            source, transcript = self.found[key]
            self.whole[key] = ()
            with suppress(OSError):
                session = source.read(transcript, None, self.given.clock.fixed).session
                self.whole[key] = session.messages if session else ()
        return self.whole[key]

    def _name(self, session: str) -> str:
        """What headings call a session: as before, else by the beginning of its id that calls no other one so."""
        mine = storable(session)
        names = (self.transcripts[key].name for key in self.places_of_session.get(mine, ()))
        return next(filter(None, names), "") or short_id(mine, self.alike.get(mine[:SHORT], {}))

    def _remember(self, key: str, cursor: Cursor) -> None:
        self.transcripts[key] = cursor
        if cursor.session:
            self.places_of_session.setdefault(cursor.session, set()).add(key)
        if cursor.name:
            self.names[cursor.name] = cursor.session
            self.alike.setdefault(cursor.session[:SHORT], {})[cursor.name] = cursor.session

    def _standing(self, day: dt.date) -> Sequence[SessionHeading]:
        """The headings of a day's log; read again only when it was changed."""
        path = daily.log_path(self.workspace, day)
        try:
            about = path.stat()
        except FileNotFoundError:
            return ()
        now = (about.st_size, about.st_mtime_ns)
        known = self.headings.get(path)
        if known is None or known[0] != now:
            known = self.headings[path] = (now, read_headings(disk.read_bytes(path)))
        return known[1]

    def _untold(self, session: Session, day: dt.date, heading: str, bullets: Sequence[Bullet]) -> Sequence[Bullet]:
        path = daily.log_path(self.workspace, day)
        given = lines_given_to(self.workspace, session.id, self._memory)
        return drop_duplicates(bullets, heading, DayLog(path, disk.read_bytes(path)), self.given.alike, given)

    @cache  # noqa: B019 - a run lives for one call
    def _memory(self) -> list[str]:
        """Every text that hooks give from."""
        texts = [(disk.read_bytes(self.workspace.state) or b"").decode("utf-8", "replace")]
        for one in memory_files(self.workspace, self.given.config):
            with suppress(OSError, NacreError):  # gone meanwhile, or damaged
                texts.append(disk.read_log(one.full, one.path).decode("utf-8", "replace"))
        return texts

    def _write(self) -> None:
        """Append the sections that are waiting: said before, so that a run that breaks off is understood afterwards."""
        if not self.waiting:
            return
        sections = sorted(self.waiting, key=lambda one: (one.day, one.reached.at, one.name))
        self.waiting = []
        self.written += sections
        if self.dry_run:
            return
        given = self.given
        with operation(self.workspace, given.clock, "sync", given.config) as op:
            touched = {section.key for section in sections}
            # Until the sections stand in their logs, the file says what was known before them.
            before = {key: one for key, one in self.transcripts.items() if key not in touched}
            before |= {key: one for key, one in self.known.transcripts.items() if key in touched}
            counts: Counter[tuple[dt.date, str]] = Counter()
            pending: list[Pending] = []
            for section in sections:
                there = sum(one.heading == section.heading for one in self._standing(section.day))
                place = (section.day, section.heading)
                pending.append(_pending(section, there + counts[place]))
                counts[place] += 1
            cursors.save_cursors(self.workspace, Cursors(before, self.known.synced, self.known.since, tuple(pending)))
            for section in sections:
                daily.append_section(
                    self.workspace,
                    given.clock,
                    section.heading,
                    section.bullets,
                    day=section.day,
                    on_secret=REDACT,
                    config=given.config,
                )
            provenance.write_provenance(op, self._captured(pending))
            self._save(synced=self.known.synced)

    def _save(self, *, synced: dt.datetime | None) -> None:
        self.known = Cursors(dict(self.transcripts), synced, self.since)
        cursors.save_cursors(self.workspace, self.known)

    def _captured(self, sections: Iterable[Pending]) -> list[Captured]:
        """What the sections that stand in their logs rest on; each log is read once."""
        log = cache(lambda day: disk.read_bytes(daily.log_path(self.workspace, dt.date.fromisoformat(day))))
        return [found for one in sections if (found := provenance_of(one, log(one.day)))]

    def _recover(self) -> None:
        """Understand a run that broke off: what it was about to write stands in the logs, or does not."""
        if not self.known.pending:
            return
        with operation(self.workspace, self.given.clock, "sync", self.given.config) as op:
            known = {_marks(one) for one in provenance.read_provenance(self.workspace).captured}
            provenance.write_provenance(
                op, [one for one in self._captured(self.known.pending) if _marks(one) not in known]
            )
        unwritten: list[Pending] = []
        for one in sorted(self.known.pending, key=lambda one: one.reached.at):
            there = sum(found.heading == one.heading for found in self._standing(dt.date.fromisoformat(one.day)))
            if there <= one.before:
                unwritten.append(one)
            elif one.then:
                self._remember(one.key, one.then)
            else:
                old = self.transcripts.get(one.key) or Cursor((), Mark())
                users = old.users + one.users
                reached = one.reached.or_later(old.reached)
                begun = replace(old, session=one.session, name=one.name, reached=reached, users=users)
                self._remember(one.key, replace(begun, open=True, partly=True))
        self.interrupted = {one.key for one in unwritten}
        self.known = Cursors(dict(self.transcripts), self.known.synced, self.since, tuple(unwritten))
        cursors.save_cursors(self.workspace, self.known)


def _identity(message: Message, agent: str) -> tuple[str, dt.datetime, Speaker, str]:
    """What a fork leaves as it is: opencode gives new ids to what it repeats."""
    return "" if agent == "opencode" else message.id, message.at, message.speaker, message.text


def _marks(one: Captured) -> tuple[str, ...]:
    """What tells a line of the trail from the others."""
    return (one.day, one.session, *one.bullets)


def _pending(section: Section, before: int) -> Pending:
    return Pending(
        section.key,
        section.day.isoformat(),
        section.heading,
        before,
        storable(section.session),
        section.name,
        section.reached,
        section.users,
        section.then,
        section.agent,
        tuple(tuple(storable(entry) for entry in entries) for entries in section.sources),
        storable(section.place) if section.place else "",
        section.agents,
    )


# A run of sync with everything it needs: where the agents are, what the settings leave out, who extracts.


def run_sync(
    workspace: Workspace,
    config: Config,
    clock: Clock,
    judge: Callable[[], Judge],
    *,
    since: str | None = None,
    exclude: Sequence[str] = (),
    progress: Progress | None = None,
    dry_run: bool = False,
) -> SyncReport:
    """Capture what is new. The judge is made only when there is something to judge."""
    setting = sync_setup(workspace, config, clock, judge, exclude=exclude)
    return sync(
        setting, since=parse_since(since, clock) if since is not None else None, progress=progress, dry_run=dry_run
    )


def sync_setup(
    workspace: Workspace, config: Config, clock: Clock, judge: Callable[[], Judge], *, exclude: Sequence[str] = ()
) -> SyncSetup:
    rules = config.sync

    def bullets(messages: Sequence[Message]) -> list[Bullet]:
        return extract(messages, judge(), least=min(rules.min_bullets, rules.max_bullets), most=rules.max_bullets)

    return SyncSetup(
        workspace,
        config,
        clock,
        places_of(config),
        sources(),
        without_forgotten(workspace, bullets),
        exclude,
        belongs_to(workspace, config),
        by_meaning(judge),
    )


def parse_since(since: str, clock: Clock) -> dt.datetime:
    """What `--since` names: a length of time before now such as "4h", a day from its beginning, a moment, or all there is."""
    since = since.strip()
    if since.lower() == "all":
        return dt.datetime(1970, 1, 2, tzinfo=dt.UTC)
    try:
        if since[:1].isdigit() and since[-1:].isalpha() and "T" not in since:
            return clock.now() - min(duration(since), LONGEST)
        moment = clock.parse(since)
    except BadInput as trouble:
        raise BadInput(
            say(
                f'"{since}" says no time to look back to; write it as 4h, 7d, 2026-02-14 or "all".',
                f"“{since}”不是可回溯的时间；请写成 4h、7d、2026-02-14 或 all。",
            )
        ) from trouble
    is_day = len(since) <= len("2026-02-14")
    return moment.replace(hour=0, minute=0, second=0) if is_day else moment


# What there is to capture: the agents on this machine, their projects and chats, with counts; and what to leave out
# of it.


class Capturable(NamedTuple):
    """One project or chat of one agent."""

    agent: str
    name: str  # the project, the group, or "direct" for talk without either
    sessions: int
    messages: int  # the owner's
    left_out: bool


def survey_sessions(
    given: SyncSetup, since: dt.datetime | None = None, progress: Progress | None = None
) -> list[Capturable]:
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
        return any_opted_out(given.workspace) or any(opted_out(session.cwd) for session, _, _ in talks)

    for session, name, spoken in talks:
        settings = settings_of(given.config, session.agent)
        patterns = (*settings.exclude, *given.exclude)
        out = not settings.enabled or bool(left_out(session, patterns, name, signed=is_signed))
        key = (session.agent, name, out)
        sessions[key] += 1
        messages[key] += spoken
    rows = [
        Capturable(agent, name, count, messages[agent, name, out], out)
        for (agent, name, out), count in sessions.items()
    ]
    return sorted(rows, key=lambda row: (row.agent, -row.messages, row.name))


def remember_exclusions(config: Config, found: Iterable[Capturable], names: Sequence[str]) -> list[str]:
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
