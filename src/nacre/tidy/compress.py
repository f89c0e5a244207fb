"""Old days become weeks: every statement of a daily log enters the digest of its week once, and repetitions are said once."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.clock import monday
from nacre.errors import BadInput, ChangedOutside, NacreError, PathEscape, SecretRefused
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.model.report import Plan, Problem, Step
from nacre.text.tokens import language_of
from nacre.tidy import collect
from nacre.tidy.collect import Day, Log, LogLine, TidyContext
from nacre.vault import provenance, weekly
from nacre.vault.entries import bare_words, bullet_id
from nacre.vault.history import Operation
from nacre.vault.markdown import Document, document, open_document
from nacre.vault.provenance import Digested
from nacre.vault.writing import expect, rewrite

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge

# For each of the second texts the position of the one among the first that says the same, or None.
Alike = Callable[[Sequence[str], Sequence[str]], list[int | None]]

LABELS = {
    "decision": ("Decision", "决策"),
    "discovery": ("Discovery", "发现"),
    "preference": ("Preference", "偏好"),
    "task": ("Task", "任务"),
}
_ASIDE = re.compile(  # not what tells names, numbers and questions apart: "v1.2", ".env", "C++", "10:30", "?"
    r"[,;!\"'`*()\[\]{}“”‘’«»…—–。、【】「」『』《》]|\.(?=\s|\Z)|:(?![0-9a-z])|(?<![0-9a-z]):|_(?=\s|\Z)|(?<!\S)_|(?<!\S)-+(?!\S)"
)
_LITTLE = frozenset(("a", "an", "the", "also", "again", "just", "please"))
_LITTLE_HAN = re.compile(r"[了的也请]")
_BETWEEN_HAN = re.compile(r"(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])")


@dataclass(frozen=True)
class WeekEdit:
    """New bytes for the digest of a week, which must still be what was read, and what of its logs stands in it then."""

    path: Path
    read: str | None
    data: bytes
    logs: tuple[Log, ...]
    pressed: tuple[Digested, ...]


@dataclass(frozen=True)
class CompressPlan:
    """The digests as they will be, and every log that was read and will have entered whole."""

    plan: Plan = field(default_factory=Plan)
    edits: tuple[WeekEdit, ...] = ()
    known: tuple[Digested, ...] = ()  # what stands there already, and is only to be noted in the trail
    logs: tuple[Log, ...] = ()
    weeks: Mapping[str, str] = field(default_factory=dict)  # by day: the digest of its week, relative to the workspace
    problems: tuple[Problem, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.steps

    def __bool__(self) -> bool:
        return bool(self.plan or self.edits or self.known)


@dataclass
class _Week:
    """A week while it is being planned."""

    path: Path
    doc: Document | None = None
    logs: list[Log] = field(default_factory=list)
    entering: list[LogLine] = field(default_factory=list)
    repeated: list[tuple[LogLine, str]] = field(default_factory=list)  # with the words that say the same
    marks: dict[str, list[str]] = field(default_factory=dict)  # by day: what enters now or stands there already
    places: dict[tuple[str, str], str] = field(default_factory=dict)  # of statements, by day and mark
    pressed_before: set[str] = field(default_factory=set)


def same_words(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """Equal but for case, punctuation and little words; every number and every other sign counts."""
    places: dict[str, int] = {}
    for place, text in enumerate(old):
        places.setdefault(_plain(text), place)
    return [places.get(_plain(text)) for text in new]


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    folded = _ASIDE.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    words = " ".join(word for word in folded.split() if word not in _LITTLE)
    return _BETWEEN_HAN.sub("", _LITTLE_HAN.sub("", words))


def categories(judge: Judge, texts: Sequence[str]) -> list[str]:
    """What each statement is in a weekly digest: decision, discovery, preference or task.

    A backlog of years is judged in parts, so that it fits into memory; each is large enough for the judge to go by structure
    alone, as it does whenever there are a great many.
    """
    from nacre.brain.local.classifier import CATEGORIES
    from nacre.brain.local.judge import MANY

    real = CATEGORIES[: CATEGORIES.index("-")]
    parts = max(1, len(texts) // (MANY + 1))
    cuts = [part * len(texts) // parts for part in range(parts + 1)]
    found: list[str] = []
    for start, end in pairwise(cuts):
        judged = judge.read(texts[start:end])
        found += [real[int(one.odds["category"][: len(real)].argmax())] for one in judged]
    return found


def plan(room: TidyContext, alike: Alike = same_words) -> CompressPlan:
    """What pressing the old days would do; reads, and writes nothing."""
    told = provenance.read_provenance(room.workspace)
    entered, sizes = told.entered(), told.sizes()
    weeks, problems = _weeks(room, sizes)
    for week in list(weeks):
        try:
            _choose(room, week, entered, alike)
        except NacreError as trouble:
            problems.append(_left(room, week, trouble))
            weeks.remove(week)
    labels = _labels(room, [one for week in weeks for one in week.entering if one.label not in collect.CATEGORIES])
    edits: list[WeekEdit] = []
    known: list[Digested] = []
    steps: list[Step] = []
    for week in list(weeks):
        pressed = _pressed(room, week, sizes)
        if week.entering:
            try:
                edits.append(_edit(week, labels, pressed))
            except BadInput as trouble:
                problems.append(_left(room, week, trouble))
                weeks.remove(week)
                continue
        else:
            known += pressed
        steps += _steps(room, week, labels)
    logs = tuple(log for week in weeks for log in week.logs)
    digests = {log.day.date.isoformat(): room.workspace.relative(week.path) for week in weeks for log in week.logs}
    return CompressPlan(Plan(tuple(steps)), tuple(edits), tuple(known), logs, digests, tuple(problems))


def _weeks(room: TidyContext, sizes: Mapping[str, int]) -> tuple[list[_Week], list[Problem]]:
    """The weeks with a day that is to be looked at; an archived one that is as long as when it was pressed is not opened."""
    workspace, today = room.workspace, room.clock.today()
    found = collect.list_days(workspace, today)
    problems = list(found.problems)
    weeks: dict[dt.date, _Week] = {}
    digests: dict[dt.date, Path] | None = None
    for date, files in _old(found.days, today, room.config.tidy.daily_days):
        if all(one.archived for one in files) and sizes.get(date.isoformat()) == sum(one.size for one in files):
            continue
        try:
            read = [collect.read_log(one) for one in files]
        except NacreError as trouble:
            problems.append(Problem("unreadable", str(trouble), workspace.relative(files[0].path)))
            continue
        digests = weekly.digest_files(workspace) if digests is None else digests
        path = digests.get(monday(date)) or weekly.digest_path(workspace, date)
        weeks.setdefault(monday(date), _Week(path)).logs += read
    return [week for _, week in sorted(weeks.items())], problems


def _left(room: TidyContext, week: _Week, trouble: NacreError) -> Problem:
    return Problem("week left as it is", str(trouble), room.workspace.relative(week.path))


def _old(every: Iterable[Day], today: dt.date, kept: int) -> Iterator[tuple[dt.date, list[Day]]]:
    """The days that are to be pressed, each with its files: the living log and what was archived of it."""
    by_date: dict[dt.date, list[Day]] = {}
    for one in every:
        if (today - one.date).days > kept:
            by_date.setdefault(one.date, []).append(one)
    yield from sorted(by_date.items())


def _choose(room: TidyContext, week: _Week, entered: dict[str, set[str]], alike: Alike) -> None:
    """Which statements of the week's logs are to be added, and which stand there already or repeat what does."""
    fresh: dict[tuple[str, str, str | None], LogLine] = {}
    for log in week.logs:
        for one in log.said:
            if one.mark not in entered.get(one.day, ()):
                fresh.setdefault((one.day, one.mark, _project(one)), one)
                week.places.setdefault((one.day, one.mark), f"{room.workspace.relative(log.day.path)}:{one.line}")
    if not fresh:
        return
    week.doc = open_document(week.path)
    week.pressed_before = {day for day, _, _ in fresh if day in entered}
    standing = weekly.digest_lines(week.doc) if week.doc else ()
    there = {(line.day, bullet_id(line.text)) for line in standing}
    waiting: list[LogLine] = []
    for one in fresh.values():
        week.marks.setdefault(one.day, []).append(one.mark)
        safe = _safe(one)
        mark = bullet_id(_line(safe, "Task"))
        if (one.day, mark) not in there:  # else it was written by a run that was killed before it could note so
            waiting.append(safe)
    for project in dict.fromkeys(_project(one) for one in waiting):
        old = [bare_words(line.text) for line in standing if line.project == project]
        mine = [one for one in waiting if _project(one) == project]
        _say_once(week, mine, old, alike)
    week.entering.sort(key=lambda one: one.day)


def _say_once(week: _Week, mine: Sequence[LogLine], old: Sequence[str], alike: Alike) -> None:
    """Take in what neither the digest nor an earlier statement says."""
    places = alike(old, [one.words for one in mine])
    said: list[str] = []
    plain: dict[
        str, str
    ] = {}  # the same by their plain words, where these alone tell: a look-up, however many there are
    for one, place in zip(mine, places, strict=True):
        again = None if place is None else old[place]
        if again is None and alike is same_words:
            again = plain.get(_plain(one.words))
        elif again is None and said and (later := alike(said, [one.words])[0]) is not None:
            again = said[later]
        if again is None:
            said.append(one.words)
            plain[_plain(one.words)] = one.words
            week.entering.append(one)
        else:
            week.repeated.append((one, again))


def _safe(one: LogLine) -> LogLine:
    """The statement as it may be written: what somebody put into a log by hand may hold a secret."""
    clean = redact(one.words).text
    return one if clean == one.words else replace(one, words=" ".join(clean.split()))


def _project(one: LogLine) -> str | None:
    """The sub-heading that a statement goes under. What was said in a group gets no stamp, and so stays private."""
    return None if one.group else one.project


def _labels(room: TidyContext, said: Sequence[LogLine]) -> dict[str, str]:
    """The category of each statement, in its own language, by its words."""
    texts = list(dict.fromkeys(one.words for one in said))
    if not texts:
        return {}
    judged = categories(room.judge(), [collect.judged_part(text) for text in texts])
    return {text: LABELS[category][language_of(text) == "zh"] for text, category in zip(texts, judged, strict=True)}


def _line(one: LogLine, label: str) -> str:
    return f"[{label}] {one.words} (src: {one.day})"


def _labelled(one: LogLine, labels: dict[str, str]) -> str:
    return _line(one, one.label if one.label in collect.CATEGORIES else labels[one.words])


def _edit(week: _Week, labels: dict[str, str], pressed: tuple[Digested, ...]) -> WeekEdit:
    doc = week.doc
    if doc is None or not doc.data.strip():
        title = f"# {monday(week.logs[0].day.date).isoformat()}\n"
        doc = document(week.path, title.encode() + (doc.data if doc else b""))
    groups: dict[tuple[str, str | None], list[str]] = {}
    for one in week.entering:
        groups.setdefault((one.day, _project(one)), []).append(_labelled(one, labels))
    for (day, project), lines in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        doc = document(week.path, weekly.add_lines(doc, day, project, lines))
    days_in = {one.day for one in week.entering}
    sources = tuple(log for log in week.logs if log.day.date.isoformat() in days_in)
    return WeekEdit(week.path, week.doc.hash if week.doc else None, doc.data, sources, pressed)


def _pressed(room: TidyContext, week: _Week, sizes: dict[str, int]) -> tuple[Digested, ...]:
    """What the trail is to be told: by day what enters, and how long the logs are; nothing where it knows that."""
    shown = room.workspace.relative(week.path)
    now: dict[str, int] = {}
    for log in week.logs:
        day = log.day.date.isoformat()
        now[day] = now.get(day, 0) + log.size
    return tuple(
        Digested(day, shown, tuple(dict.fromkeys(week.marks.get(day, ()))), size)
        for day, size in now.items()
        if week.marks.get(day) or sizes.get(day) != size
    )


def _steps(room: TidyContext, week: _Week, labels: dict[str, str]) -> list[Step]:
    shown = room.workspace.relative(week.path)
    kept = room.config.tidy.daily_days
    found: list[Step] = []
    for one in week.entering:
        place = week.places[one.day, one.mark]
        old = say(f"{place} is older than {kept} days", f"{place} 已超过 {kept} 天")
        late = say(f"{place} came after its day was pressed", f"{place} 在该日压缩之后才写入")
        found.append(Step("add", shown, late if one.day in week.pressed_before else old, _labelled(one, labels)))
    for one, again in week.repeated:
        place = week.places[one.day, one.mark]
        reason = say(f"{place} says the same as “{again}”", f"{place} 与“{again}”意思相同")
        found.append(Step("say once", shown, reason, one.words))
    return found


def apply(room: TidyContext, op: Operation, planned: CompressPlan) -> tuple[Problem, ...]:
    """Write the digests, each with its line in the trail; what somebody changed meanwhile is left for the next run, and told.

    The digest comes first: killed between the two, the next run sees the lines standing there and only notes them.
    """
    left: list[Problem] = []
    for edit in planned.edits:
        try:
            for log in edit.logs:
                expect(room.workspace, log.day.path, log.hash)
            rewrite(op, edit.path, edit.data, read=edit.read)
        except (ChangedOutside, PathEscape, SecretRefused) as trouble:
            left.append(Problem("left for the next run", str(trouble), room.workspace.relative(edit.path)))
            continue
        provenance.write_provenance(op, edit.pressed)
    provenance.write_provenance(op, planned.known)
    return tuple(left)
