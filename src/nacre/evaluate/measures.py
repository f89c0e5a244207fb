"""What became of a scenario, measured by its labels: each measure is a share of what was right, with the rest by name; or a figure."""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nacre.evaluate.replay import Gold, Pair, Replayed, Scenario, texts
from nacre.memory import Memory
from nacre.text.tables import rows

_SECTION = re.compile(r"## \d\d:\d\d session:(\w{8})")
_WEEKLY = re.compile(r"(- )?\[(决策|发现|偏好|任务|Decision|Discovery|Preference|Task)\] .+ \(src: \d{4}-\d\d-\d\d\)")
_TESTS = {"a": "prevents_error", "b": "broad", "c": "self_contained", "d": "novel"}

# Every measure in the order of the table: the name that programs read, and what people read.
NAMES = rows("evaluate/measures.tsv")


class Measure(NamedTuple):
    name: str
    value: float
    of: int | None = None  # None: the value is no share
    missed: tuple[str, ...] = ()


def measure(scenario: Scenario, replayed: Replayed) -> list[Measure]:
    gold, memory = scenario.gold, replayed.memory
    if not gold:
        return [*_of_relations(scenario.pairs, memory)]
    return [
        *_of_memory(gold, replayed),
        *_of_every_file(gold, memory.workspace.root),
        *_of_logs(gold, memory.workspace.root),
        *_of_judgement(gold, memory),
        *_of_search(gold, memory),
        *_of_relations(scenario.pairs, memory),
    ]


def _share(name: str, right: Iterable[tuple[str, bool]], *, least: int = 0) -> Measure:
    named = list(right)
    missed = tuple(item for item, is_right in named if not is_right)
    return Measure(name, len(named) - len(missed), max(len(named), least), missed)


def _matches(patterns: Iterable[str], line: str) -> bool:
    return all(re.search(pattern, line, re.IGNORECASE) for pattern in patterns)


def _any_line(lines: Iterable[str], patterns: Sequence[str]) -> bool:
    """Whether one of the lines matches all patterns."""
    return any(_matches(patterns, line) for line in lines)


def _of_memory(gold: Gold, replayed: Replayed) -> Iterator[Measure]:
    lines, questions = replayed.lines, replayed.questions
    durable, superseded = gold["durable"], gold["superseded"]
    for name, places in (("durable kept", lines), ("durable kept or asked", [*lines, *questions])):
        yield _share(name, ((row["id"], _any_line(places, row["must_match"])) for row in durable))
    days = dt.date.fromisoformat(gold["last_day"]) - dt.date.fromisoformat(gold["first_day"])
    yield Measure("questions a day", round(len(questions) / (days.days + 1), 2))
    labels = [
        *(row["must_match"] for row in durable),
        *(row["new_match"] for row in superseded),
        *(row["match"] for row in gold["neutral"]),
    ]

    def labelled(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
        return ((line, any(_matches(patterns, line) for patterns in labels)) for line in lines)

    def is_kept(line: str, patterns: Sequence[str], excuses: Sequence[str]) -> bool:
        return _matches(patterns, line) and not any(_matches([excuse], line) for excuse in excuses)

    def is_superseded(row: Gold) -> bool:
        """Whether the new statement stands, and the old one only where the change is told."""
        old = (line for line in lines if is_kept(line, row["old_match"], row.get("old_unless", ())))
        return _any_line(lines, row["new_match"]) and all(_matches(row["new_match"], line) for line in old)

    yield _share("questions worth asking", labelled(questions))
    yield _share("superseded right", ((row["id"], is_superseded(row)) for row in superseded))
    counts = ((row["id"], sum(_matches(row["match"], line) for line in lines)) for row in gold["repeated"])
    yield _share("repeated once", ((name, count == 1) for name, count in counts))
    admitted = [
        row["id"] for row in gold["transient"] for line in lines if is_kept(line, row["match"], row.get("unless", ()))
    ]
    yield _share("transient kept out", ((row["id"], row["id"] not in admitted) for row in gold["transient"]))
    yield _share("within the limits every night", [("MEMORY.md", replayed.within_limits)])
    yield _share("lines that are labelled", labelled(line for line in lines if line.lstrip().startswith("- ")), least=1)


def _of_every_file(gold: Gold, root: Path) -> Iterator[Measure]:
    """What must not be in any file, also not compressed."""
    parts: list[bytes] = []
    for path in filter(Path.is_file, root.rglob("*")):
        data = path.read_bytes()
        parts.append(data)
        for unpack in (zlib.decompress, gzip.decompress):
            with contextlib.suppress(zlib.error, OSError, EOFError):
                parts.append(unpack(data))
    everything = b"\n".join(parts).decode("utf-8", "replace")
    written, nowhere = everything.splitlines(), [row for row in gold["transient"] if row.get("nowhere")]
    yield _share("not to be written anywhere", ((row["id"], not _any_line(written, row["match"])) for row in nowhere))
    yield _share("secrets in no file", ((row["id"], row["string"] not in everything) for row in gold["secrets"]))


def _of_logs(gold: Gold, root: Path) -> Iterator[Measure]:
    logs = texts(root, "memory/????-??-??.md", "memory/archive/**/????-??-??.md")
    sections = [section for text in logs for section in _sections(text)]
    bullets: dict[str, list[str]] = {}
    for session, lines in sections:
        if lines:
            bullets.setdefault(session, []).extend(lines)
    captured = [name for name, row in gold["index"].items() if row["capturable"]]
    others = [name for name, row in gold["index"].items() if not row["capturable"]]
    yield _share("sessions captured", ((name, name[:8] in bullets) for name in captured))
    yield _share("others left out", ((name, name[:8] not in bullets) for name in others))
    yield _share("3 to 10 bullets", ((name, 3 <= len(lines) <= 10) for name, lines in sections), least=len(captured))
    points = [(row["session"][:8], point) for row in gold["bullets"] for point in row["points"]]

    def covered(lines_of: Callable[[str], Iterable[str]]) -> Iterator[tuple[str, bool]]:
        return ((f"{name}/{point['id']}", _any_line(lines_of(name), point["must_match"])) for name, point in points)

    yield _share("points covered", covered(lambda session: bullets.get(session, ())))
    weekly = texts(root, "memory/weekly/*.md")
    items = [line for text in weekly for line in text.splitlines() if line.strip() and not line.startswith("#")]
    yield _share("weekly lines in form", ((line, bool(_WEEKLY.fullmatch(line))) for line in items), least=1)
    yield _share("points in the digests", covered(lambda _: items))
    weekly_bytes, daily_bytes = (sum(len(text.encode()) for text in files) for files in (weekly, logs))
    yield Measure("weekly bytes / daily bytes", round(weekly_bytes / max(daily_bytes, 1), 2))


def _sections(text: str) -> list[tuple[str, list[str]]]:
    """The bullets under each heading of a session."""
    sections: list[tuple[str, list[str]]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("## "):
            heading = _SECTION.match(line)
            inside = heading is not None
            sections += [(heading[1], [])] if heading else []
        elif inside and line.lstrip().startswith("- "):
            sections[-1][1].append(line.strip()[2:])
    return sections


def _of_judgement(gold: Gold, memory: Memory) -> Iterator[Measure]:
    types, weekly = gold["types"], gold["weekly"]
    yield _share("types", ((row["id"], memory.classify(row["text"]) == row["type"]) for row in types))
    yield _share("categories", ((row["id"], memory.category(row["text"]) == row["category"]) for row in weekly))
    judged = [(row, memory.judge(row["text"], existing=row.get("existing") or [])) for row in gold["admission"]]
    yield _share("admission", ((row["id"], verdict.admitted == row["admit"]) for row, verdict in judged))
    refused = [(row, verdict) for row, verdict in judged if not row["admit"] and not verdict.admitted]
    named = ((row["id"], bool({_TESTS[test] for test in row["fails"]} & {*verdict.failed})) for row, verdict in refused)
    yield _share("refusal names a right test", named)


def _of_search(gold: Gold, memory: Memory) -> Iterator[Measure]:
    queries, now = gold["queries"], dt.date.fromisoformat(gold["last_day"]) + dt.timedelta(days=1)
    started = time.perf_counter()
    hits = {row["id"]: memory.search(row["q"], limit=5, now=now) for row in queries}
    seconds = time.perf_counter() - started
    weak = {name: all(hit.weak for hit in results) for name, results in hits.items()}  # none at all, too
    is_answer = {row["id"]: [_matches(row["answer_match"], hit.snippet) for hit in hits[row["id"]]] for row in queries if row["kind"] != "abstain"}  # fmt: skip
    yield _share("answers in top 5", ((name, any(places)) for name, places in is_answer.items()))
    yield _share("answers at 1", ((name, any(places[:1])) for name, places in is_answer.items()))
    yield _share("answers not called weak", ((name, any(places) and not weak[name]) for name, places in is_answer.items()))  # fmt: skip
    updates = (row["id"] for row in queries if row["kind"] == "update")
    yield _share("updates at 1", ((name, any(is_answer[name][:1])) for name in updates))
    yield _share("abstains", ((row["id"], weak[row["id"]]) for row in queries if row["kind"] == "abstain"))
    yield Measure("ms a search", round(1000 * seconds / max(len(queries), 1)))


def _of_relations(pairs: Sequence[Pair], memory: Memory) -> Iterator[Measure]:
    if not pairs:
        return
    answers: list[tuple[str, str, str]] = []
    for pair in pairs:  # each on a day of its own: a model that failed is left alone for a while
        memory.opened = replace(memory.opened, clock=memory.clock.at(memory.clock.now() + dt.timedelta(days=1)))
        given = memory.compare(pair["old"], pair["new"]).label
        answers.append((f"{pair['old']} | {pair['new']}", pair["label"], given))
    yield _share("relations right", ((name, given == label) for name, label, given in answers))
    needless = tuple(name for name, label, given in answers if given == "ask" != label)
    yield Measure("relations asked needlessly", len(needless), len(answers), needless)
    # A fact is lost for good. Asking is never wrong, only costly.
    harmless = {"same": ("same", "exception"), "replaces": ("same", "replaces", "ask")}
    wrong = tuple(name for name, label, given in answers if label not in harmless.get(given, (label,)))
    yield Measure("relations destroyed wrongly", len(wrong), len(answers), wrong)
    changes = ((name, given in ("replaces", "ask")) for name, label, given in answers if label == "replaces")
    yield _share("changes seen or asked", changes)
