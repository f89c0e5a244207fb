"""Which of our models can read a text: by the scripts its words are written in."""

from __future__ import annotations

import re
from typing import Literal

Script = Literal["Latin", "Han"]

# Han with its marks, and kana. Hangul is left out on purpose: most of it is unknown to the Chinese model's vocabulary, while
# MiniLM's reads it letter by letter.
_EAST_ASIAN = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003ffff]"
)
# A word of any other script; an address, a path or an identifier is one word, however long.
_WORD = re.compile(r"[^\W\d_][\w./:@%+#=?&~-]*")
_CHARACTERS_IN_A_HAN_WORD = 1.6

# A balance, not a cliff: a fact in one language amid sentences of the other was found by its own model at shares of 0.34, 0.20
# and 0.11 alike (a small set of our own). Below this stands a name or two, which the search for words finds exactly, and a
# second vector for every Chinese note that names a product would nearly double the work.
REAL_SHARE = 0.15


def scripts(text: str) -> tuple[Script, ...]:
    """The scripts with a real share in the text, the greater first; "Latin" stands for every alphabet."""
    characters = len(_EAST_ASIAN.findall(text))
    words = len(_WORD.findall(_EAST_ASIAN.sub(" ", text) if characters else text))
    if not characters:
        return ("Latin",) if words or any(character.isalnum() for character in text) else ()
    if not words:
        return ("Han",)
    han = characters / _CHARACTERS_IN_A_HAN_WORD
    share = han / (han + words)
    if share < REAL_SHARE:
        return ("Latin",)
    if share > 1 - REAL_SHARE:
        return ("Han",)
    return ("Han", "Latin") if share >= 0.5 else ("Latin", "Han")
