"""Who is let in to the page: by a link once, then by its cookie; what a page of somebody else's, a group or a stranger gets."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import httpx2
import pytest
from tests.daemon.waiting import until
from tests.mcp.conftest import Serve, nacre
from tests.web.conftest import Page, link

from nacre.daemon.client import daemon_status
from nacre.http import token_file
from nacre.web.routes import ACTIONS, VIEWS

GETS = (
    [view.path for view in VIEWS]
    + [f"/api/{view.name}" for view in VIEWS]
    + ["/api/openapi.json", "/events", "/nowhere"]
)
POSTS = [f"{prefix}/{action.name}" for action in ACTIONS for prefix in ("", "/api")] + ["/preferences"]


def test_a_link_lets_one_browser_in_once(root: Path, serve: Serve) -> None:
    serve()
    url = link(root)
    first, second = httpx2.get(url), httpx2.get(url)
    assert (first.status_code, first.headers["location"], second.status_code) == (303, "/", 401)
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "set-cookie" not in second.headers


def test_a_stranger_is_told_nothing_but_how_to_come_in(page: Page) -> None:
    for path in GETS:
        answer = httpx2.get(str(page.client.base_url.join(path)))
        assert answer.status_code == 401, path
        assert "pnpm" not in answer.text
    for path in POSTS:
        assert httpx2.post(str(page.client.base_url.join(path)), data={"id": "x"}).status_code == 401, path


@pytest.mark.parametrize("cookie", ["", "1", "9999999999.", "9999999999." + "0" * 64, "x.y", "9999999999.ü"])
def test_a_cookie_that_was_made_up_opens_nothing(page: Page, cookie: str) -> None:
    name = next(iter(page.client.cookies))
    head = {b"cookie": f"{name}={cookie}".encode()}
    assert httpx2.get(str(page.client.base_url.join("/memory")), headers=head).status_code == 401


def test_who_removes_the_secret_shuts_every_browser_out(root: Path, page: Page) -> None:
    page.html("/memory")
    token_file(root, "page").unlink()
    assert page.client.get("/memory").status_code == 401
    assert page.client.post("/forget", data={"id": "x", "csrf": ""}).status_code == 401


def test_another_host_or_origin_is_turned_away(page: Page) -> None:
    port = page.client.base_url.port
    assert page.client.get("/memory", headers={"host": f"evil.example:{port}"}).status_code == 403
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}"):
        given = {"csrf": page.csrf, "id": "x"}
        assert page.client.post("/forget", data=given, headers={"origin": origin}).status_code == 403
    own = {"origin": f"http://127.0.0.1:{port}"}
    assert page.client.post("/forget", data={"csrf": page.csrf, "id": "abcdef0123"}, headers=own).status_code == 404


def test_a_change_needs_the_word_of_the_form_or_the_token(root: Path, page: Page) -> None:
    entry = page.data("memory")["files"][0]["entries"][0]["id"]
    for word in ("", "0" * 64, "ü"):
        for path in ("/pin", "/api/pin"):
            assert page.client.post(path, data={"id": entry, "csrf": word}).status_code == 403
    assert not page.data("memory")["files"][0]["entries"][0]["pinned"]
    head = {"authorization": f"Bearer {page.token}"}
    url = str(page.client.base_url.join("/api/pin"))
    answer = httpx2.post(url, json={"id": entry}, headers=head)
    assert (answer.status_code, answer.json()["pinned"]) == (200, True)
    answer = page.client.post("/api/pin", json={"id": entry, "off": True}, headers={"x-csrf-token": page.csrf})
    assert (answer.status_code, answer.json()["pinned"]) == (200, False)


def test_every_answer_forbids_what_the_page_does_not_need(page: Page) -> None:
    for path in ("/", "/memory", "/api/memory", "/nowhere", "/static/app.js"):
        head = page.client.get(path).headers
        policy = head["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert (head["x-content-type-options"], head["referrer-policy"]) == ("nosniff", "same-origin")
        assert head["cache-control"] == "no-store" or path.startswith("/static")


def test_a_form_leads_back_to_this_page_and_nowhere_else(page: Page) -> None:
    for place in ("//evil.example/", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/\nx"):
        answer = page.post("/preferences", theme="dark", back=place)
        assert (answer.status_code, answer.headers["location"]) == (303, "/"), place


def test_a_group_never_reaches_the_page(root: Path, serve: Serve) -> None:
    served = serve(scope="group:ops")
    base = served.url.removesuffix("/mcp")
    for path in GETS:
        head = {"authorization": f"Bearer {served.token}"}
        assert httpx2.get(base + path, headers=head).status_code == 404
    refused = subprocess.run([*nacre(root), "open", "--no-browser"], capture_output=True, env=os.environ, check=False)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"so the web page is not available" in refused.stderr
    scoped = [*nacre(root), "--scope", "group:ops", "open", "--no-browser"]
    assert subprocess.run(scoped, capture_output=True, env=os.environ, check=False).returncode == 2


def test_open_starts_a_daemon_where_none_runs_and_a_page_where_none_is_served(root: Path) -> None:
    try:
        first = link(root)
        status = daemon_status(str(root))
        assert status
        assert status["onDemand"]
        assert status["http"]["page"] in first
        assert first.startswith("http://127.0.0.1:")
        second = link(root)
        assert first.split("/enter/")[0] == second.split("/enter/")[0]
        assert httpx2.get(second).status_code == 303
    finally:
        subprocess.run([*nacre(root), "serve", "--stop"], check=True, env=os.environ, capture_output=True)
        until(lambda: daemon_status(str(root)) is None)


def test_the_page_speaks_the_language_of_who_opened_it_last_unless_another_is_chosen_there(
    page: Page, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'lang="en"' in page.html("/memory")
    monkeypatch.setenv("NACRE_LANGUAGE", "zh")  # of this command alone: the daemon was started without
    page.client.get(link(root))
    assert 'lang="zh-CN"' in page.html("/memory")
    assert page.client.get("/api/entry?id=none").json()["error"].endswith("。")
    monkeypatch.setenv("NACRE_LANGUAGE", "en")
    page.client.get(link(root))
    assert 'lang="en"' in page.html("/memory")
    page.post("/preferences", language="zh")
    page.client.get(link(root))
    assert 'lang="zh-CN"' in page.html("/memory")
