"""Memory by time: what the log of each day says by session, what entered or left long-term memory then, what each session was given;
and one fact through its changes."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from nacre.clock import monday
from nacre.guard.secrets import legible, safe_lines
from nacre.model import Context, Workspace
from nacre.text.blocks import real_day, split_label, stamp_of
from nacre.vault import spool
from nacre.vault.entries import BULLET, bare_words, bullet_id, document, line_digest
from nacre.vault.ledger import VERDICTS, EntryState, LedgerStates, Record
from nacre.vault.provenance import Trail
from nacre.vault.storage import list_longterm, read_memory, storage_of
from nacre.vault.weekly import digest_files

_USUAL_DAYS, _MOST_DAYS, _LOOKED_AT, _CHART_DAYS = 14, 31, 400, 84
_MOST_ROWS = 200  # on a page, from which no further day is added
_MOST_ENTRIES = 40  # of one section
_MOST_SESSIONS = 20  # on a page
_MOST_LINES = 60  # of what a session was given
_LARGEST = 1_000_000  # bytes of a log that are looked at
_LOG = re.compile(r"memory/(?:archive/(?:.*/)?)?(\d{4}-\d{2}-\d{2})\.md(?:\.gz)?")
_COUNT = re.compile(r"\|\s*(\d{1,7}) messages?\b")


class LogEntry(NamedTuple):
    """A line of a log, and what the ledger made of it."""

    id: str
    text: str
    type: str | None
    line: int
    verdict: str | None = None


class LogSection(NamedTuple):
    """What a session, or a note, left in a day's log."""

    day: str
    path: str
    title: str
    time: str | None
    session: str | None
    project: str | None
    messages: int
    entries: tuple[LogEntry, ...]
    left: int  # entries that are not among them
    agent: str | None = None
    transcript: str = ""  # the whole id of the session


class Day(NamedTuple):
    day: str
    monday: str
    path: str | None  # of the log
    digest: str | None  # of the week
    sections: tuple[LogSection, ...]
    changes: tuple[Change, ...]
    left: int = 0  # changes that are not among them


class Timeline(NamedTuple):
    """The days of a range, the latest first; how many lines each day around them has; and the days before and behind that follow."""

    since: str
    until: str
    days: tuple[Day, ...]
    counts: Mapping[str, int]
    earlier: str | None
    later: str | None


def read_timeline(context: Context, since: str | None, until: str | None) -> Timeline:
    """A range of days. Without one the last days that have entries, and the day after them, when they were tidied."""
    workspace = context.workspace
    states, trail = LedgerStates(workspace), Trail(workspace)
    logs, today = _logs(workspace), context.clock.today()
    newest = dt.date.fromisoformat(max(logs)) if logs else today
    usual = newest + dt.timedelta(days=1) if newest < today else today
    last = dt.date.fromisoformat(until) if until else usual
    first = dt.date.fromisoformat(since) if since else _before(last, _USUAL_DAYS - 1)
    digests, days, rows = digest_files(workspace), [], 0
    for back in range(min((last - first).days + 1, _LOOKED_AT)):
        day = (date := _before(last, back)).isoformat()
        sections = _sections(workspace, logs.get(day), day, trail, states)
        changes = changes_on(states, day)
        if sections or changes:
            digest = digests.get(week := monday(date))
            shown, most = workspace.relative(digest) if digest else None, tuple(changes[:_MOST_ROWS])
            left = len(changes) - len(most)
            days.append(Day(day, week.isoformat(), logs.get(day), shown, sections, most, left))
            rows += len(changes) + sum(len(section.entries) for section in sections)
        if len(days) == _MOST_DAYS or rows >= _MOST_ROWS:
            first = date
            break
    begin, start, end = min(first, _before(last, _CHART_DAYS - 1)).isoformat(), first.isoformat(), last.isoformat()
    after = dt.date.fromordinal(min(last.toordinal() + _CHART_DAYS, dt.date.max.toordinal())).isoformat()
    counts = {day: _count(workspace, *_file(workspace, logs[day])) for day in sorted(logs) if begin <= day <= after}
    earlier = max((day for day in logs if day < start), default=None)
    later = min((day for day in logs if day > end), default=None)
    return Timeline(start, end, tuple(days), counts, earlier, later)


def _before(day: dt.date, days: int) -> dt.date:
    return day - dt.timedelta(days=min(days, day.toordinal() - 1))


def _logs(workspace: Workspace) -> dict[str, str]:
    """Every daily log by its day; a living one before one of the archive."""
    files = storage_of(workspace).walk("memory", (".md", ".md.gz"))
    matches = (match for stored in files if stored.is_plain and (match := _LOG.fullmatch(stored.name)))
    # Those of the archive come later in the alphabet than years: they are replaced.
    return {match[1]: match[0] for match in sorted(matches, key=itemgetter(0), reverse=True) if real_day(match[1])}


def _read(workspace: Workspace, name: str) -> bytes:
    return read_memory(workspace, workspace.root / name)[:_LARGEST].decode("utf-8", "replace").encode()


def _file(workspace: Workspace, name: str) -> tuple[str, int, int]:
    """What tells whether a file is still as it was read."""
    stored = storage_of(workspace).about(name)
    return (name, stored.size, stored.modified) if stored else (name, 0, 0)


@lru_cache(maxsize=1000)
def _count(workspace: Workspace, name: str, _size: int, _modified: int) -> int:
    return len(re.findall(rb"(?m)^[-*+] ", _read(workspace, name)))


@lru_cache(maxsize=100)
def _parsed(workspace: Workspace, day: str, name: str, _size: int, _modified: int) -> tuple[LogSection, ...]:
    """The sections of a log as it was at a moment: to look for secrets in it takes longer than all the rest."""
    sections = []
    for title, group in groupby(document(Path(name), _read(workspace, name)).entries, key=lambda item: item.section):
        items, stamp, count = list(group), stamp_of(title), _COUNT.search(title)
        bullets = [(item.start, bullet_id(item.words), *split_label(item.words)) for item in items[:_MOST_ENTRIES]]
        safe = dict(safe_lines([(0, title), *((line, words) for line, _, _, words in bullets)]))
        entries = tuple(LogEntry(mark, safe.get(line, ""), kind, line) for line, mark, kind, _ in bullets)
        about = safe[0], stamp.time, stamp.session, stamp.project, int(count[1]) if count else 0
        sections.append(LogSection(day, name, *about, entries, len(items) - len(entries)))
    return tuple(sections)


def _sections(
    workspace: Workspace, name: str | None, day: str, trail: Trail, states: LedgerStates
) -> tuple[LogSection, ...]:
    captured, sections = {row.session: row for row in trail.of(day).captured}, []
    for section in _parsed(workspace, day, *_file(workspace, name)) if name else ():
        row = captured.get(section.session) if section.session else None
        pairs = ((entry, states.marked(entry.id)) for entry in section.entries)
        entries = tuple(entry._replace(verdict=marked[-1].verdict) if marked else entry for entry, marked in pairs)
        agent, transcript = (row.agent or None, row.transcript) if row else (None, "")
        sections.append(section._replace(entries=entries, agent=agent, transcript=transcript))
    return tuple(sections)


class Given(NamedTuple):
    """What hooks gave a session: when how many tokens, how many lines, and those of them that stand in memory now."""

    times: tuple[tuple[str, int], ...]
    tokens: int
    lines: int
    known: tuple[str, ...]


class SessionOverview(NamedTuple):
    """A session by its sections, the latest first: none where it was not captured yet."""

    session: str
    agent: str | None
    day: str  # the last
    sections: tuple[LogSection, ...]
    given: Given | None


class Sessions(NamedTuple):
    """Sessions, the latest first; the day from which earlier ones follow."""

    sessions: tuple[SessionOverview, ...]
    earlier: str | None


def read_sessions(context: Context, until: str | None) -> Sessions:
    """What was captured from the sessions up to a day, and what each was given; those that were not captured yet come first."""
    workspace, trail, states = context.workspace, Trail(context.workspace), LedgerStates(context.workspace)
    logs, read = _logs(workspace), 0
    by_session: dict[str, list[LogSection]] = {}
    days = sorted((day for day in logs if until is None or day <= until), reverse=True)
    while read < min(len(days), _LOOKED_AT) and len(by_session) < _MOST_SESSIONS:
        day, read = days[read], read + 1
        for section in reversed(_sections(workspace, logs[day], day, trail, states)):
            if section.session:
                by_session.setdefault(section.session, []).append(section)
    names = [*map(workspace.relative, list_longterm(workspace)), *(logs[day] for day in days[:read])]
    texts = (line for name in names for line in _read(workspace, name).decode().splitlines())
    lines = {digest: line for line in texts if (digest := line_digest(line))}
    latest = [] if until else spool.latest_delivered(workspace, _MOST_SESSIONS)
    waiting, rows = {delivered.session: delivered for delivered in latest}, []
    for name, sections in by_session.items():
        transcript = next((section.transcript for section in sections if section.transcript), "")
        delivered = waiting.pop(transcript, None) or spool.load_delivered(workspace, transcript)
        agent = next((section.agent for section in sections if section.agent), None)
        given = _given(context, delivered, lines)
        rows.append(SessionOverview(name, agent, sections[0].day, tuple(sections), given))
    uncaptured = ((name, _given(context, delivered, lines)) for name, delivered in waiting.items())
    new = [SessionOverview(name[:8], None, given.times[-1][0][:10], (), given) for name, given in uncaptured if given]
    return Sessions((*new, *rows), days[read] if read < len(days) else None)


def _given(context: Context, delivered: spool.Delivered, lines: Mapping[str, str]) -> Given | None:
    if not delivered.given:
        return None
    given = ((context.clock.local(dt.datetime.fromtimestamp(at, dt.UTC)), tokens) for at, tokens in delivered.given)
    times = tuple((moment.isoformat(timespec="minutes"), tokens) for moment, tokens in given)
    texts = [bare_words(lines[digest]) for digest in delivered.lines if digest in lines][:_MOST_LINES]
    tokens = sum(tokens for _, tokens in times)
    return Given(times, tokens, len(delivered.lines), tuple(map(legible, texts)))


# A fact through its changes: where it was said, when it entered long-term memory, who corrected it, what replaced it.


_MOST_WORDINGS = 50  # of one fact that are followed
_legible = lru_cache(maxsize=2000)(legible)  # to look for secrets takes longer than all the rest


class Change(NamedTuple):
    """Something that happened to a fact. `at` is a moment, of what was said its day; `before` are the words that stood there until then."""

    kind: str  # "said", "kept", "written", "corrected", "replaced", "repeated", "asked", "refused", "moved out", "forgotten", "restored", "pinned", "unpinned"
    at: str
    id: str
    text: str = ""
    before: str | None = None
    file: str | None = None
    session: str | None = None
    agent: str | None = None


_SILENT = ("merged", "asked", "refused")  # verdicts that change nothing
_KINDS = {"admitted": "kept", "adopted": "written", "merged": "repeated", "demoted": "moved out"}


def change_of(record: Record, states: LedgerStates) -> Change | None:
    """What a line of the ledger tells; none where it is the other side of what its successor's line tells, or none that we know."""
    if record.verdict not in VERDICTS:
        return None
    kind, state = _KINDS.get(record.verdict, record.verdict), states.get(record.id)
    old = states.get(record.supersedes) if record.supersedes else None
    if kind == "superseded":
        if (state and state.into) or states.superseding(record.id):
            return None
        kind = "replaced"
    elif old:  # the same in other words by hand, or as an answer; else overtaken by something that was said
        kind = "corrected" if any(line.more.get("into") == record.id for line in old.records) else "replaced"
    elif "pinned" in record.more and state and record != state.records[0]:
        kind = "pinned" if record.more["pinned"] else "unpinned"
    text = _legible(record.text or (state.text if state else None) or "")
    before = _legible(old.text) if old and old.text else None
    return Change(kind, record.at, record.id, text, before, str(record.more.get("file") or "MEMORY.md"))


def changes_on(states: LedgerStates, day: str) -> list[Change]:
    """What entered or left long-term memory on a day, or changed in it."""
    silent = ("repeated", "asked", "refused", "pinned", "unpinned")
    shown = (record for record in states.on(day) if record.supersedes or record.verdict not in _SILENT)
    records = [record for record in shown if "kind" not in record.more]  # else it concerns a question alone
    changes = [change for record in records if (change := change_of(record, states)) and change.kind not in silent]
    return _once(change for change in changes if change.text or change.kind == "forgotten")


def follow(workspace: Workspace, ids: Iterable[str]) -> list[Change]:
    """Everything that happened to a fact, the oldest first: by the ids of its entries, or of lines of logs."""
    states, trail, start = LedgerStates(workspace), Trail(workspace), list(ids)
    entries = _wordings(states, start)
    marks = dict.fromkeys((entry[:BULLET] for entry in start), "")
    for state in entries:
        marks |= dict.fromkeys((state.id[:BULLET], *state.bullets), _legible(state.text or ""))
    captured: dict[tuple[str, str], Change] = {}
    for row in trail.captured(marks):
        for mark in marks.keys() & row.bullets.keys():
            captured[row.day, mark] = Change("said", row.day, mark, marks[mark], session=row.session, agent=row.agent)
    noted: list[Change] = []
    for record in (record for state in entries for record in states.records(state.id)):
        if (day := record.source.get("day")) and record.verdict != "asked":  # a note, or before there was a trail
            mark = record.source.get("bullet", record.id[:BULLET])
            change = Change("said", day, mark, marks.get(mark, ""), session=record.source.get("session"))
            captured.setdefault((day, mark), change)
        if (record.verdict != "merged" or not day) and (ledger_change := change_of(record, states)):
            noted.append(ledger_change)
    # What was said on a day comes before what was made of it.
    return sorted(
        (*captured.values(), *_once(noted)), key=lambda change: (change.at[:10], change.kind != "said", change.at)
    )


def _once(changes: Iterable[Change]) -> list[Change]:
    """The changes without repetitions: what was forgotten in several wordings, of which no text is left, is one change."""
    return list({change if change.text else (change.kind, change.at): change for change in changes}.values())


def _wordings(states: LedgerStates, start: Iterable[str]) -> list[EntryState]:
    """The entries that one fact was over time."""
    entries: dict[str, EntryState] = {}
    waiting = list(start)
    while waiting and len(entries) < _MOST_WORDINGS:
        entry = waiting.pop()
        state_of_entry = states.get(entry)
        for state in [state_of_entry] if state_of_entry else states.marked(entry[:BULLET]):
            if state.id not in entries:
                entries[state.id] = state
                near = (state.supersedes, states.superseding(state.id), state.into, state.by)
                waiting += [other for other in near if other and other != "hand"]
                waiting += [other.id for other in states.inside(state.id)]
    return list(entries.values())
