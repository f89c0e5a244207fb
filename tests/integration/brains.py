"""The agents' own programs answer orders: `python -m tests.integration.brains [NAME…] [--folder FOLDER]`.

Each in a scratch home full of rules, skills, servers and hooks, connected to Nacre and against a stub model on loopback. It prints what was
sent and left behind. At the end an ordinary session shows that all this would go along.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import tomlkit
from tests.integration import claude_code, codex, gemini, opencode, stub
from tests.integration.conversations import Client
from tests.integration.npm import installed, programs
from tests.integration.scratch import Checks, Scratch, scratch

from nacre.brain.presets import SYSTEM
from nacre.model import ORDER_MARK
from nacre.text import json5

OPENCLAW = Client(
    "openclaw",
    ("node@24", "openclaw@2026.9.6"),
    claude_code.say,  # nobody speaks here
    env={},
    settings={
        ".openclaw/openclaw.json": """\
{
  "gateway": {"mode": "local"},
  "agents": {"defaults": {"workspace": "~/.nacre/workspace", "model": {"primary": "stub/stub-model"}, "skipBootstrap": true}},
  "models": {"providers": {"stub": {
    "baseUrl": "{url}/v1", "apiKey": "none", "api": "openai-completions",
    "models": [{"id": "stub-model", "name": "Stub", "contextWindow": 200000, "maxTokens": 4096}]
  }}}
}
"""
    },
    made=(),
    hooks=False,
)
CLIENTS = {
    client.name: client for client in (claude_code.CLIENT, codex.CLIENT, gemini.CLIENT, opencode.CLIENT, OPENCLAW)
}
ENTRY: dict[str, Any] = {
    "text": "Use pnpm in every repository, never npm",
    "speaker": "owner",
    "cites": ["m1"],
    "type": "PREF",
}
ANSWER = json.dumps({"entries": [ENTRY]})
OWN = "my own sentence for every session"  # in every file that an agent reads by itself
NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
PLACES = (".claude", ".codex", ".gemini", ".config/opencode", ".nacre/workspace", "", "code/shop")  # of such files
SKILLS = (".claude/skills", ".agents/skills", ".codex/skills", ".gemini/skills", ".config/opencode/skills")
_HOOK = [{"hooks": [{"type": "command", "command": "{program}"}]}]
ADDED: dict[
    str, dict[str, Any]
] = {  # to the user's settings: a server and hooks, all of them the program that tells that it was started
    "claude-code": {
        ".claude.json": {"mcpServers": {"their-server": {"command": "{program}"}}},
        ".claude/settings.json": {"hooks": {"SessionStart": _HOOK, "UserPromptSubmit": _HOOK}},
    },
    "codex": {
        ".codex/config.toml": {"notify": ["{program}"], "mcp_servers": {"their-server": {"command": "{program}"}}}
    },
    "gemini": {
        ".gemini/settings.json": {
            "mcpServers": {"their-server": {"command": "{program}"}},
            "hooks": {"SessionStart": _HOOK, "BeforeAgent": _HOOK},
        }
    },
    "opencode": {
        ".config/opencode/opencode.jsonc": {
            "mcp": {"their-server": {"type": "local", "command": ["{program}"]}},
            "instructions": ["~/code/shop/AGENTS.md"],
        }
    },
    "openclaw": {".openclaw/openclaw.json": {"mcp": {"servers": {"their-server": {"command": "{program}"}}}}},
}
TOOLS = {"claude-code": {"StructuredOutput", "DeferredToolPlaceholder"}}  # for the answer
OWN_SYSTEM = ("codex", "openclaw")  # keep a system prompt of their own, or send none
BY_ARGUMENT = ("openclaw",)  # is given the order as an argument, whatever one does
listed: list[str] = []  # the processes of the machine at the time of each request


def _answer(request: stub.Request) -> stub.Answer:
    """As a model that keeps to the schema: by the tool where one is offered for it."""
    listed.append(subprocess.run(["ps", "-axww", "-o", "command"], capture_output=True, text=True, check=True).stdout)
    is_offered = "StructuredOutput" in request.tools and not any(message.role == "tool" for message in request.latest)
    return stub.Answer("StructuredOutput", ANSWER) if is_offered else stub.Answer()


def try_client(client: Client, folder: Path | None, checks: Checks) -> None:
    print(f"== {client.packages[-1]}", flush=True)
    listed.clear()
    with stub.stub() as model:
        env = {name: value.replace("{url}", model.url) for name, value in client.env.items()}
        env |= {"NACRE_BRAIN_EXTRACT": "command", "NACRE_BRAIN_COMMAND_PRESET": client.name}
        with scratch(programs(installed(folder, client.packages)), env) as place:
            for name, text in client.settings.items():
                (place.home / name).parent.mkdir(parents=True, exist_ok=True)
                (place.home / name).write_text(text.replace("{url}", model.url), "utf8")
            _try(client, place, model, checks)


def _plant(client: Client, place: Scratch) -> Path:
    """Put something of the user's wherever an agent looks; returns the file that is there once a program of theirs was started."""
    started, program = place.home / "started", place.home / "their-program"
    program.write_text(f"#!/bin/sh\necho started >> {started}\n", "utf8")
    program.chmod(0o755)
    for name in (f"{folder}/{name}" for folder in PLACES for name in NAMES):
        (place.home / name).parent.mkdir(parents=True, exist_ok=True)
        (place.home / name).write_text(OWN, "utf8")
    for folder in SKILLS:
        (place.home / folder / "their-skill").mkdir(parents=True)
        (place.home / folder / "their-skill" / "SKILL.md").write_text(
            f"---\nname: their-skill\ndescription: {OWN}\n---\n", "utf8"
        )
    for name, added in ADDED[client.name].items():
        path, text = place.home / name, (place.home / name).read_text("utf8")
        more = json.loads(json.dumps(added).replace("{program}", str(program)))
        if path.suffix == ".toml":
            path.write_text(tomlkit.dumps({**tomlkit.parse(text), **more}), "utf8")
        else:
            path.write_text(json.dumps({**json5.loads(text), **more}), "utf8")
    return started


def _files(place: Scratch) -> dict[str, bytes]:
    """Everything in the home but what is Nacre's."""
    ours = (
        place.workspace,
        *(place.home / below / "nacre" for below in (".config", ".cache", ".local/state", ".local/share")),
    )
    paths = (path for path in place.home.rglob("*") if path.is_file() and not any(map(path.is_relative_to, ours)))
    return {str(path.relative_to(place.home)): path.read_bytes() for path in paths}


def _try(client: Client, place: Scratch, model: stub.Stub, checks: Checks) -> None:
    project = place.home / "code" / "shop"
    project.mkdir(parents=True)
    place.nacre_run("init")
    place.nacre_run("sync")
    started = _plant(client, place)
    if client is not OPENCLAW:  # which asks the model without an agent
        place.nacre_run("connect", client.name, "--yes", "--no-jobs", *(() if client.hooks else ("--rules",)))
    before = _files(place)
    tried = place.nacre_run("brain", "test", "--json", cwd=project)
    checks("the structured answer comes back and passes the gates", ENTRY["text"] in tried, tried)
    orders = [request for request in model.asked if ORDER_MARK in request.text]
    sent = "\n".join(json.dumps(request.body, ensure_ascii=False) for request in model.asked)
    checks("the model is asked for the order and for nothing else", len(orders) == len(model.asked) > 0, sent[:2000])
    at = sent.find(OWN)
    checks("nothing of the user's rules and skills is sent", at < 0, sent[max(0, at - 1000) : at + 200])
    checks(
        "nothing of the project or the home is sent",
        str(place.home / "code") not in sent and "their-" not in sent,
        sent[:9000],
    )
    checks("nothing of Nacre's hooks and tools is sent", "memory_search" not in sent and "kept by Nacre" not in sent)
    if client.name not in OWN_SYSTEM:
        checks("the system prompt is ours", SYSTEM in orders[-1].system, orders[-1].system)
    tools = {tool for request in orders for tool in request.tools}
    checks(f"tools: {', '.join(sorted(tools)) or 'none'}", tools <= TOOLS.get(client.name, set()), sent[:2000])
    checks("no server and no hook of the user's is started", not started.exists())
    is_seen = any("<data " in processes for processes in listed)
    checks(
        f"the order is {'' if is_seen else 'not '}seen in the list of processes",
        is_seen == (client.name in BY_ARGUMENT),
    )
    after = _files(place)
    changed = [name for name, data in before.items() if after.get(name) != data]
    print(
        f"        files changed: {', '.join(changed) or 'none'}; new: {', '.join(sorted(set(after) - set(before))) or 'none'}"
    )
    holding = [name for name, data in after.items() if ORDER_MARK.encode() in data]
    checks("no file of the user's holds the order", not holding, str(holding))
    state = ".claude.json"  # which Claude Code rewrites at each start
    if state in changed and json.loads(before[state]).items() <= json.loads(after[state]).items():
        changed.remove(state)
    checks(
        "no settings of the user's are changed", not {*changed} & {*client.settings, *ADDED[client.name]}, str(changed)
    )
    synced = json.loads(place.nacre_run("sync", "--since", "all", "--json"))
    checks(
        "and no session is left to be captured",
        not synced["passedOver"] and not synced["sessions"] and not place.log(),
        str(synced),
    )
    if client is not OPENCLAW:
        asked = len(model.asked)
        client.say(place, project, "Hello")
        spoken = "".join(json.dumps(request.body, ensure_ascii=False) for request in model.asked[asked:])
        checks(
            "an ordinary session sends the rules and starts the programs",
            OWN in spoken and started.exists(),
            spoken[:9000],
        )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*CLIENTS, []])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args(arguments)
    stub.ANSWER = ANSWER
    stub.Request.answer = property(_answer)  # type: ignore[assignment]
    checks = Checks()
    for name in given.names or CLIENTS:
        try_client(CLIENTS[name], given.folder, checks)
    return checks.sum()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
