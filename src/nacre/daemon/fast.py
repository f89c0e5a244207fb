"""A plain search, answered by the daemon before the command line is even loaded: that alone costs more than the search.

Only what is sure to mean the same is taken; everything else goes the ordinary way, which can do all of it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in typing, without its cost
if TYPE_CHECKING:
    from typing import Any

_VALUES = {"-n": "limit", "--limit": "limit", "--mode": "mode", "--workspace": "workspace", "--scope": "scope"}
_FLAGS = {"--json": "as_json", "--all-projects": "all_projects"}


def answered(arguments: list[str]) -> int | None:
    """The exit code, when a daemon answered; None when the command line has to."""
    if "search" not in arguments[:5] or not _is_usual():
        return None
    asked = _read(arguments)
    root = asked and workspace(asked.pop("workspace", None))
    if not asked or not root:
        return None
    from nacre.daemon import client

    if client.is_switched_off():
        return None
    scope = asked.pop("scope", None) or os.environ.get("NACRE_SCOPE") or "main"
    try:
        asked |= {"here": os.getcwd(), "terminal": sys.stdout.isatty()}
        with client.Connection(root, scope) as daemon:
            answer = daemon.ask("search", asked=asked)
    except (client.NoDaemon, OSError):
        return None
    except Exception as trouble:
        from nacre.errors import NacreError

        if not isinstance(trouble, NacreError):
            raise
        sys.stderr.write(f"nacre: {trouble}\n")
        return trouble.exit_code
    return _printed(answer["parts"])


def _is_usual() -> bool:
    """Whether nothing in the environment changes what a search means, and its answer can be written as it comes."""
    env = os.environ
    if env.get("NACRE_NOW") or env.get("NACRE_AGENT") or env.get("NACRE_AGENTS"):
        return False
    if any(name.startswith(("NACRE_SEARCH_", "_NACRE_")) for name in env):  # options of the command, completion
        return False
    streams = (sys.stdout, sys.stderr)
    return os.name == "posix" and all(one is not None and one.encoding.lower() == "utf-8" for one in streams)


def _read(arguments: list[str]) -> dict[str, Any] | None:
    """What is asked for, in the words of the protocol; None when it is more than a plain search."""
    given: dict[str, Any] = {}
    words: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        one = waiting.pop()
        if one in _VALUES:
            if not waiting:
                return None
            given[_VALUES[one]] = waiting.pop()
        elif one in _FLAGS:
            given[_FLAGS[one]] = True
        elif one.startswith("-"):
            return None
        else:
            words.append(one)
    if len(words) < 2 or words[0] != "search":
        return None
    given["query"] = " ".join(words[1:])
    limit = given.get("limit")
    if limit is not None:
        if not (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= 1000):
            return None
        given["limit"] = int(limit)
    if given.get("mode", "text") not in ("hybrid", "text", "vector") or "" in (
        given.get("workspace"),
        given.get("scope"),
    ):
        return None
    try:
        given["query"].encode()
    except UnicodeEncodeError:
        return None
    return given


def workspace(named: str | None) -> str | None:
    """The workspace that the ordinary way would find; None wherever that takes more than a look."""
    env = os.environ
    home = os.path.expanduser("~")
    named = named or env.get("NACRE_WORKSPACE") or env.get("OPENCLAW_WORKSPACE")
    if named:
        place = os.path.join(home, named[2:]) if named == "~" or named.startswith("~/") else os.path.abspath(named)
        return place if os.path.isdir(place) else None
    above = _above(home)
    if above is not None:
        return above or None
    from nacre.daemon.client import config_folder

    settings = env.get("NACRE_CONFIG_FILE") or os.path.join(config_folder(), "config.toml")
    openclaw = None if _mentions(os.path.expanduser(settings), b"workspace", b"agents") else _openclaw(home)
    if openclaw is None:
        return None  # a workspace of the user's choice, or several agents
    for place in (openclaw, os.path.join(home, ".nacre", "workspace")):
        if os.path.isdir(place):
            return place
    return None


def _openclaw(home: str) -> str | None:
    """The workspace of an OpenClaw that has one agent; None where there are several, or its settings take more than a look."""
    env = os.environ
    state = os.path.expanduser(env.get("OPENCLAW_STATE_DIR") or os.path.join(home, ".openclaw"))
    settings = os.path.expanduser(env.get("OPENCLAW_CONFIG_PATH") or os.path.join(state, "openclaw.json"))
    usual = os.path.join(state, "workspace")
    if env.get("OPENCLAW_PROFILE") or not os.path.isabs(state):
        return None
    try:
        with open(settings, "rb") as file:
            text = file.read()
    except OSError:
        return usual
    from nacre.daemon import client

    try:
        section = client.loads(text.decode().strip()).get("agents", {})
        entries = section.get("entries")
        agents = section.get("list") or [] if entries is None else list(entries.values())
        own = agents[0].get("workspace") if agents else None
        named = own or section.get("defaults", {}).get("workspace") or usual
        if len(agents) > 1 or "$" in named:
            return None
        place = os.path.expanduser(named)
    except (ValueError, AttributeError, TypeError):  # with comments, or not of the usual form
        return None
    return place if os.path.isabs(place) else None


def _above(home: str) -> str | None:
    """The trusted workspace that the current folder lies in; "" where one is that is not trusted, None where none is."""
    folder = os.path.abspath(os.getcwd())
    while True:
        if os.path.isdir(os.path.join(folder, ".nacre")) and os.path.realpath(folder) != os.path.realpath(home):
            return folder if os.path.realpath(folder) in _trusted() else ""
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def _trusted() -> list[str]:
    import json

    from nacre.daemon.client import config_folder

    try:
        with open(os.path.join(config_folder(), "trusted.json"), encoding="utf-8", errors="surrogateescape") as file:
            known = json.load(file)["trusted"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return known if isinstance(known, list) else []


def _mentions(path: str, *words: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return False
    return any(word in text for word in words)


def _printed(parts: list[tuple[str, str]]) -> int:
    try:
        for kind, text in parts:
            stream = sys.stdout if kind == "out" else sys.stderr
            if stream is sys.stderr:
                sys.stdout.flush()
            stream.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has gone; what it wanted it has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as trouble:
        from nacre.errors import NO_SPACE, cannot_write
        from nacre.i18n import say

        if trouble.errno not in NO_SPACE:
            raise
        sys.stderr.write(f"nacre: {cannot_write(say('the output', '输出'), trouble)}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0
