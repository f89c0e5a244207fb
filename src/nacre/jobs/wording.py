"""The times of a job in words, for people."""

from __future__ import annotations

import re

from nacre.words import language, say

_EVERY = re.compile(r"\*/(\d+) \* \* \* \*")
_HOURLY = re.compile(r"(\d+) \* \* \* \*")
_DAILY = re.compile(r"(\d+) ([\d,]+) \* \* \*")


def in_words(expressions: tuple[str, ...]) -> str:
    """When a job runs; an expression that is not of the usual kinds is told as it stands."""
    if not expressions:
        return say("only when asked", "仅在要求时")
    daily = [_DAILY.fullmatch(one) for one in expressions]
    if all(daily):
        times = sorted(f"{int(hour):02}:{int(one[1]):02}" for one in daily if one for hour in one[2].split(","))
        return say(f"daily at {', '.join(times)}", f"每天 {'、'.join(times)}")
    return say("; ", "；").join(_one(one) for one in expressions)


def _one(expression: str) -> str:
    if expression == "* * * * *":
        return say("every minute", "每分钟")
    if found := _EVERY.fullmatch(expression):
        return say(f"every {found[1]} minutes", f"每 {found[1]} 分钟")
    if found := _HOURLY.fullmatch(expression):
        return say(f"hourly, at minute {found[1]}", f"每小时第 {found[1]} 分")
    if language() == "zh":
        return expression  # there is no library that says it in Chinese
    from cronsim.explain import explain

    words = explain(expression)
    return words[0].lower() + words[1:]
