"""Who may speak over HTTP, decided by the head of a request alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.http import Gate, Reply, headers_of
from nacre.mcp.http import McpEndpoint
from nacre.mcp.server import Server
from nacre.memory import Memory

GATE = Gate("127.0.0.1", 6227)
WIDE = Gate("0.0.0.0", 6227, frozenset({"den"}))
MCP = McpEndpoint(Server(Memory.open), lambda: "word")


def head(*headers: tuple[str, str], method: str = "POST", path: str = "/mcp") -> dict[str, Any]:
    return {
        "method": method,
        "raw_path": path.encode("latin-1"),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
    }


def refusal_of(scope: dict[str, Any], gate: Gate = GATE, mcp: McpEndpoint = MCP) -> Reply | None:
    """As the listener asks: the gate, whose path it is, then that one."""
    headers = headers_of(scope)
    refused = gate.refusal(scope, headers)
    return refused or (mcp.refusal(scope, headers) if mcp.takes(scope["raw_path"]) else Reply(404, b""))


def status(gate: Gate, host: str | None = "127.0.0.1:6227", **given: Any) -> int | None:
    headers = [("host", host)] if host is not None else []
    headers += [("authorization", "Bearer word"), ("content-type", "application/json"), *given.pop("more", ())]
    refusal = refusal_of(head(*headers, **given), gate)
    return refusal.status if refusal else None


@pytest.mark.parametrize("host", ["127.0.0.1:6227", "localhost:6227", "LocalHost:6227", "[::1]:6227"])
def test_this_machine_is_known_by_three_names(host: str) -> None:
    assert status(GATE, host) is None
    assert status(GATE, host, more=[("origin", f"http://{host}")]) is None


@pytest.mark.parametrize(
    "host",
    [
        None, "", "127.0.0.1", "localhost", "127.0.0.1:80", "127.0.0.1:62270", "evil.example:6227", "127.0.0.1.evil.example:6227",
        "localhost.:6227", "localhost:6227.evil.example", "evil@127.0.0.1:6227", "127.0.0.1:6227@evil", "127.1:6227", "0.0.0.0:6227",
        "2130706433:6227", "[::ffff:127.0.0.1]:6227", "::1:6227", "127.0.0.1:06227", "127.0.0.1:6227,evil", "127.0.0.1 :6227", "den:6227",
    ],
)  # fmt: skip
def test_no_other_name_leads_here(host: str | None) -> None:
    assert status(GATE, host) == 403


def test_another_address_of_this_machine_is_known_where_it_was_chosen() -> None:
    assert status(Gate("127.0.0.2", 6227), "127.0.0.2:6227") is None
    assert status(GATE, "127.0.0.2:6227") == 403


@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.example", "https://127.0.0.1:6227", "http://127.0.0.1", "http://127.0.0.1:6228", "http://127.0.0.1:6227/", "file://", "", "x"],
)  # fmt: skip
def test_a_page_from_elsewhere_is_turned_away(origin: str) -> None:
    assert status(GATE, more=[("origin", origin)]) == 403


def test_each_of_host_origin_and_token_comes_once() -> None:
    assert status(GATE, more=[("host", "127.0.0.1:6227")]) == 403
    assert status(GATE, more=[("origin", "http://127.0.0.1:6227")] * 2) == 403
    assert status(GATE, more=[("authorization", "Bearer word")]) == 401


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", "Bearer wor", "Bearer word2", "Basic word", "word", "Bearer wörd", "Bearer: word"],
)
def test_without_the_token_nothing_is_told(given: str) -> None:
    refusal = refusal_of(head(("host", "localhost:6227"), ("authorization", given)))
    assert refusal
    assert refusal.status == 401


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/mcp/",
        "//mcp",
        "/MCP",
        "/%6dcp",
        "/mcp%00",
        "/x/../mcp",
        "/mcp;x",
        "http://127.0.0.1:6227/mcp",
        "*",
        "",
        "/.nacre/",
    ],
)
def test_there_is_one_path_in_one_spelling(path: str) -> None:
    assert status(GATE, path=path) == 404


@pytest.mark.parametrize("method", ["GET", "DELETE", "OPTIONS", "HEAD", "PUT", "TRACE", "CONNECT", "post"])
def test_there_is_one_method(method: str) -> None:
    assert status(GATE, method=method) == 405


@pytest.mark.parametrize("length", ["1000001", "-1", "1e3", "²", "9" * 40])
def test_a_body_that_is_too_large_or_of_no_size_is_not_read(length: str) -> None:
    assert status(GATE, more=[("content-length", length)]) == 413
    assert status(GATE, more=[("content-length", "1000000")]) is None


def test_beyond_this_machine_only_addresses_and_our_own_name_count() -> None:
    for host in ("192.168.1.7:6227", "[fe80::1]:6227", "den:6227", "localhost:6227"):
        assert status(WIDE, host) is None
    for host in ("evil.example:6227", "192.168.1.7:80", "den.evil.example:6227"):
        assert status(WIDE, host) == 403


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("den", False)],
)
def test_loopback_is_told_from_the_rest(host: str, local: bool) -> None:
    assert Gate(host, 6227).is_local is local


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["host", "origin", "authorization", "content-length", "x"]),
            st.text(st.characters(max_codepoint=255)),
        )
    ),
    st.text(st.characters(max_codepoint=255)),
)
def test_whatever_comes_without_the_token_is_refused(headers: list[tuple[str, str]], path: str) -> None:
    mcp = McpEndpoint(Server(Memory.open), lambda: "a-word-that-is-never-made-up-by-chance")
    assert refusal_of(head(*headers, path=path), mcp=mcp) is not None
