"""What somebody set for us by hand before, and stays: whom an entry is for above all. Connecting never lets anybody hear more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from nacre.connect.edit import CannotEdit
from nacre.words import say

_ELSEWHERE = ("url", "httpUrl", "serverUrl")  # of a server that is reached by an address
_NAMES = ("nacre", "nacre.exe", "nacre.cmd")
_IN_A_LINE = re.compile(r"""(?:--scope(?:=|\s+)|NACRE_SCOPE=)("[^"]*"|'[^']*'|[^\s"']+)""")


def limited(now: Any, wanted: Any, name: str = "") -> Any:
    """The entry that is wanted, for nobody but those whom the one that stands there is for. What of it cannot be understood, and so
    might be narrower than ours, is not written over."""
    if not isinstance(now, Mapping) or not isinstance(wanted, dict) or "command" not in wanted:
        return wanted
    if any(one in now for one in _ELSEWHERE):
        raise _foreign(name)
    words = [*_words(now.get("command")), *_words(now.get("args"))]
    if not words:
        return wanted
    scope = _scope(words, name)
    if not any(_is_us(word) for word in words):
        raise _foreign(name)
    if scope is None:
        return wanted
    holder = "args" if "args" in wanted else "command"
    return {**wanted, holder: [*wanted[holder], "--scope", scope]}


def limited_hook(now: Any, wanted: Any) -> Any:
    """The hook that is wanted, for the scope that the commands of the one that stands there name."""
    if isinstance(now, Mapping) and isinstance(wanted, dict):
        found = {name: limited_hook(now.get(name), one) for name, one in wanted.items()}
        told = now.get("command")
        if isinstance(told, str) and isinstance(wanted.get("command"), str) and (scopes := _IN_A_LINE.findall(told)):
            found["command"] = f"{wanted['command']} --scope {scopes[-1]}"
        return found
    if isinstance(now, list) and isinstance(wanted, list) and now:
        return [limited_hook(now[min(at, len(now) - 1)], one) for at, one in enumerate(wanted)]
    return wanted


def _scope(words: list[str], name: str) -> str | None:
    """The scope that the last of the options names; one that is said in another way is not guessed."""
    found: str | None = None
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if word == "--scope" and waiting:
            found = waiting.pop()
        elif word.startswith(("--scope=", "NACRE_SCOPE=")):
            found = word.partition("=")[2]
        elif "scope" in word.lower():
            raise _foreign(name)
    return found


def _words(told: Any) -> list[str]:
    if isinstance(told, list):
        return [str(one) for one in told]
    return [told] if isinstance(told, str) else []


def _is_us(word: str) -> bool:
    return PureWindowsPath(word).name.lower() in _NAMES or PurePosixPath(word).name.lower() in _NAMES


def _foreign(name: str) -> CannotEdit:
    return CannotEdit(
        say(
            f'"{name}" was made by hand and starts or reaches Nacre in a way of its own, which may be narrower; rename it or take it out first',
            f"“{name}”是手动添加的，以自己的方式启动或连接 Nacre，其范围可能更窄；请先改名或移除",
        )
    )
