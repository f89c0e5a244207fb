"""The language in which Nacre speaks to people: every sentence stands where it is used, in English and in Chinese."""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import local

_chosen: str | None = None
_here = local()


def use_language(name: str) -> None:
    """Fix the language ("en" or "zh"); "auto" asks the environment again."""
    global _chosen  # noqa: PLW0603 - one process speaks one language
    _chosen = name if name in ("en", "zh") else None


def use_language_here(name: str | None) -> None:
    """Fix the language of this thread alone; None removes that again."""
    _here.language = name if name in ("en", "zh") else None


def language() -> str:
    return getattr(_here, "language", None) or _chosen or language_of(os.environ)


def language_of(environment: Mapping[str, str]) -> str:
    """What an environment asks for, whatever was fixed."""
    wanted = environment.get("NACRE_LANGUAGE", "auto")
    if wanted in ("en", "zh"):
        return wanted
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environment.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def say(english: str, chinese: str) -> str:
    """The sentence in the user's language."""
    return chinese if language() == "zh" else english


def as_sentence(line: str) -> str:
    """The line with a capital letter and a full stop."""
    return line[:1].upper() + line[1:] + ("" if line.endswith((".", "。")) else say(".", "。"))
