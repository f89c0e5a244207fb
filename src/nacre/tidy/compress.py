"""Old days become weeks: every statement of a daily log enters the digest of its week once, and repetitions are said once."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.clock import monday
from nacre.errors import BadInput, ChangedOutside, NacreError, PathEscape, SecretRefused
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.model.report import Problem, Step
from nacre.text.tokens import language_of
from nacre.tidy.collect import CATEGORIES, Day, Log, LogLine, TidyContext, judged_part, list_days, read_log
from nacre.vault import provenance, weekly
from nacre.vault.entries import bare_words, bullet_id
from nacre.vault.history import Operation
from nacre.vault.markdown import Document, document, open_document
from nacre.vault.provenance import Digested
from nacre.vault.writing import expect, rewrite

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge

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
    digested: tuple[Digested, ...]


@dataclass(frozen=True)
class CompressPlan:
    """The digests as they will be, and every log that was read and will have entered whole."""

    steps: tuple[Step, ...] = ()
    edits: tuple[WeekEdit, ...] = ()
    unrecorded: tuple[Digested, ...] = ()  # what stands there already, and is only to be noted in provenance
    logs: tuple[Log, ...] = ()
    weeks: Mapping[str, str] = field(default_factory=dict)  # by day: the digest of its week, relative to the workspace
    problems: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps or self.edits or self.unrecorded)


@dataclass
class _Week:
    """A week while it is being planned."""

    path: Path
    shown: str
    doc: Document | None = None
    logs: list[Log] = field(default_factory=list)
    entering: list[LogLine] = field(default_factory=list)
    repeated: list[tuple[LogLine, str]] = field(default_factory=list)  # with the words that say the same
    marks: dict[str, list[str]] = field(default_factory=dict)  # by day: what enters now or stands there already
    places: dict[tuple[str, str], str] = field(default_factory=dict)  # of statements, by day and mark
    digested_before: set[str] = field(default_factory=set)  # days


@lru_cache(maxsize=4096)
def plain_words(text: str) -> str:
    """The text without case, punctuation and little words; every number and every other sign counts."""
    folded = _ASIDE.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    words = " ".join(word for word in folded.split() if word not in _LITTLE)
    return _BETWEEN_HAN.sub("", _LITTLE_HAN.sub("", words))


def categories(judge: Judge, texts: Sequence[str]) -> list[str]:
    """What each statement is in a weekly digest: decision, discovery, preference or task.

    A backlog of years is judged in parts, so that it fits into memory; each is large enough for the judge to go by structure
    alone, as it does whenever there are a great many.
    """
    from nacre.brain.local import classifier
    from nacre.brain.local.judge import MANY

    real = classifier.CATEGORIES[: classifier.CATEGORIES.index("-")]
    parts = max(1, len(texts) // (MANY + 1))
    result: list[str] = []
    for start, end in pairwise(part * len(texts) // parts for part in range(parts + 1)):
        judged = judge.read(texts[start:end])
        result += [real[int(statement.odds["category"][: len(real)].argmax())] for statement in judged]
    return result


def plan(context: TidyContext) -> CompressPlan:
    """What compressing the old days would do; reads, and writes nothing."""
    recorded = provenance.read_provenance(context.workspace)
    entered, sizes = recorded.entered(), recorded.sizes()
    weeks, problems = _weeks(context, sizes)
    for week in list(weeks):
        try:
            _choose(context, week, entered)
        except NacreError as error:
            problems.append(Problem("week left as it is", str(error), week.shown))
            weeks.remove(week)
    unlabelled = [line.words for week in weeks for line in week.entering if line.label not in CATEGORIES]
    texts = list(dict.fromkeys(unlabelled))
    judged = categories(context.judge(), [judged_part(text) for text in texts]) if texts else []
    labels = {text: LABELS[kind][language_of(text) == "zh"] for text, kind in zip(texts, judged, strict=True)}
    edits: list[WeekEdit] = []
    unrecorded: list[Digested] = []
    steps: list[Step] = []
    for week in list(weeks):
        digested = _digested(week, sizes)
        if week.entering:
            try:
                edits.append(_edit(week, labels, digested))
            except BadInput as error:
                problems.append(Problem("week left as it is", str(error), week.shown))
                weeks.remove(week)
                continue
        else:
            unrecorded += digested
        steps += _steps(week, labels, context.config.tidy.daily_days)
    logs = tuple(log for week in weeks for log in week.logs)
    digests = {log.day.date.isoformat(): week.shown for week in weeks for log in week.logs}
    return CompressPlan(tuple(steps), tuple(edits), tuple(unrecorded), logs, digests, tuple(problems))


def _weeks(context: TidyContext, sizes: Mapping[str, int]) -> tuple[list[_Week], list[Problem]]:
    """The weeks with a day to look at; an archived day that is as long as when it was digested is not opened."""
    workspace, today = context.workspace, context.clock.today()
    days, problems = list_days(workspace, today)
    by_date: dict[dt.date, list[Day]] = {}  # the living log and what was archived of it
    for day in days:
        if (today - day.date).days > context.config.tidy.daily_days:
            by_date.setdefault(day.date, []).append(day)
    weeks: dict[dt.date, _Week] = {}
    digests: dict[dt.date, Path] | None = None
    for date, files in sorted(by_date.items()):
        if all(day.archived for day in files) and sizes.get(date.isoformat()) == sum(day.size for day in files):
            continue
        try:
            logs = [read_log(day) for day in files]
        except NacreError as error:
            problems.append(Problem("unreadable", str(error), workspace.relative(files[0].path)))
            continue
        digests = weekly.digest_files(workspace) if digests is None else digests
        path = digests.get(monday(date)) or weekly.digest_path(workspace, date)
        weeks.setdefault(monday(date), _Week(path, workspace.relative(path))).logs += logs
    return [week for _, week in sorted(weeks.items())], problems


def _choose(context: TidyContext, week: _Week, entered: Mapping[str, set[str]]) -> None:
    """Which statements of the week's logs are to be added, and which stand there already or repeat what does."""
    fresh: dict[tuple[str, str, str | None], LogLine] = {}
    for log in week.logs:
        for line in log.lines:
            if line.mark not in entered.get(line.day, ()):
                fresh.setdefault((line.day, line.mark, _project(line)), line)
                place = f"{context.workspace.relative(log.day.path)}:{line.line}"
                week.places.setdefault((line.day, line.mark), place)
    if not fresh:
        return
    week.doc = open_document(week.path)
    week.digested_before = {day for day, _, _ in fresh if day in entered}
    existing = weekly.digest_lines(week.doc) if week.doc else ()
    there = {(line.day, bullet_id(line.text)) for line in existing}
    waiting: list[LogLine] = []
    for line in fresh.values():
        week.marks.setdefault(line.day, []).append(line.mark)
        clean = redact(line.words).text  # what somebody put into a log by hand may hold a secret
        safe = line if clean == line.words else replace(line, words=" ".join(clean.split()))
        if (
            line.day,
            bullet_id(_digest_line(safe, "Task")),
        ) not in there:  # else a killed run wrote it, and did not note so
            waiting.append(safe)
    for project in dict.fromkeys(map(_project, waiting)):
        said: dict[str, str] = {}  # by their plain words
        for old in existing:
            if old.project == project:
                words = bare_words(old.text)
                said.setdefault(plain_words(words), words)
        for line in waiting:
            if _project(line) == project:
                again = said.get(plain_words(line.words))
                if again is None:
                    said[plain_words(line.words)] = line.words
                    week.entering.append(line)
                else:
                    week.repeated.append((line, again))
    week.entering.sort(key=lambda line: line.day)


def _project(line: LogLine) -> str | None:
    """The sub-heading that a statement goes under. What was said in a group gets no stamp, and so stays private."""
    return None if line.group else line.project


def _digest_line(line: LogLine, label: str) -> str:
    return f"[{label}] {line.words} (src: {line.day})"


def _labelled(line: LogLine, labels: Mapping[str, str]) -> str:
    return _digest_line(line, line.label if line.label in CATEGORIES else labels[line.words])


def _edit(week: _Week, labels: Mapping[str, str], digested: tuple[Digested, ...]) -> WeekEdit:
    doc = week.doc
    if doc is None or not doc.data.strip():
        title = f"# {monday(week.logs[0].day.date).isoformat()}\n"
        doc = document(week.path, title.encode() + (doc.data if doc else b""))
    groups: dict[tuple[str, str | None], list[str]] = {}
    for line in week.entering:
        groups.setdefault((line.day, _project(line)), []).append(_labelled(line, labels))
    for (day, project), lines in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        doc = document(week.path, weekly.add_lines(doc, day, project, lines))
    days = {line.day for line in week.entering}
    sources = tuple(log for log in week.logs if log.day.date.isoformat() in days)
    return WeekEdit(week.path, week.doc.hash if week.doc else None, doc.data, sources, digested)


def _digested(week: _Week, sizes: Mapping[str, int]) -> tuple[Digested, ...]:
    """What provenance is to hold: by day what enters, and how long the logs are; nothing where it holds that."""
    total: dict[str, int] = {}
    for log in week.logs:
        day = log.day.date.isoformat()
        total[day] = total.get(day, 0) + log.size
    return tuple(
        Digested(day, week.shown, tuple(dict.fromkeys(week.marks.get(day, ()))), size)
        for day, size in total.items()
        if week.marks.get(day) or sizes.get(day) != size
    )


def _steps(week: _Week, labels: Mapping[str, str], kept_days: int) -> list[Step]:
    steps: list[Step] = []
    for line in week.entering:
        place = week.places[line.day, line.mark]
        if line.day in week.digested_before:
            reason = say(f"{place} came after its day was pressed", f"{place} 在该日压缩之后才写入")
        else:
            reason = say(f"{place} is older than {kept_days} days", f"{place} 已超过 {kept_days} 天")
        steps.append(Step("add", week.shown, reason, _labelled(line, labels)))
    for line, again in week.repeated:
        place = week.places[line.day, line.mark]
        reason = say(f"{place} says the same as “{again}”", f"{place} 与“{again}”意思相同")
        steps.append(Step("say once", week.shown, reason, line.words))
    return steps


def apply(context: TidyContext, op: Operation, planned: CompressPlan) -> list[Problem]:
    """Write the digests, each with its line in provenance; what somebody changed meanwhile is a problem and left for the next run.

    The digest comes first: killed between the two, the next run sees the lines standing there and only notes them.
    """
    left: list[Problem] = []
    for edit in planned.edits:
        try:
            for log in edit.logs:
                expect(context.workspace, log.day.path, log.hash)
            rewrite(op, edit.path, edit.data, read=edit.read)
        except (ChangedOutside, PathEscape, SecretRefused) as error:
            left.append(Problem("left for the next run", str(error), context.workspace.relative(edit.path)))
            continue
        provenance.write_provenance(op, edit.digested)
    provenance.write_provenance(op, planned.unrecorded)
    return left
