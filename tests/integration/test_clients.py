"""The checks against real clients are commands of their own, because they need npm; here only that they can be begun."""

from __future__ import annotations

import importlib
import json
import urllib.request

import pytest
from tests.integration.stub import ANSWER, stub

CALL = 'CALL memory_search {"query": "tea"}'
WISH = [{"role": "user", "content": CALL}]
TOOL = {"name": "nacre_memory_search"}
ASKED: dict[str, dict[str, object]] = {
    "/v1/messages": {"messages": WISH, "tools": [TOOL]},
    "/v1/responses": {"input": WISH, "tools": [{"type": "function", **TOOL}]},
    "/v1/chat/completions": {"messages": WISH, "tools": [{"type": "function", "function": TOOL}]},
    "/v1beta/models/x:generateContent": {
        "contents": [{"role": "user", "parts": [{"text": CALL}]}],
        "tools": [{"functionDeclarations": [TOOL]}],
    },
}


@pytest.mark.parametrize("client", ["claude_code", "codex", "gemini", "opencode", "openclaw"])
def test_the_command_for_a_client_is_there(client: str) -> None:
    assert callable(importlib.import_module(f"tests.integration.{client}").main)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("path", ASKED)
def test_the_stub_calls_a_tool_where_it_is_told_to_and_else_always_says_the_same(path: str, streamed: bool) -> None:
    where = path.replace("generateContent", "streamGenerateContent?alt=sse") if streamed else path
    with stub() as model:

        def answer(body: dict[str, object]) -> str:
            data = json.dumps({**body, "stream": streamed}).encode()
            with urllib.request.urlopen(urllib.request.Request(model.url + where, data)) as response:
                return str(response.read().decode())

        assert "nacre_memory_search" in answer(ASKED[path])
        assert ANSWER in answer({**ASKED[path], "tools": []})
        assert [request.now for request in model.asked] == [CALL, CALL]
