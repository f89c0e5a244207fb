"""Plans and carries out forgetting: lines are removed, the ledger loses their words, tombstones keep them from coming back."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from nacre.capture.checkpoint import spoken_lines, without_forgotten
from nacre.capture.dedupe import vectors_of
from nacre.errors import NotFound
from nacre.forget import purge
from nacre.forget.purge import PurgePlan, PurgeReport, redact_ledger
from nacre.forget.target import (
    Fact,
    ForgetContext,
    MemoryLine,
    MemoryLines,
    Target,
    distinct_targets,
    fact_of,
    find_targets,
    is_telling,
    lines_about,
    lines_at,
    lines_of,
    several_targets,
    superseded_by_it,
    unmarked,
    without_lines,
    write_memory,
)
from nacre.i18n import say
from nacre.text.tokens import sentences, tokens
from nacre.vault import ledger, spool
from nacre.vault.checkpoints import GIST
from nacre.vault.entries import entry_id, normal_words
from nacre.vault.history import Operation, operation
from nacre.vault.ledger import LedgerStates, Record, Tombstones, load_tombstones, new_tombstone, workspace_key
from nacre.vault.provenance import Trail, messages_behind
from nacre.vault.storage import SUMMARY, TIERS, read_memory, stem_of, storage_of
from nacre.vault.writing import changed_outside

LOOKED_AT = 20  # hits that may say the same in other words
OVERLAP = 0.6  # of the words of two lines, from which on they look alike
COSINE = 0.75
SHORTEST = 12  # characters; of less than that and few words, a longer line does not say the same because it holds it
_TAGS = re.compile(r"((?:Tags|标签)[:：]\s*)(\S.*)", re.IGNORECASE)
# Which targets are meant; it is given whether they were named by id or words, rather than by a search or a line number.
Choose = Callable[[Sequence[Target], bool], Sequence[Target]]


@dataclass(frozen=True)
class Removal:
    """A line to remove and the reason; a title or a line of tags is replaced by `instead`."""

    line: MemoryLine
    reason: str
    instead: str | None = None
    of_message: bool = False  # goes with a message that holds more than the fact: its words are not what is forgotten


@dataclass(frozen=True)
class Wording:
    """Words that are to get a tombstone under their id."""

    id: str
    words: str
    fact: str
    apart: bool = False  # another statement, which went with the fact because it looked like it or was superseded by it


@dataclass(frozen=True)
class ForgetPlan:
    """The lines to remove, the lines that look alike and stay, and the entries of the ledger that lose their words."""

    facts: tuple[Fact, ...]
    going: tuple[Removal, ...]
    alike: tuple[Removal, ...]
    wordings: tuple[Wording, ...]  # without those that have a tombstone already
    redacts: int = 0  # lines of the ledger

    def __bool__(self) -> bool:
        return bool(self.going or self.wordings or self.redacts)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset({entry for fact in self.facts for entry in fact.ids} | {item.id for item in self.wordings})

    @property
    def words(self) -> set[str]:
        said = {wording.words for wording in self.wordings}
        said |= {item.line.whole for item in self.going if not item.of_message or item.line.is_telling}
        return {words for words in said | {fact.words for fact in self.facts} if words}


@dataclass(frozen=True)
class ForgetReport:
    """What was forgotten and purged, or would be."""

    plan: ForgetPlan
    purge_plan: PurgePlan | None = None
    purged: PurgeReport | None = None


def forget(
    context: ForgetContext,
    text: str,
    *,
    choose: Choose | None = None,
    similar: bool = False,
    purging: bool = False,
    dry_run: bool = False,
) -> ForgetReport:
    """Forget what is meant; with `purging` also in history, backups and the bytes of the index."""
    lines, targets = _meant(context, text, choose, named_only=not dry_run)
    with contextlib.nullcontext() if dry_run else storage_of(context.workspace).hold():  # from looking to writing
        plan = plan_forget(context, targets, lines, similar=similar)
        if not plan and not purging:
            raise NotFound(
                f'{text} has already been forgotten. "--purge" also removes it from history and backups.',
                f"{text} 之前已被忘记。加上“--purge”可将其从历史和备份中一并清除。",
            )
        if not dry_run:
            # First: killed in between, it is done again.
            spool.forget_delivered(context.workspace)
            apply_forget(context, plan)
    if not dry_run:
        purge.drop_derived(context.workspace)
        index = context.keeper()
        index.store.safely(index.current)
    if not purging:
        return ForgetReport(plan)
    cleaning = purge.plan_purge(context, plan.facts, plan.ids, plan.words)
    return ForgetReport(plan, cleaning, None if dry_run else purge.apply_purge(context, cleaning))


def one_target(context: ForgetContext, text: str) -> tuple[MemoryLines, Target]:
    lines, targets = _meant(context, text)
    return lines, targets[0]


def _meant(
    context: ForgetContext, text: str, choose: Choose | None = None, *, named_only: bool = False
) -> tuple[MemoryLines, Sequence[Target]]:
    """All lines of memory, and the targets meant. With `named_only` the result of a search or a line number is an error unless it was
    chosen."""
    lines = MemoryLines(context.workspace, context.config)
    matches, certain = find_targets(context, text, lines)
    targets = distinct_targets(matches, LedgerStates(context.workspace), Trail(context.workspace))
    if choose:
        return lines, choose(targets, certain)
    several = len({normal_words(target.words) for target in targets}) > 1
    if several or (named_only and (len(targets) > 1 or not certain)):
        raise several_targets(text, targets)
    return lines, targets


def plan_forget(
    context: ForgetContext, targets: Sequence[Target], lines: MemoryLines, *, similar: bool = False
) -> ForgetPlan:
    """What forgetting the targets would do. Touches nothing."""
    states, trail = LedgerStates(context.workspace), Trail(context.workspace)
    stones = load_tombstones(context.workspace)
    facts = []
    for target in targets:
        fact = fact_of(target, states, trail, superseded=similar)
        # Every wording that got a tombstone together with it before belongs to it.
        shared = {stone.fact for stone in stones.stones if stone.id in fact.ids}
        buried = {stone.id: say("already forgotten", "之前已被忘记") for stone in stones.stones if stone.fact in shared}
        facts.append(replace(fact, ids={**buried, **fact.ids}))
    going: dict[tuple[str, int, int], Removal] = {}
    near = lines_about(facts, lines, states)
    for line in near:
        reason = next((reason for fact in facts if (reason := fact.reason(line) or _as_title(fact, line))), None)
        if reason and line.words:
            going[line.span] = _removal(line, reason)
    for removal in (*_of_messages(context, facts, lines), *_questions(context, facts, lines)):
        going.setdefault(removal.line.span, removal)
    among_others = say("mentions it among other things", "其中提到了它")
    alike: list[Removal] = []
    for removal in _alike(context, facts, near, lines, among_others):
        # Not what goes anyway, nor a line within which the line that says the fact goes.
        inner = removal.reason == among_others and any(removal.line.covers(item.line) for item in going.values())
        if inner or removal.line.span in going:
            continue
        # Sync puts away the message from which an entry was made: it loses the sentence.
        if removal.reason == among_others and removal.line.layer in TIERS:
            going[removal.line.span] = replace(removal, instead=removal.instead or _without_fact(facts, removal.line))
        else:
            alike.append(removal)
    if similar:
        going |= {removal.line.span: removal for removal in alike}
        alike = []
    removed = _outermost(going.values())
    wordings = _wordings(facts, removed, states, stones)
    ids = {entry for fact in facts for entry in fact.ids} | {wording.id for wording in wordings}
    records = [record for entry in ids if (state := states.get(entry)) for record in state.records]
    redacts = sum(bool(record.text or record.without_it) for record in records)
    alike = [item for item in _outermost(alike) if not any(other.line.covers(item.line) for other in removed)]
    removed += _tags(facts, removed, lines)
    return ForgetPlan(tuple(facts), tuple(removed), tuple(alike), wordings, redacts)


def _removal(line: MemoryLine, reason: str) -> Removal:
    return Removal(line, reason, None if line.title is None else f"{line.title}…")


def _of_messages(context: ForgetContext, facts: Iterable[Fact], lines: MemoryLines) -> Iterable[Removal]:
    """What checkpoints hold of the messages from which the facts were captured, and of the answers that repeat them; with titles and
    summary lines made of their words."""
    bullets = {mark for fact in facts for mark in fact.marks}
    forgotten = messages_behind(Trail(context.workspace).captured(bullets), bullets)
    reason = say("in the message it was captured from", "位于它的来源消息中")
    paths = [path for path, (_, layer) in lines.files.items() if layer in TIERS] if forgotten else []
    gone: dict[str, set[str]] = {}  # by the name of a checkpoint: the words that go
    for path in paths:
        text = read_memory(context.workspace, lines.files[path][0]).decode("utf-8", "replace").replace("\r\n", "\n")
        if not any(mark in text for mark in forgotten):
            continue
        spoken = list(spoken_lines(text.split("\n"), context.clock))
        kept = {id(message) for message in without_forgotten((message for _, message in spoken), forgotten)}
        for numbers, message in spoken:
            if id(message) not in kept:
                gone.setdefault(_name(path), set()).update(tokens(message.text))
                inside = (line for line in lines.of(path) if numbers[0] < line.start and line.end <= numbers[-1])
                yield from (Removal(line, reason, of_message=True) for line in inside)
    for path in [path for path in paths if _name(path) in gone]:
        for line in lines.of(path):
            made_of = set(tokens(line.words))
            is_derived = line.title is not None or lines.files[path][1] == GIST or path.endswith(SUMMARY)
            if made_of and made_of <= gone[_name(path)] and is_derived:
                yield replace(_removal(line, reason), of_message=True)


def _questions(context: ForgetContext, facts: Iterable[Fact], lines: MemoryLines) -> Iterable[Removal]:
    """The open questions about one of the facts, or with one in their reason."""
    ids = {entry for fact in facts for entry in fact.ids}
    forms = {form for fact in facts for form in _forms(fact)}
    for line in lines.of(context.workspace.relative(context.workspace.review)):
        said = normal_words(unmarked(line.whole))
        is_question = line.end > line.start  # its reason is nested below it
        if is_question and (entry_id(line.words) in ids or any(form in said for form in forms)):
            yield Removal(line, say("a question about it", "关于它的问题"), of_message=True)


def _forms(fact: Fact) -> set[str]:
    """The wordings of a fact by which it is recognised within a longer text."""
    return {normal_words(unmarked(form)) for form in fact.normal if len(form) >= SHORTEST or is_telling(form)} - {""}


def _name(path: str) -> str:
    return stem_of(path.rpartition("/")[2])


def _without_fact(facts: Iterable[Fact], line: MemoryLine) -> str | None:
    """The other sentences of a line; None where the fact is not a sentence of its own."""
    forms = {normal_words(unmarked(form)) for fact in facts for form in fact.normal} - {""}
    said = sentences(line.text)
    others = [sentence for sentence in said if not any(form in normal_words(unmarked(sentence)) for form in forms)]
    if not others or len(others) == len(said):
        return None
    return ("- " if line.text.startswith("- ") else "") + " ".join(others)


def _as_title(fact: Fact, line: MemoryLine) -> str | None:
    """The reason why a title states the fact: it has its words, formatted or cut off; else None."""
    said = normal_words(unmarked(line.words))
    if line.title is None or not is_telling(said):
        return None
    if said in fact.normal or (line.words.endswith("…") and any(form.startswith(said) for form in fact.normal)):
        return say("its words used as a title", "以它的原文作标题")
    return None


def _alike(
    context: ForgetContext, facts: Iterable[Fact], near: Iterable[MemoryLine], lines: MemoryLines, among_others: str
) -> Iterable[Removal]:
    """Lines that may state one of the facts in other words, without proof."""
    alike: dict[tuple[str, int, int], Removal] = {}
    near = [line for line in near if not _is_tags(line)]
    looks_like = say("also looks like a match", "看起来也像是它")
    for fact in facts:
        forms = _forms(fact)
        for line in near:
            own = normal_words(unmarked(line.words))
            reason = fact.akin(line) or (among_others if any(form in own for form in forms) else None)
            if not reason and line.title is not None and _overlap(fact.words, line.words) >= OVERLAP:
                reason = looks_like
            if reason and line.words:
                alike.setdefault(line.span, _removal(line, reason))
        for hit in context.search(fact.words, LOOKED_AT) if fact.words else ():
            here = [
                line
                for path, first, last in hit.places
                for line in lines_at([line for line in lines.of(path) if not _is_tags(line)], first, last)
            ]
            # With a heading like it, the heading is what is near, not the line below it.
            is_titled = _overlap(fact.words, hit.heading) >= OVERLAP / 2
            is_near = len(here) == len(hit.places) and hit.parts.get("cosine", 0.0) >= COSINE and not is_titled
            for line in here:
                if is_near or _overlap(fact.words, line.words) >= OVERLAP:
                    alike.setdefault(line.span, _removal(line, looks_like))
    return alike.values()


def _is_tags(line: MemoryLine) -> bool:
    return line.layer in TIERS and _TAGS.fullmatch(line.text) is not None


def _overlap(text: str, other: str) -> float:
    words, others = set(tokens(text)), set(tokens(other))
    return len(words & others) / len(words | others) if words and others else 0.0


def _outermost(removals: Iterable[Removal]) -> list[Removal]:
    """The removals in order, without those nested in another."""
    kept: list[Removal] = []
    for removal in sorted(removals, key=lambda item: (item.line.path, item.line.start, -item.line.end)):
        if not kept or not kept[-1].line.covers(removal.line):
            kept.append(removal)
    return kept


def _tags(facts: Sequence[Fact], going: Sequence[Removal], lines: MemoryLines) -> list[Removal]:
    """The tags made of removed words, in the checkpoints that lose a line and in their summaries and originals."""
    names = {_name(removal.line.path) for removal in going if removal.line.layer in TIERS}
    texts = (*(fact.words for fact in facts), *(removal.line.whole for removal in going))
    said = {token for text in texts for token in tokens(text)}
    removals = []
    paths = [path for path, (_, layer) in lines.files.items() if layer in TIERS and _name(path) in names]
    for line in (line for path in paths for line in lines.of(path)):
        if listed := _TAGS.fullmatch(line.text):
            tags = [tag.strip() for tag in re.split(r"[,，、]", listed[2])]
            kept = [tag for tag in tags if not set(tokens(tag)) <= said]
            instead = f"{listed[1]}{', '.join(kept)}" if kept else None
            if kept != tags:
                removals.append(Removal(line, say("tags derived from it", "由它生成的标签"), instead))
    return removals


def _wordings(
    facts: Sequence[Fact], going: Iterable[Removal], states: LedgerStates, stones: Tombstones
) -> tuple[Wording, ...]:
    """All wordings of the facts, each once: from the removed lines and the ledger, without those that have a tombstone."""
    wordings: list[Wording] = []
    for fact in facts:
        wordings.append(Wording(fact.id, fact.words, fact.id))
        for entry, reason in fact.ids.items():
            if (state := states.get(entry)) and state.text:
                wordings.append(Wording(entry, state.text, fact.id, apart=reason == superseded_by_it()))
    for line in (removal.line for removal in going if removal.instead is None and not removal.of_message):
        owners = ((fact.id, why) for fact in facts if (why := fact.reason(line)))
        owner, why = next(owners, (facts[0].id, ""))
        wordings.append(Wording(line.id, line.whole, owner, apart=why in ("", superseded_by_it())))
    buried = {stone.id for stone in stones.stones}
    first: dict[str, Wording] = {}
    for wording in wordings:
        if wording.words and wording.id not in buried:
            first.setdefault(wording.id, wording)
    return tuple(first.values())


def apply_forget(context: ForgetContext, plan: ForgetPlan) -> None:
    """Write the tombstones, then remove every line, in one operation.

    The tombstones come first: a run that was killed in between learns nothing again, and repeating it removes the other lines.
    """
    if not plan:
        return
    with operation(context, "forget") as op:
        workspace, files = context.workspace, dict[str, list[Removal]]()
        for removal in plan.going:
            real = storage_of(workspace).real(workspace.relative(removal.line.full))  # one file may go by two names
            files.setdefault(real, []).append(removal)
        contents: list[bytes] = []
        for removals in files.values():
            first = removals[0].line
            data = read_memory(workspace, first.full)
            now = {(line.start, line.end, line.text) for line in lines_of(first.path, first.full, first.layer, data)}
            if any((item.line.start, item.line.end, item.line.text) not in now for item in removals):
                raise changed_outside(workspace.relative(first.full))
            contents.append(data)
        _bury(op, plan)
        for removals, data in zip(files.values(), contents, strict=True):
            instead = {item.line.start: item.instead for item in removals if item.instead is not None}
            after = without_lines(data, [item.line for item in removals], instead)
            write_memory(op, removals[0].line.full, data, after)
    LedgerStates(workspace)  # its lines are looked up anew now, so that no agent has to wait for it


def _bury(op: Operation, plan: ForgetPlan) -> None:
    """Remove the words from the ledger's earlier lines and append the tombstones."""
    redact_ledger(op, plan.ids)
    if not plan.wordings:
        return
    key, now = workspace_key(op), op.clock.now()
    records = []
    for wording, vectors in zip(plan.wordings, vectors_of([item.words for item in plan.wordings]), strict=True):
        stone = new_tombstone(
            key, wording.words, entry=wording.id, fact=wording.fact, apart=wording.apart, vectors=vectors
        )
        records.append(
            Record(
                wording.id,
                now.isoformat(timespec="seconds"),
                "forgotten",
                valid_to=now.date().isoformat(),
                more={ledger.TOMBSTONE: stone},
            )
        )
    ledger.write_records(op, *records)
