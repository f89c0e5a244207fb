"""Old days become weeks: every statement of a daily log enters the digest of its week once, and repetitions are said once."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from nacre.brain.local import classifier
from nacre.brain.local.judge import Judge
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


@dataclass
class Week:
    """The digest of a week as it will be: new bytes for a file that must still be what was read, and what of its logs stands in it."""

    path: Path
    shown: str
    logs: list[Log] = field(default_factory=list)
    doc: Document | None = None
    data: bytes | None = None  # None where nothing is added
    entering: list[tuple[LogLine, str]] = field(default_factory=list)  # statements, each with the reason
    repeated: list[Step] = field(default_factory=list)
    marks: dict[str, list[str]] = field(default_factory=dict)  # by day: what enters now or stands there already
    digested: tuple[Digested, ...] = ()  # for provenance


@dataclass(frozen=True)
class CompressPlan:
    """The digests as they will be, and every log that was read and will have entered whole."""

    steps: tuple[Step, ...] = ()
    digests: tuple[Week, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps or any(week.digested for week in self.digests))


@lru_cache(maxsize=4096)
def plain_words(text: str) -> str:
    """The text without case, punctuation and little words; every number and every other sign counts."""
    folded = _ASIDE.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    words = " ".join(word for word in folded.split() if word not in _LITTLE)
    return _BETWEEN_HAN.sub("", _LITTLE_HAN.sub("", words))


def categories(judge: Judge, texts: Sequence[str]) -> list[str]:
    """What each statement is in a weekly digest: decision, discovery, preference or task."""
    real = classifier.CATEGORIES[: classifier.CATEGORIES.index("-")]
    return [real[int(judged.odds["category"][: len(real)].argmax())] for judged in judge.read(texts)]


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
    lines = [line for week in weeks for line, _ in week.entering]
    texts = list(dict.fromkeys(line.words for line in lines if line.label not in CATEGORIES))
    judged = categories(context.judge(), [judged_part(text) for text in texts]) if texts else []
    labels = {text: LABELS[kind][language_of(text) == "zh"] for text, kind in zip(texts, judged, strict=True)}
    steps: list[Step] = []
    for week in list(weeks):
        texts_of: dict[LogLine, str] = {}
        for line, _ in week.entering:
            label = line.label if line.label in CATEGORIES else labels[line.words]
            texts_of[line] = f"[{label}] {line.words} (src: {line.day})"
        try:
            _press(week, texts_of, sizes)
        except BadInput as error:
            problems.append(Problem("week left as it is", str(error), week.shown))
            weeks.remove(week)
            continue
        steps += [Step("add", week.shown, reason, texts_of[line]) for line, reason in week.entering]
        steps += week.repeated
    return CompressPlan(tuple(steps), tuple(weeks), tuple(problems))


def _weeks(context: TidyContext, sizes: Mapping[str, int]) -> tuple[list[Week], list[Problem]]:
    """The weeks with a day to look at; an archived day that is as long as when it was digested is not opened."""
    workspace, today = context.workspace, context.clock.today()
    days, problems = list_days(workspace, today)
    by_date: dict[dt.date, list[Day]] = {}  # the living log and what was archived of it
    for day in days:
        if (today - day.date).days > context.config.tidy.daily_days:
            by_date.setdefault(day.date, []).append(day)
    weeks: dict[dt.date, Week] = {}
    digests = weekly.digest_files(workspace)
    for date, files in sorted(by_date.items()):
        if all(day.archived for day in files) and sizes.get(date.isoformat()) == sum(day.size for day in files):
            continue
        try:
            logs = [read_log(day) for day in files]
        except NacreError as error:
            problems.append(Problem("unreadable", str(error), workspace.relative(files[0].path)))
            continue
        path = digests.get(monday(date)) or weekly.digest_path(workspace, date)
        weeks.setdefault(monday(date), Week(path, workspace.relative(path))).logs += logs
    return [week for _, week in sorted(weeks.items())], problems


def _choose(context: TidyContext, week: Week, entered: Mapping[str, set[str]]) -> None:
    """Which statements of the week's logs are to be added, and which stand there already or repeat what does."""
    fresh: dict[tuple[str, str, str | None], tuple[LogLine, str]] = {}
    places: dict[tuple[str, str], str] = {}
    for log in week.logs:
        for line in log.lines:
            if line.mark not in entered.get(line.day, ()):
                shown = f"{context.workspace.relative(log.day.path)}:{line.line}"
                place = places.setdefault((line.day, line.mark), shown)
                fresh.setdefault((line.day, line.mark, _project(line)), (line, place))
    if not fresh:
        return
    week.doc = open_document(context.workspace, week.path)
    existing = weekly.digest_lines(week.doc) if week.doc else ()
    there = {(line.day, bullet_id(line.text)) for line in existing}
    said: dict[tuple[str | None, str], str] = {}  # by project and plain words
    for old in existing:
        words = bare_words(old.text)
        said.setdefault((old.project, plain_words(words)), words)
    projects = list(dict.fromkeys(map(_project, (line for line, _ in fresh.values()))))
    kept = context.config.tidy.daily_days
    for line, place in sorted(fresh.values(), key=lambda row: projects.index(_project(row[0]))):
        words = redact(line.words).text  # what somebody put into a log by hand may hold a secret
        safe = line if words == line.words else replace(line, words=" ".join(words.split()))
        if (line.day, bullet_id(f"[Task] {safe.words} (src: {line.day})")) in there:
            continue  # a killed run wrote it, and did not note so
        key = _project(line), plain_words(safe.words)
        if key in said:
            reason = say(f"{place} says the same as “{said[key]}”", f"{place} 与“{said[key]}”意思相同")
            week.repeated.append(Step("say once", week.shown, reason, safe.words))
            continue
        said[key] = safe.words
        reason = say(f"{place} is older than {kept} days", f"{place} 已超过 {kept} 天")
        if line.day in entered:
            reason = say(f"{place} came after its day was pressed", f"{place} 在该日压缩之后才写入")
        week.entering.append((safe, reason))
    week.entering.sort(key=lambda row: row[0].day)
    for day, mark, _ in fresh:
        week.marks.setdefault(day, []).append(mark)


def _project(line: LogLine) -> str | None:
    """The sub-heading that a statement goes under. What was said in a group gets no stamp, and so stays private."""
    return None if line.group else line.project


def _press(week: Week, lines: Mapping[LogLine, str], sizes: Mapping[str, int]) -> None:
    """The bytes of the digest with these lines, and for provenance by day what enters, and how long the logs are."""
    if lines:
        doc = week.doc
        if doc is None or not doc.data.strip():
            title = f"# {monday(week.logs[0].day.date).isoformat()}\n"
            doc = document(week.path, title.encode() + (doc.data if doc else b""))
        groups: dict[tuple[str, str], list[str]] = {}
        for line, text in lines.items():
            groups.setdefault((line.day, _project(line) or ""), []).append(text)
        for (day, project), texts in sorted(groups.items()):
            doc = document(week.path, weekly.add_lines(doc, day, project or None, texts))
        week.data = doc.data
    total: Counter[str] = Counter()
    for log in week.logs:
        total[log.day.date.isoformat()] += log.size
    week.digested = tuple(
        Digested(day, week.shown, tuple(dict.fromkeys(week.marks.get(day, ()))), size)
        for day, size in total.items()
        if week.marks.get(day) or sizes.get(day) != size
    )


def apply(context: TidyContext, op: Operation, planned: CompressPlan) -> list[Problem]:
    """Write each digest, then provenance; what somebody changed meanwhile is a problem and left for the next run."""
    left: list[Problem] = []
    for week in planned.digests:
        if week.data is None:
            continue
        days = {line.day for line, _ in week.entering}
        try:
            for log in week.logs:
                if log.day.date.isoformat() in days:
                    expect(context.workspace, log.day.path, log.hash)
            rewrite(op, week.path, week.data, read=week.doc.hash if week.doc else None)
        except (ChangedOutside, PathEscape, SecretRefused) as error:
            left.append(Problem("left for the next run", str(error), context.workspace.relative(week.path)))
            continue
        provenance.write_provenance(op, week.digested)
    unchanged = (week for week in planned.digests if week.data is None)
    provenance.write_provenance(op, [digested for week in unchanged for digested in week.digested])
    return left
