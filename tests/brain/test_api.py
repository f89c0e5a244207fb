"""A service answers orders over HTTP; a busy, silent, broken or talkative one is an error with its reason, and no key is shown."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from tests.brain.conftest import ANSWER, Service

from nacre.brain.api import ask_api
from nacre.brain.command import Reply
from nacre.brain.orders import Order, items_of
from nacre.config.settings import BrainApiSettings
from nacre.errors import BrainFailed
from nacre.model import Speaker

KEY = "sk-test-0123456789abcdef"
VENDORS = "sk-vendor-0123456789abcdef"
ORDER = Order("extract", "en", items_of([("We use pnpm, never npm", Speaker.OWNER, "")]))


def ask(service: Service, pauses: list[float] | None = None, timeout: float = 60, **settings: Any) -> Reply:
    given: dict[str, Any] = {"base_url": service.url, "model": "m", "key_env": "MY_KEY"} | settings
    env = {"MY_KEY": KEY, "OPENAI_API_KEY": VENDORS, "ANTHROPIC_API_KEY": VENDORS}
    sleep = [] if pauses is None else pauses
    return ask_api(BrainApiSettings(**given), ORDER, timeout=timeout, env=env, sleep=sleep.append)


def test_openai_is_sent_the_order_and_the_schema_and_nothing_else(service: Service) -> None:
    service.will_say(ANSWER, 321)
    assert ask(service) == Reply(ANSWER, 321)
    (asked,) = service.asked
    assert asked["path"] == "/v1/chat/completions"
    assert asked["headers"]["Authorization"] == f"Bearer {KEY}"
    assert asked["body"]["messages"] == [{"role": "user", "content": ORDER.text}]
    assert asked["body"]["response_format"]["json_schema"]["schema"] == ORDER.schema
    assert set(asked["body"]) == {"model", "messages", "response_format"}


def test_a_server_without_structured_output_is_asked_for_plain_json(service: Service) -> None:
    service.will({"error": {"message": "response_format json_schema is not supported"}}, 400)
    service.will({"error": {"message": "unknown field response_format"}}, 422)
    service.will_say(ANSWER)
    assert ask(service).text == ANSWER
    assert [asked["body"].get("response_format", {}).get("type") for asked in service.asked] == ["json_schema", "json_object", None]  # fmt: skip


def test_anthropic_is_given_the_schema_as_a_tool_and_answers_with_its_input(service: Service) -> None:
    service.will(
        {
            "content": [{"type": "text", "text": "hm"}, {"type": "tool_use", "input": json.loads(ANSWER)}],
            "usage": {"input_tokens": 300, "output_tokens": 40},
        }
    )
    reply = ask(service, kind="anthropic")
    assert (json.loads(reply.text), reply.tokens) == (json.loads(ANSWER), 340)
    (asked,) = service.asked
    assert asked["path"] == "/v1/messages"
    assert asked["headers"]["x-api-key"] == KEY
    assert asked["body"]["tools"][0]["input_schema"] == ORDER.schema
    assert asked["body"]["tool_choice"] == {"type": "tool", "name": "answer"}


def test_a_busy_service_is_asked_again_after_the_time_that_it_names(service: Service) -> None:
    service.will({"error": "slow down"}, 429, Retry_After="7")
    service.will({"error": "overloaded"}, 529)
    service.will_say(ANSWER)
    pauses: list[float] = []
    assert ask(service, pauses).text == ANSWER
    assert pauses == [7, 4]


def test_half_a_stream_is_asked_for_again_and_then_told(service: Service) -> None:
    for _ in range(3):
        service.will({"choices": [{"message": {"content": ANSWER}}]}, cut=30)
    with pytest.raises(BrainFailed, match="could not be reached"):
        ask(service)
    assert len(service.asked) == 3


def test_a_silent_service_is_not_waited_for(service: Service) -> None:
    service.silent = True
    with pytest.raises(BrainFailed, match="could not be reached"):
        ask(service, timeout=0.2)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b'"x"', b"{}", b'{"choices": []}', b'{"choices": [{}]}', b'{"choices": [{"message": {"content": null}}]}',
     b'{"choices": [{"message": {"content": ["x"]}}]}', b'{"choices": "x"}', b"[" * 5000],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_body_without_an_answer_is_an_error(service: Service, body: bytes, kind: str) -> None:
    service.will(body)
    with pytest.raises(BrainFailed, match="empty answer"):
        ask(service, kind=kind)


def test_no_message_shows_the_key(service: Service) -> None:
    service.will({"error": f"bad key {KEY}"}, 401)
    with pytest.raises(BrainFailed, match="HTTP 401") as failed:
        ask(service)
    assert KEY not in str(failed.value)
    assert failed.value.__cause__ is None


def test_a_key_leaves_the_machine_only_over_https_and_a_model_must_be_named() -> None:
    for settings in ({"base_url": "http://example.com/v1", "model": "m"}, {"model": "m", "key_env": "NO_SUCH"}):
        with pytest.raises(BrainFailed, match="requires https and a key"):
            ask_api(BrainApiSettings(**settings), ORDER, timeout=1, env={"OPENAI_API_KEY": KEY})
    with pytest.raises(BrainFailed, match=r"brain\.api\.model"):
        ask_api(BrainApiSettings(), ORDER, timeout=1, env={})


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_the_key_of_a_vendor_goes_to_no_other_address(service: Service, kind: str) -> None:
    service.will({}, 500)
    service.will({}, 500)
    service.will({}, 500)
    with pytest.raises(BrainFailed, match="HTTP 500"):
        ask(service, kind=kind, key_env=None)
    assert VENDORS not in str(service.asked)
    with pytest.raises(
        BrainFailed, match=r"^example\.com requires https and a key in the environment variable brain\.api\.key_env"
    ):
        ask(service, kind=kind, key_env=None, base_url="https://api.openai.com@example.com/v1")


def test_no_message_shows_the_password_of_an_address(service: Service) -> None:
    for base_url in ("http://jun:hunter2@example.com/v1", "https://jun:hunter2@example.com/v1"):
        with pytest.raises(BrainFailed) as failed:
            ask(service, base_url=base_url, key_env="NO_SUCH")
        assert "hunter2" not in str(failed.value)
    address = service.url.replace("http://", "http://jun:hunter2@")
    service.will({"error": f"nothing at {address}"}, 404)
    with pytest.raises(BrainFailed, match="HTTP 404") as failed:
        ask(service, base_url=address)
    assert "hunter2" not in str(failed.value)


def test_too_long_an_answer_is_not_read_to_its_end(service: Service) -> None:
    service.will_say("x" * 500_000)
    with pytest.raises(BrainFailed, match="too long"):
        ask(service)
    assert len(service.asked) == 1


def test_a_packed_answer_is_unpacked_once(service: Service) -> None:
    body = json.dumps({"choices": [{"message": {"content": ANSWER}}]}).encode()
    service.will(gzip.compress(body), Content_Encoding="gzip")
    assert ask(service).text == ANSWER
    service.will(gzip.compress(b" " * 20_000_000), Content_Encoding="gzip")
    with pytest.raises(BrainFailed, match="too long"):
        ask(service)


@pytest.mark.parametrize("part", ["headers", "body"])
def test_a_service_that_answers_without_end_is_left(service: Service, part: str) -> None:
    service.drips = part
    with pytest.raises(BrainFailed, match="timed out"):
        ask(service, timeout=0.3)


def test_a_pause_beyond_the_timeout_is_not_made(service: Service) -> None:
    service.will({"error": "slow down"}, 429, Retry_After="29")
    pauses: list[float] = []
    with pytest.raises(BrainFailed, match="HTTP 429"):
        ask(service, pauses, timeout=10)
    assert pauses == []


@pytest.mark.parametrize("told", [-5_000, True, "many", None, 1.5])
def test_a_cost_that_cannot_be_is_not_believed(service: Service, told: Any) -> None:
    service.will({"choices": [{"message": {"content": ANSWER}}], "usage": {"total_tokens": told}})
    assert ask(service).tokens is None
    service.will({"choices": [{"message": {"content": ANSWER}}], "usage": [told]})
    assert ask(service).tokens is None
    tool = {"type": "tool_use", "input": json.loads(ANSWER)}
    service.will({"content": [tool], "usage": {"input_tokens": told, "output_tokens": 40}})
    assert ask(service, kind="anthropic").tokens == 40
