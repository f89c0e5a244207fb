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
from nacre.guard.sanitise import one_line
from nacre.guard.secrets import redact
from nacre.model.problem import Problem
from nacre.recall.matching import Match, Sought, folded, match, may_hold, sought
from nacre.recall.passages import Passage, passages
from nacre.text.keywords import NAMED, PLAIN, weighed
from nacre.text.tokens import tokens
from nacre.vault.files import TIERS
from nacre.vault.tiers import FORGOTTEN, GIST, Checkpoint, Family, families, survey
from nacre.vault.workspace import Workspace
from nacre.words import say

MOST = 3  # files that are given at once; more of them are narrowed down first
ENOUGH = 0.5  # share of the key words' weight by which a file answers
WELL = 0.8  # share by which it answers so well that no deeper layer is looked at
_CLEARLY = 0.15  # by which a deeper layer must answer better to be given instead
_IN_PASSING = 0.75  # what an answer counts for that only mentions what is asked about
_AGAIN = 3  # lines on which the words must come for a talk to be about them that does not say so in its title
_NARROWER = (0.7, 0.85, 0.99)  # what is asked for in turn while more than MOST files answer
_FEW = 5  # files of a layer below which nothing can be said about how common a word is
_COMMONPLACE = 0.2  # what is left of the weight of a name that stands in all of them
_TITLE = 80
CONFIDENCE = {"hot": 0.95, "warm": 0.9, "gist": 0.6, "forgotten": 0.2}
_TAGS = re.compile(r"(?m)^(?:标签|Tags)[:：](.*)$")
# What a summary is likely to have left out: who, what it is called, where, why, and everything that is a figure.
_DETAIL = re.compile(
    r"\d|\b(?:how (?:many|much|long|often|big|old|far)|when|who|whom|whose|where|why|called|named?|number|date|day|time|price|costs?|paid|pay|fee|charged?"
    r"|phone|e?mail|version|port|address|error|command|exact(?:ly)?|verbatim|word for word|in detail|details)\b"
    r"|多少|几[^何乎]|什么时候|什么时间|哪天|哪一天|谁|叫什么|叫啥|姓什么|哪里|哪儿|在哪|为什么|为何|日期|时间|具体|原话|原文|准确|精确|详细|版本|端口|地址|编号|号码|电话|价格|费用|报价|多久"
    r"|名字|[率价费]|金额|数量|预算|工资|密钥|命令|[\"“「`]",
    re.IGNORECASE,
)
# What makes a sentence more than a mention: a figure, or something settled.
_STATES = re.compile(
    r"\d|\b(?:decid\w+|decision|agreed|settled|chose|chosen|from now on|always|never|instead of|must|is called)\b"
    r"|决定|定了|定下|就用|改用|改成|改为|以后|一律|不再|结论|约定|必须|确定|叫做|名叫",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.;!。；！](?=\s|\Z|[^\x00-\x7f])")


@dataclass(frozen=True)
class Recalled:
    """A checkpoint that answers: where it lies, where it lay before it was recalled, and what of it matches.

    `opened` is the original that was read where a summary was not enough; the passages are then the original's. `answered` is
    how far it answers: its coverage, less where what is asked about is only mentioned.
    """

    path: str
    was: str
    layer: str
    title: str
    passages: tuple[Passage, ...]
    coverage: float
    opened: str | None = None
    answered: float = 1.0
    files: tuple[Checkpoint, ...] = field(default=(), repr=False, compare=False)  # as they lay

    @property
    def confidence(self) -> float:
        """How far the words can be trusted to be the whole story: by layer and by how far they answer, from 0 to 1."""
        return round(CONFIDENCE[self.layer] * self.answered, 2)

    @property
    def certainty(self) -> str:
        """The layer's part of it as a word."""
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
    about: bool = False  # rather than mentioning it in passing

    @property
    def best(self) -> Match:
        other = self.whole_match
        return other if other and other.coverage > self.match.coverage else self.match

    @property
    def answered(self) -> float:
        """How far it answers, from 0 to 1."""
        return self.best.coverage * (1.0 if self.about else _IN_PASSING)


class _Answering(NamedTuple):
    """The checkpoints of a layer that answer, among how many, and how far the best of them does."""

    layer: str
    files: tuple[_Candidate, ...]
    among: int
    best: float


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
    tried: list[_Answering] = []
    for layer in TIERS:
        mine = [one for one in together if one.layer == layer]
        candidates = _weighed_anew(
            [one for one in (_candidate(workspace, family, wanted, troubles) for family in mine) if one], wanted
        )
        if answering := [one for one in candidates if answers(one.best, wanted)]:
            best = max(one.answered for one in answering)
            tried.append(_Answering(layer, tuple(answering), len(candidates), best))
            if best >= WELL:
                break
    if not tried:
        return RecallReport(query, shown, None, (), 0, _nothing(shown, config), tuple(troubles))
    clearly = max(one.best for one in tried) - _CLEARLY
    chosen = next(one for one in tried if one.best >= clearly)
    kept = _narrowed(chosen.files, wanted, chosen.among)[: min(limit, MOST)]
    found = tuple(_recalled(workspace, one, chosen.layer, query, asked) for one in kept)
    before = len(chosen.files) if len(chosen.files) > MOST else 0
    return RecallReport(query, shown, chosen.layer, found, before, _told(chosen.layer, before), tuple(troubles))


def answers(found: Match, wanted: Sequence[Sought]) -> bool:
    """Whether a text holds enough: half of the weight, and never a single everyday word out of several."""
    if found.coverage < ENOUGH:
        return False
    having = [one for one, share in zip(wanted, found.shares, strict=True) if share > 0]
    telling = [one for one in wanted if one.word.weight >= PLAIN]
    if not telling:
        return len(having) == len(wanted)
    best = max(one.word.weight for one in having)
    return best >= NAMED or (best >= PLAIN and (sum(one.amount for one in having) > 1 or len(telling) == 1))


def _candidate(
    workspace: Workspace, family: Family, wanted: Sequence[Sought], troubles: list[Problem]
) -> _Candidate | None:
    """What a checkpoint holds of the words. Where only its summary has stayed young, both are looked at; None: unreadable."""
    file = family.summary if family.layer == GIST and family.summary else family.lead
    text = _text(workspace, file, troubles)
    if text is None:
        return None
    found = match(text, wanted)
    one = _Candidate(file, text if found.coverage else "", found, about=_is_about(found, text, wanted))
    if tags := _TAGS.search(text[:5000]) if file.is_summary else None:
        one = one._replace(about=one.about or answers(match(tags[1], wanted), wanted))
    whole = family.original if file is not family.original else None
    if whole is None or (original := _text(workspace, whole, troubles)) is None:
        return one
    more = match(original, wanted)
    about = one.about or _is_about(more, original, wanted)
    return one._replace(whole=whole, whole_text=original if more.coverage else "", whole_match=more, about=about)


def _is_about(found: Match, text: str, wanted: Sequence[Sought]) -> bool:
    """Whether a text is about the words rather than mentioning them: in its title, again and again, or stating something."""
    most = max(found.lines.values(), default=0.0)
    if not most or found.title >= most / 2 or sum(one >= most / 2 for one in found.lines.values()) >= _AGAIN:
        return most > 0
    lines = text.split("\n")
    return any(weight >= most * 0.9 and _states(lines[at - 1], wanted) for at, weight in found.lines.items())


def _states(line: str, wanted: Sequence[Sought]) -> bool:
    """Whether a line says something about the words, or asks about them, so that an answer follows."""
    told = (one for one in _SENTENCE.split(line) if any(may_hold(folded(one), word) for word in wanted))
    return line.rstrip().endswith(("?", "？")) or any(_STATES.search(one) for one in told)


def _weighed_anew(candidates: Sequence[_Candidate], wanted: Sequence[Sought]) -> list[_Candidate]:
    """Their coverage with each name counted by how rare it is in the layer: one that stands in every talk tells nothing."""
    if len(candidates) < _FEW:
        return list(candidates)
    having = [sum(one.best.shares[at] > 0 for one in candidates) / len(candidates) for at in range(len(wanted))]
    weights = [
        one.weight * (max(_COMMONPLACE, 1 - share) if one.word.weight >= NAMED or one.amount > 1 else 1.0)
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
        kept = [one for one in kept if one.answered >= least] or kept
    rarity = [
        math.log(1 + among / (1 + sum(one.best.shares[at] > 0 for one in answering))) for at in range(len(wanted))
    ]

    def standing(one: _Candidate) -> tuple[float, float, float, str]:
        rare = sum(share * rarity[at] * wanted[at].weight for at, share in enumerate(one.best.shares))
        dense = max(one.best.lines.values(), default=0.0)
        return one.answered, rare, dense, one.file.name  # names begin with their day: the newer first

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
        redact(title[: 5 * _TITLE]).text[:_TITLE],
        passages(lines, found, asked),
        round(found.coverage, 2),
        opened,
        one.answered,
        (one.file, one.whole) if one.whole else (one.file,),
    )


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
        f"for {english} without a recall; or it was said in other words than those tried: {tried_en}. "
        "To look by meaning, in everything: nacre search.",
        f"检查点中没有找到相关记录。可能的原因有三：从未被记录；进入 forgotten 后 {chinese}没有被召回，已被删除；"
        f"或者当时用的是别的说法，本次尝试的关键词：{tried_zh}。也可以用 nacre search 按意思在全部记忆中查找。",
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
