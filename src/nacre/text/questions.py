"""Whether a text is a question: by its mark alone, by its form, or as search reads entries, where a request is one too."""

from __future__ import annotations

import re

from nacre.text.tokens import compiled

# A question that nobody ended with its mark. "When we deploy, …" and "what I want is …" are none.
_QUESTION = {
    "en": re.compile(
        r"(?:(?:and|so|but|ok|okay|hey|also|then)[\s,]+)*(?:(?:what|which|where|when|why|how|who|whom|whose)"
        r"(?! (?:we|i|you|they|he|she|it|the|a|an|our|my|your|this|that|these|those|is why|is what)\b)(?: (?:\w+ )?\w+)? "
        r"(?:is|are|was|were|do|does|did|has|have|had|can|could|should|would|will)\b|(?:what|where|when|why|how|who)(?:'s|s|'re|'d)\b"
        r"|who (?!knows)[a-z]+s\b|(?:is|are|was|were|do|does|did|has|have|can|could|should|would|will) (?:we|you|i|it|they|there|he|she|the|this|that|any|my|our)\b)"
        r"(?![^,;:]*\b(?:is|are|must|shall) (?:to|that|always|never)\b)[^,;:]{0,200}",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"[^，。；]{0,60}(?:什么时候|什么|哪[个里些位种天儿]|谁|怎么样?|为什么|为何|多少|多久|几[个点天号次]|是不是|有没有|能不能|要不要|可不可以|是否)[^，。；]{0,40}|[^，。；]{1,80}[吗呢]"
    ),
}
_SOURCE_NOTE = r"\s*\(src: [\d-]+\)\Z"
_REQUEST = (
    r"(?i)[-*+\s]*(?:\[[^\]]{1,12}\]\s*)?(?:[^\W\d_][\w ]{0,20}[:：]\s)?(?:(?:can|could|would|will) (?:you|we|i)\b|please\b|(?:remind|tell|show|find|give) me\b|look up\b|check (?:if|whether)\b|User asked"
    r"|帮我|麻烦|请(?:你|帮)|能不能|可不可以|提醒我|查一下|看一下|用户问|用户要求|(?:thanks|thank you|ok|okay|great|done)\b.{0,12}\Z|(?:谢谢|谢啦|好的|收到|辛苦).{0,6}\Z)"
)


def has_question_mark(text: str) -> bool:
    return text.rstrip().endswith(("?", "？"))


def is_question(text: str, language: str) -> bool:
    """Whether a sentence has the form of a question, with its mark or without."""
    return has_question_mark(text) or bool(_QUESTION[language].fullmatch(text.strip().rstrip(".。!！… ")))


def asks(text: str) -> bool:
    """Whether an entry is a question or a request, or ends in one; search has learnt what that is worth."""
    end = text.rstrip()
    if end.endswith(")"):
        end = compiled(_SOURCE_NOTE).sub("", end)
    return end.endswith(("?", "？", "吗", "呢")) or bool(compiled(_REQUEST).match(end))
