"""Plans and carries out forgetting: lines are removed, the ledger loses their words, tombstones keep them from coming back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nacre.capture.dedupe import vectors_of
from nacre.forget.related import Fact, fact_of, superseded_by_it
from nacre.forget.target import (
    ForgetContext,
    MemoryLine,
    Target,
    is_telling,
    lines_at,
    lines_of,
    read_memory,
    without_lines,
    write_memory,
)
from nacre.forget.traces import unmarked
from nacre.i18n import say
from nacre.model.report import Plan, Step
from nacre.text.tokens import tokens
from nacre.vault import disk, jsonl, ledger, tombstones
from nacre.vault.entries import normal_words
from nacre.vault.files import TIERS
from nacre.vault.history import Operation, operation
from nacre.vault.ledger import EntryState, Record
from nacre.vault.tombstones import Tombstones
from nacre.vault.writing import changed_outside, rewrite

LOOKED_AT = 20  # hits that may say the same in other words
OVERLAP = 0.6  # of the words of two lines, from which on they look alike
COSINE = 0.75
_TAGS = re.compile(r"((?:Tags|标签)[:：]\s*)(\S.*)", re.IGNORECASE)
_COMMA = re.compile(r"[,，、]")
SHORTEST = 12  # characters; of less than that and few words, a longer line does not say the same because it holds it


@dataclass(frozen=True)
class Removal:
    """A line, and why it goes or would; what stands there `instead`, of a title and of a line of tags."""

    line: MemoryLine
    reason: str
    instead: str | None = None


@dataclass(frozen=True)
class Wording:
    """Words that are to be buried under their id."""

    id: str
    words: str
    fact: str
    apart: bool = False  # another statement, which went with the fact because it looked like it or was superseded by it


@dataclass(frozen=True)
class ForgetPlan:
    """Every line that goes; those that look like it and stay; the entries of the ledger that lose their words."""

    facts: tuple[Fact, ...]
    going: tuple[Removal, ...]
    alike: tuple[Removal, ...]
    wordings: tuple[Wording, ...]  # without those that are buried already
    redacts: int = 0  # lines of the ledger

    def __bool__(self) -> bool:
        return bool(self.going or self.wordings or self.redacts)

    @property
    def ids(self) -> frozenset[str]:
        """Every id of the ledger that belongs to what goes."""
        return frozenset({known for fact in self.facts for known in fact.ids} | {one.id for one in self.wordings})

    @property
    def plan(self) -> Plan:
        steps = [Step("remove", one.line.place, one.reason, one.line.text) for one in self.going]
        if self.redacts:
            reason = say(f"{self.redacts} lines lose their words", f"{self.redacts} 行将去除文字")
            steps.append(Step("redact", "memory/ledger.jsonl", reason))
        return Plan(tuple(steps))


def plan_forget(
    room: ForgetContext, targets: Sequence[Target], lines: Sequence[MemoryLine], *, similar: bool = False
) -> ForgetPlan:
    """What forgetting the targets would do; `lines` are all lines of memory. Touches nothing."""
    records = ledger.read_ledger(room.workspace).records
    known = ledger.entry_states(records)
    stones = tombstones.load_tombstones(room.workspace)
    facts = tuple(_whole(fact_of(target, known, superseded=similar), stones) for target in targets)
    going: dict[tuple[str, int, int], Removal] = {}
    for line in lines:
        reason = next((reason for fact in facts if (reason := fact.reason(line) or _as_title(fact, line))), None)
        if reason and line.words:
            going[_span(line)] = _removal(line, reason)
    untagged = [line for line in lines if not (line.layer in TIERS and _TAGS.fullmatch(line.text))]
    alike = [one for one in _alike(room, facts, untagged) if not _is_settled(one, going)]
    if similar:
        going |= {_span(one.line): one for one in alike}
        alike = []
    kept = _outermost(going.values())
    wordings = _wordings(facts, kept, known, stones)
    ids = {known for fact in facts for known in fact.ids} | {one.id for one in wordings}
    redacts = sum(record.id in ids and bool(record.text or record.without_it) for record in records)
    alike = [one for one in _outermost(alike) if not any(_covers(other.line, one.line) for other in kept)]
    kept += _tags(facts, kept, lines)
    return ForgetPlan(facts, tuple(kept), tuple(alike), wordings, redacts)


def _is_settled(one: Removal, going: Mapping[tuple[str, int, int], Removal]) -> bool:
    """Whether a line goes anyway, or the line within it that says the fact does."""
    inner = one.reason == among_others() and any(_covers(one.line, other.line) for other in going.values())
    return inner or _span(one.line) in going


def _removal(line: MemoryLine, reason: str) -> Removal:
    return Removal(line, reason, None if line.title is None else f"{line.title}…")


def _as_title(fact: Fact, line: MemoryLine) -> str | None:
    """Why a title says the fact: it has its words, marked up, or its beginning, cut off."""
    said = normal_words(unmarked(line.words))
    if line.title is None or not is_telling(said):
        return None
    if said in fact.normal or (line.words.endswith("…") and any(form.startswith(said) for form in fact.normal)):
        return say("its words, as a title", "用作标题的原文")
    return None


def _tags(facts: Sequence[Fact], going: Sequence[Removal], lines: Sequence[MemoryLine]) -> list[Removal]:
    """The tags that were made of what goes: in the checkpoints that lose a line, and in their summaries and originals."""
    names = {_name(one.line) for one in going if one.line.layer in TIERS}
    said = {
        token
        for words in (*(fact.words for fact in facts), *(one.line.whole for one in going))
        for token in tokens(words)
    }
    found = []
    for line in lines:
        if line.layer not in TIERS or _name(line) not in names or not (listed := _TAGS.fullmatch(line.text)):
            continue
        every = [tag.strip() for tag in _COMMA.split(listed[2])]
        kept = [tag for tag in every if not set(tokens(tag)) <= said]
        if kept != every:
            reason = say("tags made of it", "由它得来的标签")
            found.append(Removal(line, reason, f"{listed[1]}{', '.join(kept)}" if kept else None))
    return found


def _name(line: MemoryLine) -> str:
    """The name that a checkpoint shares with its summary."""
    return line.path.rpartition("/")[2].removesuffix(".md").removesuffix(".gist")


def _whole(fact: Fact, stones: Tombstones) -> Fact:
    """The fact with every wording that was buried together with it before."""
    shared = {stone.fact for stone in stones.stones if stone.id in fact.ids}
    more = {stone.id: say("forgotten before", "之前已忘记") for stone in stones.stones if stone.fact in shared}
    return replace(fact, ids={**more, **fact.ids})


def _alike(room: ForgetContext, facts: Iterable[Fact], lines: Sequence[MemoryLine]) -> Iterable[Removal]:
    """Lines that may say one of the facts in other words, which nothing proves."""
    found: dict[tuple[str, int, int], Removal] = {}
    for fact in facts:
        said = {normal_words(unmarked(form)) for form in fact.normal if len(form) >= SHORTEST or is_telling(form)} - {
            ""
        }
        for line in lines:
            reason = fact.akin(line) or _holds(said, line)
            if not reason and line.title is not None and _overlap(fact.words, line.words) >= OVERLAP:
                reason = say("also looks like it", "看起来也像")
            if reason and line.words:
                found.setdefault(_span(line), _removal(line, reason))
        if not fact.words:
            continue
        for hit in room.search(fact.words, LOOKED_AT):
            here = lines_at(lines, hit.path, hit.start_line, hit.end_line)
            titled = (
                _overlap(fact.words, hit.heading) >= OVERLAP / 2
            )  # then that is what is near, not the line below it
            near = len(here) == 1 and hit.parts.get("cosine", 0.0) >= COSINE and not titled
            for line in here:
                if near or _overlap(fact.words, line.words) >= OVERLAP:
                    found.setdefault(_span(line), _removal(line, say("also looks like it", "看起来也像")))
    return found.values()


def _holds(said: Collection[str], line: MemoryLine) -> str | None:
    own = normal_words(unmarked(line.words))
    held = any(form in own for form in said)
    return among_others() if held else None


def among_others() -> str:
    return say("says it among other things", "其中提到了它")


def _overlap(one: str, other: str) -> float:
    mine, theirs = set(tokens(one)), set(tokens(other))
    return len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0


def _span(line: MemoryLine) -> tuple[str, int, int]:
    return line.path, line.start, line.end


def _covers(outer: MemoryLine, inner: MemoryLine) -> bool:
    return outer.path == inner.path and outer.start <= inner.start and inner.end <= outer.end


def _outermost(found: Iterable[Removal]) -> list[Removal]:
    """Each line once, in order: what is nested in a line that goes, goes with it."""
    kept: list[Removal] = []
    for one in sorted(found, key=lambda one: (one.line.path, one.line.start, -one.line.end)):
        if not kept or not _covers(kept[-1].line, one.line):
            kept.append(one)
    return kept


def _wordings(
    facts: Sequence[Fact], going: Iterable[Removal], known: Mapping[str, EntryState], stones: Tombstones
) -> tuple[Wording, ...]:
    """Everything that was said of the facts, each wording once: by the lines that go, and by the ledger."""
    buried = {stone.id for stone in stones.stones}
    found: dict[str, Wording] = {}

    def add(words: str, known_id: str, fact: str, *, apart: bool = False) -> None:
        if words and known_id not in buried:
            found.setdefault(known_id, Wording(known_id, words, fact, apart))

    for fact in facts:
        add(fact.words, fact.id, fact.id)
        for entry, reason in fact.ids.items():
            if (told := known.get(entry)) and told.text:
                add(told.text, entry, fact.id, apart=reason == superseded_by_it())
    for gone in going:
        if gone.line.title is not None:
            continue
        belongs = ((fact.id, why) for fact in facts if (why := fact.reason(gone.line)))
        owner, why = next(belongs, (facts[0].id, ""))
        add(gone.line.whole, gone.line.id, owner, apart=why in ("", superseded_by_it()))
    return tuple(found.values())


def apply_forget(room: ForgetContext, made: ForgetPlan) -> None:
    """Bury the words in the ledger, then take every line away: one operation, undone as one.

    The tombstone comes first: killed in between, nothing is learned again, and doing it again takes the other lines.
    """
    if not made:
        return
    with operation(room.workspace, room.clock, "forget", room.config) as op:
        files: dict[Path, list[Removal]] = {}
        for one in made.going:
            files.setdefault(disk.real(one.line.full), []).append(one)  # one file may go by two names
        contents = [(going, _still(room, [one.line for one in going])) for going in files.values()]
        bury(op, made)
        for going, data in contents:
            instead = {one.line.start: one.instead for one in going if one.instead is not None}
            write_memory(op, going[0].line.full, data, without_lines(data, [one.line for one in going], instead))


def _still(room: ForgetContext, lines: Sequence[MemoryLine]) -> bytes:
    """The file, in which the lines must stand where they stood; what was added below does not matter."""
    first = lines[0]
    path, data = first.full, read_memory(first.full)
    now = {(line.start, line.end, line.text) for line in lines_of(first.path, path, first.layer, data)}
    if any((line.start, line.end, line.text) not in now for line in lines):
        raise changed_outside(room.workspace.relative(path))
    return data


def bury(op: Operation, made: ForgetPlan) -> None:
    """Take the words out of the ledger's earlier lines and put the tombstones below them."""
    redact_ledger(op, made.ids, lambda _: False)
    if not made.wordings:
        return
    key = tombstones.workspace_key(op)
    now = op.clock.now()
    records = []
    for one, vectors in zip(made.wordings, vectors_of([one.words for one in made.wordings]), strict=True):
        stone = tombstones.new_tombstone(key, one.words, known=one.id, fact=one.fact, apart=one.apart, vectors=vectors)
        more = {tombstones.FIELD: stone}
        at = now.isoformat(timespec="seconds")
        records.append(Record(one.id, at, "forgotten", valid_to=now.date().isoformat(), more=more))
    ledger.write_records(op, *records)


def redact_ledger(op: Operation, ids: Collection[str], holds: Callable[[str], bool]) -> int:
    """Take the words out of the lines of these ids, and whatever holds them out of all others; how many lines changed."""
    path = op.workspace.ledger
    data = disk.read_bytes(path)
    if data is None:
        return 0
    lines = data.split(b"\n")
    count = 0
    for at, line in enumerate(lines):
        if (redacted := _redacted(line, ids, holds)) is not None:
            lines[at] = redacted
            count += 1
    if count:
        rewrite(op, path, b"\n".join(lines), read=disk.digest(data))
    return count


def _redacted(line: bytes, ids: Collection[str], holds: Callable[[str], bool]) -> bytes | None:
    """The line without its words; None when it has none to lose."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    if told.get("id") in ids:
        changed_to = {name: value for name, value in told.items() if name != "without_it"} | {"text": None}
    else:
        changed_to = {name: _without_words(value, holds) for name, value in told.items()}
    if changed_to == told:
        return None
    ending = b"\r" if line.endswith(b"\r") else b""
    return jsonl.dump_row(changed_to).rstrip("\n").encode() + ending


def _without_words(value: Any, holds: Callable[[str], bool]) -> Any:
    if isinstance(value, str):
        return None if holds(value) else value
    if isinstance(value, dict):
        return {name: _without_words(one, holds) for name, one in value.items()}
    return [_without_words(one, holds) for one in value] if isinstance(value, list) else value
