"""Where a fact belongs: to everybody's memory or to one project's."""

from __future__ import annotations

import re

from nacre.tidy.candidates import Candidate

_SELF = {
    "en": re.compile(
        r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|the user)\b|\b(?:answers?|repl(?:y|ies)|explanations?|tone|summar(?:y|ies))\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(r"我(?!们)|回答|回复|解释|语气|称呼|总结"),
}


_EVERYWHERE = {
    "en": re.compile(
        r"\b(?:every|all|any|each)\s(?:\w+\s)?(?:repo\w*|projects?|codebases?)\b|\beverywhere\b", re.IGNORECASE
    ),
    "zh": re.compile(r"(?:所有|每个|每一个|全部|任何|哪个)(?:的)?(?:项目|仓库|工程|代码库)"),
}


def about_the_user(one: Candidate) -> bool:
    """Whether a statement made in a project holds everywhere: a person, the owner's own wish, or a rule for every project."""
    kind, judged = one.tested.kind, one.tested.judged
    if kind == "PEOPLE" or _EVERYWHERE[judged.language].search(one.text):
        return True
    return kind == "PREF" and bool(_SELF[judged.language].search(one.text))
