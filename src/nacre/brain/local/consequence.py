"""The reverse check: what would go wrong without a statement, in one sentence drawn from its own structure.

No sentence, no entry: what lays down no rule, names no value and tells of nobody can prevent no specific mistake.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from nacre.brain.local.wording import shorten
from nacre.text.sentences import sentences

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judged

_LIMIT = {"en": 110, "zh": 48}
Rule = tuple[str, Callable[[re.Match[str]], str]]

_HERE = frozenset(("here", "there", "now", "yet", "again", "anymore"))
_STOP = r"(?:[,;.!?](?!\d)|\s(?:because|since|so|otherwise|or else|unless|but|which)\b|$)"
_ENGLISH: tuple[Rule, ...] = (
    (
        rf"\buse[sd]?\s+(?P<new>[^,;.]+?),?\s+(?:not|never|instead of|rather than)\s+(?P<old>[^,;.]+?){_STOP}",
        lambda m: "" if m["old"].lower() in _HERE else f"the agent would use {m['old']} instead of {m['new']}",
    ),
    (
        rf"\b(?P<new>[\w./@-]+(?:\s[\w./@-]+)?)\s+(?:instead of|rather than)\s+(?P<old>[^,;.]+?){_STOP}",
        lambda m: f"the agent would go with {m['old']} rather than {m['new']}",
    ),
    (
        r"\b(?:from|moved? from|switched from)\s+(?P<old>[\w./-]+)\s+to\s+(?P<new>[\w./:-]+)",
        lambda m: f"the agent would still go by {m['old']}, not {m['new']}",
    ),
    (
        r"(?P<what>(?:[\w'’-]+\s){0,3}[\w'’-]+)\s(?:is|are|gets?)\s+never\s+(?P<done>\w+ed|kept|sent|put|cut|read|shown|given|made|written|set)\b",
        lambda m: f"the agent might let {m['what'].strip()} be {m['done']}",
    ),
    (
        rf"\b(?:never|don'?t(?: ever)?|do not|must not|mustn'?t|should not|shouldn'?t|cannot|can'?t|avoid|no more|stop)\s+(?P<what>[^;]+?){_STOP}",
        lambda m: f"the agent might {_verbal(m['what'])}",
    ),
    (
        rf"\b(?:must|has to|have to|needs? to|should|required to|make sure(?: that)?|always|only)\s+(?P<what>[^;]+?){_STOP}",
        lambda m: f"the agent would not see to this: {m['what'].strip()}",
    ),
    (
        (
            r"\b(?:no|without|zero)\s+(?!matter|need|problem|one|idea|longer|way|doubt|more)(?P<what>[\w-]+(?:\s[\w-]+){0,3}?)"
            r"(?=[,;.!?]|\s(?:in|on|at|for|before|after|anywhere|ever|and|or|so|because|obviously|please)\b|$)"
        ),
        lambda m: f"the agent might bring in {m['what']}",
    ),
)
_CHINESE: tuple[Rule, ...] = (
    (
        r"(?:用|使用|采用|改用|换成|换到|改成)(?P<new>[^，。；,;、]{1,14}?)[，,]?(?:不用|而不是|不要用|别用|代替|取代)(?P<old>[^，。；,;]{1,14})",
        lambda m: f"助手会用{m['old']}而不是{m['new']}",
    ),
    (
        r"从\s*(?P<old>[^，。；,;]{1,16}?)\s*(?:换|改|升|迁|搬|切|转)(?:成|为|到|用|级到)\s*(?P<new>[^，。；,;了]{1,16})",
        lambda m: f"助手会继续按{m['old']}处理，而不是{m['new']}",
    ),
    (
        r"(?:千万别|不要|不许|不准|禁止|不能|不得|别|勿|不再|杜绝)(?P<what>[^，。；,;！!]{2,24})",
        lambda m: f"助手可能会{m['what']}",
    ),
    (
        r"(?:必须|务必|一定要?|一律|统一|只能|只用|都要|记得|确保|得先|要先|应该|只)(?P<what>[^，。；,;！!]{2,28})",
        lambda m: f"助手不会做到：{m[0].strip()}",
    ),
)
_NAMED = re.compile(
    r"(?!(?:The|This|That|My|Our|All|Any|Ask|Use|For|If|When|We|Our|A|An|There)\b)[A-Z][\w.-]+(?:\s[A-Z][\w.-]+)*"
)
_VALUE = re.compile(r"\d|`|[A-Za-z][/_.-]+\w|[\w.-]@[\w.-]|\b[A-Z][\w.+-]")
_SUBJECT = re.compile(
    r"\A(?P<subject>(?:(?:the|our|my|this|all|every|each|any)\s+)?[\w'’./@-]+(?:\s[\w'’./@-]+){0,5}?)\s+"
    r"(?:is|are|was|were|has|have|runs?|uses?|lives?|goes|go|needs?|takes?|wants?|gets?|stays?|expects?|accepts?|returns?|stores?|keeps?"
    r"|belongs?|listens?|does|do|means?|starts?|ends?|owns?|handles?|signs?|reads?|sits?|writes?|sends?|works?|opens?|closes?|deploys?|\w{3,}s)\b",
    re.IGNORECASE,
)
_SUBJECT_CHINESE = re.compile(
    r"\A(?P<subject>[^，。；,;：:]{1,16}?)(?:是|叫|在|用|有|归|由|走|存|放|跑|定|按|要|每|写|改|存在|负责|对|只|都|一律|统一|里|上限|默认)"
)


@cache
def _rules(language: str) -> tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]:
    chosen = _CHINESE if language == "zh" else _ENGLISH
    return tuple((re.compile(pattern, re.IGNORECASE), told) for pattern, told in chosen)


def without_it(judged: Judged, kind: str) -> str | None:
    """What would go wrong without the statement; none where nothing specific would."""
    language, text = judged.language, judged.text
    rule = next(
        (said for pattern, told in _rules(language) if (found := pattern.search(text)) and (said := told(found))), None
    )
    told = rule or _by_kind(judged, kind)
    return shorten(" ".join(told.split()), language, _LIMIT[language]) if told else None


def _by_kind(judged: Judged, kind: str) -> str | None:
    """Where no rule is laid down: the subject of a fact, a person, a wish or a lesson."""
    language, text = judged.language, judged.text
    first = (sentences(text) or [text])[0].rstrip(".。;； ")
    chinese = language == "zh"
    if kind == "PEOPLE":
        name = None if chinese else _NAMED.search(text)
        who = name[0] if name else _subject(first, language) or first
        return (
            f"助手会不知道{who}是谁、该找谁"
            if chinese
            else f"the agent would not know who {who} is, or turn to the wrong person"
        )
    if kind == "PREF":
        return (
            f"助手会不按用户的习惯来：{first}"
            if chinese
            else f"the agent would do it another way than the user wants: {first}"
        )
    if kind == "LESSON":
        return f"助手会再犯同样的错：{first}" if chinese else f"the same mistake would be made again: {first}"
    subject = _subject(first, language)
    if subject and (chinese or _VALUE.search(text) or len(first.split()) > 3):
        return (
            f"助手会对“{subject}”作出错误的假设"
            if chinese
            else f"the agent would assume something else about {subject}"
        )
    if _VALUE.search(text):
        return f"助手会以为是别的：{first}" if chinese else f"the agent would assume otherwise: {first}"
    return None


def _subject(text: str, language: str) -> str | None:
    found = (_SUBJECT_CHINESE if language == "zh" else _SUBJECT).match(text)
    return found["subject"].strip(" ，,") if found else None


_PLACES = frozenset(
    "in on at from to with without before after between by for under over during inside outside into as like than until till".split()
)
_THINGS = frozenset("any a an the my our his her their your these those this that".split())


def _verbal(what: str) -> str:
    """What somebody is told not to do, as something that the agent does: "using npm" → "use npm", "looks" → "look"."""
    words = what.strip().split()
    if not words:
        return what
    first = words[0].lower()
    if first in _PLACES:
        return " ".join(["do it", *words])
    if first in _THINGS or not first.isalpha():
        return " ".join(["go for", *words])
    if (found := re.fullmatch(r"(\w{3,}?)(?:(\w)\2)?ing", words[0])) and len(words[0]) > 5:
        words[0] = found[1] + (found[2] or "")
    elif re.fullmatch(r"\w+(?:sh|ch|x|ss)es", words[0]):
        words[0] = words[0][:-2]
    elif re.fullmatch(r"\w{2,}[^s]s", words[0]):
        words[0] = words[0][:-1]
    return " ".join(words)
