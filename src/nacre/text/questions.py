"""Whether a text is a question: by its mark alone or by its form."""

from __future__ import annotations

import re

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


def has_question_mark(text: str) -> bool:
    return text.rstrip().endswith(("?", "？"))


def is_question(text: str, language: str) -> bool:
    """Whether a sentence has the form of a question, with its mark or without."""
    return has_question_mark(text) or bool(_QUESTION[language].fullmatch(text.strip().rstrip(".。!！… ")))
