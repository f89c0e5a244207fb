"""The agents' own programs answer orders: `python -m tests.integration.brains [NAME…] [--folder FOLDER]`.

Each in a scratch home, connected to Nacre and against a stub model on loopback. It prints what was sent and left behind.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tests.integration import claude_code, codex, gemini, opencode, stub
from tests.integration.conversations import Client
from tests.integration.npm import installed, programs
from tests.integration.scratch import Checks, Scratch, scratch

from nacre.brain.command import PRESETS
from nacre.model.session import ORDER_MARK

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
OWN = "my own sentence for every session"  # in the file of rules that an agent reads from the home
RULES = {"claude-code": ".claude/CLAUDE.md", "codex": ".codex/AGENTS.md", "gemini": ".gemini/GEMINI.md", "opencode": ".config/opencode/AGENTS.md", "openclaw": ".nacre/workspace/AGENTS.md"}  # fmt: skip
ALONG = ("codex", "gemini", "opencode")  # send that file along whatever they are told
TOOLS = {"claude-code": {"StructuredOutput", "DeferredToolPlaceholder"}, "codex": {"request_user_input"}, "opencode": set[str](), "openclaw": set[str]()}  # fmt: skip


def _answer(request: stub.Request) -> stub.Answer:
    """As a model that keeps to the schema: by the tool where one is offered for it."""
    is_offered = "StructuredOutput" in request.tools and not any(message.role == "tool" for message in request.latest)
    return stub.Answer("StructuredOutput", ANSWER) if is_offered else stub.Answer()


def try_client(client: Client, folder: Path | None, checks: Checks) -> None:
    print(f"== {client.packages[-1]}", flush=True)
    with stub.stub() as model:
        env = {name: value.replace("{url}", model.url) for name, value in client.env.items()}
        env |= {"NACRE_BRAIN_EXTRACT": "command", "NACRE_BRAIN_COMMAND_PRESET": client.name}
        if client.name == "codex":  # it looks at no settings, so that the stub must be named in the call
            provider = f'model_providers.stub={{name="Stub",base_url="{model.url}/v1",wire_api="responses"}}'
            named = ("-m", "stub-model", "-c", 'model_provider="stub"', "-c", provider)
            argv = (*PRESETS["codex"].argv[:2], *named, *PRESETS["codex"].argv[2:])
            env["NACRE_BRAIN_COMMAND_ARGV"] = json.dumps(argv)
        with scratch(programs(installed(folder, client.packages)), env) as place:
            for name, text in client.settings.items():
                (place.home / name).parent.mkdir(parents=True, exist_ok=True)
                (place.home / name).write_text(text.replace("{url}", model.url), "utf8")
            _try(client, place, model, checks)


def _try(client: Client, place: Scratch, model: stub.Stub, checks: Checks) -> None:
    project = place.home / "code" / "shop"
    project.mkdir(parents=True)
    (project / "AGENTS.md").write_text("a sentence of the project", "utf8")
    place.nacre_run("init")
    place.nacre_run("sync")
    if client is not OPENCLAW:  # which asks the model without an agent
        place.nacre_run("connect", client.name, "--yes", "--no-jobs", *(() if client.hooks else ("--rules",)))
    rules = place.home / RULES[client.name]
    rules.parent.mkdir(parents=True, exist_ok=True)
    rules.write_text(OWN, "utf8")
    tried = place.nacre_run("brain", "test", "--json", cwd=project)
    checks("the structured answer comes back and passes the gates", ENTRY["text"] in tried, tried)
    orders = [request for request in model.asked if ORDER_MARK in request.text]
    sent = "\n".join(json.dumps(request.body, ensure_ascii=False) for request in model.asked)
    checks("the model is asked for the order and for nothing else", len(orders) == len(model.asked) > 0, sent[:2000])
    if client.name in ALONG:
        print(
            f"known   {RULES[client.name]} goes along, as with every session of this agent: {OWN in sent}", flush=True
        )
    else:
        checks(f"nothing of {RULES[client.name]} is sent", OWN not in sent, sent[:2000])
    checks("nothing of the project is sent", "a sentence of the project" not in sent and str(project) not in sent)
    checks("nothing of Nacre's hooks and tools is sent", "memory_search" not in sent and "kept by Nacre" not in sent)
    tools = {tool for request in orders for tool in request.tools}
    checks(f"tools: {', '.join(sorted(tools)) or 'none'}", tools <= TOOLS.get(client.name, tools), sent[:2000])
    synced = json.loads(place.nacre_run("sync", "--since", "all", "--json"))
    left = ", ".join(f"{count} {why}" for why, count in synced["passedOver"].items()) or "none"
    checks(
        f"sessions that it leaves are known as ours: {left}", not set(synced["passedOver"]) - {"isolated"}, str(synced)
    )
    checks("and not captured", not synced["sessions"] and not place.log(), str(synced))


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
