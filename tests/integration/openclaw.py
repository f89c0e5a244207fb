"""OpenClaw with Nacre in its memory slot: `python -m tests.integration.openclaw [FOLDER]`.

FOLDER holds `node_modules` with openclaw and node@24; without one they are fetched from npm into the user's cache (700 MB, once).
"""

from __future__ import annotations

import datetime as dt
import json
import secrets
import socket
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.conversations import PASSWORD, PRIVATE, SECRET, check_remove, settings_of
from tests.integration.npm import installed, programs
from tests.integration.scratch import COMMAND_WITHIN, Checks, Scratch, scratch, until
from tests.integration.stub import ANSWER, MODEL, Request, Stub, stub

from nacre.sources.registry import chat_hash

PACKAGES = ("node@24", "openclaw@2026.9.6")
SETTINGS = ".openclaw/openclaw.json"
MAIN, GROUP = "agent:main:main", "agent:main:telegram:group:-100123"
TODAY = dt.datetime.now().astimezone()
YESTERDAY = f"{TODAY - dt.timedelta(days=1):%Y-%m-%d}"  # what is older, the jobs may press into weeks meanwhile
LOG = f"""\
# {YESTERDAY}

## 14:05 session:61871d67 | 12 messages
- [PREF] Use pnpm, never npm, in the shop repository
- [决策] 青梧平台的备份密钥存放在三楼的档案柜里

## 15:00 session:71871d67 | 4 messages | group:group-{chat_hash(GROUP)}
- The garden club meets at Rosa's on Friday
"""
RULE = "The shop repository is released by Ada alone"  # in MEMORY.md, which OpenClaw itself puts before its model
TASK = "Move the shop to the new host"


def main(arguments: Sequence[str]) -> int:
    folder = installed(Path(arguments[0]).absolute() if arguments else None, PACKAGES)
    checks = Checks()
    print(f"== {PACKAGES[-1]}", flush=True)
    with stub() as model, scratch(programs(folder), {}, ".openclaw/workspace") as place:
        claw = Claw(place, model, secrets.token_hex(16), _free_port())
        claw.set_up()
        before = settings_of(place, [SETTINGS])
        connect = ("connect", "openclaw", "--yes", "--no-jobs")
        place.nacre_run(*connect)
        checks("connect writes into the settings", settings_of(place, [SETTINGS]) != before)
        place.nacre_run("connect", "openclaw", "--remove", "--yes")
        left = settings_of(place, [SETTINGS])
        checks("connect --remove puts back every byte", left == before, str(left))
        place.nacre_run(*connect)
        connected = settings_of(place, [SETTINGS])
        _loaded(claw, checks)
        try:
            with claw.gateway():
                for part in (_tools, _turns, _group, _second, _flush, _refresh, _ignored, _daemon_ends):
                    part(claw, checks)
        finally:
            if checks.failed or sys.exc_info()[0]:
                print("== what the gateway logged\n" + claw.log())
        check_remove("openclaw", place, checks, before, connected)
    return checks.sum()


@dataclass(frozen=True)
class Claw:
    """A real OpenClaw in a scratch home: its commands, its gateway, and calls to that."""

    place: Scratch
    model: Stub
    token: str
    port: int

    def set_up(self) -> None:
        """A configuration whose only model is the stub, and a workspace with something in it."""
        model = {"id": MODEL, "name": "Stub", "input": ["text"], "contextWindow": 200_000, "maxTokens": 4096}
        provider = {"baseUrl": f"{self.model.url}/v1", "apiKey": "none", "api": "openai-completions", "models": [model]}
        settings = {
            "gateway": {"mode": "local", "bind": "loopback", "port": self.port, "auth": {"mode": "token", "token": self.token}},
            "agents": {"defaults": {"workspace": str(self.place.workspace), "model": {"primary": f"stub/{MODEL}"}, "skipBootstrap": True}},
            "models": {"providers": {"stub": provider}},
            "logging": {"file": str(self.place.home / "openclaw.log")},
        }  # fmt: skip
        path = self.place.home / SETTINGS
        path.parent.mkdir()
        path.write_text("// mine\n" + json.dumps(settings, indent=2), "utf8")
        workspace = self.place.workspace
        self.place.nacre_run("init", str(workspace))
        (workspace / "memory" / f"{YESTERDAY}.md").write_text(LOG, "utf8")
        longterm = (workspace / "MEMORY.md").read_text("utf8")
        longterm = longterm.replace("## Key Decisions\n", f"## Key Decisions\n- {RULE}\n")
        (workspace / "MEMORY.md").write_text(longterm, "utf8")
        self.place.nacre_run("wal", "task", TASK)
        self.place.nacre_run("sync")  # the first capture is the user's own

    @contextmanager
    def gateway(self) -> Iterator[None]:
        """The gateway, up and answering; ended by its own process when the block ends."""
        with (self.place.home / "gateway.log").open("wb") as log:
            process = subprocess.Popen(
                ["openclaw", "gateway", "run", "--port", str(self.port)],
                env=self.place.env, cwd=self.place.home, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            until(lambda: process.poll() is not None or self._invoke("memory_status", MAIN, {})[0] == 200, "the gateway is up")  # fmt: skip
            assert process.poll() is None, self.log()
            yield
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self) -> str:
        return (self.place.home / "gateway.log").read_text("utf8", errors="replace")

    def tool(self, tool: str, session: str = MAIN, **args: Any) -> dict[str, Any]:
        """What a tool returns through the gateway, as an operator's program calls it."""
        status, told = self._invoke(tool, session, args)
        assert status == 200, f"{tool}: {status} {told}"
        details: dict[str, Any] = told["result"]["details"]
        return details

    def _invoke(self, tool: str, session: str, args: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/tools/invoke",
            json.dumps({"tool": tool, "args": args, "sessionKey": session}).encode(),
            {"content-type": "application/json", "authorization": f"Bearer {self.token}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=COMMAND_WITHIN) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, {"error": refused.read().decode("utf8", "replace")}
        except OSError:
            return 0, {}

    def send(self, words: str, session: str = MAIN) -> None:
        """A message of the user's, or a command, as the web chat sends it."""
        message = {"sessionKey": session, "message": words, "idempotencyKey": secrets.token_hex(8)}
        self.place.run("openclaw", "gateway", "call", "chat.send", "--token", self.token, "--params", json.dumps(message), "--json")  # fmt: skip

    def say(self, words: str, session: str = MAIN) -> Request:
        """One message of the user's; the last request that the model was sent for it, once the turn is over."""
        since, answers = len(self.model.asked), self._answers(session)
        self.send(words, session)

        def sent() -> list[Request]:
            return [request for request in self.model.asked[since:] if words in request.now]

        until(lambda: sent() and self._answers(session) > answers, f"the turn ends: {words}")
        return sent()[-1]

    def _answers(self, session: str) -> int:
        """How many of the stub's answers stand in OpenClaw's own transcript."""
        path = self.place.home / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
        query = (
            "select count(*) from transcript_events e join session_nodes n on n.current_session_id = e.session_id"
            " where n.session_key = ? and e.event_json like ?"
        )
        try:
            connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
            try:
                return int(connection.execute(query, (session, f'%"assistant"%{ANSWER}%')).fetchone()[0])
            finally:
                connection.close()
        except sqlite3.OperationalError:  # not there yet, or being written
            return 0

    def new(self) -> None:
        """End the conversation, as the owner does at the terminal."""
        self.place.run("openclaw", "agent", "--session-key", MAIN, "--message", "/new")

    def captured_by_new(self) -> str:
        """The daily logs, once the conversation that /new ended is in them."""
        before = self.place.log()
        self.new()
        until(lambda: self.place.log() != before, "the conversation is captured")
        return self.place.log()


def _loaded(claw: Claw, checks: Checks) -> None:
    seen = claw.place.run("openclaw", "plugins", "inspect", "nacre", "--runtime")
    names = ("Status: loaded", "memory_search", "memory_state", "before_prompt_build", "agent_end", "refresh")
    checks("OpenClaw has loaded the plugin", all(name in seen for name in names), seen)
    seen = claw.place.run("openclaw", "plugins", "doctor")
    checks("and has nothing to say against it", "configuration checks passed" in seen, seen)
    checks("openclaw nacre is our command", "daily" in claw.place.run("openclaw", "nacre", "search", "pnpm"))


def _tools(claw: Claw, checks: Checks) -> None:
    for query, words in (("pnpm or npm in the shop repository", "pnpm"), ("备份密钥在哪里", "三楼的档案柜")):
        details = claw.tool("memory_search", query=query)
        first = details.get("results", [{}])[:1]
        checks(f"a search finds {words}", first and words in first[0].get("snippet", ""), str(details))
    lines = claw.tool("memory_get", path=f"memory/{YESTERDAY}.md#L4-L4")
    checks("lines are read", str(lines.get("text")).startswith("- [PREF] Use pnpm"), str(lines))
    claw.tool("memory_write", text="The deploy key is changed on the first Monday of each month", type="TECH")
    details = claw.tool("memory_search", query="when is the deploy key changed")
    checks("what is written is found", "first Monday" in str(details["results"][:1]), str(details))
    refused = claw.tool("memory_write", text=f"the password of the router is {PASSWORD}")
    checks("a password is refused", "error" in refused, str(refused))


def _turns(claw: Claw, checks: Checks) -> None:
    asked = claw.say("Do we use pnpm or npm in the shop repository?")
    checks("the prompt has our section instead of OpenClaw's", "kept by Nacre" in asked.system and "## Memory Recall" not in asked.system, asked.system)  # fmt: skip
    rules = asked.system.count("Write things down as they happen: decisions")
    checks("the rule of writing stands there once", rules == 1, asked.system)
    checks("a turn is given what memory knows", "Use pnpm, never npm" in asked.now and TASK in asked.now, asked.now)
    checks("MEMORY.md, which OpenClaw gives, is not given twice", asked.text.count(RULE) == 1, asked.text)
    checks("the model is offered our tools", {"memory_search", "memory_get", "memory_write"} <= set(asked.tools))
    asked = claw.say("We decided that the release train leaves every second Thursday, from now on.")
    earlier = asked.text.removesuffix(asked.now)
    checks("what was given stays out of the transcript", "pnpm or npm" in earlier and "nacre-memory" not in earlier, earlier)  # fmt: skip
    claw.say('CALL memory_search {"query": "备份密钥存放在哪里"}')
    returned = [message.text for message in claw.model.asked[-1].latest if message.role == "tool"]
    checks("the model's own search is answered", "三楼的档案柜" in str(returned), str(returned))
    claw.say(SECRET)


def _group(claw: Claw, checks: Checks) -> None:
    private = claw.tool("memory_search", GROUP, query="pnpm shop repository package manager")
    only_own = all(chat_hash(GROUP) in result["heading"] for result in private["results"])  # which it may find as weak
    checks("a group finds nothing private", only_own, str(private))
    own = claw.tool("memory_search", GROUP, query="where does the garden club meet")
    checks("a group finds its own", "Rosa" in str(own.get("results")), str(own))
    refused = claw.tool("memory_write", GROUP, text="The club has a new treasurer")
    checks("a group writes nothing", "error" in refused, str(refused))
    asked = claw.say("Do we use pnpm or npm in the shop repository? And where does the garden club meet?", GROUP)
    given = "garden club meets" in asked.now and "Use pnpm" not in asked.now and TASK not in asked.text
    checks("a turn in a group is given the group's alone", given, asked.text)
    section = asked.system.partition("kept by Nacre")[2][:2000]
    checks("and is not told to write", section and "memory_write" not in section, section)


def _second(claw: Claw, checks: Checks) -> None:
    """The conversation ends with /new; the next one, in the same session of OpenClaw, is given what it said."""
    log = claw.captured_by_new()
    checks("/new captures the conversation", log.count("release train") == 1, log)
    asked = claw.say("When does the release train leave, on which day of the week?")
    checks("the second conversation is given what the first said", "every second Thursday" in asked.now, asked.now)
    claw.say("We decided to host the staging server of the shop in Helsinki.")
    log = claw.captured_by_new()
    times = [log.count(words) for words in ("release train leaves", "Helsinki")]
    checks("each conversation is captured once", times == [1, 1], log)
    checks("a secret is in no file", not claw.place.written(PASSWORD), str(claw.place.written(PASSWORD)))


def _flush(claw: Claw, checks: Checks) -> None:
    """OpenClaw flushes after the turn that filled the context, or before the next."""
    since = len(claw.model.asked)
    claw.say("FULL now, says the stub.")
    claw.say("And what do we do next?")

    def flushed() -> list[Request]:
        told = ("about to be compacted", "Write only to memory/")
        return [request for request in claw.model.asked[since:] if all(words in request.text for words in told)]

    until(flushed, "the model is asked to write down what lasts")
    checks("before compaction the model is asked to write down what lasts", flushed())


def _refresh(claw: Claw, checks: Checks) -> None:
    hot = claw.place.workspace / "memory_fs" / "hot"
    claw.send("/refresh")
    until(lambda: any(hot.glob("*.md")), "the conversation is put away")
    checks("/refresh puts the conversation away", any(hot.glob("*.md")))


def _ignored(claw: Claw, checks: Checks) -> None:
    (claw.place.workspace / ".nacre-ignore").touch()
    claw.say(PRIVATE)
    claw.say("That is how we do it from now on.")
    claw.new()
    claw.place.nacre_run("sync")
    written = claw.place.written("81,517")
    checks("a workspace with .nacre-ignore is in no file", not written, str(written))


def _daemon_ends(claw: Claw, checks: Checks) -> None:
    claw.place.nacre_run("serve", "--stop")
    details = claw.tool("memory_search", query="pnpm or npm in the shop repository")
    checks("after the daemon has ended the next question starts another", details.get("results"), str(details))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
