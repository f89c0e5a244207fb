"""A client that nobody here wrote: `@modelcontextprotocol/inspector --cli` from npm lists and calls every tool, over stdio and HTTP.

Needs node and npm, so it is no part of `./test`: `./test -m npm` runs it.
"""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.npm import installed
from tests.mcp.conftest import Serve, nacre
from tests.mcp.every import TOOLS

pytestmark = pytest.mark.npm
PACKAGE = "@modelcontextprotocol/inspector"
VERSION = "0.22.0"  # the last line of versions that runs on node 20
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def inspector(monkeypatch: pytest.MonkeyPatch) -> Ask:
    with monkeypatch.context() as patched:  # the tests have a home of their own; npm's cache lies in the user's
        patched.setenv("HOME", pwd.getpwuid(os.getuid()).pw_dir)
        folder = installed(None, (f"{PACKAGE}@{VERSION}",))
    program = folder / "node_modules" / PACKAGE / "cli" / "build" / "cli.js"

    def ask(*arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            ["node", str(program), "--cli", *arguments], capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return ask


def every_tool(ask: Ask, *server: str) -> None:
    listed = ask(*server, "--method", "tools/list")["tools"]
    assert [one["name"] for one in listed] == TOOLS

    def call(name: str, **arguments: str) -> dict[str, Any]:
        given = [part for key, value in arguments.items() for part in ("--tool-arg", f"{key}={value}")]
        answer = ask(*server, "--method", "tools/call", "--tool-name", name, *given)
        assert not answer.get("isError"), answer
        result: dict[str, Any] = answer["structuredContent"]
        return result

    (best, *_) = call("memory_search", query="when is the launch", maxResults="3")["results"]
    assert call("memory_get", path=best["citation"])["text"] == "- [PROJ] The launch is on 3 May"
    assert call("memory_write", text="Ann owns billing", type="PEOPLE")["already"] is False
    assert call("memory_forget", id=best["id"])["forgotten"] == 1
    assert call("memory_state", action="task", text="Ship it")["changed"] is True
    assert call("memory_status")["scope"] == "main"
    assert len(ask(*server, "--method", "resources/list")["resources"]) == 3
    assert len(ask(*server, "--method", "prompts/list")["prompts"]) == 3


def test_the_inspector_lists_and_calls_every_tool_over_stdio(inspector: Ask, root: Path) -> None:
    every_tool(inspector, *nacre(root), "mcp")


def test_the_inspector_lists_and_calls_every_tool_over_http(inspector: Ask, serve: Serve) -> None:
    served = serve()
    every_tool(inspector, served.url, "--transport", "http", "--header", f"Authorization: Bearer {served.token}")
