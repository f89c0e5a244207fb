"""Recall by layer: hot, warm, gist, forgotten, as far as the first that answers; never more than three files at once."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from nacre.clock import duration
from nacre.config import Config
from nacre.errors import BadInput, NacreError
from nacre.guard.sanitise import clean, one_line
from nacre.guard.secrets import redact
from nacre.model.problem import Problem
from nacre.recall.matching import Match, Sought, match, sought
from nacre.recall.snippet import snippet
from nacre.text.keywords import NAMED, PLAIN, weighed
from nacre.text.tokens import tokens
from nacre.vault.files import TIERS
from nacre.vault.tiers import FORGOTTEN, GIST, Checkpoint, Family, families, survey
from nacre.vault.workspace import Workspace
from nacre.words import say

MOST = 3  # files that are given at once; more of them are narrowed down first
LONGEST = 1500  # characters of one file
ENOUGH = 0.5  # share of the key words' weight by which a file answers
_NARROWER = (0.7, 0.85, 0.99)  # what is asked for in turn while more than MOST files answer
_FEW = 5  # files of a layer below which nothing can be said about how common a word is
_COMMONPLACE = 0.2  # what is left of the weight of a name that stands in all of them
_LINE = 400  # characters of a passage's line around what matches
_LONGEST_LINE = 100_000  # what is looked at of a line; a longer one is data
_TITLE = 80
CONFIDENCE = {"hot": 0.95, "warm": 0.9, "gist": 0.6, "forgotten": 0.2}
_TAGS = re.compile(r"(?m)^(?:标签|Tags)[:：](.*)$")
_DETAIL = re.compile(
    r"\d|\b(?:how (?:many|much|long|often|big|old)|when|what (?:time|date|day|number|version|port|address|price|error|command)|exact(?:ly)?|verbatim"
    r"|word for word|in detail|details)\b|多少|几[个点号次天位]|什么时候|哪天|哪一天|具体|原话|原文|准确|精确|详细|版本|端口|地址|编号|号码|价格|密钥|命令|[\"“「`]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Passage:
    """Lines of a file, both counted from 1."""

    start_line: int
    end_line: int
    text: str


@dataclass(frozen=True)
class Recalled:
    """A checkpoint that answers: where it lies, where it lay before it was recalled, and what of it matches.

    `opened` is the original that was read where a summary was not enough; the passages are then the original's.
    """

    path: str
    was: str
    layer: str
    title: str
    passages: tuple[Passage, ...]
    coverage: float
    opened: str | None = None
    files: tuple[Checkpoint, ...] = field(default=(), repr=False, compare=False)  # as they lay

    @property
    def confidence(self) -> float:
        """How far the words can be trusted to be the whole story: by layer, from 0 to 1."""
        return CONFIDENCE[self.layer]

    @property
    def certainty(self) -> str:
        """The same as a word."""
        return {
            "hot": say("high", "高"),
            "warm": say("high", "高"),
            "gist": say("medium", "中"),
            "forgotten": say("very low", "极低"),
        }[self.layer]


@dataclass(frozen=True)
class RecallReport:
    """What a question found: in which layer, and how many answered before the question was narrowed (0: it was not)."""

    query: str
    words: tuple[str, ...]
    layer: str | None
    found: tuple[Recalled, ...]
    narrowed: int = 0
    reason: str = ""
    problems: tuple[Problem, ...] = ()


class _Candidate(NamedTuple):
    """A checkpoint of a layer with what it holds of the key words; of a summary its original stands beside it."""

    file: Checkpoint
    text: str
    match: Match
    whole: Checkpoint | None = None
    whole_text: str = ""
    whole_match: Match | None = None
    by_tags: bool = False

    @property
    def best(self) -> Match:
        other = self.whole_match
        return other if other and other.coverage > self.match.coverage else self.match


def recall(workspace: Workspace, config: Config, query: str, limit: int = MOST) -> RecallReport:
    """Find what answers; changes nothing."""
    words = weighed(query)
    if not words:
        raise BadInput(
            say(
                "The question names nothing to look for; add a name, a thing or a number.",
                "问题中没有可供查找的内容；请加上名称、事物或数字。",
            )
        )
    shown = tuple(one.text for one in words)
    wanted, asked = sought(words), frozenset(tokens(" ".join(shown)))
    listed, troubles = survey(workspace, config)
    together = families(listed)
    for layer in TIERS:
        mine = [one for one in together if one.layer == layer]
        candidates = _weighed_anew(
            [one for one in (_candidate(workspace, family, wanted, troubles) for family in mine) if one], wanted
        )
        answering = [one for one in candidates if answers(one.best, wanted)]
        if by_tags := [one for one in answering if one.by_tags]:
            answering = by_tags
        if answering:
            kept = _narrowed(answering, wanted, len(candidates))[: min(limit, MOST)]
            found = tuple(_recalled(workspace, one, layer, query, asked) for one in kept)
            before = len(answering) if len(answering) > MOST else 0
            return RecallReport(query, shown, layer, found, before, _told(layer, before), tuple(troubles))
    return RecallReport(query, shown, None, (), 0, _nothing(shown, config), tuple(troubles))


def answers(found: Match, wanted: Sequence[Sought]) -> bool:
    """Whether a text holds enough: half of the weight, and never a single everyday word out of several."""
    if found.coverage < ENOUGH:
        return False
    having = [one.word.weight for one, share in zip(wanted, found.shares, strict=True) if share > 0]
    telling = [one for one in wanted if one.word.weight >= PLAIN]
    if not telling:
        return len(having) == len(wanted)
    return max(having) >= NAMED or (max(having) >= PLAIN and (len(having) > 1 or len(telling) == 1))


def _candidate(
    workspace: Workspace, family: Family, wanted: Sequence[Sought], troubles: list[Problem]
) -> _Candidate | None:
    """What a checkpoint holds of the words. Where only its summary has stayed young, both are looked at; None: unreadable."""
    file = family.summary if family.layer == GIST and family.summary else family.lead
    text = _text(workspace, file, troubles)
    if text is None:
        return None
    found = match(text, wanted)
    one = _Candidate(file, text if found.coverage else "", found)
    if tags := _TAGS.search(text[:5000]) if file.is_summary else None:
        one = one._replace(by_tags=answers(match(tags[1], wanted), wanted))
    whole = family.original if file is not family.original else None
    if whole is None or (original := _text(workspace, whole, troubles)) is None:
        return one
    more = match(original, wanted)
    return one._replace(whole=whole, whole_text=original if more.coverage else "", whole_match=more)


def _weighed_anew(candidates: Sequence[_Candidate], wanted: Sequence[Sought]) -> list[_Candidate]:
    """Their coverage with each name counted by how rare it is in the layer: one that stands in every talk tells nothing."""
    if len(candidates) < _FEW:
        return list(candidates)
    having = [sum(one.best.shares[at] > 0 for one in candidates) / len(candidates) for at in range(len(wanted))]
    weights = [
        weight * max(_COMMONPLACE, 1 - share) if (weight := one.word.weight) >= NAMED else weight
        for one, share in zip(wanted, having, strict=True)
    ]
    return [
        one._replace(
            match=one.match.weighed(weights), whole_match=one.whole_match.weighed(weights) if one.whole_match else None
        )
        for one in candidates
    ]


def _text(workspace: Workspace, file: Checkpoint, troubles: list[Problem]) -> str | None:
    """What a file says, bytes that are no text marked as such; None where it cannot be read."""
    try:
        data = file.path.read_bytes()
    except OSError as trouble:
        shown, reason = workspace.relative(file.path), trouble.strerror or str(trouble)
        sentence = say(f"{shown} cannot be read: {reason}.", f"{shown} 无法读取：{reason}。")
        troubles.append(Problem("unreadable", sentence, shown))
        return None
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def _narrowed(answering: Sequence[_Candidate], wanted: Sequence[Sought], among: int) -> list[_Candidate]:
    """The best first; where more than three answer, those that hold more of the key words."""
    kept = list(answering)
    for least in _NARROWER:
        if len(kept) <= MOST:
            break
        kept = [one for one in kept if one.best.coverage >= least] or kept
    rarity = [
        math.log(1 + among / (1 + sum(one.best.shares[at] > 0 for one in answering))) for at in range(len(wanted))
    ]

    def standing(one: _Candidate) -> tuple[float, float, float, str]:
        rare = sum(share * rarity[at] * wanted[at].word.weight for at, share in enumerate(one.best.shares))
        dense = max(one.best.lines.values(), default=0.0)
        return one.best.coverage, rare, dense, one.file.name  # names begin with their day: the newer first

    return sorted(kept, key=standing, reverse=True)


def _recalled(workspace: Workspace, one: _Candidate, layer: str, query: str, asked: frozenset[str]) -> Recalled:
    path, text, found, opened = workspace.relative(one.file.path), one.text, one.match, None
    if one.whole and one.whole_match:
        more = one.whole_match.coverage > one.match.coverage + 1e-9
        if more or (_DETAIL.search(query) and one.whole_match.coverage >= one.match.coverage):
            opened, text, found = workspace.relative(one.whole.path), one.whole_text, one.whole_match
    lines = text.split("\n")
    title = next((one_line(line).strip("#*> ") for line in lines if line.strip(" #-*>\t")), "")
    return Recalled(
        path,
        path,
        layer,
        redact(title[:_LINE]).text[:_TITLE],
        _passages(lines, found, asked),
        round(found.coverage, 2),
        opened,
        (one.file, one.whole) if one.whole else (one.file,),
    )


def _passages(lines: Sequence[str], found: Match, asked: frozenset[str]) -> tuple[Passage, ...]:
    """The lines that match best, each with its neighbours, in order, within the limit."""
    chosen: set[int] = set()
    room = LONGEST
    for at in sorted(found.lines, key=lambda at: (-found.lines[at], at)):
        for number in (at, at + 1, at + 2, at - 1):
            if number in chosen or not 1 <= number <= len(lines):
                continue
            size = min(len(lines[number - 1]), _LINE) + 1
            if size > room:
                continue
            chosen.add(number)
            room -= size
        if room < 40:
            break
    runs: list[list[int]] = []
    for number in sorted(chosen):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    made = (_passage(run, lines, asked) for run in runs if any(lines[number - 1].strip() for number in run))
    return tuple(made)


def _passage(run: Sequence[int], lines: Sequence[str], asked: frozenset[str]) -> Passage:
    while len(run) > 1 and not lines[run[-1] - 1].strip():
        run = run[:-1]
    while len(run) > 1 and not lines[run[0] - 1].strip():
        run = run[1:]
    # Secrets go before anything is cut off: half of one would no longer look like one.
    near = (_around(lines[number - 1][:_LONGEST_LINE], asked, 20 * _LINE) for number in run)
    whole = redact(clean("\n".join(near))).text
    return Passage(run[0], run[-1], "\n".join(_around(line, asked, _LINE) for line in whole.split("\n"))[:LONGEST])


def _around(line: str, asked: frozenset[str], most: int) -> str:
    """A line, or of a long one the stretch that holds most of what was asked."""
    return line if len(line) <= most else snippet(line, asked, most)


def _told(layer: str, before: int) -> str:
    """What the user should know about what was found; empty when there is nothing to say."""
    told = []
    if before:
        told.append(
            say(
                f"{before} checkpoints answered; the question was narrowed to those that hold most of the key words.",
                f"共有 {before} 个检查点符合；已收窄为包含关键词最多的几个。",
            )
        )
    if layer == FORGOTTEN:
        told.append(
            say(
                "An almost forgotten memory answers: it lay in the layer forgotten, to be deleted some day.",
                "一段快要遗忘的记忆给出了答案：它原在 forgotten 层，到期会被删除。",
            )
        )
    return say(" ", "").join(told)


def _nothing(words: Sequence[str], config: Config) -> str:
    days = duration(config.tiers.delete_after).total_seconds() / 86400
    english, chinese = (f"{days:g} days", f"{days:g} 天")
    tried_en, tried_zh = ", ".join(words), "、".join(words)
    return say(
        "No checkpoint answers this. Three reasons are possible: it was never recorded; it was deleted after lying in forgotten "
        f"for {english} without a recall; or it was said in other words than those tried: {tried_en}.",
        f"检查点中没有找到相关记录。可能的原因有三：从未被记录；进入 forgotten 后 {chinese}没有被召回，已被删除；"
        f"或者当时用的是别的说法，本次尝试的关键词：{tried_zh}。",
    )


def moved(report: RecallReport, to: dict[str, str]) -> RecallReport:
    """The report after the files were brought back to a younger layer."""
    found = tuple(
        replace(one, path=to.get(one.was, one.was), opened=one.opened and to.get(one.opened, one.opened))
        for one in report.found
    )
    if report.layer == FORGOTTEN and any(one.path != one.was for one in found):
        back = say(" It was brought back and is kept from now on.", "现已找回，今后会保留。")
        return replace(report, found=found, reason=report.reason + back)
    return replace(report, found=found)


def unmoved(report: RecallReport, trouble: NacreError) -> RecallReport:
    """The report where the files had to stay."""
    sentence = say(f"What was found stays where it lies: {trouble}", f"找到的内容仍留在原处：{trouble}")
    return replace(report, problems=(*report.problems, Problem("not moved", sentence)))
