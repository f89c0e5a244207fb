"""Two conversations in a real client, and what must hold around them.

A client is described by data and one function that says something in it; everything else is the same for all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.integration.npm import installed, programs
from tests.integration.scratch import Checks, Scratch, scratch
from tests.integration.stub import Request, Stub, stub

from nacre.sources.registry import sources
from nacre.sources.transcript import Places
from nacre.text import json5

REMEMBER = "Remember that the shop is released on Tuesdays and never on a Friday."
RULE = "Always use pnpm and never npm in this repository, the lock file of npm breaks our build."
RESUMED = "We decided to host the staging server of the shop in Helsinki."
FORKED = "We decided that Rosa Lindqvist reviews every change to the payment module."
PASSWORD = "hunter2-Xk93mPq7vTz"
SECRET = f"The password of the staging database is {PASSWORD}, the tests need it."
PRIVATE = "My salary is 81,517 euros a year and the raise comes in March."
FILLERS = ("That is how we do it from now on.", "Good, go on like that.")
QUESTION = "Which package manager do we use in this repository, pnpm or npm?"
TOLD = {RULE: "pnpm and never npm", REMEMBER: "released on Tuesdays", RESUMED: "Helsinki", FORKED: "Rosa Lindqvist"}
Files = dict[str, bytes]


class Say(Protocol):
    def __call__(self, place: Scratch, folder: Path, words: str, session: str = "", *, fork: bool = False) -> str:
        """One turn, in a new session or in one that goes on, or a fork of that; returns the session it was in."""


@dataclass(frozen=True)
class Client:
    """`settings` are files below the home, as the user had them; `{url}` in them, and in `env`, is the stub."""

    name: str
    packages: tuple[str, ...]
    say: Say
    env: Mapping[str, str]
    settings: Mapping[str, str]
    made: tuple[str, ...]  # files that connect makes beside them
    hooks: bool  # whether memory comes by itself; else by a tool that the model calls
    forks: bool = True


def main(client: Client, arguments: Sequence[str]) -> int:
    folder = installed(Path(arguments[0]).absolute() if arguments else None, client.packages)
    checks = Checks()
    print(f"== {client.packages[-1]}", flush=True)
    with stub() as model:
        env = {name: value.replace("{url}", model.url) for name, value in client.env.items()}
        with scratch(programs(folder), env) as place:
            for name, text in client.settings.items():
                (place.home / name).parent.mkdir(parents=True, exist_ok=True)
                (place.home / name).write_text(text.replace("{url}", model.url), "utf8")
            _run(client, place, model, checks)
    return checks.sum()


def _run(client: Client, place: Scratch, model: Stub, checks: Checks) -> None:
    shop, private, other = (place.home / "code" / name for name in ("shop", "private", "other"))
    for project in (shop, private, other):
        project.mkdir(parents=True)
        place.run("git", "init", "-q", cwd=project)
    (private / ".nacre-ignore").touch()
    place.nacre_run("init")
    place.nacre_run("sync")  # the first capture is the user's own
    files = [*client.settings, *client.made]
    before = settings_of(place, files)
    connect = ("connect", client.name, "--yes", "--no-jobs", *(() if client.hooks else ("--rules",)))
    place.nacre_run(*connect)
    checks("connect writes into the settings", settings_of(place, files) != before)
    place.nacre_run("connect", client.name, "--remove", "--yes")
    checks("connect --remove puts back every byte", settings_of(place, files) == before, str(settings_of(place, files)))
    place.nacre_run(*connect)
    connected = settings_of(place, files)

    first = client.say(place, shop, REMEMBER)
    client.say(place, shop, RULE, first)
    client.say(place, shop, SECRET, first)
    log = _captured(place)
    checks("the first conversation is captured", _times(log, REMEMBER, RULE) == [1, 1], log)
    checks("it stands under its project", "project:shop" in log, log)
    checks("it stands there as it was typed", '"' not in log, log)

    client.say(place, shop, RESUMED, first)
    client.say(place, shop, FILLERS[0], first)
    log = _captured(place)
    checks("what was said after a resume is captured once", _times(log, REMEMBER, RULE, RESUMED) == [1, 1, 1], log)
    if client.forks:
        fork = client.say(place, shop, FORKED, first, fork=True)
        client.say(place, shop, FILLERS[1], fork)
        checks("a fork is a session of its own", fork != first, fork)
        log = _captured(place)
        times = _times(log, REMEMBER, RULE, RESUMED, FORKED)
        checks("what was said before a fork and in it is captured once", times == [1, 1, 1, 1], log)
    hidden = client.say(place, private, PRIVATE)
    client.say(place, private, FILLERS[0], hidden)
    _captured(place)
    checks("a project with .nacre-ignore is in no file", not place.written("81,517"), str(place.written("81,517")))
    checks("a secret is in no file", not place.written(PASSWORD), str(place.written(PASSWORD)))
    place.nacre_run("tidy")
    lasting = "\n".join(path.read_text("utf8") for path in place.workspace.rglob("MEMORY.md"))
    checks("tidy takes what was to be remembered into long-term memory", _times(lasting, REMEMBER) == [1], lasting)
    _second(client, place, model, checks, shop, other)
    log = place.log()
    checks("another sync writes nothing", _captured(place) == log, place.log())
    unknown = _unknown(client, place)
    checks("every entry of the transcripts is of a known kind", not unknown, "\n".join(unknown))
    check_remove(client.name, place, checks, before, connected)


def check_remove(name: str, place: Scratch, checks: Checks, before: Files, connected: Files) -> None:
    """What the client itself has written meanwhile stays; all else is as it was."""
    last = settings_of(place, connected)
    place.nacre_run("connect", name, "--remove", "--yes")
    left = settings_of(place, connected)
    own = {path for path in last if last[path] != connected.get(path)}
    same = all(left.get(path) == before.get(path) for path in connected if path not in own)
    checks(f"connect --remove leaves the bytes{' of what the client did not change' if own else ''}", same, str(left))
    for path in sorted(own):
        kept = b"nacre" not in left[path] and json5.loads(left[path].decode()) == _pruned(
            json5.loads(last[path].decode())
        )
        checks(f"of {path}, which the client writes too, only ours is gone", kept, left[path].decode())


def _second(client: Client, place: Scratch, model: Stub, checks: Checks, shop: Path, other: Path) -> None:
    """The conversation after the first, in the same project and in another."""

    def given(folder: Path, *turns: str) -> list[Request]:
        since, session = len(model.asked), ""
        for words in turns:
            session = client.say(place, folder, words, session)
        requests = model.asked[since:]
        client.say(place, folder, "Thanks.", session)
        return requests

    before = place.log()
    search = () if client.hooks else ('CALL memory_search {"query": "pnpm or npm package manager"}',)
    requests = given(shop, QUESTION, *search)  # apart from the question, which is bare only so
    seen = "\n\n".join(request.text for request in requests)
    if not client.hooks:
        offered = {tool for request in requests for tool in request.tools}
        checks("the model is offered the tools of memory", any(name.endswith("memory_search") for name in offered), str(offered))  # fmt: skip
        rules = "\n".join(request.text.partition(QUESTION)[0] for request in requests if request.tools)
        checks("and told by the rules to search first", "memory_search" in rules, rules[:6000])
    checks("the second conversation is given what the first said", TOLD[RULE] in seen, seen[-6000:])
    if client.hooks:
        checks("and what it was asked to remember", TOLD[REMEMBER] in seen, seen[-6000:])
        elsewhere = "\n".join(request.text for request in given(other, "How do we call the config file?"))
        checks("another project is not given it", TOLD[RULE] not in elsewhere, elsewhere[-6000:])
    log = _captured(place)
    checks("what was given is not captured again", _times(log, RULE) == _times(before, RULE), log)
    checks("a bare question is not captured", "Which package" not in log, log)


def _captured(place: Scratch) -> str:
    """The daily logs after a capture."""
    place.nacre_run("sync")
    return place.log()


def _times(log: str, *said: str) -> list[int]:
    """How often each of what was said stands in a log, by the words that no rewording takes out."""
    return [log.count(TOLD[words]) for words in said]


def _unknown(client: Client, place: Scratch) -> list[str]:
    """The transcripts in which entries were passed over because nothing is known of their form."""
    places = Places(place.home, place.env)
    read = [(found, source.read(found, None, None)) for source in sources() if source.agent == client.name for found in source.find(places)]  # fmt: skip
    assert read, "there are transcripts"
    return [f"{found.path.name}: {reading.unknown}" for found, reading in read if reading.unknown]


def settings_of(place: Scratch, names: Iterable[str]) -> Files:
    """The bytes of the settings that are there."""
    return {name: (place.home / name).read_bytes() for name in names if (place.home / name).exists()}


def _pruned(told: Any) -> Any:
    """Settings without our entry, and without what only held it."""
    if not isinstance(told, dict):
        return told
    kept = {key: _pruned(value) for key, value in told.items() if key != "nacre"}
    return {key: value for key, value in kept.items() if value or not told[key]}


def said(output: str, field: str) -> str:
    """The value of a field in the JSON lines or the JSON document that a client printed."""
    lines = [
        line for line in output.splitlines() if line.startswith("{") and f'"{field}"' in line and line.endswith("}")
    ]
    told = json.loads(lines[0] if lines else output[output.index("{") : output.rindex("}") + 1])
    return str(told[field])
