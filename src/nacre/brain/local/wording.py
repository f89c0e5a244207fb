"""Sentences as entries: fillers removed, cut to length, split into statements, and what goes wrong without them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from nacre.text.blocks import AGENT
from nacre.text.quoting import OUTCOME, own_part
from nacre.text.tokens import clauses, is_question, language_of, sentences

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judged


LONGEST = {"en": 260, "zh": 130}
_FILLERS = {
    "en": re.compile(
        r"\A(?:(?:ok(?:ay)?|so|and|also|oh|yeah|yep|yes|well|btw|by the way|um+|uh+|hey|hi|hello|anyway|anyways|right|cool|nice|great|perfect|good"
        r"|thanks?|thx|lol|haha+|fyi|ah|hmm+|alright|sure|fine|but|then|plus|oh and|one more thing|quick one|(?:no ?){2,}|hang on|morning|wait"
        r"|(?:(?:next|last|other) thing|speaking of(?: which)?|(?:bigger|other|good|bad) news|while i think of it|before i forget|brill(?:iant)?|lovely|fab|phew|cheers|love it)(?=[,.:;!…]))\b[\s,.!:;…-]*)+(?=\S)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"\A(?:(?:卧槽|所以|好的?|嗯+|哦+|噢|对了?|对了|然后|还有|另外|那个|呃|哈+|行吧?|ok|OK|诶|欸|唉|那|嘛|顺便(?:说|问)?(?:一下|一句)?|话说|早|你好|哎|还有一?[个件](?:点|事儿?)|说正事|(?:不是){2}|(?:没有){2}|那不对|说到这个?|我想起来了?|差点忘了?|忘了?说)[\s，,。！!、～~…]+)+(?=\S)"
    ),
}
_TRAILING = re.compile(
    r"[\s,，;；]*(?:\b(?:lol|haha+|thx|thanks|pls|please|ok\?|right\?)|哈+|呵+|谢谢|[~～])*[\s.。!！…;；,，]*\Z",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"\A(?:(?:can|could|would|will) (?:you|u)(?: please| pls| kindly)?|please|pls|kindly|i need you to|i(?:'d| would) like you to|help me(?: to)?"
    r"|go ahead and|let'?s|lets)\s+",
    re.IGNORECASE,
)
_POLITE_CHINESE = re.compile(r"\A(?:请|麻烦|帮我|帮忙|劳烦|你)+(?=[^，。]{2})")
_IDENTIFIER = re.compile(r"\S*?(?:[_/\d`=-]|[a-z][A-Z]|\w\.\w)")  # a command, a path, a name whose spelling matters


def tidy(text: str, language: str) -> str:
    """A sentence without its fillers, on one line."""
    text = " ".join(text.split()).lstrip("–— ")
    bare = _TRAILING.sub("", _FILLERS[language].sub("", text)) or _TRAILING.sub("", text)
    closing = text[-1] if text.endswith(("?", "？")) else ""
    return _capitalised(bare.rstrip("?？") + closing)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:] if text[:1].isascii() and not _IDENTIFIER.match(text) else text


# What is left of a date, a time or a number is no statement.
_NUMBERS = re.compile(
    r"[\d\W_]+|\b(?:on|at|in|by|from|until|till|to|of|the|and|about|around|am|pm|st|nd|rd|th|utc|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?"
    r"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|today|tomorrow|yesterday|next|last|this|noon|midnight|(?:minute|hour|day|week|month|year|quarter)s?|one|two|three|four|five|six|seven|eight|nine|ten)\b"
    r"|[年月日号点分秒时半刻周星期礼拜天上下午早晚中今明后昨前季度小个一二两三四五六七八九十百千万零到至底初末第]",
    re.IGNORECASE,
)


def is_only_when(text: str) -> bool:
    """Whether a sentence is nothing but a date, a time or a number, which says nothing without what it answers."""
    return not _NUMBERS.sub("", text)


def asked(text: str, language: str) -> str:
    if language == "zh":
        return ("用户问：" if is_question(text, language) else "用户要求：") + _POLITE_CHINESE.sub("", text)
    bare = _POLITE.sub("", text)
    if bare == text:
        return "User asked: " + text
    return "User asked to " + bare[:1].lower() + bare[1:].rstrip("?")


def shorten(text: str, language: str, limit: int | None = None) -> str:
    """The text within the limit: whole clauses from its beginning, as many as fit."""
    limit = limit or LONGEST[language]
    if len(text) <= limit:
        return text
    kept = ""
    for clause in clauses(text):
        joined = f"{kept} {clause}" if kept and language == "en" else kept + clause
        if len(joined) > limit:
            break
        kept = joined
    if len(kept) < limit // 3:
        kept = text[: limit - 1].rsplit(" ", 1)[0] if language == "en" else text[: limit - 1]
    return kept.rstrip(",，;；:：、 ") + "…"


def joined(parts: list[str], language: str) -> str:
    return ("；" if language == "zh" else "; ").join(part.rstrip(".。;；!！ ") for part in parts if part)


_PRONOUN = {
    "en": re.compile(
        r"\A\W*(?:(?:and|but|so|then)\s+)?(?:it|its|it's|he|she|they|he's|she's|they're|his|her|their|this|that|these|those)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"\A\W*(?:(?:[他她它]们?|这(?:个|人|家|货|事)?|那(?:个|人|家|边))(?=[是在的要说会不只就也都有给]|\W)|那(?=是))"
    ),
}


def starts_with_pronoun(text: str, language: str) -> bool:
    """Whether a sentence begins with a word for somebody or something named before it."""
    return bool(_PRONOUN[language].match(text))


BLACKED_OUT = re.compile(r"\[redacted: [^\]\n]+\]")


def only_blacked_out(text: str) -> bool:
    """Whether little is left of a sentence besides what was blacked out in it."""
    rest, count = BLACKED_OUT.subn("", text)
    letters = sum(character.isalpha() for character in rest)
    chinese = any(character > "\u3000" for character in rest)
    return count > 0 and letters < (6 if chinese else 18) * count


# A line of a log as the statements it is made of, each with whose words it is.

_ASKED = re.compile(r"\A(?:User asked(?: to)?\s*:?\s*|用户(?:要求|请求|问)\s*[：:]\s*)", re.IGNORECASE)
_LEAD = {
    "en": re.compile(
        r"\A(?:(?:one more|another|new|final|the)\s+)?(?:decision|rule|lesson(?: learn(?:ed|t))?|note(?: to self)?|reminder|heads[- ]up|fyi|ps|important"
        r"|background|remember|for the record|once more(?: for the record)?|policy)\s*[:,.-]\s*(?=\S)|\A(?:no|nope|yes|yeah|right|careful)\s*[.,!:]\s+(?=\S)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"\A(?:(?:再|又|还有|另外)?(?:定|说)?(?:一个|一条|一下|个)?(?:规矩|规则|教训|决定|注意|提醒|备注|原则|约定|结论|重要|记一下|记住|背景|说明)?(?:一下)?)\s*[：:]\s*(?=\S)"
        r"|\A(?:哦对|对了|那定下来|那就定了|定了|定下来|还有|另外|注意|顺便)\s*[，,：:]\s*(?=\S)"
    ),
}


class Piece(NamedTuple):
    text: str
    language: str
    asked: bool = False  # put as a request
    agents: bool = False  # the agent's word, not the owner's
    announced: bool = False  # called a rule, a decision or a lesson by who said it
    reported: bool = False  # what somebody else or a text says


def pieces(line: str) -> list[Piece]:
    """The statements of a log's line, in order, without what the log put around them."""
    result: list[Piece] = []
    said, *outcomes = OUTCOME.split(AGENT.sub("", line))
    asked = bool(_ASKED.match(said))
    for number, text in enumerate((_ASKED.sub("", said), *outcomes)):
        agents = number > 0 or bool(AGENT.match(line))
        for sentence in sentences(text):
            language = language_of(sentence)
            # What was announced, not that it was: without "Rule:" or "定了：".
            stripped = _LEAD[language].sub("", sentence, count=1)
            stripped = stripped if len(stripped) > 3 else sentence
            own = own_part(stripped)
            if bare := tidy(own or stripped, language):
                result.append(Piece(bare, language, asked and not agents, agents, stripped != sentence, not own))
    return result


# The person asks that something be remembered: what follows is their word, and needs no test. "Remember to buy milk" is an errand.
_REMEMBER = {
    "en": re.compile(
        r"\A(?:(?:please|pls|and|also|oh|ok|so|can you|could you)[\s,]+)*(?:remember|keep in mind|make a note|take a note|note(?: down)?"
        r"|write (?:this|that|it) down|for the record|don'?t forget)\b(?! (?:to|when|how|if|the time|me)\b)"
        r"(?:[\s,:–-]*\b(?:that|this(?: one)?|it|please|pls|for (?:later|next time|the future)|down|for me)\b(?! is\b| was\b))*[\s,:;.–-]+(?=\S)",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"\A(?:(?:所以|对了|还有|另外|那|请|帮我|你|麻烦|要)+[，,]?)*(?:记住|记一下|记下来?|记着|记好|别忘了|记进去|存一下)(?:了|哈|啊|哦|这个|这点|这条|一点)?[\s，,：:。！!]*(?=[^\s吗？?])"
    ),
}


# The same of what was just said: "…, remember that", "这个坑记住".
_REMEMBER_IT = {
    "en": re.compile(
        r"(?:\A|[,;–-]\s*)(?:(?:please|pls|and|also|ok|so|but)[\s,]+)*(?:(?:remember|note|don'?t forget) (?:that|this|it)(?: down| one)?"
        r"|(?:keep|bear) (?:that|this|it) in mind|write (?:that|this|it) down)(?:,? (?:please|pls|ok))?(?: for (?:next time|later|the future))?"
        r"(?: (?P<when>(?:when|whenever|next time|before) you(?: [^\s,;]+){1,5}))?[.! ]*\Z",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:\A|[，,；;。]\s*)(?:请|帮我|你|麻烦|要|给我)*(?:(?:这个?|这点|这条|这事|这件事)(?:坑|规矩|教训|规则)?(?:你|请|帮我|要|得|给我|一定)*"
        r"(?:记住|记一下|记下来?|记好|记着|记牢)|(?:记住|记一下|记下来?|记好|记着)(?:这个|这点|这条)?)[哈啊哦吧呀]*[。！! ]*(?P<when>)\Z"
    ),
}


def remember(text: str, language: str) -> tuple[str, bool]:
    """The words without the request to remember them, and whether there was one."""
    if (back := _REMEMBER_IT[language].search(text)) and (before := text[: back.start()].strip()):
        return joined([before, back["when"]], language), True
    bare = _REMEMBER[language].sub("", text, count=1)
    asks = bare != text and len(bare) > (3 if language == "zh" else 8) and not is_question(text, language)
    return (_capitalised(bare), True) if asks else (text, False)


def remember_before(text: str, language: str) -> str | None:
    """When what was said before is to be remembered ("when you write to them"), where the whole sentence asks for that."""
    back = _REMEMBER_IT[language].match(text)
    return back and (back["when"] or "")


# The reverse check: the mistake that would be made without a statement, in one sentence drawn from its own structure.

_LIMIT = {"en": 110, "zh": 48}
Rule = tuple[str, Callable[[re.Match[str]], str]]

_STOP = r"(?:[,:;.!?](?!\d)|\s(?:because|since|so|otherwise|or else|unless|but|which)\b|$)"
_ENGLISH: tuple[Rule, ...] = (
    (r"\b(?:otherwise|or else),?\s+(?P<what>(?!I\b|we\b)[^,;.!?]{8,})", lambda m: m["what"].strip()),
    (
        rf"\buse[sd]?\s+(?P<new>[^,;.]+?),?\s+(?:not|never|instead of|rather than)\s+(?!here\b|there\b|now\b|yet\b|again\b|anymore\b)(?P<old>[^,;.]+?){_STOP}",
        lambda m: f"the agent would use {m['old']} instead of {m['new']}",
    ),
    (
        rf"\b(?P<new>[\w./@-]+(?:\s[\w./@-]+)?)\s+(?:instead of|rather than)\s+(?!in\b|at\b|on\b|by\b|for\b|with\b)(?P<old>[^,;.]+?){_STOP}",
        lambda m: f"the agent would go with {m['old']} instead",
    ),
    (
        r"\b(?:mov|switch|migrat|chang|renam|upgrad)\w+\s(?:[\w-]+\s){0,4}?from\s+(?P<old>[\w./-]+)\s+to\s+(?P<new>[\w./:-]+)",
        lambda m: f"the agent would still assume {m['old']}, not {m['new'].rstrip('.')}",
    ),
    (
        rf"\b(?P<modal>never|don'?t|do not|must not|mustn'?t|should not|shouldn'?t|avoid|stop)(?: ever| again)*\s+(?P<what>[^;]+?){_STOP}",
        lambda m: _avoided(_subject(m), m["modal"].lower(), m["what"].strip()),
    ),
    (
        rf"\b(?:must|should|make sure to|always|(?<=\w )(?:has to|have to|needs? to))\s+(?!not\b|never\b|have\b)(?P<what>[^;]+?){_STOP}",
        lambda m: _omitted(_subject(m), m["what"].strip()),
    ),
)
_CHINESE: tuple[Rule, ...] = (
    (r"(?:否则|不然|要不然)[，,]?(?P<what>[^，。；,;！!？?我]{4,24})", lambda m: m["what"].strip().removeprefix("就")),
    (
        r"(?:用|使用|采用|改用|换成|换到|改成)(?P<new>[^，。；,;、]{1,24}?)[，,]?(?:不用|而不是|不要用|别用|代替|取代)(?P<old>[^，。；,;]{1,14})",
        lambda m: f"智能体会用{m['old']}而不是{re.split('作为|当作|来', m['new'])[0]}",
    ),
    (
        r"从\s*(?P<old>[^，。；,;]{1,16}?)\s*(?:换|改|升|迁|搬|切|转)(?:成|为|到|用|级到)\s*(?P<new>[^，。；,;了]{1,16})",
        lambda m: f"智能体会以为还是{m['old']}",
    ),
    (
        r"(?P<who>[^，。；,;：:！!]{0,12}?)(?:千万别|(?:千万|绝对)?不要|不许|不准|禁止|(?<![特区级性类分个到「“])别(?![的家人处]))再?(?P<what>[^，。；,;！!？?：]{2,40})",
        lambda m: _chinese(m["who"], "可能会", m["what"]),
    ),
    (
        r"(?P<who>[^，。；,;：:！!]{0,12}?)(?:都?必须要?|务必|一定要|一律|都要|记得|确保|得先|要先)(?![是有没可])(?P<what>[^，。；,;！!？?：]{2,40})",
        lambda m: _chinese(m["who"], "可能不会", m["what"]),
    ),
)
_NAMED = {
    "en": re.compile(
        r"(?P<name>(?!(?:The|This|That|My|Our|All|Any|We|You|He|She|It|They|There|What|Who|Every\w*|Some\w*|Nobody|No)\b)(?:(?:Mr|Mrs|Ms|Dr)\. )?"
        r"[A-Z][\w-]+(?:\s[A-Z][\w-]+)*)(?=\s(?:is|was|leads|owns|runs|handles|manages|takes over|looks after)\b)"
    ),
    "zh": re.compile(r"(?P<name>(?!不是|那位|这位|那个|这个)[^，。；,;：:的我你他她它们]{2,4}?)(?:是|负责)"),
}
_ADDRESSED = frozenset(("", "we", "you", "please", "agents", "the agent", "the assistant"))
_VERB = re.compile(
    r"(?!(?:in|on|at|from|to|with\w*|before|after|between|by|for|under|over|during|as|like|than|until|any|an?|the\w*|my|our|his|her|your|th[io]s\w*|that"
    r"|be|been|have|had|was|were|did|done|got|went|gone|knew|known|thought|heard|said|told|saw|seen|came|took|taken|made|gave|given|found|felt|left|lost|met|kept"
    r"|wrote|written|spoke|meant|understood|could|would|should|can|will|again|ever|mind|\w+ing|\w*[^e\W]ed|\w*[^s\W]s)\b)[a-z]+(?:\s|\Z)",
    re.IGNORECASE,
)
_OF_PEOPLE = frozenset("i he she they who it this that which what there".split())


@cache
def _rules(language: str) -> tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]:
    rules = _CHINESE if language == "zh" else _ENGLISH
    return tuple((re.compile(pattern, re.IGNORECASE), consequence) for pattern, consequence in rules)


def without_it(judged: Judged, kind: str) -> str | None:
    """The mistake that would be made without the statement; none where its words do not show one."""
    language, text = judged.language, judged.text
    by_rule = (consequence(match) for pattern, consequence in _rules(language) if (match := pattern.search(text)))
    sentence = next(filter(None, by_rule), None) or (_unknown_person(text, language) if kind == "PEOPLE" else None)
    if not sentence:
        return None
    if language == "zh":  # a space between Chinese characters and Latin letters or digits
        sentence = re.sub(r"(?<=[一-鿿])(?=[`A-Za-z0-9])|(?<=[`%A-Za-z0-9])(?=[一-鿿])", " ", sentence)
    return shorten(" ".join(sentence.split()), language, _LIMIT[language])


def _unknown_person(text: str, language: str) -> str | None:
    name = _NAMED[language].match(text)
    sentence = "智能体不会知道{}是谁" if language == "zh" else "the agent would not know who {} is"
    return sentence.format(name["name"]) if name else None


def _subject(match: re.Match[str]) -> str:
    """The words between the beginning of the clause and the match."""
    before = re.split(r"[,;:.!?](?:\s|$)", match.string[: match.start()])[-1].strip()
    return re.sub(r"\A(?:and|but|so|because)\s", "", before)


def _avoided(subject: str, modal: str, what: str) -> str:
    if subject.lower() in _ADDRESSED:
        if modal in ("avoid", "stop"):
            keeps = "keep" if modal == "stop" else "end up"
            return f"the agent might {keeps} {what}" if re.match(r"\w{3,}ing\b", what) else ""
        return f"the agent might {act}" if (act := _verbal(re.sub(r"\s(?:yet|anymore|any more)\Z", "", what))) else ""
    return _of_thing(subject, f"might {what}" if what.startswith("be ") else "")


def _omitted(subject: str, what: str) -> str:
    if subject.lower() in _ADDRESSED:
        return f"the agent might not {act}" if (act := _verbal(what)) else ""
    return _of_thing(subject, f"might not {what}" if re.match("be |go |have ", what) else "")


def _of_thing(subject: str, verb: str) -> str:
    """What happens to a thing: nothing is said of people, whose doings are not the agent's mistakes."""
    words = subject.split()
    if not verb or len(words) > 6 or words[0].lower() in _OF_PEOPLE or not words[-1][-1].isalnum():
        return ""
    common = re.match(r"(?:The|Our|An?|Any|All|Each|Every|Th\w+|[A-Z][a-z-]+s)\b", subject)
    return f"{subject[0].lower() + subject[1:] if common else subject} {verb}"


def _chinese(who: str, modal: str, what: str) -> str:
    """What the agent might do, or not do; of things only what they might use or exceed."""
    plain = r"我们|大家|以后|今后|往后|此后|之后|所有|请|你|也|但|就|都|一律|千万|绝对"
    who = re.sub(rf"\A(?:{plain})+|(?:{plain})+\Z", "", who.strip().split(" ")[-1])
    what = re.sub(r"我(?!们)", "你", re.split("也别|也不", what)[0].rstrip("了啊吧哦呀"))
    if re.search(r"[我他她它？?]", who) or len(what) < 4 or re.search(r"[一-鿿] [一-鿿]", what):
        return ""
    if not who:
        return f"智能体{modal}{what}"
    if re.search(r"(?:[里中上前后]|(?<!超)时|周[一二三四五六日末])\Z", who):
        return f"智能体{modal}{'' if re.match('[在当从对给跟]', who) else '在'}{who}{what}"
    return f"{who}{modal}{what}" if len(who) < 7 and re.match("用|超过|出现|由|经", what) else ""


def _verbal(what: str) -> str:
    """What the agent is told not to do, addressed to the user; nothing where the words do not begin with a plain verb."""
    if not _VERB.match(what):
        return ""
    return "" if re.search(r"\byou.*\bm[ey]\b", what) else re.sub(r"\bme\b", "you", re.sub(r"\bmy\b", "your", what))
