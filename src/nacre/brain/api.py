"""A service as a brain: OpenAI-compatible chat with structured output where it is offered, or Anthropic's messages."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from nacre.brain.command import Reply, is_count
from nacre.brain.orders import LARGEST_ANSWER, Order
from nacre.brain.presets import at
from nacre.embed.client import Client, Unreachable, is_local
from nacre.embed.remote import bearer, is_address
from nacre.errors import BrainFailed

if TYPE_CHECKING:
    import httpx2

    from nacre.config.settings import BrainApiSettings

_PAUSES = (1.0, 4.0)
_MOST_TOKENS = 4_000  # of an answer


def ask_api(
    settings: BrainApiSettings,
    order: Order,
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Reply:
    """What the service answers. The key comes from the environment alone, and the vendor's own goes nowhere but to the vendor."""
    usual, variable, headers, ask = _SERVICES[settings.kind]
    base_url = settings.base_url or usual
    if not settings.model or not is_address(base_url):
        raise BrainFailed(
            "Set brain.api.model, and brain.api.base_url as well if you do not use the default address.",
            "请设置 brain.api.model；如不使用默认地址，还需设置 brain.api.base_url。",
        )
    host = urlsplit(base_url).hostname
    if settings.key_env or host != urlsplit(usual).hostname:
        variable = settings.key_env or ""
    key = (os.environ if env is None else env).get(variable, "").strip()
    if not is_local(base_url) and (not key or urlsplit(base_url).scheme == "http"):
        named = variable or "brain.api.key_env"
        raise BrainFailed(
            f"{host} requires https and a key in the environment variable {named}.",
            f"{host} 需要使用 https，并在环境变量 {named} 中提供密钥。",
        )
    client = Client(base_url, headers, key or None, sleep)
    try:
        return ask(client, settings.model, order, timeout)
    except Unreachable as error:
        raise BrainFailed(f"{client.host} could not be reached: {error}", f"无法连接 {client.host}：{error}") from None
    finally:
        client.close()


def _openai(client: Client, model: str, order: Order, timeout: float) -> Reply:
    structured = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": order.schema}}
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": order.text}]}
    end = time.monotonic() + timeout
    # A server that does not know structured output says so, and is asked for plain JSON, which the gates check as well.
    for response_format in (structured, {"type": "json_object"}, None):
        form = {"response_format": response_format} if response_format else {}
        left = end - time.monotonic()
        answer = client.post(
            "/chat/completions", {**body, **form}, timeout=left, pauses=_PAUSES, largest=LARGEST_ANSWER
        )
        if answer.status_code not in (400, 422) or "response_format" not in answer.text:
            break
    value = _json(client, answer)
    return _reply(client, at(value, "choices.0.message.content"), at(value, "usage.total_tokens"))


def _anthropic(client: Client, model: str, order: Order, timeout: float) -> Reply:
    """The answer comes as the input of a tool, which is how this service takes a schema."""
    tool = {"name": "answer", "description": "Takes the answer.", "input_schema": order.schema}
    body = {
        "model": model,
        "max_tokens": _MOST_TOKENS,
        "messages": [{"role": "user", "content": order.text}],
        "tools": [tool],
        "tool_choice": {"type": "tool", "name": "answer"},
    }
    value = _json(client, client.post("/messages", body, timeout=timeout, pauses=_PAUSES, largest=LARGEST_ANSWER))
    spent = (at(value, f"usage.{name}") for name in ("input_tokens", "output_tokens"))
    blocks = at(value, "content")
    inputs = (at(block, "input") for block in (blocks if isinstance(blocks, list) else ()))
    text = next((json.dumps(given, ensure_ascii=False) for given in inputs if isinstance(given, dict)), None)
    return _reply(client, text, sum(filter(is_count, spent)))


def _json(client: Client, answer: httpx2.Response) -> object:
    if answer.status_code != 200:
        said = f"HTTP {answer.status_code}: {client.clean(answer.text)}"
        raise BrainFailed(f"{client.host} returned {said}", f"{client.host} 返回 {said}")
    try:
        return answer.json()
    except (ValueError, RecursionError):
        return None


def _reply(client: Client, text: object, tokens: object) -> Reply:
    if not isinstance(text, str):
        raise BrainFailed(f"{client.host} returned an empty answer.", f"{client.host} 返回的回答为空。")
    return Reply(text, tokens if is_count(tokens) else None)


# Of each kind of service: its address, the variable that holds its key, the headers made of that, and how it is asked.
_SERVICES: Mapping[
    str, tuple[str, str, Callable[[str], dict[str, str]], Callable[[Client, str, Order, float], Reply]]
] = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY", bearer, _openai),
    "anthropic": (
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        lambda key: {"x-api-key": key, "anthropic-version": "2023-06-01"},
        _anthropic,
    ),
}
