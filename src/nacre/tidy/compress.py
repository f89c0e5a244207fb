"""Old days become weeks: what a daily log says enters the digest of its week once, in six tenths of the bytes; notes enter whole."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from nacre.brain.local import classifier, digest
from nacre.brain.local.judge import Judge
from nacre.brain.local.wording import pieces
from nacre.clock import monday
from nacre.errors import BadInput, ChangedOutside, NacreError, PathEscape, SecretRefused
from nacre.guard.secrets import redact
from nacre.i18n import say
from nacre.model import Problem, Step
from nacre.text.tokens import language_of
from nacre.tidy.collect import CATEGORIES, Day, Log, LogLine, TidyContext, judged_part, list_days, read_log
from nacre.vault import provenance, weekly
from nacre.vault.entries import Document, bare_words, bullet_id, document, open_document
from nacre.vault.history import Operation
from nacre.vault.provenance import Digested, Trail
from nacre.vault.writing import expect, rewrite

LABELS = {
    "decision": ("Decision", "决策"),
    "discovery": ("Discovery", "发现"),
    "preference": ("Preference", "偏好"),
    "task": ("Task", "任务"),
}
SHARE = 0.57  # of a day's log that its digest may have, in bytes, headings included
SMALL = 120  # bytes of what was captured up to which it enters whole, as one line does: there is nothing to choose
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
    entering: dict[LogLine, str] = field(default_factory=dict)  # lines of logs that may enter, with their places there
    # The lines of the digest so far, by project and by the plain words of the line and of each statement in it.
    existing: dict[tuple[str | None, str], weekly.DigestLine] = field(default_factory=dict)
    texts: list[tuple[tuple[LogLine, ...], str]] = field(default_factory=list)  # the new lines, and of what
    steps: list[Step] = field(default_factory=list)
    marks: dict[str, list[str]] = field(default_factory=dict)  # by day: what enters now or stands there already
    digested: tuple[Digested, ...] = ()  # for provenance


class DigestText(NamedTuple):
    """A line of a digest as the user's own model words it, and what it is made of."""

    text: str
    category: str  # empty: the local brain presses it
    of: tuple[LogLine, ...]


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
    read = judge.read(texts, [""] * len(texts))
    return [real[int(judged.odds["category"][: len(real)].argmax())] for judged in read]


def captured_lines(context: TidyContext) -> dict[str, list[LogLine]]:
    """By day: what was captured and is now to be condensed, where there is something to choose."""
    weeks, _ = _weeks_to_press(context, provenance.Trail(context.workspace))
    captured = (line for week in weeks for line in week.entering if not line.by_hand)
    days = {day: list(lines) for day, lines in groupby(captured, key=lambda line: line.day)}
    return {day: lines for day, lines in days.items() if _is_much(lines)}


def _weeks_to_press(
    context: TidyContext, trail: Trail, waiting: Container[str] = ()
) -> tuple[list[Week], list[Problem]]:
    weeks, problems = _weeks(context, trail.sizes(), waiting)
    for week in list(weeks):
        try:
            _choose(context, week, trail)
        except NacreError as error:
            problems.append(Problem("week left as it is", str(error), week.shown))
            weeks.remove(week)
    return weeks, problems


def plan(
    context: TidyContext, pressed: Mapping[str, Sequence[DigestText]] | None = None, waiting: Container[str] = ()
) -> CompressPlan:
    """What compressing the old days would do; reads, and writes nothing. `pressed`: by day, what the user's own model made of it.
    `waiting`: days that wait for it."""
    trail = provenance.Trail(context.workspace)
    sizes = trail.sizes()
    weeks, problems = _weeks_to_press(context, trail, waiting)
    lines = [line for week in weeks for line in week.entering]
    texts = list(dict.fromkeys(line.words for line in lines if line.label not in CATEGORIES))
    judged = categories(context.judge(), [judged_part(text) for text in texts]) if texts else []
    labels = {text: LABELS[kind][language_of(text) == "zh"] for text, kind in zip(texts, judged, strict=True)}
    labels_of = {line: line.label if line.label in CATEGORIES else labels[line.words] for line in lines}
    sections: dict[tuple[str, str], list[LogLine]] = {}
    for line in lines:
        if not line.by_hand:
            sections.setdefault((line.day, line.heading), []).append(line)
    said = [[(judged_part(line.words), line.by_agent) for line in section] for section in sections.values()]
    weighed = digest.weigh(context.judge(), said) if said else []
    captured = dict(zip((line for section in sections.values() for line in section), weighed, strict=True))
    for week in list(weeks):
        _add_lines(context, week, labels_of, captured, pressed or {})
        try:
            _make_digest(week, sizes)
        except BadInput as error:
            problems.append(Problem("week left as it is", str(error), week.shown))
            weeks.remove(week)
    return CompressPlan(tuple(step for week in weeks for step in week.steps), tuple(weeks), tuple(problems))


def _weeks(context: TidyContext, sizes: Mapping[str, int], waiting: Container[str]) -> tuple[list[Week], list[Problem]]:
    """The weeks with a day to condense; an archived day that is as long as when it was digested is not opened."""
    workspace, today = context.workspace, context.clock.today()
    days, problems = list_days(workspace, today)
    by_date: dict[dt.date, list[Day]] = {}  # the living log and what was archived of it
    for day in days:
        if (today - day.date).days > context.config.tidy.daily_days and day.date.isoformat() not in waiting:
            by_date.setdefault(day.date, []).append(day)
    weeks: dict[dt.date, Week] = {}
    digests = weekly.digest_files(workspace)
    for date, files in sorted(by_date.items()):
        if all(day.archived for day in files) and sizes.get(date.isoformat()) == sum(day.size for day in files):
            continue
        try:
            logs = [read_log(workspace, day) for day in files]
        except NacreError as error:
            problems.append(Problem("unreadable", str(error), workspace.relative(files[0].path)))
            continue
        path = digests.get(monday(date)) or weekly.digest_path(workspace, date)
        weeks.setdefault(monday(date), Week(path, workspace.relative(path))).logs += logs
    return [week for _, week in sorted(weeks.items())], problems


def _choose(context: TidyContext, week: Week, trail: Trail) -> None:
    """Gather the statements of the week's logs that may be added, without those that repeat what stands there."""
    fresh: dict[tuple[str, str, str | None], tuple[LogLine, str]] = {}
    for log in week.logs:
        for line in log.lines:
            if line.mark not in trail.entered(line.day):
                place = f"{context.workspace.relative(log.day.path)}:{line.line}"
                fresh.setdefault((line.day, line.mark, _project(line)), (line, place))
    if not fresh:
        return
    week.doc = open_document(context.workspace, week.path)
    old_lines = weekly.digest_lines(week.doc) if week.doc else ()
    for old in old_lines:
        words = bare_words(old.text)
        for text in (words, *(piece.text for piece in pieces(words))):
            week.existing.setdefault((old.project, plain_words(text)), old)
    said: dict[tuple[str | None, str], str] = {}  # by project and plain words
    entering: list[tuple[LogLine, str]] = []
    projects = list(dict.fromkeys(map(_project, (line for line, _ in fresh.values()))))
    for line, place in sorted(fresh.values(), key=lambda row: projects.index(_project(row[0]))):
        words = redact(line.words).text  # what somebody put into a log by hand may hold a secret
        safe = line if words == line.words else replace(line, words=" ".join(words.split()))
        key = _project(line), plain_words(safe.words)
        same = week.existing.get(key)
        # After a kill the lines of a day are chosen once more among all of it: what stands there of that day does not count yet.
        before = said.get(key) or (bare_words(same.text) if same and same.day != line.day else None)
        if before:
            reason = say(f"{place} says the same as “{before}”", f"{place} 与“{before}”意思相同")
            week.steps.append(Step("say once", week.shown, reason, safe.words))
            continue
        said[key] = safe.words
        entering.append((safe, place))
    week.entering = dict(sorted(entering, key=lambda row: row[0].day))
    for day, mark, _ in fresh:
        week.marks.setdefault(day, []).append(mark)


def _add_lines(
    context: TidyContext,
    week: Week,
    labels: Mapping[LogLine, str],
    captured: Mapping[LogLine, Sequence[digest.ScoredSentence]],
    by_model: Mapping[str, Sequence[DigestText]],
) -> None:
    """Add the new lines to the week, and a step for each of them and for what is left out."""
    kept = context.config.tidy.daily_days
    repeats, week.steps = week.steps, []
    earlier = [(line.project, bare_words(line.text), line.day or "") for line in dict.fromkeys(week.existing.values())]
    for day, rows in groupby(week.entering.items(), key=lambda row: row[0].day):
        places = dict(rows)
        before = [(project, text) for project, text, date in earlier if date < day]
        lines = [line for line in places if not line.by_hand]
        texts = [DigestText(line.words, "", (line,)) for line in places if line.by_hand]
        marks = {line.mark: line for line in lines}
        own = by_model.get(day, ())
        if own and {line.mark for text in own for line in text.of} <= marks.keys():
            lines = [marks[line.mark] for text in own for line in text.of if not text.category]
            texts += [text._replace(of=tuple(marks[line.mark] for line in text.of)) for text in own if text.category]
        texts += _pressed(context, lines, labels, captured, before)
        texts.sort(key=lambda text: min(map(list(places).index, text.of)))
        for words, category, of in texts:
            line, place = of[0], places[of[0]]
            earlier.append((_project(line), words, day))
            if (_project(line), plain_words(words)) in week.existing:
                continue  # a killed run wrote it, and did not note so
            reason = say(f"{place} is older than {kept} day{'' if kept == 1 else 's'}", f"{place} 已超过 {kept} 天")
            label = LABELS[category][language_of(words) == "zh"] if category else labels[line]
            text = f"[{label}] {words} (src: {day})"
            week.texts.append((of, text))
            week.steps.append(Step("add", week.shown, reason, text))
        entered = {line for text in texts for line in text.of}
        for line, place in places.items():
            if line not in entered:
                reason = say(f"{place} matters less than the rest of its day", f"{place} 不如当天其他内容重要")
                week.steps.append(Step("drop", week.shown, reason, line.words))
    week.steps += repeats


def _is_much(lines: Sequence[LogLine]) -> bool:
    """Whether there is something to choose among what was captured."""
    return len(lines) > 1 and _size(lines) > SMALL


def _size(lines: Sequence[LogLine]) -> int:
    return sum(len(f"- {f'[{line.label}] ' if line.label else ''}{line.words}\n".encode()) for line in lines)


def log_size(lines: Sequence[LogLine]) -> int:
    """The bytes of captured lines in their log, with the headings."""
    return _size(lines) + sum(len(f"\n## {heading}\n".encode()) for heading in {line.heading for line in lines})


def _pressed(
    context: TidyContext,
    lines: Sequence[LogLine],
    labels: Mapping[LogLine, str],
    captured: Mapping[LogLine, Sequence[digest.ScoredSentence]],
    before: Sequence[tuple[str | None, str]],
) -> list[DigestText]:
    """What was captured on a day in so many bytes as it may have, without what the week said before in any words."""
    if not _is_much(lines):
        return [DigestText(line.words, "", (line,)) for line in lines]
    said: dict[str | None, list[str]] = {}
    for project, text in before:
        said.setdefault(project, []).extend(piece.text for piece in pieces(text))
    meant = {project: context.judge().meant(texts) for project, texts in said.items()}
    sentences = [digest.without_repeats(captured[line], meant.get(_project(line), ())) for line in lines]
    headings = {f"### {lines[0].day}\n"} | {f"#### project:{_project(line)}\n" for line in lines if _project(line)}
    room = int(SHARE * log_size(lines)) - sum(len(heading.encode()) for heading in headings)
    frames = [len(f"[{labels[line]}]  (src: {line.day})\n".encode()) for line in lines]
    options = list(map(digest.Line, sentences, frames))
    return [DigestText(words, "", (lines[place],)) for place, words in digest.press(options, room).items()]


def _project(line: LogLine) -> str | None:
    """The sub-heading that a statement goes under. What was said in a group gets no stamp, and so stays private."""
    return None if line.group else line.project


def _make_digest(week: Week, sizes: Mapping[str, int]) -> None:
    """Make the bytes of the digest with its new lines, and for provenance by day what was looked at, and how long the logs are."""
    if week.texts:
        doc = week.doc
        if doc is None or not doc.data.strip():
            title = f"# {monday(week.logs[0].day.date).isoformat()}\n"
            doc = document(week.path, title.encode() + (doc.data if doc else b""))
        week.texts.sort(key=lambda row: (row[0][0].day, _project(row[0][0]) or ""))
        safe = redact("\n".join(text for _, text in week.texts)).text.split("\n")  # lines may be a secret only together
        if len(safe) == len(week.texts):
            shown = {text: now for (_, text), now in zip(week.texts, safe, strict=True)}
            week.steps = [replace(step, detail=shown.get(step.detail, step.detail)) for step in week.steps]
            week.texts = [(of, shown[text]) for of, text in week.texts]
        for (day, project), rows in groupby(week.texts, key=lambda row: (row[0][0].day, _project(row[0][0]))):
            doc = document(week.path, weekly.add_lines(doc, day, project, [text for _, text in rows]))
        week.data = doc.data
    total: Counter[str] = Counter()
    for log in week.logs:
        total[log.day.date.isoformat()] += log.size
    # Lines not in the words of the log, and of which bullets each is made.
    worded: dict[str, dict[str, tuple[str, ...]]] = {}
    for of, text in week.texts:
        mark, marks = bullet_id(f"- {bare_words(text)}"), tuple(line.mark for line in of)
        if marks != (mark,):
            worded.setdefault(of[0].day, {})[mark] = marks
    week.digested = tuple(
        Digested(day, week.shown, tuple(dict.fromkeys(week.marks.get(day, ()))), size, worded.get(day, {}))
        for day, size in total.items()
        if week.marks.get(day) or sizes.get(day) != size
    )


def apply(context: TidyContext, op: Operation, planned: CompressPlan) -> list[Problem]:
    """Write each digest, then provenance; what somebody changed meanwhile is a problem and left for the next run."""
    left: list[Problem] = []
    for week in planned.digests:
        days = {line.day for line in week.entering} if week.data is not None else set()
        try:
            for log in week.logs:
                if log.day.date.isoformat() in days:
                    expect(context.workspace, log.day.path, log.hash)
            if week.data is not None:  # something is added
                rewrite(op, week.path, week.data, read=week.doc.hash if week.doc else None)
        except (ChangedOutside, PathEscape, SecretRefused) as error:
            left.append(Problem("left for the next run", str(error), week.shown))
            continue
        provenance.write_provenance(op, week.digested)
    return left
