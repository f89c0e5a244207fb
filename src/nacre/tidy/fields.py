"""Facts that have a field of their own: the agent's name in IDENTITY.md; the owner's name, address and time zone in USER.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from nacre.vault.markdown import Document, set_field

IDENTITY, USER = "IDENTITY.md", "USER.md"
_END = r"(?=[\s,.;!?，。；！？、“”\"'「」（）()]|就行|就好|就可以|好了|吧|了|啊|哈|呀|$)"
_NAME = r"[\"“「'‘]?(?P<value>[A-Z][\w'’.-]*(?:\s[A-Z][\w'’.-]*){0,2}|[\u4e00-\u9fff·]{1,10})"
_HAN_NAME = rf"[\"“「『]?(?P<value>[\u4e00-\u9fffA-Za-z0-9·]{{1,10}}?){_END}"


@dataclass(frozen=True)
class Field:
    """A value for the first of the named fields that the file has."""

    file: str
    names: tuple[str, ...]
    value: str


_RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        IDENTITY,
        ("Name", "名字", "姓名"),
        r"(?i:\b(?:you(?:'re| are)(?: now)? (?:called|named)|your (?:new )?name (?:is|will be)(?: now)?|(?:i'?ll|i will|i'?m going to|we'?ll) call you"
        r"|call yourself|(?:i )?(?:re)?named? (?:you|yourself|the assistant|the agent)(?: to| as)?"
        r"|(?:the )?(?:assistant|agent) (?:is (?:now )?|was )?(?:called|named|renamed)(?: to)?))\s+" + _NAME,
    ),
    (
        IDENTITY,
        ("Name", "名字", "姓名"),
        r"(?:你|助手|机器人)(?:的)?(?:新)?(?:名字)?(?:以后|现在|今后|从今天起|从现在起|就|也)*(?:叫做?|改名(?:为|叫|成)?|名叫|名字(?:是|叫|改成|改为))\s*"
        + _HAN_NAME,
    ),
    (USER, ("What to call them", "Preferred name", "Called", "称呼", "怎么称呼"), r"\b(?i:call me)\s+" + _NAME),
    (USER, ("Name", "名字", "姓名"), r"\b(?i:my name is|my name's)\s+" + _NAME),
    (
        USER,
        ("What to call them", "Preferred name", "Called", "称呼", "怎么称呼"),
        r"(?<![别不再用要])叫我\s*" + _HAN_NAME,
    ),
    (USER, ("Name", "名字", "姓名"), r"(?:我叫|我的名字(?:是|叫)|我姓名是)\s*" + _HAN_NAME),
    (USER, ("Timezone", "Time zone", "时区"), r"\b(?i:my time ?zone is(?: now)?)\s+(?P<value>[A-Z][\w/+:-]+)"),
    (
        USER,
        ("Timezone", "Time zone", "时区"),
        r"我(?:的|在的)?时区(?:是|改成|改为|换成)\s*(?P<value>[\w/+:\u4e00-\u9fff-]{2,24})",
    ),
    (
        USER,
        ("Language", "Preferred language", "语言", "常用语言"),
        r"\b(?:always )?(?:answer|reply|write|speak|talk)(?: to me)?(?: always)? in (?P<value>English|Chinese|German|French|Spanish|Japanese|Korean|Italian)\b(?! (?:for|this|today))",
    ),
    (
        USER,
        ("Language", "Preferred language", "语言", "常用语言"),
        r"(?:以后|默认|一律|统一|平时)(?:都)?用(?P<value>中文|英文|英语|日语|汉语)(?:回复|回答|交流|跟我说)",
    ),
)
_NO_NAME = re.compile(
    r"(?:什么|啥|谁|哪|怎么|一声|一下|起床|醒|过来|外卖|明天|后天|今晚|稍后|以后).*|The|When|If|Back|Later|Tomorrow|Now"
)
_NOT_SO = re.compile(
    r"\b(?:don'?t|do not|never|stop|not|says?|said|told|asked|he|she|they|colleague'?s?|his|her|their)\W+(?:\w+\W+){0,3}\Z|(?:别|不要|不许|他说|她说|人家)[^，。]{0,4}\Z",
    re.IGNORECASE,
)  # a name that is refused, or somebody else's
_QUESTION = re.compile(r"[?？]\s*\Z|吗\s*[?？]?\Z")


@cache
def _rules() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    return tuple((file, names, re.compile(pattern)) for file, names, pattern in _RULES)


def field_in(text: str) -> Field | None:
    """The field that a statement of the owner sets; the last one where it names several ("not A any more, call me B")."""
    if _QUESTION.search(text):
        return None
    for file, names, pattern in _rules():
        for found in reversed(list(pattern.finditer(text))):
            value = found["value"].strip(" '’.-")
            if _NOT_SO.search(text[: found.start()]):
                continue
            if value and not _NO_NAME.fullmatch(value):
                return Field(file, names, value)
    return None


def with_value(doc: Document, field: Field) -> tuple[str, bytes] | None:
    """The name of the field that the file has, and its bytes with the new value; None when it has none of them."""
    for name in field.names:
        data = set_field(doc, name, field.value)
        if data is not None:
            return name, data
    return None


def value_of(doc: Document, name: str) -> str | None:
    """What stands in a field."""
    pattern = re.compile(
        rf"[ \t]*(?:[-*+][ \t]*)?(?:\*\*{re.escape(name)}[:：]\*\*|\*\*{re.escape(name)}\*\*[ \t]*[:：]|{re.escape(name)}[:：])[ \t]*(.*)",
        re.IGNORECASE,
    )
    found = next((match for line in doc.bare if (match := pattern.fullmatch(line))), None)
    return found[1].strip() if found else None
