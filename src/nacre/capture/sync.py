"""nacre sync: transcripts are read, redacted, extracted, deduplicated and appended to the daily log of their day."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from nacre.capture import cursors
from nacre.capture.checkpoint import Checkpoint, checkpoint_of_captured
from nacre.capture.cursors import SHORT, Cursor, Cursors, Section, SessionHeading, owner_count, storable
from nacre.capture.dedupe import (
    Forgotten,
    HookNote,
    captured_before,
    drop_duplicates,
    not_forgotten,
    read_hook_notes,
    without_forgotten_sentences,
)
from nacre.capture.read import (
    LONGEST,
    Progress,
    Queue,
    SyncSetup,
    clear_queue,
    list_transcripts,
    read_queue,
    read_session,
    whole_session,
)
from nacre.clock import Clock, duration
from nacre.disk import hold
from nacre.errors import BadInput, Locked, NacreError, Waiting
from nacre.guard import privacy
from nacre.guard.sanitise import clean
from nacre.guard.secrets import redact, redact_messages
from nacre.model import Bullet, Context, Kind, Message, Session, Speaker, Workspace
from nacre.sources.registry import (
    Pause,
    left_out,
    listed_as,
    opted_out,
    outside_pauses,
    paused_at,
    pauses,
    project_name,
    settings_of,
)
from nacre.sources.transcript import Mark, Source, Transcript
from nacre.vault import daily, provenance
from nacre.vault.checkpoints import write_checkpoint
from nacre.vault.discover import project_of
from nacre.vault.history import operation
from nacre.vault.provenance import Captured
from nacre.vault.spool import lines_given_to
from nacre.vault.storage import memory_files, read, read_memory

BATCH = 40  # sections, at least, that are written and recorded as one operation
SHARE = 20  # with many transcripts a batch is this part of them: each writes all their cursors
PATIENCE = 600.0  # seconds to wait for another run
FORKING = ("claude-code", "gemini", "opencode")  # Codex tells itself what a fork repeats


@dataclass(frozen=True)
class SyncReport:
    """What a run did."""

    sections: tuple[Section, ...] = ()
    checkpoints: tuple[str, ...] = ()  # the names of those that were put away
    looked_at: int = 0
    passed_over: Mapping[str, int] = field(default_factory=dict)  # how many sessions, by why
    unknown: int = 0  # entries whose form is not known
    unreadable: tuple[str, ...] = ()
    paused: bool = False
    unwritten: tuple[str, ...] = ()  # why checkpoints could not be put away; the next run tries again


@dataclass
class _Run:
    """The state of one run."""

    setup: SyncSetup
    now: dt.datetime
    since: dt.datetime  # what was said before is too old, whatever the time of its file
    saved: Cursors  # as they stand in the file
    queue: Queue
    pauses: Sequence[Pause]
    hook_notes: Mapping[str, HookNote]
    cursors: dict[str, Cursor] = field(default_factory=dict)
    # By the beginning of a name: what headings call sessions, and which.
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    listed: dict[str, tuple[Source, Transcript]] = field(default_factory=dict)
    changed: list[tuple[Source, Transcript]] = field(default_factory=list)
    interrupted: set[str] = field(default_factory=set)  # transcripts that a run which broke off was about to write
    messages: dict[str, tuple[Message, ...]] = field(default_factory=dict)  # of transcripts that may have been forked
    asked: set[str] = field(default_factory=set)  # the orders that wait for the user's agent, by their keys
    passed: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    unreadable: list[str] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)
    find_project: Callable[[Workspace, Path], str | None] = field(default_factory=lambda: cache(project_of))

    @property
    def context(self) -> Context:
        return self.setup.context

    def key_of(self, transcript: Transcript) -> str:
        return transcript.key if transcript.key in self.cursors else storable(transcript.key)

    def remember(self, key: str, cursor: Cursor) -> None:
        self.cursors[key] = cursor
        if cursor.name:
            self.names.setdefault(cursor.name[:SHORT], {})[cursor.name] = cursor.session

    @cached_property
    def forgotten(self) -> Forgotten:
        return Forgotten(self.context.workspace)

    @cached_property
    def memory_texts(self) -> list[str]:
        """Every text that hooks give from."""
        workspace = self.context.workspace
        paths = [workspace.state, *(Path(file.full) for file in memory_files(workspace, self.context.config))]
        return [read_memory(workspace, path).decode("utf-8", "replace") for path in paths]

    @cached_property
    def opted_out(self) -> bool:
        """Whether a folder is marked to be left out: of those that earlier runs met and those of the sessions at hand."""
        sessions = (whole_session(source, transcript, self.context.clock) for source, transcript in self.changed)
        return cursors.any_opted_out(self.context.workspace, self.saved) or any(
            opted_out(session.cwd) for session in sessions if session
        )


def sync(
    setup: SyncSetup, *, since: dt.datetime | None = None, progress: Progress | None = None, dry_run: bool = False
) -> SyncReport:
    """Bring the daily logs up to date with the transcripts. Concurrent runs wait for each other."""
    context = setup.context
    if dry_run:  # costs nothing
        setup = replace(setup, by_model=lambda *_: None)
    with hold(context.workspace.machine / "sync.lock", timeout=PATIENCE):
        run = _begin(setup, since)
        is_first = run.saved.synced is None
        has_asked = any(cursor.asked for cursor in run.cursors.values())
        if run.saved.pending and not dry_run:
            _recover(run)
        if paused_at(run.pauses, run.now):
            return SyncReport(paused=True)
        run.changed = _list_changed(run)
        left = sum(run.key_of(transcript) in run.interrupted for _, transcript in run.changed)
        written: list[Section] = []
        batch: list[Section] = []

        def write(put_away: Sequence[PutAway] = ()) -> None:
            batch.sort(key=lambda section: (section.day, section.reached.at, section.name))
            if (batch or put_away) and not dry_run:
                _write(run, batch, put_away)
            written.extend(batch)
            batch.clear()

        for number, (source, transcript) in enumerate(run.changed, 1):
            key = run.key_of(transcript)
            cursor, sections, why_not = _new_sections(run, key, source, transcript)
            run.passed[why_not] += 1
            if cursor:
                run.remember(key, (sections and sections[-1].then) or cursor)
            batch += sections
            is_full = number > left and len(batch) >= max(BATCH, len(run.cursors) // SHARE)
            if batch and (number == left or is_full) and number < len(run.changed):
                write()
            if progress:
                progress(number, len(run.changed))
        put_away = list(_put_away(run)) if context.config.tiers.auto else []
        write(put_away)
        if not dry_run:
            if run.changed or put_away or is_first or run.since != run.saved.since:
                _save(run, synced=run.now)
            if has_asked or run.asked:
                from nacre.brain.turn import withdraw_orders

                withdraw_orders(context, "extract", run.asked)
            clear_queue(context, run.queue, {key for key, cursor in run.cursors.items() if cursor.open})
        return SyncReport(
            sections=tuple(written),
            checkpoints=tuple(checkpoint.name for _, _, checkpoint in put_away if checkpoint),
            looked_at=len(run.changed),
            passed_over={why_not: count for why_not, count in run.passed.items() if why_not},
            unknown=run.unknown,
            unreadable=tuple(run.unreadable),
            unwritten=tuple(run.unwritten),
        )


def _begin(setup: SyncSetup, since: dt.datetime | None) -> _Run:
    context, settings = setup.context, setup.context.config.sync
    now, saved = context.clock.now(), cursors.load_cursors(context.workspace)
    lookback = min(duration(settings.lookback), LONGEST)
    if since or saved.since:
        since = min(moment for moment in (since, saved.since, now - lookback) if moment)
    else:
        since = now - max(lookback, min(duration(settings.first), LONGEST))
    queue, notes = read_queue(context, setup.places), read_hook_notes(context.workspace)
    run = _Run(setup, now, since, saved, queue, pauses(context.workspace), notes)
    for key, cursor in saved.transcripts.items():
        run.remember(key, cursor)
    return run


def _list_changed(run: _Run) -> list[tuple[Source, Transcript]]:
    """The transcripts that changed: first those that an interrupted run was about to write, then the oldest."""
    setup = run.setup
    changed: list[tuple[Source, Transcript]] = []
    for source, transcript in list_transcripts(run.context, setup.places, setup.sources, run.queue):
        key = run.key_of(transcript)
        run.listed[key] = (source, transcript)
        cursor = run.cursors.get(key)
        if cursor is None:
            is_changed = transcript.changed >= run.since.timestamp()
        else:
            is_changed = cursor.stamp != transcript.stamp or (cursor.begins is not None and run.since < cursor.begins)
            is_open = cursor.open and not _still_waits(run, cursor, transcript)
            is_changed = is_changed or is_open or cursor.asked is not None
        if is_changed and setup.wanted(transcript):
            changed.append((source, transcript))
    return sorted(changed, key=lambda pair: (run.key_of(pair[1]) not in run.interrupted, pair[1].changed, pair[1].key))


def _still_waits(run: _Run, cursor: Cursor, transcript: Transcript) -> bool:
    """Whether an unchanged transcript with waiting messages can be skipped: it has too few, or its session is recent."""
    if run.context.clock.fixed is not None or cursor.users == 0:
        return run.context.clock.fixed is None
    if run.queue.is_ended(transcript):
        return False
    changed = dt.datetime.fromtimestamp(transcript.changed, run.now.tzinfo)
    return run.now - changed < duration(run.context.config.sync.lookback) and changed.date() == run.now.date()


def _new_sections(
    run: _Run, key: str, source: Source, transcript: Transcript
) -> tuple[Cursor | None, list[Section], str]:
    """The new cursor of a transcript, the sections made of what is new in it, and if there are none, the reason."""
    workspace, clock, settings = run.context.workspace, run.context.clock, run.context.config.sync
    before = previous = run.cursors.get(key)
    if previous and previous.begins and run.since < previous.begins:
        before = None  # something was too old for an earlier run: the headings of the logs show what of it is there
    try:
        reading = source.read(transcript, before.mark if before else None, clock.fixed)
    except OSError:
        run.unreadable.append(redact(clean(str(transcript.path))).text)
        return None, [], ""
    run.unknown += reading.unknown
    asked = before.asked if before else None
    begin = replace(before or Cursor((), Mark(), away=previous.away if previous else None), asked=None)
    # Read as of an earlier moment, a transcript that stays as it is may still have more to tell.
    stamp = transcript.stamp if reading.whole or clock.fixed is None else ()
    is_safe = cursors.is_storable(reading.mark)
    mark = reading.mark if is_safe else Mark()

    def done(**changes: Any) -> Cursor:
        """The cursor when all that was read is dealt with."""
        return replace(begin, stamp=stamp, mark=mark, open=not reading.whole, partly=not is_safe, **changes)

    session = reading.session
    if session is None or session.kind is Kind.ISOLATED:
        return done(), [], "isolated"
    session_id = storable(session.id)
    begin = replace(begin, session=session_id)

    # Read: without what is left out, too old, or captured before.
    project = project_name(session, workspace, run.find_project)
    patterns = [*settings_of(run.context.config, session.agent).exclude, *run.setup.exclude]
    if session.messages and (
        why_not := left_out(session, patterns, listed_as(session, project), signed=lambda: run.opted_out)
    ):
        return done(), [], why_not
    copied, origin = _copied(run, key, source, session.messages, before)
    too_old = [message for message in session.messages if message.at < run.since]
    recent = tuple(message for message in session.messages if message.at >= run.since)
    if too_old:
        begin = replace(begin, begins=run.since)
    if recent:
        first = min(message.at for message in recent)
        begin = replace(begin, begun=min(first, begin.begun or first))
        if copied and begin.reached is None:
            begin = replace(begin, origin=begin.origin or origin, away=max(message.at for message in copied))
    reached = before.reached if before and (reading.rewritten or before.partly) else None
    note, copies = run.hook_notes.get(session.id), {message.id for message in copied}
    spoken = outside_pauses(recent, run.pauses)
    covered = {message.id for message in spoken if message.id in copies or (note and note.holds(message))}
    covered_users = owner_count(message for message in spoken if message.id in covered)
    messages = tuple(
        message
        for message in spoken
        if message.id not in covered and not (reached and reached.covers(message.at, message.id))
    )
    if begin.reached is None:  # or captured from another file: a store that was moved into a database
        headings: dict[dt.date, list[SessionHeading]] = {}
        for day, _ in cursors.by_day(messages, clock):
            for heading in cursors.log_headings(workspace, daily.log_path(workspace, day)):
                if run.names.get(heading.session[:SHORT], {}).get(heading.session, session_id) == session_id:
                    headings.setdefault(day, []).append(heading)
        in_logs, name = captured_before(session.id, messages, headings, clock)
        if in_logs:
            point, users = cursors.reached_by(in_logs), owner_count(in_logs)
            begin = replace(begin, name=name, reached=point, away=point.at, users=users, partly=True)
            captured_ids = set(map(id, in_logs))
            messages = tuple(message for message in messages if id(message) not in captured_ids)
    if not messages:
        is_copy = copied and begin.reached is None
        end = done(reached=cursors.reached_by(copied), users=covered_users) if is_copy else done()
        return end, [], "too old" if too_old and not recent else "nothing new"

    # What waits for the user's agent is asked for as it was, so that the answer fits; what was said since comes after it.
    asked = asked if asked and any(message.at <= asked for message in messages) else None
    later = {message.id for message in messages if asked and message.at > asked}

    # Wait until there is enough of it.
    least = settings.min_user_messages
    captured = begin.users or covered_users + owner_count(too_old)
    held = replace(begin, stamp=stamp, users=captured, open=True)
    patience = dt.timedelta() if run.queue.is_ended(transcript) else duration(settings.lookback)
    if asked is None and cursors.must_wait(messages, captured, least, run.now, patience, clock):
        return held, [], "too few" if owner_count(messages) + captured < least else "waits"

    # Redact all of it together: a question may stand before midnight, its answer after.
    redacted = tuple(redact_messages(messages))
    days = cursors.by_day(redacted, clock)
    if len(days) > 1 or later:  # a wish for silence after midnight is about what was said before it
        hidden = later | run.setup.off_record(redacted) if later else set()
        visible = [message for message in privacy.drop_private(redacted) if message.id not in hidden]
        days = cursors.by_day(visible, clock)
    waits = False
    if len(days) > 1 and asked is None:  # the last day may be only a lone remark yet; those before it are over
        earlier, last = [message for _, of_day in days[:-1] for message in of_day], days[-1][1]
        in_order = min(message.at for message in last) > max(message.at for message in earlier)
        waits = in_order and cursors.must_wait(last, captured + owner_count(earlier), least, run.now, patience, clock)

    # Extract and dedupe, day by day.
    rivals = run.names.get(cursors.plain_id(session_id)[:SHORT], {})
    known_name = next((name for name, session in rivals.items() if session == session_id), "")
    name = begin.name or known_name or cursors.short_id(session_id, rivals)
    sections: list[Section] = []
    days = days[:-1] if waits else days
    is_asked = False
    for day, of_day in days:
        last_at = max(message.at for message in of_day if clock.local(message.at).date() == day)
        title = cursors.session_heading(
            session, name, clock.local(last_at), len(of_day), project, continued=bool(captured or sections)
        )
        try:
            bullets = _bullets(run, session, listed_as(session, project), day, title, of_day)
        except Waiting as waiting:
            run.asked.update(waiting.keys)
            is_asked = True
            continue
        if bullets:
            point, users = cursors.reached_by(of_day), owner_count(of_day)
            section = Section(
                key,
                day,
                session.agent,
                session_id,
                name,
                title,
                point,
                users,
                sources=tuple(tuple(map(storable, bullet.sources)) for bullet in bullets),
                place=storable(session.cwd) if project else "",
                agents=tuple(place for place, bullet in enumerate(bullets) if bullet.by_agent),
                bullets=tuple(bullet.line for bullet in bullets),
            )
            sections.append(section)
    if is_asked:
        return replace(held, asked=asked or max(message.at for _, of_day in days for message in of_day)), [], "asked"
    if not sections and not later:
        return held if waits else done(), [], "nothing to say"
    asked_for = [message for message in messages if message.id not in later]
    point = cursors.reached_by(asked_for) if later else sections[-1].reached
    if begin.reached and begin.reached.at > point.at:  # what was too old once may be captured after what is younger
        point = begin.reached
    users = captured + sum(section.users for section in sections)
    then = replace(replace(held, partly=True) if waits or later else done(), name=name, reached=point, users=users)
    then = replace(then, stamp=() if later else stamp)  # the next run looks at what came later
    if not sections:
        return then, [], "nothing to say"
    sections[-1] = replace(sections[-1], then=then)
    return done(), sections, ""


def _bullets(
    run: _Run, session: Session, listed: str, day: dt.date, heading: str, messages: Sequence[Message]
) -> list[Bullet]:
    """The bullets for one day of a session that its log does not hold yet."""
    if session.kind is Kind.GROUP:  # whom the agent answers at the very beginning is not known
        first = next((at for at, message in enumerate(messages) if message.speaker is not Speaker.AGENT), 0)
        messages = messages[first:]
    tombstones = run.forgotten.tombstones
    written = run.setup.by_model(session, listed, without_forgotten_sentences(tombstones, messages))
    bullets = run.setup.extract(messages) if written is None else written
    if not bullets or not (bullets := not_forgotten(tombstones, bullets)):
        return []
    workspace = run.context.workspace
    path = daily.log_path(workspace, day)
    delivered = lines_given_to(workspace, session.id, lambda: run.memory_texts)
    return drop_duplicates(bullets, heading, path, read(workspace, path), run.setup.alike, delivered)


def _copied(
    run: _Run, key: str, source: Source, messages: Sequence[Message], before: Cursor | None
) -> tuple[list[Message], str]:
    """The messages that were captured from another session already, and the id of that session: a fork repeats what was said before it,
    with the same times. A session that was captured before is compared only with known forks."""
    if not messages or source.agent not in FORKING:
        return [], ""

    def identity(message: Message) -> tuple[str, dt.datetime, Speaker, str]:
        # opencode gives new ids to what a fork repeats
        return "" if source.agent == "opencode" else message.id, message.at, message.speaker, message.text

    begin, end = min(message.at for message in messages), max(message.at for message in messages)
    is_new = before is None or before.reached is None
    origins: dict[int, str] = {}  # by place in the messages: the session from which it was captured
    for other, cursor in run.cursors.items():
        if cursor.latest is None or cursor.latest < begin or (cursor.begun and cursor.begun > end):
            continue
        if other == key or run.listed.get(other, (None,))[0] is not source:
            continue
        if is_new or cursor.origin or (before and before.origin):
            if other not in run.messages:
                session = whole_session(source, run.listed[other][1], run.context.clock)
                run.messages[other] = session.messages if session else ()
            captured = {identity(message) for message in run.messages[other] if cursor.covers(message)}
            same = (place for place, message in enumerate(messages) if identity(message) in captured)
            origins |= dict.fromkeys(same, cursor.session)
    return [messages[place] for place in sorted(origins)], origins[min(origins)] if origins else ""


PutAway = tuple[str, Cursor, Checkpoint | None]  # a transcript by its key, its cursor afterwards, its checkpoint


def _put_away(run: _Run) -> Iterator[PutAway]:
    """The checkpoints to write, and the new cursors: of sessions captured since their last checkpoint that are over (silent for
    `jobs.silence`, nothing waiting for the user's agent). Groups, and sessions that would be forgotten at once, get none."""
    config = run.context.config
    last, oldest = run.now - duration(config.jobs.silence), run.now - min(duration(config.tiers.forget_after), LONGEST)
    forgotten: Forgotten | None = None  # read when the first is written: also what was forgotten since sync began
    for key, cursor in sorted(run.cursors.items()):
        if (
            cursor.asked
            or not cursor.reached
            or cursor.reached.at < oldest
            or (cursor.away and cursor.reached.at <= cursor.away)
        ):
            continue
        source, transcript = run.listed.get(key, (None, None))
        if source is None or transcript is None or not run.setup.wanted(transcript):
            continue
        is_ended = run.queue.is_ended(transcript)
        if cursor.reached.at > last and not is_ended:
            continue
        session = read_session(run.context, source, transcript, run.setup.exclude)
        if session is None or session.kind is not Kind.MAIN:
            yield key, replace(cursor, away=cursor.reached.at), None
            continue
        end = max(message.at for message in session.messages)
        if end > last and not is_ended:
            continue
        note = run.hook_notes.get(session.id)
        spoken = [
            message for message in session.messages if message.at >= run.since and not (note and note.holds(message))
        ]
        spoken_part = replace(session, messages=tuple(spoken))
        forgotten = forgotten or Forgotten(run.context.workspace)
        written = checkpoint_of_captured(run.setup, spoken_part, cursor.away, forgotten)
        yield key, replace(cursor, away=end), written


def _write(run: _Run, sections: Sequence[Section], put_away: Sequence[PutAway]) -> None:
    """Append sections to their logs and write checkpoints in one operation. The sections are saved with the cursors first, so that an
    interrupted run can be completed."""
    context, workspace = run.context, run.context.workspace
    with operation(context, "sync") as op:
        touched = {section.key for section in sections}
        # Until the sections stand in their logs, the file says what was known before them.
        before = {key: cursor for key, cursor in run.cursors.items() if key not in touched}
        before |= {key: cursor for key, cursor in run.saved.transcripts.items() if key in touched}
        counts: Counter[tuple[dt.date, str]] = Counter()
        pending: list[Section] = []
        for section in sections:
            pending.append(replace(section, before=_count_heading(run, section) + counts[section.day, section.heading]))
            counts[section.day, section.heading] += 1
        cursors.save_cursors(workspace, Cursors(before, run.saved.synced, run.saved.since, tuple(pending)))
        for section in sections:
            daily.append_section(context, section.heading, section.bullets, day=section.day)
        provenance.write_provenance(op, _provenance(run, pending))
        for key, cursor, checkpoint in put_away:
            try:
                if checkpoint:
                    write_checkpoint(context, checkpoint.name, checkpoint.text)
            except Locked:
                raise
            except NacreError as error:
                run.unwritten.append(str(error))
                continue
            run.remember(key, cursor)
        _save(run, synced=run.saved.synced)


def _count_heading(run: _Run, section: Section) -> int:
    workspace = run.context.workspace
    headings = cursors.log_headings(workspace, daily.log_path(workspace, section.day))
    return sum(heading.heading == section.heading for heading in headings)


def _provenance(run: _Run, sections: Iterable[Section]) -> list[Captured]:
    workspace = run.context.workspace
    log = cache(lambda day: read(workspace, daily.log_path(workspace, day)))  # each is read once
    return [captured for section in sections if (captured := cursors.provenance_of(section, log(section.day)))]


def _save(run: _Run, *, synced: dt.datetime | None, pending: tuple[Section, ...] = ()) -> None:
    run.saved = Cursors(dict(run.cursors), synced, run.since, pending)
    cursors.save_cursors(run.context.workspace, run.saved)


def _recover(run: _Run) -> None:
    """Complete an interrupted run: which of the pending sections were written is seen in the logs."""
    context = run.context
    with operation(context, "sync") as op:
        trail = provenance.read_provenance(context.workspace)
        recorded = {(captured.day, captured.session, *captured.bullets) for captured in trail.captured}
        written = {(row.day, row.session, *row.bullets): row for row in _provenance(run, run.saved.pending)}
        provenance.write_provenance(op, [row for key, row in written.items() if key not in recorded])
    unwritten: list[Section] = []
    for section in sorted(run.saved.pending, key=lambda section: section.reached.at):
        if _count_heading(run, section) <= section.before:
            unwritten.append(section)
        elif section.then:
            run.remember(section.key, section.then)
        else:
            old = run.cursors.get(section.key) or Cursor((), Mark())
            reached = max(filter(None, (section.reached, old.reached)), key=lambda point: point.at)
            about = replace(old, session=section.session, name=section.name, users=old.users + section.users)
            run.remember(section.key, replace(about, reached=reached, open=True, partly=True))
    run.interrupted = {section.key for section in unwritten}
    _save(run, synced=run.saved.synced, pending=tuple(unwritten))


def parse_since(since: str, clock: Clock) -> dt.datetime:
    """The moment that `--since` names: a duration before now such as "4h", a day, a moment, or "all"."""
    since = since.strip()
    if since.lower() == "all":
        return dt.datetime(1970, 1, 2, tzinfo=dt.UTC)
    try:
        if since[:1].isdigit() and since[-1:].isalpha() and "T" not in since:
            return clock.now() - min(duration(since), LONGEST)
        moment = clock.parse(since)
    except BadInput as error:
        raise BadInput(
            f'"{since}" is not a valid time; use 4h, 7d, 2026-02-14 or "all".',
            f"“{since}”不是有效的时间；请写成 4h、7d、2026-02-14 或 all。",
        ) from error
    return moment.replace(hour=0, minute=0, second=0) if len(since) <= len("2026-02-14") else moment
