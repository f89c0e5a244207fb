"""Scripts, and which of our two languages a text is in."""

from __future__ import annotations

import re
from functools import cache

# Han with its extensions and compatibility forms, kana without their punctuation, hangul: scripts written without spaces
# between words.
CJK = "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"


@cache
def _cjk() -> re.Pattern[str]:
    return re.compile(f"[{CJK}]")


def cjk_count(text: str) -> int:
    """How many characters are Han, kana or hangul."""
    return 0 if text.isascii() else len(_cjk().findall(text))


def language_of(text: str) -> str:
    """ "zh" when Han weighs at least as much as Latin words (a Han character is about half a word), else "en"."""
    han = cjk_count(text)
    if not han:
        return "en"
    words = len(re.findall(r"[A-Za-z]{2,}", text))
    return "zh" if han >= 2 * words or han / len(text) > 0.2 else "en"


def tokens_estimate(text: str) -> int:
    """About how many model tokens a text is: a Han character counts as one, other text as one for four characters."""
    han = cjk_count(text)
    return han + (len(text) - han + 3) // 4
