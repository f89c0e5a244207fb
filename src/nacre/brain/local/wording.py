"""From what somebody typed to a line that reads well alone: fillers off, cut to length, context put before what needs it."""

from __future__ import annotations

import re

from nacre.text.sentences import clauses

LONGEST = {"en": 260, "zh": 130}
_FILLERS = re.compile(
    r"\A(?:(?:ok(?:ay)?|so|and|also|oh|yeah|yep|yes|well|btw|by the way|um+|uh+|hey|hi|hello|anyway|anyways|right|cool|nice|great|perfect|good"
    r"|thanks?|thx|lol|haha+|fyi|ah|hmm+|alright|sure|fine|but|then|plus|oh and|one more thing|quick one|morning)\b[\s,.!:;…-]*)+(?=\S)",
    re.IGNORECASE,
)
_FILLERS_CHINESE = re.compile(
    r"\A(?:(?:好的?|嗯+|哦+|噢|对了?|对了|然后|还有|另外|那个|呃|哈+|行吧?|ok|OK|诶|欸|唉|那|嘛|顺便(?:说|问)?(?:一下|一句)?|话说|早|你好|哎)[\s，,。！!、～~…]+)+(?=\S)"
)
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


def tidy(text: str, language: str) -> str:
    """A sentence without its fillers, on one line."""
    text = " ".join(text.split())
    pattern = _FILLERS_CHINESE if language == "zh" else _FILLERS
    bare = _TRAILING.sub("", pattern.sub("", text))
    bare = bare or _TRAILING.sub("", text)
    closing = "?" if text.endswith("?") else "？" if text.endswith("？") else ""
    bare = bare.rstrip("?？") + closing
    return bare[:1].upper() + bare[1:] if bare[:1].isascii() and not _is_name_of_a_thing(bare) else bare


def _is_name_of_a_thing(text: str) -> bool:
    """Whether the first word is a command, a path or an identifier, whose spelling matters."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return bool(re.search(r"[_/\d`=-]|[a-z][A-Z]|\w\.\w", first))


# A question that nobody ended with its mark. "When we deploy, …" and "what I want is …" are none.
_QUESTION = re.compile(
    r"(?:(?:and|so|but|ok|okay|hey|also|then)[\s,]+)*(?:(?:what|which|where|when|why|how|who|whom|whose)"
    r"(?! (?:we|i|you|they|he|she|it|the|a|an|our|my|your|this|that|these|those|is why|is what)\b)(?: (?:\w+ )?\w+)? "
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|should|would|will)\b|(?:what|where|when|why|how|who)(?:'s|s|'re|'d)\b"
    r"|who (?!knows)[a-z]+s\b|(?:is|are|was|were|do|does|did|has|have|can|could|should|would|will) (?:we|you|i|it|they|there|he|she|the|this|that|any|my|our)\b)"
    r"(?![^,;:]*\b(?:is|are|must|shall) (?:to|that|always|never)\b)[^,;:]{0,200}",
    re.IGNORECASE,
)
_QUESTION_CHINESE = re.compile(
    r"[^，。；]{0,60}(?:什么时候|什么|哪[个里些位种天儿]|谁|怎么样?|为什么|为何|多少|多久|几[个点天号次]|是不是|有没有|能不能|要不要|可不可以|是否)[^，。；]{0,40}|[^，。；]{1,80}[吗呢]"
)
# What is left of a date, a time or a number is no statement.
_NUMBERS = re.compile(
    r"[\d\W_]+|\b(?:on|at|in|by|from|until|till|to|of|the|and|about|around|am|pm|st|nd|rd|th|utc|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?"
    r"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|today|tomorrow|yesterday|next|last|this|noon|midnight|(?:minute|hour|day|week|month|year|quarter)s?|one|two|three|four|five|six|seven|eight|nine|ten)\b"
    r"|[年月日号点分秒时半刻周星期礼拜天上下午早晚中今明后昨前季度小个一二两三四五六七八九十百千万零到至底初末第]",
    re.IGNORECASE,
)


def is_question(text: str, language: str) -> bool:
    """Whether a sentence has the form of a question, with its mark or without."""
    text = text.strip()
    if text.endswith(("?", "？")):
        return True
    return bool((_QUESTION_CHINESE if language == "zh" else _QUESTION).fullmatch(text.rstrip(".。!！… ")))


def is_only_when(text: str) -> bool:
    """Whether a sentence is nothing but a date, a time or a number, which says nothing without what it answers."""
    return not _NUMBERS.sub("", text)


def asked(text: str, language: str) -> str:
    """A request as a line of a log."""
    if language == "zh":
        return ("用户问：" if is_question(text, language) else "用户要求：") + _POLITE_CHINESE.sub("", text)
    bare = _POLITE.sub("", text)
    if bare != text and not bare.endswith("?"):
        return "User asked to " + bare[:1].lower() + bare[1:]
    if bare != text:
        return "User asked to " + bare[:1].lower() + bare[1:].rstrip("?")
    return "User asked: " + text


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
    """Several sentences as one line."""
    mark = "；" if language == "zh" else "; "
    return mark.join(part.rstrip(".。;；!！ ") for part in parts if part)


_PRONOUN = re.compile(
    r"\A\W*(?:(?:and|but|so|then)\s+)?(?:it|its|it's|he|she|they|he's|she's|they're|his|her|their|this|that|these|those)\b",
    re.IGNORECASE,
)
_PRONOUN_CHINESE = re.compile(
    r"\A\W*(?:[他她它]们?|这(?:个|人|家|货|事)?|那(?:个|人|家|边)?)(?=[是在的要说会不只就也都有给]|\W)"
)


def starts_with_pronoun(text: str, language: str) -> bool:
    """Whether a sentence begins with a word for somebody or something named before it."""
    return bool((_PRONOUN_CHINESE if language == "zh" else _PRONOUN).match(text))


_BLACKED_OUT = re.compile(r"\[redacted: [^\]\n]+\]")


def only_blacked_out(text: str) -> bool:
    """Whether little is left of a sentence besides what was blacked out in it."""
    rest, count = _BLACKED_OUT.subn("", text)
    letters = sum(character.isalpha() for character in rest)
    chinese = any(character > "\u3000" for character in rest)
    return count > 0 and letters < (6 if chinese else 18) * count
