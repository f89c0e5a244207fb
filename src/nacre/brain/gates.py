"""The gates that every claim of a model must pass: what it cites exists, was said by whom it says, and holds what it says.

A claim that fails is dropped with its reason; the gates never trust the brain, and never mend what it wrote.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from nacre.brain.local.quantities import quantities
from nacre.brain.local.settled import affirms
from nacre.brain.orders import FRAME, Change, Claim, DigestLine, Item, NewEntry, Order
from nacre.guard.sanitise import clean, fold
from nacre.guard.secrets import redact
from nacre.model import Speaker
from nacre.text.blocks import label_of
from nacre.text.names import LATIN, han_names, latin_names
from nacre.text.quoting import own_part, reports
from nacre.text.tokens import (
    CJK,
    cjk_count,
    clauses,
    compiled,
    has_question_mark,
    language_of,
    query_tokens,
    sentences,
    tokens,
)

C = TypeVar("C", Claim, NewEntry, DigestLine, Change)
Proof = Callable[[str, str, str], bool]  # of an entry, what is new, and how that is said to relate to it


@dataclass(frozen=True)
class Dropped:
    text: str
    reason: str
    cites: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gated(Generic[C]):
    kept: tuple[C, ...] = ()
    dropped: tuple[Dropped, ...] = ()

    @property
    def reasons(self) -> dict[str, int]:
        return dict(Counter(dropped.reason for dropped in self.dropped))


# Why a claim is dropped, with its name in Chinese.
REASONS = {
    "malformed": "格式错误",
    "cites nothing": "没有引用",
    "cites what is not there": "引用不存在",
    "too many": "条数过多",
    "no room": "篇幅已满",
    "too long": "过长",
    "markup": "含有标记",
    "repeated": "重复",
    "secret": "敏感信息",
    "instruction": "非用户指令",
    "speaker": "说话人不符",
    "language": "语言不符",
    "number": "数字无出处",
    "name": "名称无出处",
    "code word": "代码或路径无出处",
    "quotation": "引文无出处",
    "negation": "肯定否定相反",
    "not in the source": "内容无出处",
    "no such entry": "条目不存在",
}


# What is wrong with the words of a claim alone.
_WORDING = ("number", "name", "code word", "quotation", "negation", "not in the source", "language", "too long")


def check_claims(order: Order, claims: Sequence[C]) -> Gated[C]:
    """The claims that pass, in their order, and those that do not."""
    kept: list[C] = []
    dropped: list[Dropped] = []
    seen: set[str] = set()
    room, frame = order.room or math.inf, FRAME[order.language]
    for claim in claims:
        words = " ".join(tokens(claim.text))
        if len(kept) >= order.most:
            reason = "too many"
        elif len(claim.text) + frame > room:
            reason = "no room"
        elif words and words in seen:
            reason = "repeated"
        else:
            reason = _why_not(order, claim)
        if reason:
            dropped.append(Dropped(claim.text[: order.longest], reason, claim.cites))
        else:
            seen.add(words)
            kept.append(claim)
            room -= len(claim.text) + frame
    return Gated(tuple(kept), tuple(dropped))


def check_changes(order: Order, changes: Sequence[Change], proves: Proof) -> Gated[Change]:
    """The same for changes of memory. What would replace, merge or drop without the proof that the local brain needs is asked, or both
    stand."""
    new = {item.id for item in order.items if item.speaker is Speaker.OWNER}
    lines = {item.id for item in order.memory}
    kept: list[Change] = []
    dropped: list[Dropped] = []
    for change in changes:
        needs_target = change.verdict in ("update", "merge")
        reason = ""
        if change.entry not in new or not set(change.targets) <= lines or (needs_target and not change.targets):
            reason = "no such entry"
        elif any(other.entry == change.entry for other in kept):
            reason = "repeated"
        elif change.verdict in ("keep", "update", "merge"):
            reason = _why_not(order, change)
        if reason:
            dropped.append(Dropped(change.text[: order.longest], reason, change.cites))
        is_reworded = reason in _WORDING and change.verdict in ("keep", "update")
        if reason and not is_reworded:
            continue
        if is_reworded or change.verdict == "drop":  # what it decides stands, in the words of the entry
            change = replace(change, text=order.by_id[change.entry].text)  # noqa: PLW2901 - from here on in these words
        if not is_reworded or len(change.text) <= order.longest:
            kept.append(_proven(order, change, proves))
    return Gated(tuple(kept), tuple(dropped))


def _proven(order: Order, change: Change, proves: Proof) -> Change:
    """The change as far as the words of its entry and its targets bear it out."""
    entry, lines = order.by_id[change.entry].text, [order.by_id[name].text for name in change.targets]
    if change.verdict == "update":
        pairs = zip(change.targets, lines, strict=True)
        if proven := tuple(name for name, line in pairs if proves(line, entry, "replaces")):
            return replace(change, targets=proven)
        return replace(change, verdict="ask", relation="unclear", text=entry)
    if change.verdict == "merge":
        text = fold(change.text).text
        if proves(lines[0], entry, "adds") and not _not_in(fold(lines[0]).text, text, is_title=True):
            return replace(change, targets=change.targets[:1])
        return replace(change, verdict="keep", relation="adds", text=entry)
    if change.verdict == "drop" and change.relation == "same" and lines and not proves(lines[0], entry, "same"):
        change = replace(change, verdict="ask")
    if change.verdict == "ask" and _why_not(order, change):
        return replace(change, text=entry)
    return change


def check_text(order: Order, text: str) -> str:
    """Why a title or tag that cites nothing cannot stand: it may rest on anything in the order; empty where it can."""
    item_ids = tuple(item.id for item in order.items)
    return _why_not(order, Claim(text, "agent", item_ids), is_title=True)


def _why_not(order: Order, claim: Claim | Change, *, is_title: bool = False) -> str:
    """Why a claim cannot stand, one of `REASONS`; empty where it can."""
    text = claim.text.strip()
    cited = [order.by_id[name] for name in claim.cites if name in order.by_id]
    if not any(map(str.isalnum, text)):
        return "malformed"
    if not claim.cites:
        return "cites nothing"
    if len(cited) < len(claim.cites):
        return "cites what is not there"
    if len(text) > order.longest:
        return "too long"
    if clean(text) != text or compiled(_MARKUP).search(text) or label_of(f"- {text}"):
        return "markup"
    if redact(text).findings or (_BLACKED_OUT in text and not any(_BLACKED_OUT in item.text for item in cited)):
        return "secret"
    folded = fold(text).text
    if compiled(_HIJACK).search(folded):
        return "instruction"
    is_owners = isinstance(claim, Change) or claim.speaker == "owner"
    if not is_owners and not is_title and (reason := _agents_claim(claim, folded)):
        return reason
    every = "\n".join(item.own for item in cited)
    ground = every if is_title else _ground(order, claim, cited, is_owners=is_owners)
    if not ground.strip():
        return "speaker"
    if any(tag not in ground for tag in compiled(_TAG).findall(text)):
        return "markup"
    is_other = _language(text) not in {_language(item.own) for item in cited}
    if is_other and bool(cjk_count(text)) != any(cjk_count(item.own) for item in cited):
        return "language"
    folded = _without_dates(folded, cited, fold(every).text)
    if isinstance(claim, Change):
        # The line that is replaced may say the opposite; who is meant may stand in another entry.
        new = order.by_id[claim.entry]
        entry, day = ground if claim.verdict == "merge" else new.text, new.stamp[:10]
        particulars = ground if claim.verdict in ("update", "merge") else f"{entry}\n{new.stamp[10:]}"
        others = "\n".join(item.text for item in order.items if item.stamp[:10] == day)
        reason = _not_in(folded, fold(entry).text, fold(particulars).text, fold(others).text)
        return reason or ("" if _share(folded, fold(particulars).text) >= _CHANGE_SHARE else "not in the source")
    if is_title or not is_owners:
        return _not_in(folded, fold(ground).text, is_title=is_title)
    return _owners_claim(order, claim, cited, folded, fold(ground).text)


def _owners_claim(order: Order, claim: Claim, cited: Sequence[Item], text: str, ground: str) -> str:
    """Why a claim of the owner cannot stand. What the owner wants or decided rests on the owner's words, its particulars also on what
    these answer; what else is told of it rests on whatever is cited."""

    def said(items: Iterable[Item]) -> str:
        return fold("\n".join(item.own for item in items)).text

    every = said(item for item in cited if item.speaker is not Speaker.OTHER)
    named = said(item for item in order.items if item.speaker is Speaker.OWNER)
    answered = said(before for item in cited if (before := _answered(order, item)) and before in cited)
    for number, part in enumerate(filter(str.strip, compiled(_PARTS).split(text))):
        is_rule = _says_a_rule(part) or (number == 0 and _is_rule(claim, part))
        particulars = f"{ground}\n{answered}" if is_rule else every
        if reason := _not_in(part, ground if is_rule else every, particulars, named):
            return reason
    # A question tells nothing.
    stated = "\n".join(sentence for sentence in sentences(ground) if not has_question_mark(sentence))
    return "" if _share(text, stated) >= _OWNERS_SHARE else "speaker"


def _share(text: str, ground: str) -> float:
    """How many of the telling words of a claim its source has."""
    telling = set(query_tokens(text))
    return len(telling & set(tokens(ground))) / len(telling) if telling else 1.0


def _is_rule(claim: Claim | Change, text: str) -> bool:
    """Whether it says what the owner wants or decided, or what is to be done."""
    return (isinstance(claim, NewEntry) and claim.type == "PREF") or _says_a_rule(text)


def _says_a_rule(text: str) -> bool:
    return bool(compiled(_INSTRUCTS).search(text) or compiled(_OWNERS).search(text))


def _without_dates(text: str, cited: Sequence[Item], ground: str) -> str:
    """A claim without the dates that what it cites speaks of without naming them: its own day, and days before and after that it tells."""
    dates: set[dt.date] = set()
    weekdays = {int(amount.value) for amount in quantities(ground) if amount.kind == "day"}
    for item in cited:
        with contextlib.suppress(ValueError):
            day = dt.date.fromisoformat(item.stamp[:10])
            away = [offset for offset, words in _DAYS_AWAY.items() if compiled(words).search(ground)]
            near = (day + dt.timedelta(offset) for offset in range(-7, 8))
            dates |= {day + dt.timedelta(offset) for offset in (0, *away)}
            dates |= {date for date in near if date.isoweekday() in weekdays}
    for date in dates:
        month, weekday = f"{date:%B}", f"(?:{date:%A}|{date:%a}|周{'一二三四五六日'[date.weekday()]})"
        forms = (
            rf"(?:{date.year}\s?年\s?)?{date.month}\s?月\s?{date.day}\s?[日号]",
            rf"{date.day}(?:st|nd|rd|th)?\s(?:{month}|{month[:3]})\b(?:\s{date.year})?",
            rf"(?:{month}|{month[:3]})\s{date.day}(?:st|nd|rd|th)?\b(?:,?\s{date.year})?",
            rf"{date.isoformat()}|{date.year}\s?年(?!\s?\d)|{date.year}\s?年\s?{date.month}\s?月|{month}\s{date.year}",
        )
        text = compiled(rf"(?i)(?:{weekday},?\s?)?(?:{'|'.join(forms)})(?:\s?{weekday})?").sub(" ", text)
    return text


_CHANGE_SHARE = 0.7  # the same for a change of memory: else it stands in the words of the entry
_OWNERS_SHARE = 0.2  # of the telling words of a claim of the owner that the owner must have said
_PARTS = r"[;；。]|(?<=[.!?])\s"
_DAYS_AWAY = {-1: r"(?i)yesterday|last night|昨", 1: r"(?i)tomorrow|明[天早晚日]", -2: "前[天晚]", 2: "后天"}


# Whose word it is. Only what the owner typed becomes a preference, a decision or an instruction.

_BLACKED_OUT = "[redacted: "
_MARKUP = r"[\n\t]|\A\s*(?:#{1,6}\s|[-*+>|]\s|\d{1,2}[.)]\s)|<!--|-->|```|!?\[[^\]]{0,200}\]\("
_TAG = r"</?[a-zA-Z][\w-]{0,30}[^<>]{0,200}>"  # may be quoted from what was typed
_HIJACK = (
    r"(?i)\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:rules?|instructions?|prompts?|above|previous|prior|guidelines?|safety)\b|\bsystem prompt\b"
    r"|\byou are now\b|\bact as (?:an?|the)\b|\bnew instructions?\b|\bdeveloper mode\b|\bjailbreak|\b(?:remember|note|store|record) that the user\b|\b(?:AI|agents?|assistants?) (?:must|should|shall)\b"
    r"|(?:忽略|无视|不理会|忘记|忘掉|绕过|跳过)[^，。]{0,8}(?:规则|规矩|指令|指示|提示|要求|限制|以上|上述|之前|前面|上面|安全)|系统提示|你现在是|扮演|新的指令|越狱|开发者模式"
    r"|(?:AI|代理|助手)\s?(?:必须|应当|应该|需要|务必)"
)
_INSTRUCTS = (
    r"(?i)\b(?:always|never|must|mustn't|should|shouldn't|shall|do not|don't|from now on|make sure|ensure|remember)\b"
    r"|\A\W*(?:please )?(?:use|run|install|set|avoid|keep|call|send|store|put|write|enable|disable|approve|trust|save|share|post|upload|delete|give)\b"
    r"|必须|务必|一律|总是|永远|从不|不要|不得|不许|禁止|严禁|应该|应当|以后|今后|记住|牢记|(?<![邀申聘])请"
)
# The same without what is also found out: "batches that were never deleted".
_ORDERS = (
    _INSTRUCTS.replace("always|never|must", "must").replace("|总是|永远|从不", "")
    + r"|(?:\A|[.;,:]\s*)(?:always|never)\b|\b(?:you|we|agents?) (?:always|never)\b"
)
_OWNERS = (
    r"(?i)\b(?:decided|decision|decides|agreed|settled on|approved|rejected|prefers?|preferred|likes?|dislikes?|wants?)\b"
    r"|决定|定了|定下|敲定|批准|否决|约定|偏好|喜欢|讨厌|想要|希望"
)


def _agents_claim(claim: Claim | Change, text: str) -> str:
    """Why a claim of the agent cannot stand: it is a preference, a decision or an instruction."""
    is_preference = isinstance(claim, NewEntry) and claim.type == "PREF"
    is_decided = isinstance(claim, DigestLine) and claim.category in ("preference", "decision")
    if is_preference or is_decided or compiled(_OWNERS).search(text):
        return "speaker"
    return "instruction" if compiled(_ORDERS).search(text) else ""


def _ground(order: Order, claim: Claim | Change, cited: Sequence[Item], *, is_owners: bool) -> str:
    """The words that a claim may draw on: nothing that was pasted. An owner's claim draws on the agent's words only where the owner
    answers a question of his or takes a proposal over."""
    if isinstance(claim, Change):
        return "\n".join(f"{item.text}\n{item.stamp[10:]}" for item in cited)
    if not is_owners:
        is_agents = any(item.speaker is Speaker.AGENT for item in cited)
        return "\n".join(item.own for item in cited if item.speaker is not Speaker.OTHER) if is_agents else ""
    own = [item for item in cited if item.speaker is Speaker.OWNER]
    words = [item.own for item in own]
    # What somebody else says is to be done is not the owner's word.
    if _is_rule(claim, claim.text) and not reports(claim.text):
        words = ["\n".join(filter(None, map(own_part, sentences(text)))) for text in words]
    if not any(words):
        return ""
    answered = [_answered(order, item) for item in own]
    for item, before in zip(own, answered, strict=True):
        if before and before in cited:
            asked = "\n".join(filter(has_question_mark, sentences(before.own)))
            words.append(before.own if affirms(item.own) else asked)
    return "\n".join(words)


def _answered(order: Order, item: Item) -> Item | None:
    """The agent's message that a message answers."""
    place = order.items.index(item)
    before = order.items[place - 1] if place else None
    return before if before and before.speaker is Speaker.AGENT else None


# Whether what a claim says stands in what it cites.

_CODE = (
    r"`[^`\n]+`|https?://[^\s，。；）)\"”]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w/.])(?:~|\.{1,2})?(?:[/\\][\w.@+-]+)+[/\\]?|(?<!\w)--?[a-zA-Z][\w-]*"
    r"|[A-Za-z_]\w*(?:[._:/\\@-][A-Za-z0-9_]+)+|[A-Za-z]*[a-z][A-Z]\w*|[A-Za-z]+\d\w*|\d+[A-Za-z_]\w*|\b\w*_\w+\b"
)
_UNIT = r"\d+(?:st|nd|rd|th|am|pm|ms|s|m|h|d|w|k|kb|mb|gb|tb|km|kg|g|cm|mm|min|mins|hrs?|x)"  # read as quantities
_QUOTED = r"“([^”]+)”|「([^」]+)」|『([^』]+)』|《([^》]+)》|\"([^\"]+)\""
_NUMBER = r"\d+(?:[.:/-]\d+|,\d{3}(?!\d))*"
# Words by which a source may deny something, or tell that it was otherwise.
_DENIES = (
    r"(?i)\b(?:no|not|never|without|none|nothing|cannot|stop|avoid|instead|rather|only|except|unless|until|till|ban\w*|forbid\w*|drop\w*|remov\w+|refus\w+|reject\w+|against|skip\w*|leave out|quit)\b|n['’]t\b|\bdont\b",
    r"不|没|别|无|勿|禁|停|免|只|仅|除|非|拒|取消|去掉|删|改|换|未|否|甭",
    r"(?i)\b(?:now|before|formerly|used to|moved|switched|\w+n['’]?t)\b|原来|以前|之前|现在|旧",
)
_NEGATES = {
    "en": r"(?i)\b(?:no(?! problem| worries|\s*[.,!;])|not(?! only)|never|without|cannot|neither|nor|nothing|none|avoid|stop|refuse)\b|n['’]t\b(?! forget)|\bdont\b",
    "zh": r"不(?!仅|但|过|错|要忘|管|[，。！,!])|没(?!问题|错|关系)|别(?!忘|的|人|处)|无|勿|禁止|严禁|拒",
}
_COVERED = {"en": 0.34, "zh": 0.5}  # share of the telling words, or characters, that the source must hold


def _not_in(text: str, ground: str, particulars: str = "", named: str = "", *, is_title: bool = False) -> str:
    """Which kind of thing a claim says that its source does not; empty for none. Numbers, names and code words may stand in the
    `particulars`, names in `named` too. All are folded texts."""
    text, ground, particulars = (
        unicodedata.normalize("NFKC", value) for value in (text, ground, particulars or ground)
    )
    low, words = _words_of(particulars)
    stems, language = set(tokens(particulars)), _language(text)
    if not _numbers_stand_in(text, particulars):
        return "number"
    rest = text
    for match in compiled(_CODE).finditer(text):
        word = match[0].strip("`").rstrip(".,:;").casefold()
        if not _stands_in(word, low, words) and not compiled(rf"{_UNIT}|e\.g|i\.e").fullmatch(word):
            is_plain = compiled(r"[a-z]+(?:-[a-z]+)+").fullmatch(word)  # "read-only" for "read only"
            if not (is_plain and all(set(tokens(part)) <= stems for part in word.split("-"))):
                return "code word"
        rest = rest.replace(match[0], " ")
    for match in compiled(_QUOTED).finditer(rest):
        if " ".join(next(filter(None, match.groups())).casefold().split()) not in low:
            return "quotation"
    if not _names_stand_in(rest, f"{particulars}\n{named}", language):
        return "name"
    if is_title:
        return ""
    if _turns_round(text, ground, language):
        return "negation"
    telling = [word for word in query_tokens(text) if language == "en" or len(word) == 1 or word.isascii()]
    own = set(tokens(ground))
    share = sum(word in own for word in telling) / max(len(telling), 1)
    if telling and share < _COVERED[language]:
        return "not in the source"
    # No part of it may be of another matter: "… and shares every password".
    parts = (set(query_tokens(part)) for clause in _clauses(text) for part in compiled(r"\band\b|\bor\b").split(clause))
    return "not in the source" if any(len(part) > 2 and not part & stems for part in parts) else ""


def _words_of(ground: str) -> tuple[str, set[str]]:
    """A text without case, and its words."""
    low = " ".join(ground.casefold().split())
    return low, set(compiled(r"\w+").findall(low)) | {word.casefold() for word in compiled(LATIN).findall(ground)}


def _language(text: str) -> str:
    return language_of(compiled(_CODE).sub(" ", text))


def _stands_in(word: str, low: str, words: set[str]) -> bool:
    """Whether a word stands in a text, a short one not as a part of another."""
    return word in words if len(word) < 4 and word.isalnum() else word in low


def _numbers_stand_in(text: str, ground: str) -> bool:
    """Every number, date, time and amount, however it is written."""
    text, ground = (
        compiled(rf"(?<=\d)\s+(?=[{CJK}])|(?<=[{CJK}])\s+(?=\d)|(?<=\d):(?=\s|\Z)").sub("", value)
        for value in (text, ground)
    )
    amounts = quantities(ground)
    for kind, value in quantities(text):
        same = [other.kind for other in amounts if abs(other.value - value) <= 1e-6 * abs(value)]
        same += ["number" for other in amounts if kind == "clock" and other == ("number", value / 60)]  # "7 to 10 pm"
        if not {kind, "number"} & set(same) and not (kind == "number" and same):
            return False
    written = {_plain_number(number) for number in compiled(_NUMBER).findall(ground)}
    new = {_plain_number(number) for number in compiled(_NUMBER).findall(text)} - written
    # What is written otherwise was compared as an amount above; a version or an address cannot be.
    return not any(compiled(r"\d+(?:\.\d+){2,}").fullmatch(number) for number in new) and (
        not new or bool(quantities(text))
    )


def _plain_number(number: str) -> str:
    return number.replace(",", "") if compiled(r"\d{1,3}(?:,\d{3})+").fullmatch(number) else number


def _names_stand_in(text: str, ground: str, language: str) -> bool:
    words, stems = _words_of(ground)[1], set(tokens(ground))

    def is_known(word: str) -> bool:
        bare = compiled(r"['’]s?\Z").sub("", word).casefold()
        forms = {bare, bare.removesuffix("s"), f"{bare}s"}
        return len(bare) < 2 or not forms.isdisjoint(words) or not stems.isdisjoint(tokens(bare))

    if language == "zh":
        # A name may have caught the first sign of the next word.
        known = all(name in ground or (len(name) == 3 and name[:2] in ground) for name in han_names(text))
        return known and all(map(is_known, compiled(LATIN).findall(text)))
    if any(run not in ground for run in compiled(f"[{CJK}]+").findall(text)):
        return False
    return all(is_known(word[0]) for sentence in sentences(text) for word in latin_names(sentence))


def _turns_round(text: str, ground: str, language: str) -> bool:
    """Whether a claim says plainly what a clause of its source denies and none says, or denies what a clause says and none denies."""
    text = compiled(r"\A[^:：,，;；]{3,60}[:：]\s*").sub("", text)  # "How releases work: …"
    said = [_sides(clause, language) for clause in _clauses(ground)]
    denies = any(compiled(pattern).search(ground) for pattern in _DENIES)
    for plain, denied in (_sides(clause, language) for clause in _clauses(text)):
        if denied:
            if not denies and any(_holds(other, denied) for other, _ in said):
                return True
        elif any(_holds(plain, other) for _, other in said) and not any(
            _holds(every, other) for _, other in said if _holds(plain, other) for every, _ in said
        ):
            return True
    return False


def _sides(clause: str, language: str) -> tuple[set[str], set[str]]:
    """The telling words of a clause: those that it says, and those that stand behind its negation."""
    negation = compiled(_NEGATES[language]).search(clause)
    plain, denied = (clause[: negation.start()], clause[negation.end() :]) if negation else (clause, "")
    return set(query_tokens(plain)), set(query_tokens(denied))


def _holds(words: set[str], others: set[str]) -> bool:
    """Whether nearly all of the others are among some words; of Chinese with names and code words in it, these."""
    others = {word for word in others if word.isascii()} or others
    return bool(others) and len(words & others) >= (len(others) if len(others) < 4 else _NEARLY_ALL * len(others))


_NEARLY_ALL = 0.75


def _clauses(text: str) -> list[str]:
    every = (clause for sentence in sentences(text) for clause in clauses(sentence))
    return [part for clause in every for part in compiled(r"、|:\s|：").split(clause)]
